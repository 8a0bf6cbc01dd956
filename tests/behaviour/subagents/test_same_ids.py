"""Models that number their messages and calls: those of several agents in one run have the same
ids. Each question and each result is about the call of its own agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from ag_ui.core import Message
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.alone import converse, plain_requests
from tests.kit.deep import together
from tests.kit.expect.histories import assert_valid
from tests.kit.expect.owners import check_lifecycle, check_tags, tag
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.graphs.subagents import BOSS, agent_tool, asking
from tests.kit.models.scripted import Piece, Scripted, call, calling, part
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import approvals, resolved
from tests.kit.run.thread_client import Client, asked, ending

LOOKED: list[str] = []


def numbering(who: str, *tools: str, calls: bool, **fields: Any) -> Scripted:
    """A model whose messages are `msg-1`, `msg-2` and so on in each conversation; it calls its
    tools in each turn. With `calls`, those are numbered so too."""
    numbers = count()

    def script(messages: list[BaseMessage]) -> list[Piece]:
        before = sum(isinstance(message, AIMessage) for message in messages)
        ident = f"msg-{before + 1}"
        if not isinstance(messages[-1], HumanMessage) or not tools:
            return [
                AIMessageChunk(content=f"{who}: ", id=ident),
                AIMessageChunk(content=f"ends {before}", id=ident),
            ]
        number = before if calls or who == BOSS else f"{who}{next(numbers)}"
        asked = json.dumps({"question": who})
        parts = [part(one, asked, f"c{number}-{n}", n) for n, one in enumerate(tools)]
        begins = AIMessageChunk(content=f"{who}: begins {before}", id=ident)
        return [begins, calling(*parts, id=ident)]

    return Scripted(script=script, **fields)


@tool
def look(question: str) -> str:
    """Look something up."""
    LOOKED.append(question)
    return f"found {question}"


def two_agents(guards: Sequence[Any] = (), **fields: Any) -> list[Any]:
    return [
        create_agent(numbering(who, "look", **fields), [look], name=who, middleware=guards)
        for who in ("ann", "bob")
    ]


def in_tools(saver: Any, guards: Sequence[Any] = (), **fields: Any) -> tuple[Any, Scripted]:
    """Two agents at once in the tools of a third, all of which call tools."""
    boss = numbering(BOSS, "ask_ann", "ask_bob", **fields)
    tools = [agent_tool(f"ask_{one.name}", one) for one in two_agents(guards, **fields)]
    return create_agent(boss, tools, checkpointer=saver), boss


def in_nodes(saver: Any, *, last: Any = None, **fields: Any) -> tuple[Any, Scripted]:
    """Two nodes that ask an agent each, one after the other, and a third one that speaks."""
    ann, bob = two_agents(**fields)
    boss = numbering(BOSS, **fields)

    async def ask_ann(state: Any) -> None:
        await ann.ainvoke(asking("why"))

    async def ask_bob(state: Any) -> None:
        await bob.ainvoke(asking("why"))

    speak = last(boss) if last else talker(boss)
    return chain_of(ask_ann, ask_bob, speak, checkpointer=saver), boss


def with_an_agent(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """The third node is an agent, whose words the root's own state holds."""
    return in_nodes(saver, last=lambda boss: create_agent(boss, [], name=BOSS), **fields)


def in_a_team(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """Two agents behind one another that share their messages."""
    boss = numbering(BOSS, "look", **fields)
    ann, _ = two_agents(**fields)

    def ask(state: Any) -> Any:
        return {"messages": [HumanMessage("and you?")]}

    return chain_of(ann, ask, create_agent(boss, [look], name=BOSS), checkpointer=saver), boss


@pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
@pytest.mark.parametrize("calls", [False, True], ids=["messages", "calls"])
@together(
    pytest.mark.parametrize("build", [in_tools, in_nodes, with_an_agent, in_a_team]),
    pytest.mark.parametrize(("stored", "whole"), [(False, False), (True, True), (True, False)]),
)
async def test_a_conversation(
    build: Any, stored: bool, mode: Any, calls: bool, whole: bool
) -> None:
    """Everything is told by its owner, and models read what they would have read without us."""
    fields = {"calls": calls, "disable_streaming": whole}
    graph, boss = build(InMemorySaver() if stored else None, **fields)
    alone, model = build(InMemorySaver(), **fields)
    client = Client(LangGraphAgent(graph, clients=ClientOptions(subagents=mode)))
    names: dict[str | None, str] = {None: BOSS}
    for turn, text in enumerate(("hi", "again"), 1):
        recorded = await client.send(text)
        recorded.check_snapshot()
        check_lifecycle(recorded.events)
        check_tags(recorded)
        assert len({message.id for message in recorded.messages}) == len(recorded.messages)
        made = calls_in(recorded.messages)
        results: Any = [one for one in recorded.messages if one.role == "tool"]
        assert sorted(made) == sorted(one.tool_call_id for one in results)
        for event in recorded.of("SUBAGENT_STARTED"):
            names[event.subagent_run_id] = event.name.removeprefix("ask_")
        if mode == "attributed" and build is not in_a_team:
            check_owners(recorded, names, turn, build is in_tools)
    await converse(alone, "hi", "again")
    assert plain_requests(boss) == plain_requests(model)


def check_owners(
    recorded: RecordedRun, names: dict[str | None, str], turn: int, asks: bool
) -> None:
    said = [one for one in recorded.snapshot if one.role == "assistant" and one.content]
    words = [(names[tag(one)], str(one.content)) for one in said]
    assert [who for who, _ in words] == [text.partition(":")[0] for _, text in words]
    own = [f"boss: {'begins' if asks and n % 2 == 0 else 'ends'} {n}" for n in range(4)]
    expected = {who: [f"{who}: begins 0", f"{who}: ends 1"] * turn for who in ("ann", "bob")}
    expected[BOSS] = own[: 2 * turn if asks else turn]
    for who, texts in expected.items():
        assert [text for by, text in words if by == who] == texts
    results = [(names[tag(one)], one.content) for one in recorded.snapshot if one.role == "tool"]
    found = [("ann", "found ann"), ("bob", "found bob")]
    heard = [(BOSS, "ann: ends 1"), (BOSS, "bob: ends 1")] if asks else []
    assert sorted(results) == sorted([*found, *heard] * turn)


@pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
async def test_an_approval_names_the_call_as_the_client_knows_it(mode: Any) -> None:
    guard = HumanInTheLoopMiddleware({"look": True})
    graph, _ = in_tools(InMemorySaver(), [guard], calls=True)
    client = Client(LangGraphAgent(graph, clients=ClientOptions(subagents=mode)))
    recorded = await client.send("hi")
    made = [one for one in recorded.of("TOOL_CALL_START") if one.tool_call_name == "look"]
    assert len(made) == (0 if mode == "hidden" else 2)
    own = {one.tool_call_id for one in recorded.of("TOOL_CALL_START") if one not in made}
    calls = {(one.tool_call_id, tag(one)) for one in made}
    named = [(one.id, one.tool_call_id, one.subagent_run_id) for one in asked(recorded)]
    if mode == "hidden":
        assert all(one is None and owner is None for _, one, owner in named)
    else:
        assert {(one, owner) for _, one, owner in named} == calls
        assert not {one for one, _ in calls} & own
    back = asked(await client.connect(*client.held))
    assert [(one.id, one.tool_call_id, one.subagent_run_id) for one in back] == named
    LOOKED.clear()
    after = await client.send(resume=approvals(back))
    after.check_snapshot()
    assert sorted(LOOKED) == ["ann", "bob"]
    results = {(one.tool_call_id, tag(one)) for one in after.of("TOOL_CALL_RESULT")}
    assert results == calls | {(one, None) for one in own}


class Spenders:
    """Agents that spend twice, with calls of the same ids."""

    def __init__(self, mode: Any) -> None:
        self.done: list[tuple[str, int]] = []
        self.seen: list[list[BaseMessage]] = []

        @tool
        async def spend(who: str, amount: int) -> str:
            """Spend."""
            self.done.append((who, amount))
            return f"{who} spent {amount}"

        guard = [HumanInTheLoopMiddleware({"spend": True}, interrupt_mode=mode)] if mode else []
        self.one = create_agent(Scripted(script=self.spending), [spend], middleware=guard)

    def spending(self, messages: list[BaseMessage]) -> Sequence[Piece]:
        self.seen.append(messages)
        number = sum(message.type == "tool" for message in messages)
        who = messages[0].text
        spend = call("spend", f"s{number}", 0, who=who, amount=number + 1)
        return [spend] if number < 2 else [f"Done by {who}."]


def sending(node: Any, saver: Any) -> Any:
    builder = StateGraph(Chat)
    builder.add_node("one", node)
    fan: Any = lambda state: [Send("one", asking(name)) for name in "abc"]  # noqa: E731
    builder.add_conditional_edges(START, fan, ["one"])
    return builder.compile(checkpointer=saver)


def as_nodes(spenders: Spenders, saver: Any) -> Any:
    """They are a node of a team."""
    return sending(spenders.one, saver)


def as_tasks(spenders: Spenders, saver: Any) -> Any:
    """A node runs them, and keeps their messages to itself."""

    async def one(state: Any) -> dict[str, Any]:
        result = await spenders.one.ainvoke(asking(state["messages"][-1].text))
        return {"messages": [result["messages"][-1]]}

    return sending(one, saver)


def as_tools(spenders: Spenders, saver: Any) -> Any:
    """A tool runs them, in parallel calls."""
    asked = [json.dumps({"question": name}) for name in "abc"]
    calls = [part("delegate", one, f"d{at}", at) for at, one in enumerate(asked)]

    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        return ["Ok."] if messages[-1].type == "tool" else [calling(*calls)]

    tools = [agent_tool("delegate", spenders.one)]
    return create_agent(Scripted(script=script), tools, checkpointer=saver)


def calls_in(messages: Sequence[Message], name: str = "") -> dict[str, Any]:
    """The arguments of the calls of a tool, by the client's ids."""
    calls = [call for one in messages for call in getattr(one, "tool_calls", None) or ()]
    named = [call for call in calls if name in call.function.name]
    return {call.id: json.loads(call.function.arguments) for call in named}


def check_results(messages: Sequence[Message], amounts: dict[str, list[int]]) -> None:
    """Each call has the result of its own agent; `amounts` is what each has spent."""
    calls = calls_in(messages, "spend")
    results = [one for one in messages if one.role == "tool" and one.tool_call_id in calls]
    assert sorted(one.tool_call_id for one in results) == sorted(calls)
    for one in results:
        who, said = calls[one.tool_call_id]["who"], str(one.content)
        spent = any(f"{who} spent {amount}" in said for amount in amounts[who])
        assert spent or ("spent" not in said and not amounts[who]), said


BUILDS: list[Callable[[Spenders, Any], Any]] = [as_nodes, as_tasks, as_tools]
builds = pytest.mark.parametrize("build", BUILDS)


@builds
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_each_question_is_about_the_call_of_its_own_agent(build: Any, mode: Any) -> None:
    """And each approved call runs once, in whichever process."""
    spenders, saver = Spenders(mode), InMemorySaver()
    client = Client(LangGraphAgent(build(spenders, saver)))
    run = await client.send("Go.")
    amounts: dict[str, list[int]] = {name: [] for name in "abc"}
    for turn in (1, 2):
        questions: Any = {one.metadata["args"]["who"]: one for one in asked(run)}
        calls = calls_in(client.held, "spend")
        about = {name: calls[one.tool_call_id] for name, one in questions.items()}
        assert about == {name: {"who": name, "amount": turn} for name in "abc"}
        # Another process, and a client that holds nothing.
        other = Client(LangGraphAgent(build(spenders, saver)))
        shown = await other.connect()
        assert [one.id for one in asked(shown)] == [one.id for one in asked(run)]
        calls = calls_in(shown.messages, "spend")
        for one in asked(shown):
            args = one.metadata["args"]
            assert calls.get(str(one.tool_call_id), args) == args
        half = await client.send(resume=resolved((questions["a"].id, True)))
        assert ending(half) == "interrupt_unanswered"
        edited = {"approved": True, "editedArgs": {"who": "b", "amount": 10 * turn}}
        payloads = {"c": {"approved": False}, "a": True, "b": edited}
        answers = resolved(*((questions[name].id, one) for name, one in payloads.items()))
        client.agent = other.agent
        run = await client.send(resume=answers)
        amounts["a"].append(turn)
        amounts["b"].append(10 * turn)
    assert ending(run) == "success"
    check_results(client.held, amounts)
    await client.send(resume=answers)  # the same answers again
    assert sorted(spenders.done) == [(who, one) for who in "abc" for one in amounts[who]]
    for messages in spenders.seen:
        assert_valid(messages)


@builds
async def test_each_result_belongs_to_the_call_of_its_own_agent(build: Any) -> None:
    client = Client(LangGraphAgent(build(Spenders(None), InMemorySaver())))
    assert ending(await client.send("Go.")) == "success"
    assert len(calls_in(client.held, "spend")) == 6
    check_results(client.held, {name: [1, 2] for name in "abc"})

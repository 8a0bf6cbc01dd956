"""Agents whose tool calls share ids: the client tells the calls apart, and answers each by the
agent's own id."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from ag_ui.core import Message, Tool
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import TypeAdapter

from langgraph_agui.client import AGUIChatModel, AGUISession, RemoteAgent, open_interrupts
from tests.kit.deep import example_count
from tests.kit.processes.remote_agents import around
from tests.kit.processes.scripted_servers import (
    Asked,
    Peer,
    Script,
    Server,
    frames,
    recording,
    server,
)
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    result,
    snapshot,
    text,
)

ID = "functions.search:0"
AGENT_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
CONFIG: Any = {"configurable": {"thread_id": "local"}}


@tool
def search(q: int) -> str:
    """Search."""
    return f"found {q}"


def searching(number: int, *, parent: bool = True, name: str = "search") -> list[Wire]:
    """The events of one answer that searches for a number."""
    opener = {"parentMessageId": f"a{number}"} if parent else {}
    return call(ID, '{"q":', f"{number}}}", name=name, **opener)


def found(number: int) -> Wire:
    return result(ID, f"o{number}", f"found {number}")


def searched(number: int, *, parent: bool = True) -> list[Wire]:
    return [*searching(number, parent=parent), found(number)]


def asking(*interrupts: Wire) -> Wire:
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def said(messages: Sequence[Any]) -> list[Any]:
    """Texts, and the arguments of each call with the results behind its id."""
    results = [
        (one["toolCallId"], one["content"]) for one in dumped(messages) if one["role"] == "tool"
    ]
    shown: list[Any] = []
    for one in dumped(messages):
        if one["role"] != "tool" and one.get("content"):
            shown.append(one["content"])
        shown += [
            (
                made["function"]["arguments"],
                [content for call_id, content in results if call_id == made["id"]],
            )
            for made in one.get("toolCalls") or ()
        ]
    return shown


def calls_in(messages: Sequence[Any]) -> list[str]:
    return [made["id"] for one in dumped(messages) for made in one.get("toolCalls") or ()]


def sent_ids(asked: Asked) -> list[tuple[str, str]]:
    """The ids of calls and of the calls that results name, in order, as the agent got them."""
    ids = []
    for one in asked.json["messages"]:
        ids += [("call", made["id"]) for made in one.get("toolCalls") or ()]
        ids += [("result", one["toolCallId"])] if one["role"] == "tool" else []
    return ids


BOTH = [('{"q":1}', ["found 1"]), ('{"q":2}', ["found 2"])]
PAIRS = [("call", ID), ("result", ID)] * 2


@pytest.mark.parametrize("parent", [True, False])
def test_two_calls_of_one_run(parent: bool) -> None:
    run = in_run(*searched(1, parent=parent), *searched(2, parent=parent), *text("m", "Done."))
    with server(recording(*run), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
        assert said(session.messages) == ["hi", *BOTH, "Done."]
        roles = [one.role for one in session.messages]
        assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        first, second = calls_in(session.messages)
        assert (first, second != first) == (ID, True)
        assert session.pending_tool_calls == []
        session.send("and?").wait()
        assert sent_ids(agent.asked[-1]) == PAIRS


def test_two_calls_in_chunks() -> None:
    def chunks(number: int) -> list[Wire]:
        opener = {"toolCallName": "search", "parentMessageId": f"a{number}"}
        return [
            event("TOOL_CALL_CHUNK", toolCallId=ID, delta='{"q":', **opener),
            event("TOOL_CALL_CHUNK", delta=f"{number}}}"),
            found(number),
        ]

    with server(recording(*in_run(*chunks(1), *chunks(2)))) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    assert said(session.messages) == ["hi", *BOTH]


def test_a_call_that_is_continued_stays_one() -> None:
    """Other events close the chunks of a call, and chunks with its id continue it."""
    run = in_run(
        event("TOOL_CALL_CHUNK", toolCallId=ID, toolCallName="search", delta='{"q":'),
        event("CUSTOM", name="n", value=1),
        event("TOOL_CALL_CHUNK", toolCallId=ID, toolCallName="search", delta="1}"),
        found(1),
    )
    with server(recording(*run)) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    assert said(session.messages) == ["hi", BOTH[0]]
    assert calls_in(session.messages) == [ID]


def test_values_and_subagents_of_the_second_call() -> None:
    """Whatever names a call names the one that is going on."""
    value = {"subtype": "tool-call", "entityId": ID}
    run = in_run(
        *searching(1),
        event("REASONING_ENCRYPTED_VALUE", encryptedValue="v1", **value),
        found(1),
        *searching(2),
        event("REASONING_ENCRYPTED_VALUE", encryptedValue="v2", **value),
        event("SUBAGENT_STARTED", subagentRunId="s", name="s", parentToolCallId=ID),
        event("SUBAGENT_FINISHED", subagentRunId="s"),
        found(2),
    )
    with server(recording(*run)) as agent:
        session = AGUISession[Any](agent.url)
        turn = session.send("hi")
        events = list(turn)
    calls = [made for one in dumped(session.messages) for made in one.get("toolCalls") or ()]
    assert [made["encryptedValue"] for made in calls] == ["v1", "v2"]
    [started] = [one for one in events if one.type.value == "SUBAGENT_STARTED"]
    assert getattr(started, "parent_tool_call_id") == calls[1]["id"]  # noqa: B009


def test_calls_of_several_runs_and_of_a_reload() -> None:
    """A client that reads the thread anew, or that was saved, has the ids of one that was there."""
    runs = [recording(*in_run(*searched(number), *text(f"m{number}", "x"))) for number in (1, 2, 3)]
    with server(*runs, recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, thread_id="thread")
        for _ in range(3):
            session.send("hi").wait()
        session.send().wait()
        shown, ids = dumped(session.messages), calls_in(session.messages)
        assert len(set(ids)) == 3
        thread = agent.asked[-1].json["messages"]
        assert sent_ids(agent.asked[-1]) == [("call", ID), ("result", ID)] * 3
    with server(*[recording(*in_run(snapshot(*thread)))] * 3) as agent:
        fresh = AGUISession[Any](agent.url, thread_id="thread")
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        for one in (fresh, saved, saved):
            one.connect().wait()
            assert dumped(one.messages) == shown
    with server(recording(*in_run(snapshot(*thread[4:])))) as agent:  # the agent has trimmed it
        saved = AGUISession[Any].from_json(session.to_json(), agent.url)
        saved.connect().wait()
        assert dumped(saved.messages) == shown[4:]


def test_a_snapshot_that_renames_messages() -> None:
    """The calls are the ones that were streamed: their messages have other ids, no more."""
    calls = [
        {
            "id": ID,
            "type": "function",
            "function": {"name": "search", "arguments": f'{{"q":{number}}}'},
        }
        for number in (1, 2)
    ]
    stored = [
        message
        for number in (1, 2)
        for message in (
            {"id": f"stored-a{number}", "role": "assistant", "toolCalls": [calls[number - 1]]},
            {
                "id": f"stored-o{number}",
                "role": "tool",
                "toolCallId": ID,
                "content": f"found {number}",
            },
        )
    ]
    run = in_run(*searched(1), *searched(2), snapshot(*stored))
    with server(recording(*run), recording(*in_run(*searched(1), *searched(2)))) as agent:
        session = AGUISession[Any](agent.url, thread_id="thread")
        session.send("hi").wait()
        assert said(session.messages) == BOTH
        streamed = AGUISession[Any](agent.url, thread_id="thread")
        streamed.send("hi").wait()
        assert calls_in(session.messages) == calls_in(streamed.messages)
    with server(recording(*run)) as agent:
        answer = AGUIChatModel(url=agent.url).invoke("hi")
    kinds = [block["type"] for block in answer.content_blocks]
    assert kinds == ["server_tool_call", "server_tool_result"] * 2


def test_messages_that_repeat_an_id_when_they_come() -> None:
    """An application may have them from another client, which keeps the agent's ids."""
    with server(recording(*in_run(*searched(1), *searched(2))), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
        session.send().wait()
        raw = AGENT_MESSAGES.validate_python(agent.asked[-1].json["messages"])
    with server(recording(*in_run(*searched(3))), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, messages=raw)
        session.send().wait()
        assert said(session.messages) == ["hi", *BOTH, ('{"q":3}', ["found 3"])]
        session.send().wait()
        assert [sent_ids(asked) for asked in agent.asked] == [PAIRS, [*PAIRS, *PAIRS[:2]]]


def test_tools_of_the_client() -> None:
    """Each call runs once with its own arguments, and the agent finds its id at the result."""
    end = {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": [ID]}}
    runs = [[STARTED, *searching(1), end], [STARTED, *searching(2), end], in_run(*text("m", "x"))]
    with server(*(recording(*run) for run in runs)) as agent:
        session = AGUISession[Any](agent.url, tools=[search])
        session.send("hi").wait()
        assert said(session.messages) == ["hi", *BOTH, "x"]
        assert [sent_ids(asked) for asked in agent.asked] == [[], PAIRS[:2], PAIRS]
    with server(*(recording(*run) for run in runs)) as agent:
        model = AGUIChatModel(url=agent.url).bind_tools([search])
        held: list[BaseMessage] = [HumanMessage("hi")]
        for _ in range(2):
            answer = model.invoke(held)
            [made] = answer.tool_calls
            held += [answer, search.invoke(made)]
        model.invoke(held)
        assert [one.content for one in held if isinstance(one, ToolMessage)] == [
            "found 1",
            "found 2",
        ]
        assert held[1].tool_calls != held[3].tool_calls  # type: ignore[attr-defined]
        assert [sent_ids(asked) for asked in agent.asked] == [[], PAIRS[:2], PAIRS]


def test_a_call_that_waits_when_the_session_is_saved() -> None:
    end = {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": [ID]}}
    run = [STARTED, *searched(1), *searching(2, name="ask"), end]
    ask = Tool(name="ask", description="Ask.")
    with server(recording(*run), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[ask])
        session.send("hi").wait()
        session = AGUISession[Any].from_json(session.to_json(), agent.url, tools=[ask])
        [waiting] = session.pending_tool_calls
        assert (waiting.id != ID, waiting.function.arguments) == (True, '{"q":2}')
        session.answer(waiting.id, "found 2")
        session.send().wait()
        assert sent_ids(agent.asked[-1]) == PAIRS


APPROVE: Wire = {"id": "i", "reason": "tool_call", "toolCallId": ID}
PAUSED = [STARTED, *searched(1), *searching(2), asking(APPROVE)]
ANNOUNCED = {
    "with its result": in_run(found(2), *text("m", "x")),
    "announced again": in_run(
        event("TOOL_CALL_START", toolCallId=ID, toolCallName="search", parentMessageId="b"),
        event("TOOL_CALL_END", toolCallId=ID),
        found(2),
        *text("m", "x"),
    ),
}


@pytest.mark.parametrize("way", ANNOUNCED)
def test_an_interrupt_names_the_call_that_waits(way: str) -> None:
    resumed = [*ANNOUNCED[way][:-1], *searched(3), FINISHED]
    with server(recording(*PAUSED), recording(*resumed), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[search])
        session.send("hi").wait()
        [interrupt] = session.interrupts
        assert interrupt.tool_call_id == calls_in(session.messages)[1] != ID
        assert session.pending_tool_calls == []
        session.resume({"i": {"approved": True}}).wait()
        assert sent_ids(agent.asked[-1]) == PAIRS[:3]
        assert said(session.messages) == ["hi", *BOTH, "x", ('{"q":3}', ["found 3"])]
        session.send("and?").wait()
        assert sent_ids(agent.asked[-1]) == [("call", ID), ("result", ID)] * 3


def test_two_interrupts_name_two_calls() -> None:
    run = [
        STARTED,
        *searching(1),
        *searching(2),
        asking(APPROVE, {**APPROVE, "id": "j"}, {"id": "k", "reason": "x"}),
    ]
    with server(recording(*run)) as agent:
        session = AGUISession[Any](agent.url)
        session.send("hi").wait()
    first, second = calls_in(session.messages)
    assert [one.tool_call_id for one in session.interrupts] == [first, second, None]


def test_a_model_may_run_the_call_that_was_approved() -> None:
    """It becomes a call of the answer, by its own id, and its result goes out with the agent's."""
    first = [STARTED, *searched(1), *text("m", "x"), FINISHED]
    paused = [STARTED, *searching(2), asking(APPROVE)]
    runs = [recording(*first), recording(*paused), *[recording(*in_run())] * 2]
    with server(*runs) as agent:
        model = AGUIChatModel(url=agent.url)
        held: list[BaseMessage] = [HumanMessage("hi")]
        held += [model.invoke(held), HumanMessage("and?")]
        asked = model.bind_tools([search]).invoke(held)
        assert asked.tool_calls == []
        [interrupt] = open_interrupts(asked)
        answer = model.bind_tools([search]).invoke(
            [*held, asked], resume={interrupt.id: {"approved": True}}
        )
        [made] = answer.tool_calls
        assert made["args"] == {"q": 2}
        model.invoke([*held, asked, answer, search.invoke(made)])
        assert sent_ids(agent.asked[-1]) == PAIRS


def test_a_node_keeps_its_calls_apart() -> None:
    runs = [
        in_run(*searched(1), *searched(2), *text("m1", "x")),
        [STARTED, *searched(3), *searching(4), asking(APPROVE)],
        in_run(found(4), *text("m2", "y")),
        in_run(),
    ]
    with server(*(recording(*run) for run in runs)) as agent:
        graph = around(RemoteAgent(agent.url, name="far"), checkpointer=InMemorySaver())

        async def talk() -> list[AnyMessage]:
            await graph.ainvoke({"messages": [HumanMessage("hi")]}, CONFIG)
            await graph.ainvoke({"messages": [HumanMessage("and?")]}, CONFIG)
            await graph.ainvoke(Command(resume={"approved": True}), CONFIG)
            state = await graph.ainvoke({"messages": [HumanMessage("bye")]}, CONFIG)
            return list(state["messages"])

        messages = asyncio.run(talk())
        made = [
            (made["id"], made["args"])
            for one in messages
            if isinstance(one, AIMessage)
            for made in one.tool_calls
        ]
        results = {one.tool_call_id: one.text for one in messages if isinstance(one, ToolMessage)}
        assert [(args, results[call_id]) for call_id, args in made] == [
            ({"q": number}, f"found {number}") for number in (1, 2, 3, 4)
        ]
        pairs = [("call", ID), ("result", ID)]
        assert [sent_ids(asked) for asked in agent.asked] == [
            [],
            pairs * 2,
            [*pairs * 3, ("call", ID)],
            pairs * 4,
        ]


# -- random threads ------------------------------------------------------------------------------


@tool
def here(q: int) -> str:
    """Run at the client."""
    return f"here {q}"


@dataclass(frozen=True)
class Answer:
    """One answer of the agent's model, and the results of its calls in some order."""

    calls: int
    text: str
    has_parent: bool
    order: int


@dataclass(frozen=True)
class Run:
    """The answers of one run; the calls of the last one may wait for the client."""

    answers: tuple[Answer, ...]
    end: str
    restates: bool


answers = st.builds(
    Answer, st.integers(0, 3), st.sampled_from(["", "hm"]), st.booleans(), st.integers(0, 5)
)
runs_of_a_thread = st.lists(
    st.builds(
        Run,
        st.lists(answers, min_size=1, max_size=3).map(tuple),
        st.sampled_from(["done", "done", "here", "asked"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


class Agent:
    """Plays the runs of a thread. Its calls count from 0 in each answer, or have ids of their own:
    then nothing needs to be told apart."""

    def __init__(self, runs: Sequence[Run], is_counting: bool) -> None:
        self._is_counting = is_counting
        self._answers = 0
        self._made: list[Wire] = []
        self._asked: list[str] = []
        self.scripts = [*(self._script(run) for run in runs), recording(*in_run())]

    def _script(self, run: Run) -> Script:
        events, end = [STARTED], FINISHED
        made: list[Wire] = []
        for call_id in self._asked:
            events.append(result(call_id, f"late{self._answers}-{call_id}", "late"))
            made.append(self._result(events[-1]))
        self._asked = []
        for place, answer in enumerate(run.answers):
            is_last = place == len(run.answers) - 1
            waits = is_last and run.end != "done" and answer.calls > 0
            ids, told = self._answer(answer, "here" if waits and run.end == "here" else "search")
            events += told
            made.append(self._message(answer, ids, told))
            if waits and run.end == "asked":
                asked = [
                    {"id": f"i{self._answers}-{call_id}", "reason": "x", "toolCallId": call_id}
                    for call_id in ids
                ]
                self._asked, end = ids, asking(*asked)
            elif waits:
                outcome = {"type": "success", "pendingToolCallIds": ids}
                end = {**FINISHED, "outcome": outcome}
            else:
                turned = (
                    ids[answer.order % len(ids) :] + ids[: answer.order % len(ids)] if ids else []
                )
                results = [
                    result(one, f"o{self._answers}-{one}", f"of {one[-1]}") for one in turned
                ]
                events += results
                made += map(self._result, results)

        def script(peer: Peer) -> None:
            peer.head()
            restated = [snapshot(*peer.asked.json["messages"], *made)] if run.restates else []
            peer.write(frames([*events, *restated, end]))

        return script

    def _answer(self, answer: Answer, name: str) -> tuple[list[str], list[Wire]]:
        self._answers += 1
        parent = f"a{self._answers}"
        events = text(parent, answer.text) if answer.text else []
        opener = {"parentMessageId": parent} if answer.has_parent else {}
        prefix = "f" if self._is_counting else f"f{self._answers}"
        ids = [f"{prefix}:{number}" for number in range(answer.calls)]
        for number, call_id in enumerate(ids):
            arguments = json.dumps({"q": 10 * self._answers + number})
            events += call(call_id, arguments[:3], arguments[3:], name=name, **opener)
        return ids, events

    def _message(self, answer: Answer, ids: list[str], events: list[Wire]) -> Wire:
        named = [one["toolCallName"] for one in events if one["type"] == "TOOL_CALL_START"]
        calls = [
            {
                "id": call_id,
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": json.dumps({"q": 10 * self._answers + number}),
                },
            }
            for number, (call_id, name) in enumerate(zip(ids, named, strict=True))
        ]
        made: Wire = {"id": f"a{self._answers}", "role": "assistant", "content": answer.text}
        return {**made, "toolCalls": calls} if calls else made

    def _result(self, told: Wire) -> Wire:
        return {
            "id": told["messageId"],
            "role": "tool",
            "toolCallId": told["toolCallId"],
            "content": told["content"],
        }


def by_session(agent: Server, count: int) -> None:
    session = AGUISession[Any](agent.url, tools=[here])
    while len(agent.asked) < count:
        if session.interrupts:
            session.resume({one.id: {"approved": True} for one in session.interrupts}).wait()
        else:
            session.send("hi").wait()
    ids = calls_in(session.messages)
    assert len(set(ids)) == len(ids)


def by_model(agent: Server, count: int) -> None:
    model = AGUIChatModel(url=agent.url).bind_tools([here])
    held: list[BaseMessage] = [HumanMessage("hi")]
    for _ in range(count):
        options: Any = {}
        last = held[-1]
        if isinstance(last, AIMessage):
            asked = open_interrupts(last)
            options = {"resume": {one.id: {"approved": True} for one in asked}} if asked else {}
            held += [here.invoke(made) for made in last.tool_calls]
            held += [] if asked or last.tool_calls else [HumanMessage("hi")]
        held.append(model.invoke(held, **options))


def by_node(agent: Server, count: int) -> None:
    far = RemoteAgent(agent.url, name="far", tools=[here])
    graph = around(far, checkpointer=InMemorySaver())

    async def talk() -> None:
        given: Any = {"messages": [HumanMessage("hi")]}
        while len(agent.asked) < count:
            state = await graph.ainvoke(given, CONFIG)
            asked = state.get("__interrupt__")
            given = {"messages": [HumanMessage("hi")]}
            if asked:
                given = Command(resume={one.id: {"approved": True} for one in asked})

    asyncio.run(talk())


def requests(
    runs: Sequence[Run], read: Callable[[Server, int], None], is_counting: bool
) -> list[Any]:
    """What the agent was sent, without the ids of messages."""
    agent = Agent(runs, is_counting)
    with server(*agent.scripts) as running:
        read(running, len(agent.scripts))
    messages = [asked.json["messages"] for asked in running.asked]
    return [[{**one, "id": ""} for one in each] for each in messages]


def counting(value: Any) -> Any:
    """The same with ids that count."""
    return json.loads(re.sub(r'"f\d+:(\d+)"', r'"f:\1"', json.dumps(value)))


@pytest.mark.parametrize("read", [by_session, by_model, by_node])
@settings(max_examples=example_count(20, 75), deadline=None)
@given(runs=runs_of_a_thread)
def test_calls_that_count_are_read_like_calls_with_ids_of_their_own(
    read: Callable[[Server, int], None], runs: list[Run]
) -> None:
    expected = requests(runs, read, is_counting=False)
    assert requests(runs, read, is_counting=True) == counting(expected)


@settings(max_examples=example_count(20, 75), deadline=None)
@given(runs=runs_of_a_thread)
def test_a_reload_finds_the_ids_of_the_client_that_was_there(runs: list[Run]) -> None:
    # A snapshot that gives messages other ids moves them to the end.
    moves = [run.restates and not all(one.has_parent for one in run.answers) for run in runs]
    runs = [
        replace(run, restates=False) if moved else run
        for run, moved in zip(runs, moves, strict=True)
    ]
    agent = Agent(runs, is_counting=True)
    with server(*agent.scripts) as running:
        session = AGUISession[Any](running.url, thread_id="thread", tools=[here])
        while len(running.asked) < len(agent.scripts):
            if session.interrupts:
                session.resume(dict.fromkeys((one.id for one in session.interrupts), True)).wait()
            else:
                session.send("hi").wait()
        thread = running.asked[-1].json["messages"]
    with server(*[recording(*in_run(snapshot(*thread)))] * 2) as running:
        fresh = AGUISession[Any](running.url, thread_id="thread")
        for client in (fresh, AGUISession[Any].from_json(session.to_json(), running.url)):
            client.connect().wait()
            assert dumped(client.messages) == dumped(session.messages)

"""What a graph's stream transformers hide, clients never see: not while it streams, not in the
snapshot, not after a reload."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from ag_ui.core import ResumeEntry
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.stream import StreamTransformer
from langgraph.types import Command
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm
from pydantic import BaseModel

from langgraph_agui import ClientOptions, LangGraphAgent, astream_agui
from langgraph_agui.nodes import emit_activity, emit_result, emit_state
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.run.talking import connect

LONG = "tell me more " * 30
SAFE = "[REDACTED_WORD]"
streaming = pytest.mark.parametrize("streams", [True, False])


def pii(strategy: str = "redact", **fields: Any) -> PIIMiddleware:
    """Middleware that hides the canary."""
    given: dict[str, Any] = {"apply_to_output": True, "apply_to_tool_results": True}
    given |= {"apply_to_input": False, **fields}
    return PIIMiddleware("word", detector=CANARY, strategy=strategy, **given)  # type: ignore[arg-type]


def agent_of(model: Any, *middleware: Any, tools: Sequence[Any] = (), **fields: Any) -> Any:
    stack, saver = [*middleware], InMemorySaver()
    return LangGraphAgent(
        create_agent(model, [*tools], middleware=stack, checkpointer=saver, **fields)
    )


async def hidden(agent: LangGraphAgent) -> RecordedRun:
    """A run that tells nothing."""
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    return recorded


async def checked(agent: LangGraphAgent) -> RecordedRun:
    """A run that tells nothing, and a thread that looks the same after a reload."""
    recorded, shown = await hidden(agent), await connect(agent)
    check_events(shown.events)
    own = [one for one in recorded.messages if one.subagent_run_id is None]
    assert shown.messages == [one for one in own if one.role != "activity"]
    return recorded


def said(recorded: RecordedRun) -> str:
    return "".join(event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT"))


@streaming
async def test_text(streams: bool) -> None:
    pieces = ["Write ", "to CANA", "RY7f", "3a, please. ", LONG, "And to ", CANARY]
    recorded = await checked(agent_of(Scripted(pieces, disable_streaming=not streams), pii()))
    text = f"Write to {SAFE}, please. {LONG}And to {SAFE}"
    assert said(recorded) == recorded.messages[-1].content == text
    assert recorded.last.outcome.type == "success"
    if streams:  # as soon as it may be
        assert len(recorded.of("TEXT_MESSAGE_CONTENT")) > 1


async def test_reasoning_and_text_stay_in_order() -> None:
    half, rest = thinking(f"He is {CANARY[:5]}", 0), thinking(f"{CANARY[5:]}, so", 0)
    signed = thinking(index=0, signature="s")
    answer = [half, rest, signed, text_chunk("Dear ", 1), text_chunk(CANARY, 1)]
    recorded = await checked(agent_of(Scripted(answer), pii()))
    told = [(one.role, one.content) for one in recorded.messages[1:]]
    assert told == [("reasoning", f"He is {SAFE}, so"), ("assistant", f"Dear {SAFE}")]


@tool
async def look(who: str) -> str:
    """Look somebody up."""
    return f"{who} is {CANARY}."


@streaming
async def test_arguments_and_results(streams: bool) -> None:
    """Some servers give all calls the same index."""
    calls = [call("look", f"c{number}", 0, who=f"{CANARY} {number}") for number in range(2)]
    model = Scripted(["I look. ", *calls], ["Found."], disable_streaming=not streams)
    recorded = await checked(agent_of(model, pii(), tools=[look]))
    args = {event.tool_call_id: event.delta for event in recorded.of("TOOL_CALL_ARGS")}
    assert args == {f"c{number}": f'{{"who": "{SAFE} {number}"}}' for number in range(2)}
    results = {event.content for event in recorded.of("TOOL_CALL_RESULT")}
    assert results == {f"{SAFE} 0 is {SAFE}.", f"{SAFE} 1 is {SAFE}."}
    assert said(recorded) == "I look. Found."


@streaming
async def test_tools_of_the_provider_citations_and_words_beside_media(streams: bool) -> None:
    about = {"output_version": "v1", "model_provider": "anthropic"}
    cited = {"type": "citation", "url": "https://a.example", "cited_text": f"He, {CANARY}"}
    blocks: list[dict[str, Any]] = [
        {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": CANARY}},
        {"type": "server_tool_result", "tool_call_id": "s1", "output": [{"is": CANARY}]},
        {"type": "text", "text": f"He is {CANARY}.", "annotations": [cited]},
    ]
    chunks = [
        AIMessageChunk([{**block, "index": index}], response_metadata=about)
        for index, block in enumerate(blocks)
    ]
    recorded = await checked(agent_of(Scripted(chunks, disable_streaming=not streams), pii()))
    answer, result = recorded.messages[-2:]
    assert answer.content == f"He is {SAFE}."
    assert answer.tool_calls[0].function.arguments == f'{{"q": "{SAFE}"}}'
    assert answer.metadata["citations"][0]["citedText"] == f"He, {SAFE}"
    assert SAFE in result.content
    painted = {"type": "image_generation_call", "id": "i1", "result": "AAAA", "index": 0}
    chunk = AIMessageChunk([{**painted, "revised_prompt": f"Paint {CANARY}."}])
    agent = agent_of(Scripted([chunk], disable_streaming=not streams), pii())
    for run in (await hidden(agent), await connect(agent)):
        check_events(run.events)
        [media] = [one for one in run.messages if one.role == "activity"]
        [made] = media.content["parts"]  # type: ignore[index]
        assert made["source"]["value"] == "AAAA"
        assert made["metadata"]["revised_prompt"] == f"Paint {SAFE}."


async def test_arguments_that_need_nothing_stay_as_they_are() -> None:
    spelled, answer = '{ "who" : "Ann" }', call("look", "c1")
    answer.tool_call_chunks[0]["args"] = spelled
    recorded = await hidden(agent_of(Scripted([answer], ["Found."]), pii(), tools=[look]))
    assert recorded.of("TOOL_CALL_ARGS")[0].delta == spelled
    assert recorded.of("REASONING_ENCRYPTED_VALUE") == []


@pytest.mark.parametrize("blocks", ["text", "whole text", "result"])
async def test_a_run_that_is_blocked_fails_and_tells_nothing(blocks: str) -> None:
    asks = [call("look", "c1", who="Ann")] if blocks == "result" else ["Write to ", CANARY, " now"]
    model = Scripted(asks, ["Found."], disable_streaming=blocks == "whole text")
    guard = pii("block", apply_to_output=blocks != "result")
    agent = agent_of(model, guard, tools=[look])
    assert (await hidden(agent)).last.code == "graph_error"
    check_events((await connect(agent)).events)


async def test_blocked_state() -> None:
    """It is null for clients, and the thread can be shown and goes on."""
    agent = agent_of(Scripted(["Done."]), pii("block"), Writes())
    first = await checked(agent)
    assert first.state == {"note": None}
    given = run_input(*first.messages, "And?", thread="t", state=first.state)
    again = await record_run(agent, given)
    check_events(again.events)
    assert again.last.outcome.type == "success"


HALF = CANARY[:-1]


def check_half(events: Sequence[Any]) -> None:
    """Nothing tells even half of the word: nobody can judge what a model has not said to its end,
    and LangGraph's stream does not show it."""
    assert HALF not in str([event.model_dump(mode="json") for event in events])


@pytest.mark.parametrize(
    ("half", "strategy", "retries"),
    [
        *(("text", "redact", True), ("text", "block", False)),
        *(("arguments", "redact", False), ("arguments", "block", True)),
    ],
)
async def test_a_model_that_fails(half: str, strategy: str, retries: bool) -> None:
    rest = HALF if half == "text" else calling(part("look", f'{{"who": "{HALF}', "c1"))
    model = Scripted(["I look. ", rest, RuntimeError("gone")], ["Better."])
    middleware = [ModelRetryMiddleware(max_retries=1, initial_delay=0.0)] if retries else []
    recorded = await hidden(agent_of(model, pii(strategy), *middleware, tools=[look]))
    check_half(recorded.events)
    end = recorded.messages[-1].content if retries else recorded.last.code
    assert end == ("Better." if retries else "model_error")


@pytest.mark.parametrize("strategy", ["redact", "block"])
async def test_a_run_that_is_cancelled(strategy: str) -> None:
    """Also one whose arguments the transformer would refuse."""
    word = CANARY if strategy == "block" else HALF
    model = Scripted(["I look. ", calling(part("look", f'{{"who": "{word}', "c1")), 30.0])
    agent, request = agent_of(model, pii(strategy), tools=[look]), run_input(thread="t", run="r")
    reading = asyncio.create_task(collect(agent.run(request)))
    await model.hung.wait()
    await agent.cancel("t", "r")
    recorded = RecordedRun(await reading, request)
    check_half(recorded.events)
    assert recorded.last.outcome.type == "cancelled"


async def test_a_word_that_goes_on_behind_its_end() -> None:
    """The middleware judges the finished text otherwise than its pieces: nothing is lost."""
    pieces = ["Write to ann@example.co", "m, she knows. ", *["tell me more "] * 20, "The end."]
    agent = agent_of(Scripted(pieces), PIIMiddleware("email", apply_to_output=True))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    begin, end = "Write to [REDACTED_EMAIL]", "".join(pieces[2:])
    assert said(recorded).startswith(begin)
    assert said(recorded).endswith(end)
    assert recorded.messages[-1].content == f"{begin}, she knows. {end}"
    assert (await connect(agent)).messages == recorded.messages


async def test_a_node_that_stores_the_text_alone_is_believed() -> None:
    signed = thinking(index=0, signature="s")
    model = Scripted([thinking("Hm.", 0), signed, text_chunk("Answer", 1)], ["Again"])

    async def node(state: Any) -> dict[str, Any]:
        message = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(message.text, id=message.id)]}

    agent = LangGraphAgent(chain_of(node, transformers=[*pii().transformers]))
    first = await record_run(agent, run_input("Hi"))
    await record_run(agent, run_input(*first.messages, "And?"))
    assert [message.content for message in model.seen[1]] == ["Hi", "Answer", "And?"]


async def test_the_output_of_a_second_try() -> None:
    """It does not begin with what was held back of the first one."""
    tries = iter(["First. ", "Second. "])

    @tool
    async def slow(runtime: ToolRuntime) -> str:
        """Work."""
        words = next(tries)
        runtime.emit_output_delta(words * 40)
        if words == "First. ":
            raise RuntimeError("again")
        return "Done."

    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0.0)
    model = Scripted([call("slow", "c1")], ["Done."])
    recorded = await checked(agent_of(model, pii(), retry, tools=[slow]))
    (activity,) = [message for message in recorded.messages if message.role == "activity"]
    output = str(activity.content["output"])
    assert ("First" in output, "Second" in output) == (False, True)


class Noted(AgentState[Any]):
    note: str


class HidesCustom(StreamTransformer):
    """Hides the canary in the custom stream."""

    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        if event["method"] == "custom":
            event["params"]["data"] = replaced(event["params"]["data"])
        return True


def replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: replaced(inner) for key, inner in value.items()}
    return value.replace(CANARY, "***") if isinstance(value, str) else value


async def test_state_custom_events_and_output() -> None:
    """A client that sends the state back changes nothing."""

    @tool
    async def write(runtime: ToolRuntime) -> Command[Any]:
        """Write a note."""
        get_stream_writer()({"custom": CANARY})
        runtime.emit_output_delta(f"{CANARY} " * 40)
        await adispatch_custom_event("seen", {"who": CANARY})
        emit_state({"note": f"first {CANARY}"})
        message = ToolMessage("Written.", tool_call_id=runtime.tool_call_id)
        return Command(update={"note": f"then {CANARY}", "messages": [message]})

    model = Scripted([call("write", "c1")], ["Done."])
    agent = agent_of(model, pii(), tools=[write], state_schema=Noted, transformers=[HidesCustom])
    recorded = await checked(agent)
    assert recorded.state == {"note": f"then {SAFE}"}
    values = [event.value for event in recorded.of("CUSTOM")]
    assert sorted(values, key=str) == [{"custom": "***"}, {"who": "***"}]
    again = run_input(*recorded.messages, "And?", thread="t", state=recorded.state)
    assert (await record_run(agent, again)).last.outcome.type == "success"
    kept = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert kept.values["note"] == f"then {CANARY}"


class Answer(BaseModel):
    who: str


async def test_answers_and_results_in_a_schema_and_activities() -> None:
    """Transformers do not look into objects, and get activities as mappings, into which they look."""
    model = Scripted([call("Answer", "c1", who=CANARY)])
    recorded = await checked(agent_of(model, pii(), response_format=ToolStrategy(Answer)))
    assert recorded.state == {"structured_response": {"who": SAFE}}

    async def tell(state: Any) -> None:
        emit_result(Answer(who=CANARY))
        emit_activity("seen", {"who": CANARY})

    transformers = [*pii().transformers, HidesCustom]
    recorded = await hidden(LangGraphAgent(chain_of(tell, transformers=transformers)))
    assert recorded.last.result == {"who": SAFE}
    assert recorded.of("ACTIVITY_SNAPSHOT")[0].content in ({"who": "***"}, {"who": SAFE})


class Pieces(StreamTransformer):
    """Knows pieces of messages only, and no whole ones."""

    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        if event["method"] != "messages" or not isinstance(event["params"]["data"][0], dict):
            return True
        data = event["params"]["data"][0]
        for inner in (data.get("delta"), data.get("content")):
            if isinstance(inner, dict) and isinstance(inner.get("text"), str):
                inner["text"] = inner["text"].upper()
        return True


class OwnPieces(Pieces):
    """Knows those of its own graph only, by the namespace."""

    def process(self, event: Any) -> bool:
        return event["params"]["namespace"] != [*self.scope] or super().process(event)


class Silent(Pieces):
    """Hides whole messages."""

    def process(self, event: Any) -> bool:
        return bool(event["method"] != "messages")


class Late(Pieces):
    """Only looks: it runs behind LangGraph's own, and not at all in ours."""

    before_builtins: ClassVar[bool] = False

    def process(self, event: Any) -> bool:
        raise AssertionError


@streaming
async def test_pieces_and_whole_messages_look_the_same(streams: bool) -> None:
    model = Scripted(["good ", CANARY], disable_streaming=not streams)
    for transformer in (Pieces, OwnPieces):
        agent = agent_of(model, transformers=[transformer, Late])
        recorded = await record_run(agent, run_input("Hi", thread="t"))
        assert said(recorded) == recorded.messages[-1].content == f"GOOD {CANARY.upper()}"
        assert (await connect(agent)).messages == recorded.messages
    assert said(await hidden(agent_of(model, transformers=[Silent]))) == ""


def delegating(inner: Any, name: str) -> Any:
    @tool(name)
    async def delegate(task: str) -> str:
        """Delegate."""
        result = await inner.ainvoke({"messages": [("user", task)]})
        return str(result["messages"][-1].text)

    return delegate


def asking(inner: Any, *middleware: Any, **fields: Any) -> LangGraphAgent:
    """An agent that asks a subagent."""
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    return agent_of(model, *middleware, tools=[delegating(inner, "ask")], **fields)  # type: ignore[no-any-return]


@streaming
@pytest.mark.parametrize("guarded", ["inner", "middle", "outer"])
async def test_a_subagent_of_a_subagent(guarded: str, streams: bool) -> None:
    """The transformers of each agent around it hide what it says, and its own do."""

    def guard(name: str) -> list[Any]:
        return [pii()] if name == guarded else []

    speaks = Scripted(["I am ", CANARY], disable_streaming=not streams)
    inner = create_agent(speaks, [], middleware=guard("inner"), name="inner")
    twice = [call("ask", f"c{number}", number, task="Who?") for number in (2, 3)]
    tools = [delegating(inner, "ask")]
    middle = create_agent(
        Scripted(twice, ["Done."]), tools, middleware=guard("middle"), name="middle"
    )
    recorded = await checked(asking(middle, *guard("outer")))
    assert said(recorded).count(f"I am {SAFE}") == 2
    assert len(recorded.of("SUBAGENT_STARTED")) == 3


@pytest.mark.parametrize("patches", [True, False])
async def test_what_the_tools_of_a_subagent_emit(patches: bool) -> None:
    """It goes through the subagent's own transformers, also where the subagent is a node."""

    class Guards(AgentMiddleware[Any, Any]):
        transformers = (HidesCustom,)

    @tool
    async def tell(runtime: ToolRuntime) -> str:
        """Tell."""
        get_stream_writer()({"custom": CANARY})
        runtime.emit_output_delta(f"{CANARY} " * 40)
        await adispatch_custom_event("seen", {"who": CANARY})
        note = f"first {CANARY}"
        emit_state([{"op": "add", "path": "/note", "value": note}] if patches else {"note": note})
        return CANARY

    tells = Scripted([call("tell", "c2")], ["Done."], [call("tell", "c3")], ["Done."])
    inner = create_agent(tells, [tell], middleware=[pii(), Guards()], name="inner")
    recorded = await hidden(asking(inner, state_schema=Noted))
    assert recorded.of("STATE_SNAPSHOT")[0].snapshot["note"].startswith("first ")
    for run in (recorded, await hidden(LangGraphAgent(chain_of(inner)))):
        assert len(run.of("CUSTOM")) == 2
        assert run.of("ACTIVITY_SNAPSHOT")


@pytest.mark.parametrize("where", ["alone", "as a node", "called by a node"])
async def test_an_agent_that_pauses(where: str) -> None:
    asks = [f"I am {CANARY}. ", call("look", "c1", who="Ann")]
    inner = create_agent(
        Scripted(script=lambda given: ["Done."] if isinstance(given[-1], ToolMessage) else asks),
        [look],
        middleware=[pii(), HumanInTheLoopMiddleware(interrupt_on={"look": True})],
        checkpointer=InMemorySaver() if where == "alone" else None,
    )

    async def ask(state: Any) -> Any:
        return await inner.ainvoke(state)

    node = ask if where == "called by a node" else inner
    graph = inner if where == "alone" else chain_of(node, checkpointer=InMemorySaver())
    # One that no agent has run yet, whose pause nobody has seen:
    await graph.ainvoke({"messages": ["Hi"]}, {"configurable": {"thread_id": "other"}})
    unseen = run_input(thread="other")
    shown = RecordedRun(await collect(LangGraphAgent(graph).connect(unseen)), unseen)
    check_events(shown.events)
    assert [one.content for one in shown.messages] == ["Hi", f"I am {SAFE}. "]
    recorded = await checked(LangGraphAgent(graph))
    (interrupt,) = recorded.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload={"type": "approve"})
    resumes = run_input(*recorded.messages, thread="t", resume=[answer])
    resumed = await record_run(LangGraphAgent(graph), resumes)
    check_events(resumed.events)
    assert resumed.of("TOOL_CALL_RESULT")[0].content == f"Ann is {SAFE}."


@pytest.mark.parametrize("name", ["helper", None])
@pytest.mark.parametrize("config", [{}, {"run_name": "another name"}])
async def test_an_agent_that_a_node_calls(name: str | None, config: Any) -> None:
    """Its name at run time may be that of a call that its node carries out."""
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()], name=name)

    async def carry_out(state: Any) -> Any:
        await inner.ainvoke({"messages": [("user", "tea")]}, config)
        return {"messages": [ToolMessage("done", tool_call_id="c1")]}

    asks = talker(Scripted([call("research", "c1", topic="tea")]))
    agent = LangGraphAgent(chain_of(asks, carry_out, checkpointer=InMemorySaver()))
    assert said(await checked(agent)) == f"I am {SAFE}"


class Signs(AgentMiddleware[Any, Any]):
    """Writes a message of its own."""

    transformers = (Pieces,)

    def after_agent(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any]:
        return {"messages": [AIMessage("yours, helper", id="signed")]}


class SignsByMapping(Signs):
    """Writes it as a mapping, which no callback shows as a message."""

    transformers = (OwnPieces,)

    def after_agent(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "content": "yours, helper", "id": "signed"}]}


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize(("signs", "name"), [(Signs, "helper"), (SignsByMapping, None)])
async def test_whole_messages_of_a_subagent(signs: Any, hold: bool, name: str | None) -> None:
    """Its transformers change what its nodes write, also if nothing is streamed."""
    inner = create_agent(Scripted(["good ", "day, "]), [], middleware=[signs()], name=name)
    agent = LangGraphAgent(asking(inner).graph, clients=ClientOptions(hold_messages=hold))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert said(recorded) == "GOOD DAY, YOURS, HELPERThanks."


class Writes(AgentMiddleware[Any, Any]):
    """Writes a note into the state."""

    state_schema = Noted

    def after_agent(self, state: AgentState[Any], runtime: Runtime) -> dict[str, Any]:
        return {"note": f"seen: {CANARY}"}


def guarded() -> Any:
    """An agent with words in arguments, a result and reasoning, which its hooks leave in the
    messages."""
    asks = ["I look. ", call("look", "c1", who=f"{CANARY} or so")]
    tells = [thinking(f"So {CANARY}", 0), thinking(index=0, signature="s"), text_chunk("Found.", 1)]
    return create_agent(Scripted(asks, tells), [look], middleware=[pii()], name="helper")


def as_node(agent: Any) -> Any:
    return chain_of(agent, checkpointer=InMemorySaver())


def called_by_a_node(agent: Any) -> Any:
    async def answer(state: Any) -> Any:
        return await agent.ainvoke(state)

    return chain_of(answer, checkpointer=InMemorySaver())


def in_a_swarm(agent: Any) -> Any:
    hands_over = Scripted(["I hand over. ", call(f"transfer_to_{agent.name}", "h1")])
    first = create_agent(hands_over, [create_handoff_tool(agent_name=agent.name)], name="first")
    swarm = create_swarm([first, agent], default_active_agent="first")
    return swarm.compile(checkpointer=InMemorySaver())


def under_a_supervisor(*agents: Any, mode: Any = "full_history") -> Any:
    calls = [call(f"transfer_to_{one.name}", f"h{at}") for at, one in enumerate(agents)]
    model = Scripted(*([one] for one in calls), ["Over."])
    graph = create_supervisor([*agents], model=model, output_mode=mode)
    return graph.compile(checkpointer=InMemorySaver())


def hands_over_to_its_parent(_: Any, *middleware: Any) -> Any:
    @tool
    def leave(why: str, runtime: ToolRuntime) -> Command[Any]:
        """Leave."""
        left = ToolMessage(f"Left {why}.", tool_call_id=runtime.tool_call_id, id="left")
        messages = [*runtime.state["messages"], left]
        return Command(goto="other", graph=Command.PARENT, update={"messages": messages})

    why = f"so {CANARY}" if middleware else "so"
    leaves = Scripted(["I leave. ", call("leave", "l1", why=why)])
    builder = StateGraph(MessagesState)
    first = create_agent(leaves, [leave], middleware=[*middleware])
    builder.add_node("first", first, destinations=("other",))
    builder.add_node("other", talker(Scripted(["I am another."]), "other"))
    return builder.add_edge(START, "first").compile(checkpointer=InMemorySaver())


def leaves_guarded(agent: Any) -> Any:
    return hands_over_to_its_parent(agent, pii())


SHARED = [as_node, called_by_a_node, in_a_swarm, under_a_supervisor, leaves_guarded]


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("around", SHARED)
async def test_the_conversation_of_several_graphs(around: Any, hold: bool) -> None:
    """The graph around an agent stores its messages, and has no transformers."""
    options = ClientOptions(hold_messages=hold)
    recorded = await checked(LangGraphAgent(around(guarded()), clients=options))
    assert SAFE in str(recorded.messages)


async def test_the_state_of_several_graphs() -> None:
    inner = create_agent(Scripted(["Done."]), [], middleware=[pii(), Writes()])
    agent = LangGraphAgent(chain_of(inner, state=Noted, checkpointer=InMemorySaver()))
    assert (await checked(agent)).state == {"note": f"seen: {SAFE}"}


@pytest.mark.parametrize("is_node", [True, False])
async def test_raw_parts_of_graphs_inside(is_node: bool) -> None:
    graph = chain_of(guarded()) if is_node else asking(guarded()).graph
    recorded = await hidden(LangGraphAgent(graph, emit_raw_events=True))
    assert SAFE in str(recorded.of("RAW"))


async def test_any_runnable() -> None:
    graph = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()])
    given = run_input("Hi", thread="t")
    check_events(await collect(astream_agui(graph, {"messages": [("user", "Hi")]}, given)))


@given(
    st.lists(
        st.sampled_from(["word ", CANARY, CANARY[:4], CANARY[4:], LONG, "é😀", "\n"]), min_size=1
    ),
    st.sampled_from(["redact", "mask", "hash"]),
)
async def test_clients_see_what_the_v3_stream_shows(pieces: list[str], strategy: str) -> None:
    def graph() -> Any:
        return create_agent(Scripted(pieces), [], middleware=[pii(strategy)])

    run = await graph().astream_events({"messages": [("user", "Hi")]}, version="v3")
    texts = [str(await message.text) async for message in run.messages]
    assert said(await hidden(LangGraphAgent(graph()))) == texts[-1]

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
from tests.behaviour.threads.test_connect import connect
from tests.kit.expect.canary import CANARY, check_events
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input

LONG = "tell me more " * 30


def pii(strategy: str = "redact", **fields: Any) -> PIIMiddleware:
    """Middleware that hides the canary."""
    given: dict[str, Any] = {
        "apply_to_input": False,
        "apply_to_output": True,
        "apply_to_tool_results": True,
        **fields,
    }
    return PIIMiddleware("word", detector=CANARY, strategy=strategy, **given)  # type: ignore[arg-type]


def agent_of(model: Any, *middleware: Any, tools: Sequence[Any] = (), **fields: Any) -> Any:
    return LangGraphAgent(
        create_agent(
            model, [*tools], middleware=[*middleware], checkpointer=InMemorySaver(), **fields
        )
    )


async def checked(agent: LangGraphAgent) -> RecordedRun:
    """A run that tells nothing, and a thread that looks the same after a reload."""
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    shown = await connect(agent)
    check_events(shown.events)
    assert shown.messages == [
        message
        for message in recorded.messages
        if message.subagent_run_id is None and message.role != "activity"
    ]
    return recorded


def said(recorded: RecordedRun) -> str:
    return "".join(event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT"))


@pytest.mark.parametrize("strategy", ["redact", "mask", "hash"])
@pytest.mark.parametrize("streams", [True, False])
async def test_text(strategy: str, streams: bool) -> None:
    pieces = ["Write ", "to CANA", "RY7f", "3a, please. ", LONG, "And to ", CANARY]
    model = Scripted(pieces, disable_streaming=not streams)
    recorded = await checked(agent_of(model, pii(strategy)))
    text = said(recorded)
    assert text.startswith("Write to ")
    assert LONG in text
    assert text == recorded.messages[-1].content
    assert recorded.last.outcome.type == "success"
    if streams:  # as soon as it may be
        assert len(recorded.of("TEXT_MESSAGE_CONTENT")) > 1


async def test_reasoning_and_text_stay_in_order() -> None:
    answer = [
        thinking(f"He is {CANARY[:5]}", 0),
        thinking(f"{CANARY[5:]}, so", 0),
        thinking(index=0, signature="s"),
        text_chunk("Dear ", 1),
        text_chunk(CANARY, 1),
    ]
    recorded = await checked(agent_of(Scripted(answer), pii()))
    assert [message.role for message in recorded.messages] == ["user", "reasoning", "assistant"]
    assert recorded.messages[1].content == "He is [REDACTED_WORD], so"
    assert recorded.messages[2].content == "Dear [REDACTED_WORD]"


@tool
def look(who: str) -> str:
    """Look somebody up."""
    return f"{who} is {CANARY}."


def asking(*, streams: bool = True) -> Scripted:
    return Scripted(
        ["I look. ", call("look", "c1", who=f"{CANARY} or so")],
        ["Found."],
        disable_streaming=not streams,
    )


@pytest.mark.parametrize("streams", [True, False])
async def test_arguments_and_results(streams: bool) -> None:
    recorded = await checked(agent_of(asking(streams=streams), pii(), tools=[look]))
    (args,) = recorded.of("TOOL_CALL_ARGS")
    assert args.delta == '{"who": "[REDACTED_WORD] or so"}'
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert result.content == "[REDACTED_WORD] or so is [REDACTED_WORD]."
    assert said(recorded) == "I look. Found."


@pytest.mark.parametrize("streams", [True, False])
async def test_tools_of_the_provider_and_citations(streams: bool) -> None:
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
    assert answer.content == "He is [REDACTED_WORD]."
    assert answer.tool_calls[0].function.arguments == '{"q": "[REDACTED_WORD]"}'
    assert answer.metadata["citations"][0]["citedText"] == "He, [REDACTED_WORD]"
    assert "[REDACTED_WORD]" in result.content


@pytest.mark.parametrize("streams", [True, False])
async def test_words_beside_media(streams: bool) -> None:
    painted = {"type": "image_generation_call", "id": "i1", "result": "AAAA"}
    chunk = AIMessageChunk([{**painted, "revised_prompt": f"Paint {CANARY}.", "index": 0}])
    agent = agent_of(Scripted([chunk], disable_streaming=not streams), pii())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    shown = await connect(agent)
    for run in (recorded, shown):
        check_events(run.events)
        [media] = [one for one in run.messages if one.role == "activity"]
        [part_] = media.content["parts"]  # type: ignore[index]
        assert part_["source"]["value"] == "AAAA"
        assert part_["metadata"]["revised_prompt"] == "Paint [REDACTED_WORD]."


async def test_arguments_that_need_nothing_stay_as_they_are() -> None:
    spelled = '{ "who" : "Ann" }'
    answer = call("look", "c1")
    answer.tool_call_chunks[0]["args"] = spelled
    recorded = await record_run(
        agent_of(Scripted([answer], ["Found."]), pii(), tools=[look]), run_input("Hi", thread="t")
    )
    assert recorded.of("TOOL_CALL_ARGS")[0].delta == spelled
    assert recorded.of("REASONING_ENCRYPTED_VALUE") == []


@pytest.mark.parametrize("streams", [True, False])
async def test_a_run_that_is_blocked_fails_and_tells_nothing(streams: bool) -> None:
    pieces = ["Write to ", CANARY, " now"]
    agent = agent_of(Scripted(pieces, disable_streaming=not streams), pii("block"))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert recorded.last.code == "graph_error"
    shown = await connect(agent)
    check_events(shown.events)


async def test_a_blocked_result() -> None:
    agent = agent_of(asking(), pii("block", apply_to_output=False), tools=[look])
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    check_events((await connect(agent)).events)
    assert recorded.last.type == "RUN_ERROR"


async def test_blocked_state() -> None:
    """It is null for clients, and the thread can be shown and goes on."""
    agent = agent_of(Scripted(["Done."]), pii("block"), Writes())
    first = await checked(agent)
    assert first.state == {"note": None}
    given = run_input(*first.messages, "And?", thread="t", state=first.state)
    again = await record_run(agent, given)
    check_events(again.events)
    assert again.last.outcome.type == "success"


# -- messages that do not end as they begin --------------------------------------------------------

HALF = CANARY[:-1]


def check_half(events: Sequence[Any]) -> None:
    """Nothing tells even half of the word: nobody can judge what a model has not said to its end,
    and LangGraph's stream does not show it."""
    assert HALF not in str([event.model_dump(mode="json") for event in events])


@pytest.mark.parametrize("strategy", ["redact", "block"])
@pytest.mark.parametrize("half", ["text", "arguments"])
@pytest.mark.parametrize("retries", [True, False])
async def test_a_model_that_fails(strategy: str, half: str, retries: bool) -> None:
    rest = HALF if half == "text" else calling(part("look", f'{{"who": "{HALF}', "c1"))
    model = Scripted(["I look. ", rest, RuntimeError("gone")], ["Better."])
    middleware = [ModelRetryMiddleware(max_retries=1, initial_delay=0.0)] if retries else []
    agent = agent_of(model, pii(strategy), *middleware, tools=[look])
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_half(recorded.events)
    if retries:
        assert recorded.messages[-1].content == "Better."
    else:
        assert recorded.last.code == "model_error"


@pytest.mark.parametrize("strategy", ["redact", "block"])
async def test_a_run_that_is_cancelled(strategy: str) -> None:
    """Also one whose arguments the transformer would refuse."""
    word = CANARY if strategy == "block" else HALF
    model = Scripted(["I look. ", calling(part("look", f'{{"who": "{word}', "c1")), 30.0])
    agent, events = agent_of(model, pii(strategy), tools=[look]), []
    request = run_input("Hi", thread="t", run="r")

    async def read() -> None:
        async for event in agent.run(request):
            events.append(event)  # noqa: PERF401  # what has come stays

    reading = asyncio.create_task(read())
    await model.hung.wait()
    await agent.cancel("t", "r")
    await reading
    recorded = RecordedRun(events, request)
    check_half(recorded.events)
    assert recorded.last.outcome.type == "cancelled"


async def test_a_word_that_goes_on_behind_its_end() -> None:
    """The middleware judges the finished text otherwise than its pieces: nothing is lost."""
    pieces = ["Write to ann@example.co", "m, she knows. ", *["tell me more "] * 20, "The end."]
    agent = agent_of(Scripted(pieces), PIIMiddleware("email", apply_to_output=True))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert said(recorded).startswith("Write to [REDACTED_EMAIL]")
    assert said(recorded).endswith("".join(pieces[2:]))
    assert (
        recorded.messages[-1].content
        == f"Write to [REDACTED_EMAIL], she knows. {LONG[:260]}The end."
    )
    assert (await connect(agent)).messages == recorded.messages


async def test_calls_of_one_index() -> None:
    """Some servers give all calls the same index."""
    calls = [call("look", f"c{number}", 0, who=f"{CANARY} {number}") for number in range(2)]
    recorded = await record_run(
        agent_of(Scripted(calls, ["Found."]), pii(), tools=[look]), run_input("Hi", thread="t")
    )
    check_events(recorded.events)
    arguments = {event.tool_call_id: event.delta for event in recorded.of("TOOL_CALL_ARGS")}
    assert arguments == {
        f"c{number}": f'{{"who": "[REDACTED_WORD] {number}"}}' for number in range(2)
    }


async def test_a_node_that_stores_the_text_alone_is_believed() -> None:
    model = Scripted(
        [thinking("Hm.", 0), thinking(index=0, signature="s"), text_chunk("Answer", 1)], ["Again"]
    )

    async def node(state: MessagesState) -> dict[str, Any]:
        message = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(message.text, id=message.id)]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    agent = LangGraphAgent(builder.compile(transformers=[*pii().transformers]))
    first = await record_run(agent, run_input("Hi"))
    await record_run(agent, run_input(*first.messages, "And?"))
    assert [message.content for message in model.seen[1]] == ["Hi", "Answer", "And?"]


# -- other data ------------------------------------------------------------------------------------


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
    assert "First" not in str(activity.content["output"])
    assert "Second" in str(activity.content["output"])


class Noted(AgentState[Any]):
    note: str


@tool
async def write(who: str, runtime: ToolRuntime) -> Command[Any]:
    """Write a note."""
    get_stream_writer()({"custom": CANARY})
    runtime.emit_output_delta(f"{CANARY} " * 40)
    await adispatch_custom_event("seen", {"who": CANARY})
    emit_state({"note": f"first {CANARY}"})
    message = ToolMessage("Written.", tool_call_id=runtime.tool_call_id)
    return Command(update={"note": f"then {CANARY}", "messages": [message]})


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
    if isinstance(value, str):
        return value.replace(CANARY, "***")
    if isinstance(value, dict):
        return {key: replaced(inner) for key, inner in value.items()}
    return value


async def test_state_custom_events_and_output() -> None:
    model = Scripted([call("write", "c1", who="Ann")], ["Done."])
    agent = agent_of(model, pii(), tools=[write], state_schema=Noted, transformers=[HidesCustom])
    recorded = await checked(agent)
    assert recorded.state == {"note": "then [REDACTED_WORD]"}
    values = [event.value for event in recorded.of("CUSTOM")]
    assert sorted(values, key=str) == [{"custom": "***"}, {"who": "***"}]


class Answer(BaseModel):
    who: str


async def test_an_answer_in_a_schema() -> None:
    """Transformers do not look into its object."""
    model = Scripted([call("Answer", "c1", who=CANARY)])
    agent = agent_of(model, pii(), response_format=ToolStrategy(Answer))
    recorded = await checked(agent)
    assert recorded.state == {"structured_response": {"who": "[REDACTED_WORD]"}}


async def test_a_result_in_a_schema() -> None:
    async def answer(state: Any) -> dict[str, Any]:
        emit_result(Answer(who=CANARY))
        return {}

    graph = chain_of(answer, transformers=[*pii().transformers])
    recorded = await record_run(LangGraphAgent(graph), run_input("Hi"))
    check_events(recorded.events)
    assert recorded.last.result == {"who": "[REDACTED_WORD]"}


async def test_a_client_that_sends_the_state_back_changes_nothing() -> None:
    model = Scripted([call("write", "c1", who="Ann")], ["Done."])
    agent = agent_of(model, pii(), tools=[write], state_schema=Noted, transformers=[HidesCustom])
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    again = run_input(*recorded.messages, "And?", thread="t", state=recorded.state)
    assert (await record_run(agent, again)).last.outcome.type == "success"
    kept = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})  # type: ignore[attr-defined]
    assert kept.values["note"] == f"then {CANARY}"


# -- other transformers ----------------------------------------------------------------------------


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
    """Only looks: it runs behind LangGraph's own."""

    before_builtins: ClassVar[bool] = False
    seen: ClassVar[list[Any]] = []

    def process(self, event: Any) -> bool:
        self.seen.append(event)
        return True


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("transformer", [Pieces, OwnPieces])
async def test_pieces_and_whole_messages_look_the_same(streams: bool, transformer: Any) -> None:
    model = Scripted(["good ", "day"], disable_streaming=not streams)
    agent = agent_of(model, transformers=[transformer])
    recorded = await checked(agent)
    assert said(recorded) == recorded.messages[-1].content == "GOOD DAY"


@pytest.mark.parametrize("streams", [True, False])
async def test_a_message_may_be_hidden_as_a_whole(streams: bool) -> None:
    model = Scripted(["good ", CANARY], disable_streaming=not streams)
    recorded = await record_run(agent_of(model, transformers=[Silent]), run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert said(recorded) == ""


async def test_those_that_only_look_do_not_run() -> None:
    await record_run(agent_of(Scripted(["a"]), transformers=[Late]), run_input("Hi", thread="t"))
    assert Late.seen == []


# -- graphs inside ---------------------------------------------------------------------------------


def delegating(inner: Any, name: str) -> Any:
    @tool(name)
    async def delegate(task: str) -> str:
        """Delegate."""
        result = await inner.ainvoke({"messages": [("user", task)]})
        return str(result["messages"][-1].text)

    return delegate


@pytest.mark.parametrize("own", [True, False])
async def test_a_subagent(own: bool) -> None:
    """Its own transformers hide what it says, and so do those of the agent around it."""
    speaks = Scripted(["I am ", CANARY])
    inner = create_agent(speaks, [], middleware=[pii()] if own else [], name="helper")
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    outer = [] if own else [pii()]
    recorded = await checked(agent_of(model, *outer, tools=[delegating(inner, "ask")]))
    assert "I am [REDACTED_WORD]" in said(recorded)
    assert recorded.of("SUBAGENT_STARTED")


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("runs", [1, 2])
async def test_a_subagent_of_a_subagent(runs: int, streams: bool) -> None:
    """The transformers of each agent around it hide what it says."""
    speaks = Scripted(["I am ", CANARY], disable_streaming=not streams)
    inner = create_agent(speaks, [], name="inner")

    @tool
    async def ask_inner() -> str:
        """Ask."""
        for _ in range(runs):
            await inner.ainvoke({"messages": [("user", "Who?")]})
        return "Done"

    asks = Scripted([call("ask_inner", "c2")], ["Done."])
    middle = create_agent(asks, [ask_inner], middleware=[pii()], name="middle")
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    recorded = await checked(agent_of(model, tools=[delegating(middle, "ask")]))
    assert said(recorded).count("I am [REDACTED_WORD]") == runs


@pytest.mark.parametrize("is_node", [True, False])
async def test_the_output_of_a_subagents_tools(is_node: bool) -> None:
    class Guards(AgentMiddleware[Any, Any]):
        transformers = (HidesCustom,)

    @tool
    async def tell(runtime: ToolRuntime) -> str:
        """Tell."""
        get_stream_writer()({"custom": CANARY})
        runtime.emit_output_delta(f"{CANARY} " * 40)
        await adispatch_custom_event("seen", {"who": CANARY})
        return CANARY

    tells = Scripted([call("tell", "c2")], ["Done."])
    inner = create_agent(tells, [tell], middleware=[pii(), Guards()], name="inner")
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    outer = chain_of(inner) if is_node else create_agent(model, [delegating(inner, "ask")])
    recorded = await record_run(LangGraphAgent(outer), run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert len(recorded.of("CUSTOM")) == 2
    assert recorded.of("ACTIVITY_SNAPSHOT")


@pytest.mark.parametrize("patches", [True, False])
async def test_state_that_a_subagent_emits(patches: bool) -> None:
    """It goes through the subagent's own transformers."""

    @tool
    async def tell() -> str:
        """Tell."""
        note = f"first {CANARY}"
        emit_state([{"op": "add", "path": "/note", "value": note}] if patches else {"note": note})
        return "Told."

    tells = Scripted([call("tell", "c2")], ["Done."])
    inner = create_agent(tells, [tell], middleware=[pii()], name="inner")
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    agent = agent_of(model, tools=[delegating(inner, "ask")], state_schema=Noted)
    recorded = await checked(agent)
    assert recorded.of("STATE_SNAPSHOT")[0].snapshot == {"note": "first [REDACTED_WORD]"}


async def test_activities() -> None:
    """Transformers get them as mappings, into which they look."""

    async def tell(state: Any) -> dict[str, Any]:
        emit_activity("seen", {"who": CANARY})
        return {}

    recorded = await record_run(
        LangGraphAgent(chain_of(tell, transformers=[HidesCustom])), run_input("Hi")
    )
    check_events(recorded.events)
    assert recorded.of("ACTIVITY_SNAPSHOT")[0].content == {"who": "***"}


@pytest.mark.parametrize("shares", [True, False])
async def test_an_agent_that_is_a_node(shares: bool) -> None:
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()], name="helper")
    graph = chain_of(inner if shares else talker(Scripted(["Hello"])), inner)
    agent = LangGraphAgent(graph)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)


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
    assert [one.role for one in shown.messages] == ["user", "assistant"]
    assert shown.messages[-1].content == "I am [REDACTED_WORD]. "
    recorded = await checked(LangGraphAgent(graph))
    (interrupt,) = recorded.last.outcome.interrupts
    answer = ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload={"type": "approve"})
    resumes = run_input(*recorded.messages, thread="t", resume=[answer])
    resumed = await record_run(LangGraphAgent(graph), resumes)
    check_events(resumed.events)
    assert resumed.of("TOOL_CALL_RESULT")[0].content == "Ann is [REDACTED_WORD]."


@pytest.mark.parametrize("name", ["helper", None])
@pytest.mark.parametrize("nested", [False, True])
async def test_an_agent_that_a_node_calls_for_the_conversation(
    name: str | None, nested: bool
) -> None:
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()], name=name)

    async def answer(state: Any) -> Any:
        return await inner.ainvoke(state)

    graph = chain_of(answer)
    recorded = await checked(
        LangGraphAgent(chain_of(graph if nested else answer, checkpointer=InMemorySaver()))
    )
    assert said(recorded) == "I am [REDACTED_WORD]"


@pytest.mark.parametrize("name", ["helper", None])
@pytest.mark.parametrize("config", [{}, {"run_name": "another name"}])
async def test_an_agent_under_another_name(name: str | None, config: Any) -> None:
    """Its name at run time may be that of a call that its node carries out."""
    inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()], name=name)

    async def carry_out(state: Any) -> Any:
        await inner.ainvoke({"messages": [("user", "tea")]}, config)
        return {"messages": [ToolMessage("done", tool_call_id="c1")]}

    asks = talker(Scripted([call("research", "c1", topic="tea")]))
    agent = LangGraphAgent(chain_of(asks, carry_out, checkpointer=InMemorySaver()))
    recorded = await checked(agent)
    assert said(recorded) == "I am [REDACTED_WORD]"


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
@pytest.mark.parametrize("name", ["helper", None])
@pytest.mark.parametrize("signs", [Signs, SignsByMapping])
async def test_whole_messages_of_a_subagent(hold: bool, name: str | None, signs: Any) -> None:
    """Its transformers change what its nodes write, also if nothing is streamed."""
    inner = create_agent(Scripted(["good ", "day, "]), [], middleware=[signs()], name=name)
    graph = create_agent(
        Scripted([call("ask", "c1", task="Who?")], ["Thanks."]), [delegating(inner, "ask")]
    )
    agent = LangGraphAgent(graph, clients=ClientOptions(hold_messages=hold))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert said(recorded) == "GOOD DAY, YOURS, HELPERThanks."


# -- graphs that speak in one conversation ---------------------------------------------------------


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


def as_node() -> Any:
    return chain_of(guarded(), checkpointer=InMemorySaver())


def called_by_a_node() -> Any:
    agent = guarded()

    async def answer(state: Any) -> Any:
        return await agent.ainvoke(state)

    return chain_of(answer, checkpointer=InMemorySaver())


def in_a_swarm() -> Any:
    hands_over = Scripted(["I hand over. ", call("transfer_to_helper", "h1")])
    first = create_agent(hands_over, [create_handoff_tool(agent_name="helper")], name="first")
    agents = [first, guarded()]
    return create_swarm(agents, default_active_agent="first").compile(checkpointer=InMemorySaver())


def under_a_supervisor() -> Any:
    model = Scripted([call("transfer_to_helper", "h1")], ["Over."])
    graph = create_supervisor([guarded()], model=model, output_mode="full_history")
    return graph.compile(checkpointer=InMemorySaver())


def hands_over_to_its_parent() -> Any:
    @tool
    def leave(why: str, runtime: ToolRuntime) -> Command[Any]:
        """Leave."""
        left = ToolMessage(f"Left {CANARY}.", tool_call_id=runtime.tool_call_id, id="left")
        messages = [*runtime.state["messages"], left]
        return Command(goto="other", graph=Command.PARENT, update={"messages": messages})

    leaves = Scripted(["I leave. ", call("leave", "l1", why=f"so {CANARY}")])
    builder = StateGraph(MessagesState)
    first = create_agent(leaves, [leave], middleware=[pii()])
    builder.add_node("first", first, destinations=("other",))
    builder.add_node("other", talker(Scripted(["I am another."]), "other"))
    builder.add_edge(START, "first")
    return builder.compile(checkpointer=InMemorySaver())


SHARED = [as_node, called_by_a_node, in_a_swarm, under_a_supervisor, hands_over_to_its_parent]


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("make", SHARED)
async def test_the_conversation_of_several_graphs(make: Any, hold: bool) -> None:
    """The graph around an agent stores its messages, and has no transformers."""
    recorded = await checked(LangGraphAgent(make(), clients=ClientOptions(hold_messages=hold)))
    assert "[REDACTED_WORD]" in str(recorded.messages)


async def test_the_state_of_several_graphs() -> None:
    inner = create_agent(Scripted(["Done."]), [], middleware=[pii(), Writes()])
    agent = LangGraphAgent(chain_of(inner, state=Noted, checkpointer=InMemorySaver()))
    assert (await checked(agent)).state == {"note": "seen: [REDACTED_WORD]"}


@pytest.mark.parametrize("is_node", [True, False])
async def test_raw_parts_of_graphs_inside(is_node: bool) -> None:
    inner = guarded()
    model = Scripted([call("ask", "c1", task="Who?")], ["Thanks."])
    graph = chain_of(inner) if is_node else create_agent(model, [delegating(inner, "ask")])
    agent = LangGraphAgent(graph, emit_raw_events=True)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert "[REDACTED_WORD]" in str(recorded.of("RAW"))


async def test_any_runnable() -> None:
    graph = create_agent(Scripted(["I am ", CANARY]), [], middleware=[pii()])
    given = run_input("Hi", thread="t")
    events = [event async for event in astream_agui(graph, {"messages": [("user", "Hi")]}, given)]
    check_events(events)


# -- LangGraph's own v3 stream is the measure ------------------------------------------------------


async def v3_text(graph: Any) -> str:
    """The text of the last message of a run, as LangGraph's own stream shows it."""
    run = await graph.astream_events({"messages": [("user", "Hi")]}, version="v3")
    texts = [str(await message.text) async for message in run.messages]
    return texts[-1]


@given(
    st.lists(
        st.sampled_from(["word ", CANARY, CANARY[:4], CANARY[4:], LONG, "é😀", "\n"]), min_size=1
    ),
    st.sampled_from(["redact", "mask", "hash"]),
)
async def test_clients_see_what_the_v3_stream_shows(pieces: list[str], strategy: str) -> None:
    def graph() -> Any:
        return create_agent(Scripted(pieces), [], middleware=[pii(strategy)])

    recorded = await record_run(LangGraphAgent(graph()), run_input("Hi", thread="t"))
    check_events(recorded.events)
    assert said(recorded) == await v3_text(graph())

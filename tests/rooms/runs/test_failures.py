"""A failure anywhere ends the run with one coded error, everything closed, and nothing of its text
on the wire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition

from langgraph_agui import LangGraphAgent, RunLimits
from tests.kit.deep import each_value
from tests.kit.graphs.small import Chat, agent_of, chain_of, scripted_agent, sync_talker, talker
from tests.kit.models.scripted import Scripted, call, calling, part, thinking, used
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import PATIENCE

CANARY = "sk-CANARY-0123"


def boom() -> Exception:
    return RuntimeError(f"failed with {CANARY}")


class FailingSaver(InMemorySaver):
    """Fails when the thread is loaded, or at the write number `at` (counted from 1)."""

    def __init__(self, *, load: bool = False, at: int = 0) -> None:
        super().__init__()
        self.load, self.at, self.writes = load, at, 0

    async def aget_tuple(self, config: Any) -> Any:
        if self.load:
            raise boom()
        return await super().aget_tuple(config)

    async def aput(self, *args: Any) -> Any:
        self.writes += 1
        if self.writes == self.at:
            raise boom()
        return await super().aput(*args)


def failing_tool(sync: bool) -> LangGraphAgent:
    async def look() -> str:
        """Look."""
        raise boom()

    def look_sync() -> str:
        """Look."""
        raise boom()

    look_sync.__name__ = "look"
    model = Scripted([call("look", "c1")])
    builder = StateGraph(Chat)
    builder.add_node("model", (sync_talker if sync else talker)(model))
    builder.add_node(
        "tools", ToolNode([tool(look_sync if sync else look)], handle_tool_errors=False)
    )
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    return LangGraphAgent(graph=builder.compile())


def failing_node(sync: bool) -> Any:
    async def fails(state: Any) -> Any:
        raise boom()

    def fails_sync(state: Any) -> Any:
        raise boom()

    return fails_sync if sync else fails


def model_failing_after(*pieces: Any) -> Callable[[bool], LangGraphAgent]:
    return lambda sync: scripted_agent([*pieces, boom()], sync=sync)


def say(sync: bool) -> Any:
    return (sync_talker if sync else talker)(Scripted(["a"]))


POINTS: dict[str, tuple[str, Callable[[bool], LangGraphAgent]]] = {
    "state load": (
        "state_error",
        lambda sync: agent_of(say(sync), checkpointer=FailingSaver(load=True)),
    ),
    "before the first token": ("model_error", model_failing_after()),
    "mid text": ("model_error", model_failing_after("Hel", "lo")),
    "mid reasoning": ("model_error", model_failing_after(thinking("hm"))),
    "mid arguments": ("model_error", model_failing_after(calling(part("look", '{"q": ', "c1")))),
    "in a tool": ("tool_error", failing_tool),
    "in a node": ("graph_error", lambda sync: agent_of(failing_node(sync), say(sync))),
    "at the end": ("graph_error", lambda sync: agent_of(say(sync), failing_node(sync))),
    "first save": ("", lambda sync: agent_of(say(sync), checkpointer=FailingSaver(at=1))),
    "last save": ("", lambda sync: agent_of(say(sync), checkpointer=FailingSaver(at=3))),
    "in a subgraph": ("graph_error", lambda sync: agent_of(chain_of(failing_node(sync)))),
}


@pytest.mark.parametrize("sync", [False, True], ids=["async", "threads"])
@pytest.mark.parametrize("point", POINTS)
async def test_a_failure(point: str, sync: bool, caplog: pytest.LogCaptureFixture) -> None:
    code, build = POINTS[point]
    with caplog.at_level(logging.ERROR, "langgraph_agui"):
        recorded = await record_run(build(sync), run_input("hi"))
    assert recorded.types.count("RUN_ERROR") == 1
    error = recorded.last
    assert error.type.value == "RUN_ERROR"
    assert error.code in (code, "state_error", "graph_error") if not code else error.code == code
    check_closed(recorded.types)
    assert not any(CANARY in event.model_dump_json() for event in recorded.events)
    correlation_id = error.metadata["correlationId"]
    (record,) = [record for record in caplog.records if correlation_id in record.getMessage()]
    assert record.exc_info is not None
    sse = b"".join([batch async for batch in build(sync).stream_sse(run_input("hi"))])
    assert b"RUN_ERROR" in sse
    assert CANARY.encode() not in sse


def check_closed(types: list[str]) -> None:
    """A run may end in error with items open (AG-UI 1.0); ours does not."""
    for opening in (
        "TEXT_MESSAGE_START",
        "REASONING_MESSAGE_START",
        "REASONING_START",
        "TOOL_CALL_START",
    ):
        assert types.count(opening) == types.count(opening.replace("START", "END")), opening
    assert types.count("STEP_STARTED") == types.count("STEP_FINISHED")


async def test_what_was_said_before_the_failure_stays() -> None:
    recorded = await record_run(scripted_agent(["Hel", boom()]), run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "Hel"]


async def test_errors_are_shown_on_demand() -> None:
    recorded = await record_run(agent_of(failing_node(False), expose_errors=True), run_input("hi"))
    assert recorded.last.message == f"failed with {CANARY}"

    async def wordless(state: Chat) -> Any:
        raise ValueError

    recorded = await record_run(agent_of(wordless, expose_errors=True), run_input("hi"))
    assert recorded.last.message == "ValueError()"


class UnspeakableError(Exception):
    """Its text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Abort(BaseException):
    """No `Exception`, as those of test runners and of other event loops."""


async def test_an_exception_of_another_kind_is_an_error_too() -> None:
    async def fails(state: Chat) -> Any:
        raise Abort

    recorded = await record_run(LangGraphAgent(chain_of(fails)), run_input("hi"))
    assert recorded.last.code == "graph_error"
    check_closed(recorded.types)


@pytest.mark.parametrize("exposed", [False, True])
@pytest.mark.parametrize("place", ["tool", "node", "subagent", "store"])
@each_value()
async def test_an_exception_without_a_text_is_an_error_all_the_same(
    place: str, exposed: bool
) -> None:
    @tool
    async def look() -> str:
        """Look."""
        raise UnspeakableError

    async def fails(state: Chat) -> Any:
        raise UnspeakableError

    class Saver(InMemorySaver):
        async def aput(self, *args: Any) -> Any:
            raise UnspeakableError

    async def delegates() -> str:
        """Delegate."""
        await create_agent(Scripted([call("look", "c2")]), [look]).ainvoke({"messages": []})
        return "done"

    graph = {
        "tool": lambda: create_agent(Scripted([call("look", "c1")]), [look]),
        "node": lambda: chain_of(fails),
        "subagent": lambda: create_agent(Scripted([call("delegates", "c1")]), [delegates]),
        "store": lambda: create_agent(Scripted(["a"]), checkpointer=Saver()),
    }[place]()
    recorded = await record_run(LangGraphAgent(graph, expose_errors=exposed), run_input("hi"))
    assert recorded.last.type.value == "RUN_ERROR"
    assert recorded.last.message.startswith("UnspeakableError()") == exposed
    check_closed(recorded.types)


async def test_a_redacted_error_says_where_it_is(caplog: pytest.LogCaptureFixture) -> None:
    recorded = await record_run(agent_of(failing_node(False)), run_input("hi"))
    key = recorded.last.metadata["correlationId"]
    assert recorded.last.message == (
        f"The agent failed. The server log has the error under {key}; in development, "
        "expose_errors=True shows it here."
    )
    (record,) = [one for one in caplog.records if key in one.getMessage()]
    assert record.exc_info is not None


async def test_an_error_of_ours_has_nothing_to_add() -> None:
    agent = agent_of(talker(Scripted([2.0])), limits=RunLimits(total=0.05))
    recorded = await record_run(agent, run_input("hi"))
    assert recorded.last.message == "The agent took too long and was stopped."


def tool_outputs(recorded: RecordedRun) -> dict[str, tuple[str, list[str]]]:
    """The status and the output of each tool call that has any, as a client holds them."""
    return {
        message.content["toolCallId"]: (message.content["status"], message.content["output"])
        for message in recorded.messages
        if message.role == "activity"
    }


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
async def test_the_call_of_a_tool_that_ends_the_run_shows_why(checkpointer: Any) -> None:
    async def look(runtime: ToolRuntime) -> str:
        """Look."""
        runtime.emit_output_delta("Opening.")
        raise boom()

    async def listen() -> str:
        """Listen."""
        raise ValueError("deaf")

    async def rest() -> str:
        """Rest."""
        return "rested"

    calls = [call(name, name, index) for index, name in enumerate(("look", "rest"))]
    for tools, script, shown in (
        ([look, rest], calls, {"look": ["Opening.", f"\nRuntimeError: failed with {CANARY}"]}),
        ([listen], [call("listen", "listen")], {"listen": ["ValueError: deaf"]}),
    ):
        graph = create_agent(Scripted(script), tools, checkpointer=checkpointer)
        for exposed in (True, False):
            agent = LangGraphAgent(graph=graph, expose_errors=exposed)
            recorded = await record_run(agent, run_input("hi"))
            assert recorded.last.code == "tool_error"
            outputs = tool_outputs(recorded)
            if exposed:
                assert outputs == {name: ("failed", parts) for name, parts in shown.items()}
            else:
                assert CANARY not in str(outputs)
                assert "ValueError" not in str(outputs)


async def test_a_tool_that_the_graph_handles_is_shown_by_its_result_alone() -> None:
    tries = 0

    @tool
    async def look() -> str:
        """Look."""
        nonlocal tries
        tries += 1
        if tries < 3:
            raise boom()
        return "seen"

    handled = Scripted([call("look", "c1")], [call("look", "c2")], ["Done"])
    builder = StateGraph(Chat).add_node("model", talker(handled))
    builder.add_node("tools", ToolNode([look], handle_tool_errors="Try again."))
    builder.add_edge(START, "model").add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    for graph in (
        builder.compile(),
        create_agent(
            Scripted([call("look", "c1")], ["Done"]),
            [look],
            middleware=[ToolRetryMiddleware(initial_delay=0)],
        ),
    ):
        tries = 1
        recorded = await record_run(LangGraphAgent(graph, expose_errors=True), run_input("hi"))
        assert recorded.last.type.value == "RUN_FINISHED"
        assert tool_outputs(recorded) == {}


async def test_a_tool_of_a_subagent_shows_why_it_has_ended() -> None:
    @tool
    async def look() -> str:
        """Look."""
        raise boom()

    inner = create_agent(Scripted([call("look", "c2")]), [look], name="inner")

    @tool
    async def delegate() -> str:
        """Delegate."""
        return str(await inner.ainvoke({"messages": [("user", "look")]}))

    outer = create_agent(Scripted([call("delegate", "c1")], ["Done"]), [delegate])
    recorded = await record_run(LangGraphAgent(outer, expose_errors=True), run_input("hi"))
    assert recorded.last.code == "tool_error"
    text = f"RuntimeError: failed with {CANARY}"
    assert tool_outputs(recorded) == {"c1": ("failed", [text]), "c2": ("failed", [text])}


async def test_usage_so_far_is_told() -> None:
    recorded = await record_run(
        agent_of(talker(Scripted(["a", used(3, 2)])), failing_node(False)), run_input("hi")
    )
    (usage,) = recorded.last.usage
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)


def looping(limit: int) -> Any:
    async def loop(state: Any) -> Any:
        return {}

    seen: list[int] = []
    builder = StateGraph(Chat)
    builder.add_node("loop", loop)
    builder.add_edge(START, "loop")
    builder.add_conditional_edges(
        "loop", lambda _: "__end__" if len(seen) >= limit or seen.append(1) else "loop"
    )
    return builder.compile()


async def test_the_recursion_limit() -> None:
    recorded = await record_run(
        LangGraphAgent(graph=looping(99), config={"recursion_limit": 5}), run_input("hi")
    )
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "recursion_limit")
    assert recorded.types.count("STEP_STARTED") == 5


async def test_the_default_limit_is_the_graphs_own() -> None:
    recorded = await record_run(LangGraphAgent(graph=looping(60)), run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED"


async def test_a_model_that_fails_and_a_fallback_that_answers() -> None:
    model = Scripted(["Hel", boom()]).with_fallbacks([Scripted(["Fallback"])])
    recorded = await record_run(agent_of(talker(model)), run_input("hi"))
    recorded.check_snapshot()
    assert [message.content for message in recorded.messages] == ["hi", "Fallback"]


async def test_calls_of_a_failed_model_are_answered_when_the_run_goes_on() -> None:
    model = Scripted([call("look", "c1"), boom()]).with_fallbacks([Scripted(["Fallback"])])
    recorded = await record_run(agent_of(talker(model)), run_input("hi"))
    recorded.check_snapshot()
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert result.metadata == {"status": "error"}
    assert recorded.last.outcome.pending_tool_call_ids is None


async def test_a_failure_in_one_branch_while_another_speaks() -> None:
    started = asyncio.Event()

    async def fails(state: Any) -> Any:
        await asyncio.wait_for(started.wait(), PATIENCE)
        raise boom()

    builder = StateGraph(Chat)
    builder.add_node("speaks", talker(Scripted(["a", started.set, 30.0, "never"])))
    builder.add_node("fails", fails)
    builder.add_edge(START, "speaks")
    builder.add_edge(START, "fails")
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    assert recorded.last.code == "graph_error"
    check_closed(recorded.types)

"""A failure anywhere ends the run with one coded error, everything closed, and nothing of its text
on the wire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime, tools_condition

from langgraph_agui import LangGraphAgent, RunLimits
from tests.kit.graphs.small import Chat, agent_of, chain_of, scripted_agent, talker
from tests.kit.models.scripted import Scripted, call, calling, part, thinking, used
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import PATIENCE

CANARY = "sk-CANARY-0123"


def boom() -> Exception:
    return RuntimeError(f"failed with {CANARY}")


class FailingSaver(InMemorySaver):
    """Fails when the thread is loaded, or at the write number `at` (counted from 1)."""

    def __init__(self, *, load: bool = False, at: int = 0, error: Any = None) -> None:
        super().__init__()
        self.load, self.at, self.writes, self.error = load, at, 0, error

    async def aget_tuple(self, config: Any) -> Any:
        if self.load:
            raise boom()
        return await super().aget_tuple(config)

    async def aput(self, *args: Any) -> Any:
        self.writes += 1
        if self.writes == self.at:
            raise self.error or boom()
        return await super().aput(*args)


def say() -> Any:
    return talker(Scripted(["a"]))


def raising(error: Any = None) -> Any:
    async def fails(state: Any) -> Any:
        raise error or boom()

    return fails


def raising_in_thread(state: Any) -> Any:
    raise boom()


def raising_tool(name: str = "look", error: Any = None) -> Any:
    async def raises() -> str:
        raise error or boom()

    return StructuredTool.from_function(coroutine=raises, name=name, description="Look.")


def looking(*tools: Any, **options: Any) -> Any:
    """A graph whose model calls a tool."""
    return create_agent(Scripted([call("look", "c1")], ["Done"]), list(tools), **options)


class Abort(BaseException):
    """No `Exception`, as those of test runners and of other event loops."""


def failing_after(*pieces: Any, **options: Any) -> LangGraphAgent:
    return scripted_agent([*pieces, boom()], **options)


POINTS: dict[str, tuple[str, Callable[[], LangGraphAgent]]] = {
    "state load": ("state", lambda: agent_of(say(), checkpointer=FailingSaver(load=True))),
    "before the first token": ("model", failing_after),
    "mid text": ("model", lambda: failing_after("Hel", "lo")),
    "mid text in a thread": ("model", lambda: failing_after("Hel", "lo", sync=True)),
    "mid reasoning": ("model", lambda: failing_after(thinking("hm"))),
    "mid arguments": ("model", lambda: failing_after(calling(part("look", '{"q": ', "c1")))),
    "in a tool": ("tool", lambda: LangGraphAgent(looking(raising_tool()))),
    "in a node": ("graph", lambda: agent_of(raising(), say())),
    "in a thread": ("graph", lambda: agent_of(say(), raising_in_thread)),
    "another kind": ("graph", lambda: agent_of(raising(Abort()))),
    "first save": ("", lambda: agent_of(say(), checkpointer=FailingSaver(at=1))),
    "last save": ("", lambda: agent_of(say(), checkpointer=FailingSaver(at=3))),
    "in a subgraph": ("graph", lambda: agent_of(chain_of(raising()))),
}


@pytest.mark.parametrize("point", POINTS)
async def test_a_failure(point: str, caplog: pytest.LogCaptureFixture) -> None:
    code, build = POINTS[point]
    with caplog.at_level(logging.ERROR, "langgraph_agui"):
        recorded = await record_run(build(), run_input("hi"))
    error = recorded.last
    assert error.type.value == "RUN_ERROR"
    assert error.code in ([f"{code}_error"] if code else ["state_error", "graph_error"])
    check_closed(recorded.types)
    assert not any(CANARY in event.model_dump_json() for event in recorded.events)
    key = error.metadata["correlationId"]
    (record,) = [record for record in caplog.records if key in record.getMessage()]
    assert record.exc_info is not None
    assert code != "graph" or error.message == (
        f"The agent failed. The server log has the error under {key}; in development, "
        "expose_errors=True shows it here."
    )


def check_closed(types: list[str]) -> None:
    """A run may end in error with items open (AG-UI 1.0); ours does not."""
    for kind in ("TEXT_MESSAGE", "REASONING_MESSAGE", "REASONING", "TOOL_CALL"):
        assert types.count(f"{kind}_START") == types.count(f"{kind}_END"), kind
    assert types.count("STEP_STARTED") == types.count("STEP_FINISHED")


async def test_what_was_said_and_used_before_the_failure_stays() -> None:
    agent = agent_of(talker(Scripted(["Hel", used(3, 2)])), raising())
    recorded = await record_run(agent, run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "Hel"]
    (usage,) = recorded.last.usage
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)


class UnspeakableError(Exception):
    """Its text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def delegating(tool_of_inner: Any) -> Any:
    """A graph with a tool that runs another graph."""
    inner = create_agent(Scripted([call("look", "c2")]), [tool_of_inner], name="inner")

    @tool
    async def delegate() -> str:
        """Delegate."""
        return str(await inner.ainvoke({"messages": [("user", "look")]}))

    return create_agent(Scripted([call("delegate", "c1")], ["Done"]), [delegate])


DUMB = UnspeakableError()


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(lambda: looking(raising_tool(error=DUMB)), id="tool"),
        pytest.param(lambda: chain_of(raising(DUMB)), id="node"),
        pytest.param(lambda: delegating(raising_tool(error=DUMB)), id="subagent"),
        pytest.param(
            lambda: chain_of(say(), checkpointer=FailingSaver(at=1, error=DUMB)), id="store"
        ),
    ],
)
async def test_an_exception_without_a_text_is_an_error_all_the_same(graph: Any) -> None:
    for exposed in (False, True):
        recorded = await record_run(LangGraphAgent(graph(), expose_errors=exposed), run_input("hi"))
        assert recorded.last.type.value == "RUN_ERROR"
        assert recorded.last.message.startswith("UnspeakableError()") == exposed
        check_closed(recorded.types)


SLOW = "The agent took too long and was stopped."


@pytest.mark.parametrize(
    ("node", "options", "message"),
    [
        (raising(), {"expose_errors": True}, f"failed with {CANARY}"),
        (raising(ValueError()), {"expose_errors": True}, "ValueError()"),
        (talker(Scripted([2.0])), {"limits": RunLimits(total=0.05)}, SLOW),
    ],
)
async def test_what_a_client_is_told(node: Any, options: Any, message: str) -> None:
    assert (await record_run(agent_of(node, **options), run_input("hi"))).last.message == message


def tool_outputs(recorded: RecordedRun) -> dict[str, tuple[str, list[str]]]:
    """The status and the output of each tool call that has any, as a client holds them."""
    shown = [message.content for message in recorded.messages if message.role == "activity"]
    return {one["toolCallId"]: (one["status"], one["output"]) for one in shown}


async def speaking(runtime: ToolRuntime) -> str:
    """Look."""
    runtime.emit_output_delta("Opening.")
    raise boom()


FAILED = f"RuntimeError: failed with {CANARY}"


@pytest.mark.parametrize(
    ("graph", "shown"),
    [
        (lambda: looking(raising_tool(error=ValueError("deaf"))), {"c1": ["ValueError: deaf"]}),
        (
            lambda: looking(tool("look")(speaking), checkpointer=InMemorySaver()),
            {"c1": ["Opening.", f"\n{FAILED}"]},
        ),
        (lambda: delegating(raising_tool()), {"c1": [FAILED], "c2": [FAILED]}),
    ],
    ids=["tool", "tool with output", "tool of a subagent"],
)
async def test_the_call_of_a_tool_that_ends_the_run_shows_why(graph: Any, shown: Any) -> None:
    for exposed in (True, False):
        recorded = await record_run(LangGraphAgent(graph(), expose_errors=exposed), run_input("hi"))
        assert recorded.last.code == "tool_error"
        outputs = tool_outputs(recorded)
        if exposed:
            assert outputs == {name: ("failed", parts) for name, parts in shown.items()}
        else:
            assert [word for word in (CANARY, "ValueError") if word in str(outputs)] == []


async def test_a_tool_that_the_graph_handles_is_shown_by_its_result_alone() -> None:
    tries = 0

    @tool
    async def look() -> str:
        """Look."""
        nonlocal tries
        tries += 1
        if tries % 2:
            raise boom()
        return "seen"

    handled = Scripted([call("look", "c1")], [call("look", "c2")], ["Done"])
    builder = StateGraph(Chat).add_node("model", talker(handled))
    builder.add_node("tools", ToolNode([look], handle_tool_errors="Try again."))
    builder.add_edge(START, "model").add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    retried = looking(look, middleware=[ToolRetryMiddleware(initial_delay=0)])
    for graph in (builder.compile(), retried):
        recorded = await record_run(LangGraphAgent(graph, expose_errors=True), run_input("hi"))
        assert recorded.last.type.value == "RUN_FINISHED"
        assert tool_outputs(recorded) == {}
    assert tries == 4


@pytest.mark.parametrize("limit", [5, 24, 25, 26])
async def test_the_recursion_limit_holds_whatever_it_is(limit: int) -> None:
    """25 is LangChain's default, which its own merging takes for "not set"."""
    own: Any = {"recursion_limit": limit}
    for agents, runs in ((own, None), (None, own), ({"recursion_limit": 7}, own)):
        agent = LangGraphAgent(endless(), config=agents)
        recorded = await record_run(agent, run_input("hi"), config=runs)
        assert (recorded.last.code, recorded.state) == ("recursion_limit", {"n": limit})
    recorded = await record_run(LangGraphAgent(endless(60)), run_input("hi"))  # the graph's own
    assert (recorded.last.type.value, recorded.state) == ("RUN_FINISHED", {"n": 60})


class Count(TypedDict):
    n: int


def endless(end: int = 10**9) -> Any:
    builder = StateGraph(Count)
    builder.add_node("step", lambda state: {"n": state.get("n", 0) + 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda one: END if one["n"] >= end else "step")
    return builder.compile()


async def test_a_model_that_fails_and_a_fallback_that_answers() -> None:
    """Calls of a failed model are answered when the run goes on."""
    for said, results in (("Hel", []), (call("look", "c1"), [{"status": "error"}])):
        model = Scripted([said, boom()]).with_fallbacks([Scripted(["Fallback"])])
        recorded = await record_run(agent_of(talker(model)), run_input("hi"))
        recorded.check_snapshot()
        assert recorded.messages[-1].content == "Fallback"
        assert [result.metadata for result in recorded.of("TOOL_CALL_RESULT")] == results
        assert recorded.last.outcome.pending_tool_call_ids is None


async def test_a_failure_in_one_branch_while_another_speaks() -> None:
    started = asyncio.Event()

    async def fails(state: Any) -> Any:
        await asyncio.wait_for(started.wait(), PATIENCE)
        raise boom()

    builder = StateGraph(Chat).add_node("fails", fails)
    builder.add_node("speaks", talker(Scripted(["a", started.set, 30.0, "never"])))
    builder.add_edge(START, "speaks").add_edge(START, "fails")
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    assert recorded.last.code == "graph_error"
    check_closed(recorded.types)

"""Subagents and activities in the terminal: the lines of real streams."""

from __future__ import annotations

import io

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    RunFinishedEvent,
    RunStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.devtools.cli.view import LiveView, PlainView
from langgraph_agui.protocol import verify
from tests.behaviour.cli.terminal import invoke
from tests.kit.graphs.subagents import DEEP, GRAPHS, agent_tool, boss_of, failing, guarded
from tests.kit.models.voices import voice
from tests.kit.processes.serving import serving
from tests.kit.run.agents import record_run, run_input


def lines(*events):
    out = io.StringIO()
    view = PlainView(Console(file=out, width=40))
    for event in events:
        view.feed(event)
    view.finish()
    return out.getvalue().splitlines()


async def lines_of(graph):
    return lines(*(await record_run(LangGraphAgent(graph=graph), run_input("hello"))).events)


async def test_texts_are_indented_under_the_name():
    assert (await lines_of(GRAPHS["tools_in_tools"](None).graph))[2:-2] == [
        'tool outer {"question": "why"}',
        "[outer] started: Ask outer.",
        "  thinking: outer: hm",
        "  outer: begins 1",
        '  tool deeper {"question": "q"}',
        "  [deeper] started: Ask deeper.",
        "    thinking: in: hm",
        "    in: ends 1",
        "  [deeper] done",
        "    result: in: ends 1",
        "  thinking: outer: hm",
        "  outer: ends 1",
        "[outer] done",
        "  result: outer: ends 1",
    ]


async def test_subagents_that_run_at_once_are_named_on_each_line():
    found = await lines_of(GRAPHS["deep"](None).graph)
    ends = [found.index(f"[mid_{which}] done") for which in "ab"]
    both = range(found.index("[mid_b] started: do b"), min(ends))
    for name, subagent in DEEP.items():
        margin = "" if subagent.parent == "boss" else "  "
        begin = found.index(f"{margin}[{name}] started: {subagent.description}")
        end = found.index(f"{margin}[{name}] done")
        texts = [line for line in found if f" {name}: " in line and "result: " not in line]
        assert texts
        at_once = [found[at] for at in both if found[at] in texts]
        assert all(line.startswith(f"{margin}  [{name}] ") for line in at_once)
        assert all(begin < found.index(line) < end for line in texts)


async def test_subagents_with_the_same_name_are_numbered():
    found = await lines_of(GRAPHS["same_tool_twice"](None).graph)
    assert {"  [help] help-x: ends 1", "  [help 2] help-y: ends 1"} <= set(found)
    assert {"[help] done", "[help 2] done"} <= set(found)


async def test_failures_are_shown():
    found = await lines_of(failing(handled=True).graph)
    failed = "failed: The model could not answer."
    assert {f"  [inner] {failed}", f"[outer] {failed}"} <= set(found)
    assert "a secret" not in "".join(found)


async def test_output_of_tools_comes_by_lines():
    @tool
    async def work(runtime: ToolRuntime) -> str:
        """Work."""
        for part in ("be", "gins\nand ", {"percent": 50}, "ends"):
            runtime.emit_output_delta(part)
        return "worked"

    agent = create_agent(voice("ann", ("work", {})), [work])
    graph, _ = boss_of(None, [agent_tool("ann", agent)], ("ann", {"question": "q"}))
    found = await lines_of(graph)
    start = found.index("  tool work {}") + 1
    assert found[start : start + 5] == [
        "    work: begins",
        "    work: and ",
        '    work: {"percent": 50}',
        "    work: ends",
        "    result: worked",
    ]


def test_other_activities_are_json():
    which = {"message_id": "a", "activity_type": "PLAN"}
    add = {"op": "add", "path": "/steps/-", "value": "ü"}
    assert lines(
        ActivitySnapshotEvent(content={"steps": []}, **which),
        ActivityDeltaEvent(patch=[add], **which),
    ) == ['  PLAN: {"steps": []}', '  PLAN: [{"op": "add", "path": "/steps/-", "value": "ü"}]']


def test_names_cannot_steer_the_terminal_and_further_lines_are_indented():
    start = SubagentStartedEvent(subagent_run_id="s", name="a\x1b[2J", description="one\ntwo")
    stop = SubagentErrorEvent(
        subagent_run_id="s", message="The subagent was stopped.", code="cancelled"
    )
    assert lines(start, stop) == ["[a␛[2J] started: one", "  two", "[a␛[2J] stopped"]


@pytest.mark.parametrize("width", [80, 5, 1])
def test_however_deep_nothing_is_lost_at_the_edge_of_the_terminal(width):
    names = [f"s{n}" for n in range(60)]
    parents = dict(zip(names[1:], names, strict=False))
    begun = [
        SubagentStartedEvent(subagent_run_id=n, name="n", parent_subagent_run_id=parents.get(n))
        for n in names
    ]
    ended = [SubagentFinishedEvent(subagent_run_id=n) for n in reversed(names)]
    inside = {"message_id": "m", "subagent_run_id": names[-1]}
    said = [TextMessageStartEvent(role="assistant", **inside)]
    said += [TextMessageContentEvent(delta="deep-words", **inside), TextMessageEndEvent(**inside)]
    start = RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0")
    events = [start, *begun, *said, *ended, RunFinishedEvent(thread_id="t", run_id="r")]
    verify(events, strict=True)
    out = io.StringIO()
    view = LiveView(Console(file=out, width=width, height=24))
    for event in events:
        view.feed(event)
    assert "deep-words" in "".join(out.getvalue().split())


def test_who_asks_is_named_and_continues_after_the_answer():
    done, asks = [], "asks: Tool execution requires approval"
    graph = guarded(InMemorySaver(), "per_call", done, both=True).graph
    with serving(build_app(LangGraphAgent(graph), "Test")) as served:
        for option in ((), ("--json",)):
            result = invoke("chat", served.url("/agent"), "hello", *option)
            assert result.exit_code == 4
            for which in "ab":
                assert f"waiting: mid_{which} › leaf_{which} {asks}" in result.output
        result = invoke("chat", served.url("/agent"), typed="hello\napprove\napprove\n")
    assert result.exit_code == 0
    assert f"mid_a › leaf_a {asks}" in result.stdout
    assert sorted(done) == ["leaf_a0", "leaf_b0"]
    found = result.stdout.splitlines()
    assert found.index("  [leaf_a] waits for an answer") < found.index("  [leaf_a] done")
    assert "    [leaf_a]   result: deployed leaf_a0" in found

"""`validate` and `play`: what they take, find and show."""

from __future__ import annotations

import json
import time

import pytest
from ag_ui.core import ResumeEntry
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.demo import build_demo_graph
from tests.behaviour.cli.terminal import invoke
from tests.kit.deep import deep
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import record_run, run_input


def exported(given, events, gap=0):
    places = [{"at": gap * at, "event": event} for at, event in enumerate(events)]
    return lines_of({"input": given}, *places)


def json_of(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def lines_of(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.fixture
async def recorded():
    """The input and the events of a run of the demo."""
    given = run_input("What is 12 * 7?")
    run = await record_run(LangGraphAgent(build_demo_graph(delay=0)), given)
    return json_of(given), [json_of(event) for event in run.events]


async def test_each_form_of_a_recording_is_read(recorded, tmp_path):
    given, events = recorded
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    forms = [exported(given, events), lines_of(*events), ": comment\n\n" + stream]
    path, kept = tmp_path / "run", f"{len(events)} events, every rule kept.\n"
    for form in forms:
        path.write_text(form)
        checked, shown = invoke("validate", path), invoke("play", path, "--speed", 0)
        assert (checked.exit_code, checked.stdout) == (0, kept)
        assert (shown.exit_code, "  result: 84\n" in shown.stdout) == (0, True), shown.output
        assert ("> What is 12 * 7?" in shown.stdout) == (form is forms[0])


async def test_findings_name_event_and_rule(recorded, tmp_path):
    given, events = recorded
    wrong, path = [*events], tmp_path / "run"
    at = [event["type"] for event in events].index("TOOL_CALL_RESULT")
    wrong[at] = {**events[at], "toolCallId": "other"}
    path.write_text(exported(given, wrong) + exported(given, events[:-1]))
    result, total = invoke("validate", path), 2 * len(events) - 1
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"event {at + 1}: unknown-call: Unexpected TOOL_CALL_RESULT: no call 'other' is known.",
        f"after event {total}: truncated-stream: The stream ends within a run.",
        f"{total} events, 2 findings.",
    ]
    path.write_text(exported({**given, "runId": "asked"}, events))
    assert "run-id: " in invoke("validate", path).stdout


def test_a_frame_that_is_no_event_is_a_finding(tmp_path):
    start = '{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}'
    (tmp_path / "run").write_text(f"data: {start}\n\ndata: {{\n\n")
    result = invoke("validate", tmp_path / "run")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "1 event, 1 finding.")
    assert result.stdout.startswith("after event 1: invalid-json: ")
    shown = invoke("play", tmp_path / "run")
    assert (shown.exit_code, "The stream broke off: " in shown.stdout) == (1, True)


NONE = [b"", b"{", b"{}", b"3", b'{"at": [], "event": {"type": "x"}}', b'{"input": {}}', b"\xff"]


@pytest.mark.parametrize("content", NONE)
def test_what_is_no_recording(content, tmp_path):
    (tmp_path / "run").write_bytes(content)
    for command in ("validate", "play"):
        result = invoke(command, tmp_path / "run")
        assert result.exit_code == 2
        assert "Expected an export of the playground" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("play", "./absent"), "cannot be read: No such file"),
        (("validate", "example.com/agent"), "There is no file example.com/agent. The address of"),
        (("validate", "/agent"), "There is no file /agent. The address of an agent begins with"),
    ],
)
def test_a_file_that_is_not_there(arguments, message):
    result = invoke(*arguments)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_a_live_agent(demo_url):
    result = invoke("validate", demo_url, "Is it warmer in Rome or in Oslo?", "-H", "X-Test: yes")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(" events, every rule kept.\n")
    nowhere = invoke("validate", f"{demo_url}/nowhere")
    assert (nowhere.exit_code, "Is this the address of the agent" in nowhere.stderr) == (3, True)
    assert invoke("validate", demo_url, "-H", "nonsense").exit_code == 2


@deep
async def test_the_pace_is_that_of_the_recording(recorded, tmp_path):
    given, events = recorded
    (tmp_path / "run").write_text(exported(given, events, gap=20))
    for speed in (1, 4):
        began = time.monotonic()
        assert invoke("play", tmp_path / "run", "--speed", speed).exit_code == 0
        assert time.monotonic() - began >= 0.02 * (len(events) - 1) / speed


async def test_a_paused_run_ends_with_its_question(tmp_path):
    def ask(state: Chat):
        return {"messages": [AIMessage(f"You said {interrupt('Really?')}.")]}

    agent = LangGraphAgent(chain_of(ask, checkpointer=InMemorySaver()))
    asked = run_input("Delete it")
    paused = (await record_run(agent, asked)).events
    [question] = paused[-1].outcome.interrupts
    answer = ResumeEntry(interrupt_id=question.id, status="resolved", payload="yes")
    resumed = asked.model_copy(update={"run_id": "2", "resume": [answer]})
    runs = [(asked, paused), (resumed, [event async for event in agent.run(resumed)])]
    parts = [exported(json_of(given), [*map(json_of, events)]) for given, events in runs]
    (tmp_path / "run").write_text("".join(parts))
    played = invoke("play", tmp_path / "run", "--speed", 0).stdout.splitlines()
    assert played == ["> Delete it", "waiting: Really?", '> "yes"', "You said yes."]

"""`validate` and `play`: what they take, find and show."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, RunFinishedEvent, RunFinishedInterruptOutcome
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.app import app
from langgraph_agui.devtools.demo import build_demo_graph
from tests.kit.deep import deep
from tests.kit.run.agents import run_input

EXPECTED = "Expected an export of the playground"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


@pytest.fixture
async def recorded() -> tuple[dict[str, Any], bytes]:
    """The input and the body of a run of the demo."""
    given = run_input("What is 12 * 7?")
    agent = LangGraphAgent(build_demo_graph(delay=0))
    body = b"".join([frame async for frame in agent.stream_sse(given)])
    return json_of(given), body


def events_of(body: bytes) -> list[dict[str, Any]]:
    return [
        json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")
    ]


def json_of(value: BaseModel) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def lines_of(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def exported(given: dict[str, Any], events: list[dict[str, Any]], gap: float = 0) -> str:
    return lines_of(
        {"input": given}, *({"at": gap * at, "event": event} for at, event in enumerate(events))
    )


async def test_each_form_of_a_recording_is_read(
    recorded: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    given, body = recorded
    events = events_of(body)
    forms = [exported(given, events), lines_of(*events), ": comment\n\n" + body.decode()]
    path, kept = tmp_path / "run", f"{len(events)} events, every rule kept.\n"
    for form in forms:
        path.write_text(form)
        checked, shown = invoke("validate", path), invoke("play", path, "--speed", 0)
        assert (checked.exit_code, checked.stdout) == (0, kept)
        assert (shown.exit_code, "  result: 84\n" in shown.stdout) == (0, True), shown.output
        assert ("> What is 12 * 7?" in shown.stdout) == (form is forms[0])


async def test_findings_name_event_and_rule(
    recorded: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    given, body = recorded
    events, path = events_of(body), tmp_path / "run"
    at = next(at for at, event in enumerate(events) if event["type"] == "TOOL_CALL_RESULT")
    events[at]["toolCallId"] = "other"
    path.write_text(exported(given, events) + exported(given, events_of(body)[:-1]))
    result = invoke("validate", path)
    assert result.exit_code == 1
    total = 2 * len(events) - 1
    assert result.stdout.splitlines() == [
        f"event {at + 1}: unknown-call: Unexpected TOOL_CALL_RESULT: no call 'other' is known.",
        f"after event {total}: truncated-stream: The stream ends within a run.",
        f"{total} events, 2 findings.",
    ]
    path.write_text(exported({**given, "runId": "asked"}, events_of(body)))
    assert "run-id: " in invoke("validate", path).stdout


def test_a_frame_that_is_no_event_is_a_finding(tmp_path: Path) -> None:
    start = '{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}'
    (tmp_path / "run").write_text(f"data: {start}\n\ndata: {{\n\n")
    result = invoke("validate", tmp_path / "run")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "1 event, 1 finding.")
    assert result.stdout.startswith("after event 1: invalid-json: ")
    shown = invoke("play", tmp_path / "run")
    assert (shown.exit_code, "The stream broke off: " in shown.stdout) == (1, True)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"{}", b"3", b'{"at": [], "event": {"type": "x"}}', b'{"input": {}}', b"\xff"],
)
def test_what_is_no_recording(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(content)
    for command in ("validate", "play"):
        result = invoke(command, tmp_path / "run")
        assert (result.exit_code, EXPECTED in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("play", "./absent"), "cannot be read: No such file"),
        (("validate", "example.com/agent"), "There is no file example.com/agent. The address of"),
        (("validate", "/agent"), "There is no file /agent. The address of an agent begins with"),
    ],
)
def test_a_file_that_is_not_there(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_a_live_agent(demo_url: str) -> None:
    result = invoke("validate", demo_url, "Is it warmer in Rome or in Oslo?", "-H", "X-Test: yes")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(" events, every rule kept.\n")
    nowhere = invoke("validate", f"{demo_url}/nowhere")
    assert (nowhere.exit_code, "Is this the address of the agent" in nowhere.stderr) == (3, True)
    assert invoke("validate", demo_url, "-H", "nonsense").exit_code == 2
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = invoke("validate", f"http://127.0.0.1:{closed.getsockname()[1]}/agent")
    assert (nobody.exit_code, "Nothing answers at" in nobody.stderr) == (3, True)


@deep
async def test_the_pace_is_that_of_the_recording(
    recorded: tuple[dict[str, Any], bytes], tmp_path: Path
) -> None:
    given, body = recorded
    events, path = events_of(body), tmp_path / "run"
    path.write_text(exported(given, events, gap=20))
    for speed in (1, 4):
        began = time.monotonic()
        assert invoke("play", path, "--speed", speed).exit_code == 0
        assert time.monotonic() - began >= 0.02 * (len(events) - 1) / speed


async def test_a_paused_run_ends_with_its_question(tmp_path: Path) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You said {interrupt('Really?')}.")]}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()))
    asked = run_input("Delete it")
    paused = [event async for event in agent.run(asked)]
    end = paused[-1]
    assert isinstance(end, RunFinishedEvent)
    assert isinstance(end.outcome, RunFinishedInterruptOutcome)
    [question] = end.outcome.interrupts
    answer = ResumeEntry(interrupt_id=question.id, status="resolved", payload="yes")
    resumed = asked.model_copy(update={"run_id": "2", "resume": [answer]})
    runs = [(asked, paused), (resumed, [event async for event in agent.run(resumed)])]
    path = tmp_path / "run"
    parts = [exported(json_of(given), [*map(json_of, events)]) for given, events in runs]
    path.write_text("".join(parts))
    assert invoke("play", path, "--speed", 0).stdout.splitlines() == [
        "> Delete it",
        "waiting: Really?",
        '> "yes"',
        "You said yes.",
    ]

"""The client's examples, each against its server over a socket: what it prints, and what goes over
the wire."""

from __future__ import annotations

import runpy
import sys
from importlib import import_module
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from examples.client import __main__ as runner
from langgraph_agui.protocol import decode
from tests.kit.paths import ROOT
from tests.kit.processes.scripted_servers import Recorder
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun

EXAMPLES = ROOT / "examples/client"

AGREED = '{"approved": true, "editedArgs": {"employee": "Ben", "amount": 600}}'
REFUSED = "Records are kept for ten years."
BOOKED = [
    '  book_expense {"employee": "Ada", "amount": 1500}? {"approved": true}',
    f'  book_expense {{"employee": "Ben", "amount": 900}}? {AGREED}',
    f'  delete_records {{"year": 2019}}? {{"approved": false, "message": "{REFUSED}"}}',
    "agent: This is what came of it:",
    "- booked 1500 for Ada",
    "- booked 600 for Ben",
    f"- User rejected the tool call for `delete_records` with reason: {REFUSED}",
]
SOUP = "title='Tomato soup', servings=4, ingredients=['tomatoes', 'onions', 'garlic']"
CALLS = ["  get_user_location runs here"]
# What it prints among other lines, and how many messages each of its runs is sent.
PRINTS: dict[str, tuple[list[str], list[int]]] = {
    "basic_chat": (
        [
            "user: My name is Ada.",
            "thinks: They tell me their name. A greeting is in order.",
            "agent: Hello Ada! What can I do for you?",
            "  4 tokens in, 18 out",
            "agent: You are Ada, and this is message 2 of yours.",
            "9 messages: " + ", ".join(["user, reasoning, assistant"] * 3),
        ],
        [1, 4, 7],
    ),
    "backend_tools": (
        [
            "user: What is the weather in Rome, and in Oslo?",
            '  calls get_weather {"city": ',
            '  calls get_weather {"city": "Rome"}',
            '  result of get_weather {"city": "Oslo"}: 7 degrees and rain',
            "agent: Rome has 24 degrees and sunny, Oslo has 7 degrees and rain.",
        ],
        [1],
    ),
    "frontend_tools": (
        ["agent: You are in Lisbon.", "tool: Lisbon", "ai: You are in Lisbon.", *CALLS * 2],
        [1, 3, 1, 3],
    ),
    "mixed_tools": (
        [
            *CALLS,
            "  its own tool answers: Tasca do Rio and Casa Azul, both in Lisbon",
            "agent: I have found Tasca do Rio and Casa Azul, both in Lisbon.",
        ],
        [1, 3],
    ),
    "approvals": (BOOKED * 2, [1, 2, 1, 2]),
    "recipe_state": (
        [
            "  state: Recipe(title='', servings=1, ingredients=['tomatoes'])",
            f"  state: Recipe({SOUP})",
            "agent: Tomato soup for 6: tomatoes, onions, garlic, basil.",
            "  refused: servings = 0: Input should be greater than or equal to 1",
            "still for 6",
        ],
        [1, 5, 7],
    ),
}


@pytest.mark.parametrize("name", PRINTS)
def test_what_an_example_prints(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, counts = PRINTS[name]
    server, client = (import_module(f"examples.client.{name}.{of}") for of in ("server", "client"))
    # Some models take their time: fragments that come at once would leave as one event.
    monkeypatch.setattr(
        server.MODEL, "delay", 0.01 if name in ("basic_chat", "backend_tools") else 0
    )
    recorder = Recorder(server.app)
    with serving(recorder) as served:
        client.main(served.url("/agent"))
    given: list[Any] = [RunAgentInput.model_validate(asked) for asked, _ in recorder.exchanges]
    answers = [list(decode([bytes(answer)])) for _, answer in recorder.exchanges]
    runs = [RecordedRun(*run) for run in zip(answers, given, strict=True)]
    assert [one.last.type for one in runs] == ["RUN_FINISHED"] * len(counts)
    assert [len(one.input.messages) for one in runs] == counts
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in printed if printed.count(line) > lines.count(line)] == []


def test_the_runner_knows_all_examples_and_plays_what_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {path.parent.name for path in EXAMPLES.glob("*/server.py")}
    assert set(runner.NAMES) == names == set(PRINTS)
    monkeypatch.setattr(sys, "argv", ["examples.client", "mixed_tools"])
    runpy.run_path(str(EXAMPLES / "__main__.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "== mixed_tools"
    assert lines[-1] == "agent: I have found Tasca do Rio and Casa Azul, both in Lisbon."

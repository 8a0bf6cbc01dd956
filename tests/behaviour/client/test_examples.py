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
BOOKED = """\
  book_expense {"employee": "Ben", "amount": 900}? {"approved": true, "editedArgs": \
{"employee": "Ben", "amount": 600}}
- booked 1500 for Ada
- booked 600 for Ben
- User rejected the tool call for `delete_records` with reason: Records are kept for ten years.
"""
WEATHER = """\
  calls get_weather {"city": "Rome"}
  result of get_weather {"city": "Oslo"}: 7 degrees and rain
agent: Rome has 24 degrees and sunny, Oslo has 7 degrees and rain.
"""
CHAT = """\
thinks: They tell me their name. A greeting is in order.
agent: Hello Ada! What can I do for you?
  4 tokens in, 18 out
agent: You are Ada, and this is message 2 of yours.
"""
RECIPE = """\
  state: Recipe(title='', servings=1, ingredients=['tomatoes'])
agent: Tomato soup for 6: tomatoes, onions, garlic, basil.
  refused: servings = 0: Input should be greater than or equal to 1
still for 6
"""
LOCATED, HERE = "  get_user_location runs here\n", "You are in Lisbon.\n"
PLACES = "Tasca do Rio and Casa Azul"
# What it prints among other lines, and how many messages each of its runs is sent.
PRINTS = {
    "approvals": (BOOKED * 2, [1, 2, 1, 2]),
    "backend_tools": (WEATHER, [1]),
    "basic_chat": (CHAT, [1, 4, 7]),
    "frontend_tools": (f"{LOCATED}agent: {HERE}{LOCATED}ai: {HERE}", [1, 3, 1, 3]),
    "mixed_tools": (f"{LOCATED}  its own tool answers: {PLACES}, both in Lisbon\n", [1, 3]),
    "recipe_state": (RECIPE, [1, 5, 7]),
}


@pytest.mark.parametrize("name", PRINTS)
def test_what_an_example_prints(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed, counts = PRINTS[name][0].splitlines(), PRINTS[name][1]
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

"""The client's examples, each against its server over a socket: what it prints, and what goes over
the wire."""

from __future__ import annotations

import runpy
import sys
from importlib import import_module

import pytest
from ag_ui.core import RunAgentInput
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.client import __main__ as runner
from langgraph_agui.protocol import decode
from tests.kit.paths import ROOT
from tests.kit.processes.serving import Tape, serving
from tests.kit.run.agents import RecordedRun

EXAMPLES = ROOT / "examples/client"


class Recorder(Tape):
    """Keeps the inputs as well."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self.inputs: list[RunAgentInput] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def received() -> Message:
            message = await receive()
            body.extend(message.get("body", b""))
            if message["type"] == "http.request" and not message.get("more_body"):
                self.inputs.append(RunAgentInput.model_validate_json(bytes(body)))
            return message

        await super().__call__(scope, received if scope["type"] == "http" else receive, send)

    def runs(self) -> list[RecordedRun]:
        """Each run, verified, in the order in which they were asked for."""
        streams = [list(decode([answer])) for answer in self.answers["/agent"]]
        by_run = {stream[0].run_id: stream for stream in streams}  # type: ignore[union-attr]
        assert len(by_run) == len(self.inputs)
        return [RecordedRun(by_run[one.run_id], one) for one in self.inputs]


@pytest.fixture
def played(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """What one example prints, and its runs."""
    server, client = (
        import_module(f"examples.client.{request.param}.{side}") for side in ("server", "client")
    )
    # Some models take their time: fragments that come at once would leave as one event.
    slow = request.param in ("basic_chat", "backend_tools")
    monkeypatch.setattr(server.MODEL, "delay", 0.01 if slow else 0)
    recorder = Recorder(server.app)
    with serving(recorder) as served:
        client.main(served.url("/agent"))
    runs = recorder.runs()
    assert not any(run.of("RUN_ERROR") for run in runs)
    return capsys.readouterr().out.splitlines(), runs


def example(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("played", [name], indirect=True)


Played = tuple[list[str], list[RecordedRun]]


@example("basic_chat")
def test_a_chat_streams_text_and_reasoning_over_several_turns(played: Played) -> None:
    lines, runs = played
    assert lines[:4] == [
        "user: My name is Ada.",
        "thinks: They tell me their name. A greeting is in order.",
        "agent: Hello Ada! What can I do for you?",
        "  4 tokens in, 18 out",
    ]
    assert lines[6] == "agent: You are Ada, and this is message 2 of yours."
    assert lines[-1] == "9 messages: " + ", ".join(["user, reasoning, assistant"] * 3)
    assert len({run.input.thread_id for run in runs}) == 1
    assert [len(run.input.messages) for run in runs] == [1, 4, 7]
    assert all(len(run.of("TEXT_MESSAGE_CONTENT")) > 5 for run in runs)
    assert all(len(run.of("REASONING_MESSAGE_CONTENT")) > 5 for run in runs)


@example("backend_tools")
def test_calls_of_the_agent_fill_in_and_have_results(played: Played) -> None:
    lines, runs = played
    assert lines[:5] == [
        "user: What is the weather in Rome, and in Oslo?",
        '  calls get_weather {"city": ',
        '  calls get_weather {"city": "Rome"}',
        '  calls get_weather {"city": ',
        '  calls get_weather {"city": "Oslo"}',
    ]
    assert sorted(lines[5:]) == [  # the tools run side by side
        '  result of get_weather {"city": "Oslo"}: 7 degrees and rain',
        '  result of get_weather {"city": "Rome"}: 24 degrees and sunny',
        "agent: Rome has 24 degrees and sunny, Oslo has 7 degrees and rain.",
    ]
    assert len(runs) == 1


@example("frontend_tools")
def test_a_local_tool_runs_for_a_session_and_for_a_local_agent(played: Played) -> None:
    lines, runs = played
    assert lines == [
        "-- AGUISession",
        "user: Where am I?",
        "  get_user_location runs here",
        "agent: You are in Lisbon.",
        "-- create_agent(AGUIChatModel)",
        "  get_user_location runs here",
        "human: Where am I?",
        "ai: get_user_location",
        "tool: Lisbon",
        "ai: You are in Lisbon.",
    ]
    for asks, goes_on in (runs[:2], runs[2:]):
        assert asks.input.thread_id == goes_on.input.thread_id
        assert [tool.name for tool in asks.input.tools] == ["get_user_location"]
        assert asks.last.outcome.pending_tool_call_ids == [goes_on.input.messages[-1].tool_call_id]
        assert not goes_on.last.outcome.pending_tool_call_ids
    assert runs[0].input.thread_id != runs[2].input.thread_id


@example("mixed_tools")
def test_one_turn_has_a_local_tool_and_one_of_the_agent(played: Played) -> None:
    lines, runs = played
    assert lines == [
        "user: Find me a place to eat.",
        "a run begins",
        "  the agent calls get_user_location",
        "  get_user_location runs here",
        "a run begins",
        "  the agent calls find_restaurants",
        "  its own tool answers: Tasca do Rio and Casa Azul, both in Lisbon",
        "agent: I have found Tasca do Rio and Casa Azul, both in Lisbon.",
    ]
    assert [bool(run.of("TOOL_CALL_RESULT")) for run in runs] == [False, True]


@example("approvals")
def test_calls_are_approved_edited_and_rejected_here_and_from_a_local_graph(played: Played) -> None:
    lines, runs = played
    ben = '{"employee": "Ben", "amount": 900}'
    local = lines.index("-- RemoteAgent, a node of a local graph")
    for part in (lines[2:local], lines[local + 1 :]):
        assert sorted(part[:3]) == [  # a graph's interrupts have no order
            '  book_expense {"employee": "Ada", "amount": 1500}? {"approved": true}',
            (
                f'  book_expense {ben}? {{"approved": true, "editedArgs": '
                f"{ben.replace('900', '600')}}}"
            ),
            (
                '  delete_records {"year": 2019}? {"approved": false, "message": "Records are kept '
                'for ten years."}'
            ),
        ]
        assert part[3] == "agent: This is what came of it:"
        assert {"- booked 1500 for Ada", "- booked 600 for Ben"} < set(part[4:])
        assert [line for line in part[4:] if "booked" not in line] == [
            (
                "- User rejected the tool call for `delete_records` with reason: Records are "
                "kept for "
                "ten years."
            )
        ]
    assert [run.last.outcome.type for run in runs] == ["interrupt", "success"] * 2
    assert [len(run.input.resume or ()) for run in runs] == [0, 3] * 2


@example("recipe_state")
def test_agent_and_user_write_one_recipe_and_what_does_not_fit_is_reported(played: Played) -> None:
    lines, runs = played
    written = lines[1 : lines.index("agent: Done.")]
    assert written[0] == "  state: Recipe(title='', servings=1, ingredients=['tomatoes'])"
    assert written[-1] == (
        "  state: Recipe(title='Tomato soup', servings=4, ingredients=['tomatoes', 'onions', "
        "'garlic'])"
    )
    assert "agent: Tomato soup for 6: tomatoes, onions, garlic, basil." in lines
    assert [line for line in lines if "refused" in line] == [
        "  refused: servings = 0: Input should be greater than or equal to 1"
    ]
    assert "servings=0" not in "".join(lines)
    assert lines[-1] == "still for 6"
    assert [run.state["servings"] for run in runs] == [4, 6, 0]


def test_the_runner_knows_all_examples_and_plays_what_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(runner.NAMES) == {path.parent.name for path in EXAMPLES.glob("*/server.py")}
    monkeypatch.setattr(sys, "argv", ["examples.client", "mixed_tools"])
    runpy.run_path(str(EXAMPLES / "__main__.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "== mixed_tools"
    assert lines[-1] == "agent: I have found Tasca do Rio and Casa Azul, both in Lisbon."

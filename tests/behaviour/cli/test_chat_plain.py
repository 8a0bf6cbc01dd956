"""The chat client without a terminal: what it asks, what answers mean, and its options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from click.testing import Result
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import AGUISession
from langgraph_agui.devtools.cli.app import app
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.interrupts.decisions import ALL_DECISIONS, answer_schema
from langgraph_agui.protocol import verify
from tests.kit.graphs.chat import EVIL, ChatAgent, chat_agent
from tests.kit.processes.serving import serving


def chat(*arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["chat", *arguments], input=typed, env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def asker() -> Iterator[str]:
    """An agent that interrupts with the JSON of the message, and repeats the answer."""

    def ask(state: MessagesState) -> dict[str, Any]:
        asked = state["messages"][-1].text
        is_question = asked.startswith("{")
        said = f"got {interrupt(json.loads(asked))!r}" if is_question else f"so {asked}"
        return {"messages": [AIMessage(said)]}

    builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    with serving(build_app(LangGraphAgent(graph=graph), "Test")) as served:
        yield served.url("/agent")


@pytest.fixture(scope="module")
def agent() -> Iterator[ChatAgent]:
    with chat_agent() as agent:
        yield agent


FORM = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "description": "How much?"},
        "unit": {"type": "string", "default": "kg"},
        "fresh": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "hue": {"$ref": "#/$defs/Hue"},
    },
    "required": ["amount"],
    "$defs": {"Hue": {"enum": ["red", "green"]}},
}


class Seat(BaseModel):
    row: int = Field(ge=1, le=30)
    letter: str = Field(min_length=1, max_length=2)
    space: float = Field(gt=0, le=10)
    tags: list[str] = Field(min_length=1)
    deck: Annotated[int, Field(ge=3, le=3)] | None = None


ANY = {"message": "Which?"}
CALL = {"message": "May I?", "reason": "tool_call"}
LATE = {"message": "Late?", "expiresAt": "2020-01-01T00:00:00Z"}
LATER = "got {'approved': False, 'type': 'respond', 'message': 'later'}"


def wants(schema: dict[str, Any]) -> dict[str, Any]:
    return {"message": "Which?", "responseSchema": schema}


def one_of(*values: str) -> dict[str, Any]:
    return wants({"enum": list(values)})


def decision(*allowed: Any) -> dict[str, Any]:
    return wants(answer_schema(allowed))


@pytest.mark.parametrize(
    ("asked", "typed", "expected"),
    [
        (ANY, " Ada L.\n", ["yes, no, cancel, JSON or text: ", "got 'Ada L.'"]),
        (ANY, "No\n", ["got False"]),
        ({"message": "Which key?"}, "n\n", ["got 'n'"]),
        ({"message": "Which key?"}, "\nYE\n", ["That is empty", "got 'YE'"]),
        (ANY, "NaN\n", ["got 'NaN'"]),
        (ANY, f"{'[' * 100_000}\n", ["got '[[["]),
        (ANY, '{"at": 3}\n', ["got {'at': 3}"]),
        (ANY, "cancel\n", ["The agent cancelled the run."]),
        (LATE, "", ["it is cancelled: Late?", "cancelled the run"]),
        (wants({"type": "string"}), "7\n", ["cancel or text: ", "got '7'"]),
        (wants({"type": "boolean"}), "y\n", ["[y]es  [n]o  [c]ancel", "got True"]),
        ({"message": "Sure?", "reason": "confirmation"}, "no\n", ["got False"]),
        (one_of("red", "green"), "gr\n", ["[r]ed  [g]reen", "got 'green'"]),
        (
            one_of("very good", "very bad"),
            "very\nvery g\n",
            ["Expected very good, very bad, cancel, or JSON: ", "got 'very good'"],
        ),
        (one_of("go", "edit"), "e\n", ["[g]o  [e]dit  [c]ancel", "got 'edit'"]),
        (one_of("go", "cancel"), "c\n", ["[g]o  [c]ancel  or", "got 'cancel'"]),
        (
            wants({"type": "integer", "maximum": 3}),
            "7\nmany\n2\n",
            [
                "JSON: Expected a whole number of at most 3.",
                "Expected cancel, or JSON: a whole number of at most 3.",
                "got 2",
            ],
        ),
        (
            decision("respond"),
            "r\n\nr later\n",
            ["[r]espond  [c]ancel", "result: ", "nothing to respond with", LATER],
        ),
        (
            decision("approve", "reject", "respond"),
            "re\nres later\n",
            [
                "[a]pprove  [r]eject  re[s]pond  [c]ancel  or JSON: Expected approve, reject, resp",
                LATER,
            ],
        ),
        (
            decision(*ALL_DECISIONS),
            "r too dear\n",
            ["re[s]pond  [c]ancel  or JSON: ", "got {'approved': False, 'message': 'too dear'}"],
        ),
        (decision(*ALL_DECISIONS), "s later\n", [LATER]),
        (
            decision("approve", "edit"),
            "reject\nedit 7\nap\n",
            [
                "[a]pprove  [e]dit  [c]ancel",
                'Expected approve, edit, cancel, or JSON: {"approved": true}.',
                "Expected a JSON object with the arguments.",
                "got {'approved': True}",
            ],
        ),
        (CALL, "perhaps\nYES\n", ["Expected approve", "got {'approved': True}"]),
        (CALL, "no not now\n", ["got {'approved': False, 'message': 'not now'}"]),
        (CALL, "r\n", ["[a]pprove  [r]eject", "got {'approved': False}"]),
        (
            wants(FORM),
            "\nmany\n2.5\n\nperhaps\ny\nblue\nred\n",
            [
                "[f]ill  [c]ancel  or JSON: How much? (a number)\namount: Expected a number.",
                '(a text, optional)\nunit ["kg"]: (true or false or null, optional)\nfresh: ',
                "Expected true or false or null.",
                '("red" or "green", optional)\nhue: Expected "red" or "green".',
                "got {'amount': 2.5, 'unit': 'kg', 'fresh': True, 'hue': 'red'}",
            ],
        ),
        (wants(FORM), "f\n1\n\n\n\n", ["got {'amount': 1, 'unit': 'kg'}"]),
        (
            wants(FORM),
            '{"amount": "x"}\n{}\n{"amount": 1}\n',
            [
                "Expected a number for `amount`.",
                "That does not fit: 'amount' is a required property.",
                "got {'amount': 1}",
            ],
        ),
        (
            wants(Seat.model_json_schema()),
            '\n40\n12\nabc\nA\n0\n1.5\n[]\n["x"]\n0\n\n',
            [
                "(a whole number from 1 to 30)\nrow: Expected a whole number from 1 to 30.",
                "(a text of 1 to 2 characters)\nletter: Expected a text of 1 to 2 characters.",
                "(a number of at most 10 and greater than 0)\nspace: Expected a number of at most",
                "(a list of at least 1 entry)\ntags: Expected a list of at least 1 entry.",
                "Expected a whole number of exactly 3 or null.",
                "got {'row': 12, 'letter': 'A', 'space': 1.5, 'tags': ['x'], 'deck': None}",
            ],
        ),
    ],
)
def test_each_question_takes_its_answers(
    asker: str, asked: dict[str, Any], typed: str, expected: list[str]
) -> None:
    result = chat(asker, typed=f"{json.dumps(asked)}\n{typed}hello\n")
    assert result.exit_code == 0, result.output
    for text in [*expected, "so hello"]:
        assert text in result.stdout


def test_json_lines_stay_apart_from_the_rest(agent: ChatAgent) -> None:
    result = chat(agent.url, "--json", typed="evil\nreject\n:history\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    events = [json.loads(line) for line in lines]
    last = [at for at, event in enumerate(events) if event["type"] == "RUN_FINISHED"]
    verify(events[: last[0] + 1], strict=True)
    assert any(event.get("delta") == f"oh {EVIL}" for event in events)
    assert not set(result.stdout) & set("\x1b\x07\x9b")
    assert "[a]pprove" in result.stderr
    assert "you: evil" in result.stderr


def test_an_open_question_is_kept_with_the_conversation(agent: ChatAgent, tmp_path: Path) -> None:
    file = str(tmp_path / "kept.json")
    session = AGUISession(agent.url)
    session.send("book").wait()
    Path(file).write_text(session.to_json())
    assert chat(agent.url, "and now?", "--session", file).exit_code == 2
    before = len(agent.booked)
    result = chat(agent.url, "--session", file, typed="a\n")
    assert "Heard: booked chair." in result.stdout
    assert len(agent.booked) == before + 1


def test_a_thread_that_the_agent_has_is_gone_on_with(asker: str) -> None:
    first = json.loads(chat(asker, "one", "--json").stdout.splitlines()[0])
    result = chat(asker, "--thread", first["threadId"], typed="two\n:history\n")
    assert result.stdout.startswith("1 you: one\n2 agent: so one\n> ")
    assert "1 you: one\n2 agent: so one\n3 you: two\n4 agent: so two\n" in result.stdout


@pytest.mark.parametrize("content", [None, b"{", b"[]", b"[" * 100_000, b"\xff"])
def test_what_cannot_be_gone_on_with(asker: str, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_bytes(content)
    result = chat(asker, "--session", str(file), typed="hello\n")
    assert result.exit_code == 2
    no_file, no_session = "cannot be read: No such file", "is not a saved AG-UI session"
    assert (no_file if content is None else no_session) in result.stderr

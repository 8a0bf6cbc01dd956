"""The chat client without a terminal: what it asks, what answers mean, and its options."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import AGUISession
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.interrupts.decisions import ALL_DECISIONS, answer_schema
from langgraph_agui.protocol import verify
from tests.behaviour.cli.terminal import invoke
from tests.kit.graphs.chat import EVIL, chat_agent
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.processes.serving import serving


def chat(*arguments, typed=""):
    return invoke("chat", *arguments, typed=typed)


@pytest.fixture(scope="module")
def asker():
    """An agent that interrupts with the JSON of the message, and repeats the answer."""

    def ask(state: Chat):
        asked = state["messages"][-1].text
        is_question = asked.startswith("{")
        said = f"got {interrupt(json.loads(asked))!r}" if is_question else f"so {asked}"
        return {"messages": [AIMessage(said)]}

    graph = chain_of(ask, checkpointer=InMemorySaver())
    with serving(build_app(LangGraphAgent(graph), "Test")) as served:
        yield served.url("/agent")


@pytest.fixture(scope="module")
def agent():
    with chat_agent() as agent:
        yield agent


PROPERTIES = {
    "amount": {"type": "number", "description": "How much?"},
    "unit": {"type": "string", "default": "kg"},
    "fresh": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "hue": {"$ref": "#/$defs/Hue"},
}
FORM = {"type": "object", "properties": PROPERTIES, "required": ["amount"]}
FORM["$defs"] = {"Hue": {"enum": ["red", "green"]}}


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


def wants(schema):
    return {"message": "Which?", "responseSchema": schema}


def one_of(*values):
    return wants({"enum": list(values)})


def decision(*allowed):
    return wants(answer_schema(allowed))


KEY = {"message": "Which key?"}
WHOLE = "a whole number of at most 3."
SEATS = '\n40\n12\nabc\nA\n0\n1.5\n[]\n["x"]\n0\n\n'
ANSWERED = [
    (ANY, " Ada L.\n", ["yes, no, cancel, JSON or text: ", "got 'Ada L.'"]),
    (ANY, "No\n", ["got False"]),
    (KEY, "n\n", ["got 'n'"]),
    (KEY, "\nYE\n", ["That is empty", "got 'YE'"]),
    (ANY, "NaN\n", ["got 'NaN'"]),
    (ANY, f"{'[' * 100_000}\n", ["got '[[["]),
    (ANY, '{"at": 3}\n', ["got {'at': 3}"]),
    (ANY, "cancel\n", ["The agent cancelled the run."]),
    (LATE, "", ["it is cancelled: Late?", "cancelled the run"]),
    (wants({"type": "string"}), "7\n", ["cancel or text: ", "got '7'"]),
    (wants({"type": "boolean"}), "y\n", ["[y]es  [n]o  [c]ancel", "got True"]),
    ({"message": "Sure?", "reason": "confirmation"}, "no\n", ["got False"]),
    (one_of("red", "green"), "gr\n", ["[r]ed  [g]reen", "got 'green'"]),
    (one_of("very good", "very bad"), "very\nvery g\n",
     ["Expected very good, very bad, cancel, or JSON: ", "got 'very good'"]),
    (one_of("go", "edit"), "e\n", ["[g]o  [e]dit  [c]ancel", "got 'edit'"]),
    (one_of("go", "cancel"), "c\n", ["[g]o  [c]ancel  or", "got 'cancel'"]),
    (wants({"type": "integer", "maximum": 3}), "7\nmany\n2\n",
     [f"JSON: Expected {WHOLE}", f"Expected cancel, or JSON: {WHOLE}", "got 2"]),
    (decision("respond"), "r\n\nr later\n",
     ["[r]espond  [c]ancel", "result: ", "nothing to respond with", LATER]),
    (decision("approve", "reject", "respond"), "re\nres later\n",
     ["[a]pprove  [r]eject  re[s]pond  [c]ancel  or JSON: Expected approve, reject, resp", LATER]),
    (decision(*ALL_DECISIONS), "r too dear\n",
     ["re[s]pond  [c]ancel  or JSON: ", "got {'approved': False, 'message': 'too dear'}"]),
    (decision(*ALL_DECISIONS), "s later\n", [LATER]),
    (decision("approve", "edit"), "reject\nedit 7\nap\n",
     ["[a]pprove  [e]dit  [c]ancel", 'Expected approve, edit, cancel, or JSON: {"approved": true}.',
      "Expected a JSON object with the arguments.", "got {'approved': True}"]),
    (CALL, "perhaps\nYES\n", ["Expected approve", "got {'approved': True}"]),
    (CALL, "no not now\n", ["got {'approved': False, 'message': 'not now'}"]),
    (CALL, "r\n", ["[a]pprove  [r]eject", "got {'approved': False}"]),
    (wants(FORM), "\nmany\n2.5\n\nperhaps\ny\nblue\nred\n",
     ["[f]ill  [c]ancel  or JSON: How much? (a number)\namount: Expected a number.",
      '(a text, optional)\nunit ["kg"]: (true or false or null, optional)\nfresh: ',
      "Expected true or false or null.", '("red" or "green", optional)\nhue: Expected "red" or "green".',
      "got {'amount': 2.5, 'unit': 'kg', 'fresh': True, 'hue': 'red'}"]),
    (wants(FORM), "f\n1\n\n\n\n", ["got {'amount': 1, 'unit': 'kg'}"]),
    (wants(FORM), '{"amount": "x"}\n{}\n{"amount": 1}\n',
     ["Expected a number for `amount`.", "That does not fit: 'amount' is a required property.", "got {'amount': 1}"]),
    (wants(Seat.model_json_schema()), SEATS,
     ["(a whole number from 1 to 30)\nrow: Expected a whole number from 1 to 30.",
      "(a text of 1 to 2 characters)\nletter: Expected a text of 1 to 2 characters.",
      "(a number of at most 10 and greater than 0)\nspace: Expected a number of at most",
      "(a list of at least 1 entry)\ntags: Expected a list of at least 1 entry.",
      "Expected a whole number of exactly 3 or null.",
      "got {'row': 12, 'letter': 'A', 'space': 1.5, 'tags': ['x'], 'deck': None}"]),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "typed", "expected"), ANSWERED)
def test_each_question_takes_its_answers(asker, asked, typed, expected):
    result = chat(asker, typed=f"{json.dumps(asked)}\n{typed}hello\n")
    assert result.exit_code == 0, result.output
    assert [text for text in [*expected, "so hello"] if text not in result.stdout] == []


def test_json_lines_stay_apart_from_the_rest(agent):
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


def test_an_open_question_is_kept_with_the_conversation(agent, tmp_path):
    file = tmp_path / "kept.json"
    session = AGUISession(agent.url)
    session.send("book").wait()
    file.write_text(session.to_json())
    assert chat(agent.url, "and now?", "--session", file).exit_code == 2
    before = len(agent.booked)
    result = chat(agent.url, "--session", file, typed="a\n")
    assert "Heard: booked chair." in result.stdout
    assert len(agent.booked) == before + 1


def test_a_thread_that_the_agent_has_is_gone_on_with(asker):
    first = json.loads(chat(asker, "one", "--json").stdout.splitlines()[0])
    result = chat(asker, "--thread", first["threadId"], typed="two\n:history\n")
    assert result.stdout.startswith("1 you: one\n2 agent: so one\n> ")
    assert "1 you: one\n2 agent: so one\n3 you: two\n4 agent: so two\n" in result.stdout


@pytest.mark.parametrize("content", [None, b"{", b"[]", b"[" * 100_000, b"\xff"])
def test_what_cannot_be_gone_on_with(asker, tmp_path, content):
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_bytes(content)
    result = chat(asker, "--session", str(file), typed="hello\n")
    assert result.exit_code == 2
    no_file, no_session = "cannot be read: No such file", "is not a saved AG-UI session"
    assert (no_file if content is None else no_session) in result.stderr

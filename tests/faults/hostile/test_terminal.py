"""A hostile agent against the chat: each text of each event tries to steer the terminal, each
schema to hang it."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from typer.testing import CliRunner

from langgraph_agui.devtools.cli.app import app
from tests.behaviour.cli.terminal import chatting
from tests.kit.graphs.chat import EVIL
from tests.kit.processes.scripted_servers import answering, asking, recording, server
from tests.kit.run.wire_events import (
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    reasoning,
    result,
    state_delta,
    text,
)

ESCAPES = (
    f"{EVIL}\x1b[31m\x1bPq\x1b\\\x9d0;title\x9c\r\x08\x7f\u202egnp\u2066&#x202e;&#13;<b>\n```\n# "
)
K = "k" + ESCAPES
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Chosen by the view itself: colours, lines and the cursor of the live part.
OWN = re.compile(r"\x1b\[[0-9;?]*[mABJKhlGHn]|\x1b[=>]|\r|\x08|\x07")


KEPT = {"type", "role", "op", "path", "from", "subtype"}


def evil(value: Any) -> Any:
    """The same JSON data with escape sequences in every text; ids stay equal where they were."""
    if isinstance(value, list):
        return [evil(one) for one in value]
    if isinstance(value, dict):
        return {key: one if key in KEPT else evil(one) for key, one in value.items()}
    return value + ESCAPES if isinstance(value, str) else value


ASKED: Wire = {
    "id": "i",
    "reason": "confirmation",
    "message": "Sure?",
    "subagentRunId": "s",
    "metadata": {"name": "tool", "args": {"a": "b"}, K: 1},
    "responseSchema": {"title": "t", "enum": ["one", "two"], K: 1},
}
OF_S, PLAN = {"subagentRunId": "s"}, {"messageId": "a", "activityType": "plan"}
SAID = [
    event("STATE_SNAPSHOT", snapshot={K: "v"}),
    event("SUBAGENT_STARTED", **OF_S, name="scout", description="look"),
    *text("t", "said", role="assistant", **OF_S),
    *reasoning("r", "said", **OF_S),
    *call("c", '{"a', name="tool", **OF_S),
    result("c"),
    event("ACTIVITY_SNAPSHOT", **PLAN, content={K: "step"}),
    event("ACTIVITY_DELTA", **PLAN, patch=[{"op": "remove", "path": "/n" + ESCAPES}]),
    state_delta({"op": "replace", "path": "/nowhere" + ESCAPES, "value": 1}),
    event("CUSTOM", name="custom", value={"a": "b"}, **{K: 1}),
    event("SUBAGENT_FINISHED", **OF_S),
    event("SUBAGENT_STARTED", subagentRunId="s2", name="scout"),
    event("SUBAGENT_ERROR", subagentRunId="s2", message="lost", code="code"),
]
"""Every kind of event that the chat shows."""
USAGE = [{"model": "m" + ESCAPES, "provider": "p", "inputTokens": 1}]
FAILED = event("RUN_ERROR", message="lost", code="code", metadata={K: "v"})
NOWHERE = event("TEXT_MESSAGE_CONTENT", messageId="nowhere", delta="x")
NO_RAW, STEP = event("RAW", event={}, messageId=1), event("STEP_STARTED", stepName=ESCAPES)
SCRIPTS = [
    *(
        recording(*evil([STARTED, *events]))
        for events in (
            [*SAID, {**asking(ASKED), "usage": USAGE}],
            [FAILED],
            [NOWHERE],
            [NO_RAW, STEP],
        )
    ),
    answering(500, ESCAPES.replace("\r", "")),
    answering(307, location="http://evil.example/x%1b[2J"),
]


def chat(url: str, typed: str, *options: str) -> Any:
    return CliRunner().invoke(app, ["chat", url, *options], input=typed, env={"COLUMNS": "200"})


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_plain_lines_and_json_hold_no_escapes(options: list[str]) -> None:
    typed = "go\n:history\n:state\none" + ESCAPES.replace("\r", "") + "\nc" + "\nmore" * 4 + "\n"
    with server(*SCRIPTS) as agent:
        output = chat(agent.url, typed, *options).output
    assert ("Sure?" in output, "Traceback" in output) == (True, False)
    assert STEERING.findall(output.replace("\r\n", "\n")) == []


def test_a_terminal_is_steered_by_its_view_alone() -> None:
    with server(*SCRIPTS[:2]) as agent, chatting(agent.url) as shown:
        shown.enter("go")
        shown.expect("Sure?", "[c]ancel")
        shown.send(":history")
        shown.send(":state")
        shown.send("c")
        shown.expect("error: code")
        shown.enter(":q", "[c]ancel  or JSON:")
        shown.ends(0, 1)
    assert STEERING.findall(OWN.sub("", shown.raw.replace("\n", ""))) == []


def exponential(levels: int) -> Wire:
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"type": "string"}}}


def nested(levels: int) -> Wire:
    schema: Wire = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}, "required": ["b"]}
    return schema


MALFORMED = {"approved": 7, "type": {"enum": 7}}
SCHEMAS: dict[str, Wire] = {
    "exponential": exponential(60),
    "regex": {"pattern": "^(a+)+$"},
    "recursive": {"$ref": "#", "allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "nested": nested(300),
    "huge": {"enum": [f"{'word' * 20}{n}" for n in range(20_000)] + ["w"] * 20_000},
    "malformed": {"enum": 7, "properties": MALFORMED, "allOf": 7, "items": 7, "type": {}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_no_schema_hangs_the_chat(schema: Wire) -> None:
    asked = {"id": "i", "reason": "input_required", "message": "Which?", "responseSchema": schema}
    with server([STARTED, asking(asked)], *[[STARTED, FINISHED]] * 4) as agent:
        began = time.monotonic()
        shown = chat(agent.url, "go\n" + json.dumps("a" * 28 + "!") + "\nw\n7\ncancel\n")
    assert time.monotonic() - began < 50, "it hangs for minutes or for ever where it does"
    assert shown.exit_code == 0, shown.output
    assert "Which?" in shown.output
    assert len(agent.asked) > 1
    assert len(shown.output) < 100_000

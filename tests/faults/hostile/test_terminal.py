"""A hostile agent against the chat: each text of each event tries to steer the terminal, each
schema to hang it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from langgraph_agui.devtools.cli.app import app
from tests.behaviour.cli.terminal import chatting
from tests.kit.graphs.chat import EVIL
from tests.kit.processes.scripted_servers import answering, recording, server
from tests.kit.run.wire_events import Wire, event

ESCAPES = (
    f"{EVIL}\x1b[31m\x1bPq\x1b\\\x9d0;title\x9c\r\x08\x7f\u202egnp\u2066&#x202e;&#13;<b>\n```\n# "
)
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Chosen by the view itself: colours, lines and the cursor of the live part.
OWN = re.compile(r"\x1b\[[0-9;?]*[mABJKhlGHn]|\x1b[=>]|\r|\x08|\x07")


def evil(
    value: Any,
    *,
    keep: frozenset[str] = frozenset({"type", "role", "op", "path", "from", "subtype"}),
) -> Any:
    """The same JSON data with escape sequences in every text and key; ids stay equal where they
    were."""
    if isinstance(value, str):
        return value + ESCAPES
    if isinstance(value, list):
        return [evil(one) for one in value]
    if isinstance(value, dict):
        return {key: one if key in keep else evil(one) for key, one in value.items()}
    return value


ASKED: Wire = {
    "id": "i",
    "reason": "confirmation",
    "message": "Sure?",
    "subagentRunId": "s",
    "metadata": {"name": "tool", "args": {"a": "b"}, "k" + ESCAPES: 1},
    "responseSchema": {"title": "t", "enum": ["one", "two"], "k" + ESCAPES: 1},
}


def said() -> Iterator[Wire]:
    """Every kind of event that the chat shows."""
    yield event("STATE_SNAPSHOT", snapshot={"k" + ESCAPES: "v"})
    yield event("SUBAGENT_STARTED", subagentRunId="s", name="scout", description="look")
    for kind, start in (
        ("TEXT_MESSAGE", {"role": "assistant"}),
        ("REASONING_MESSAGE", {"role": "reasoning"}),
    ):
        yield event(f"{kind}_START", messageId=kind, subagentRunId="s", **start)
        yield event(f"{kind}_CONTENT", messageId=kind, delta="said")
        yield event(f"{kind}_END", messageId=kind)
    yield event("TOOL_CALL_START", toolCallId="c", toolCallName="tool", subagentRunId="s")
    yield event("TOOL_CALL_ARGS", toolCallId="c", delta='{"a')
    yield event("TOOL_CALL_END", toolCallId="c")
    yield event("TOOL_CALL_RESULT", messageId="r", toolCallId="c", content="done")
    yield event(
        "ACTIVITY_SNAPSHOT", messageId="a", activityType="plan", content={"k" + ESCAPES: "step"}
    )
    yield event(
        "ACTIVITY_DELTA",
        messageId="a",
        activityType="plan",
        patch=[{"op": "remove", "path": "/n" + ESCAPES}],
    )
    yield event("STATE_DELTA", delta=[{"op": "replace", "path": "/nowhere" + ESCAPES, "value": 1}])
    yield event("CUSTOM", name="custom", value={"a": "b"}, **{"unknown" + ESCAPES: 1})
    yield event("SUBAGENT_FINISHED", subagentRunId="s")
    yield event("SUBAGENT_STARTED", subagentRunId="s2", name="scout")
    yield event("SUBAGENT_ERROR", subagentRunId="s2", message="lost", code="code")


STARTED = event("RUN_STARTED", threadId="t", runId="r")
USAGE = [{"model": "m" + ESCAPES, "provider": "p", "inputTokens": 1}]
PAUSED = event(
    "RUN_FINISHED",
    threadId="t",
    runId="r",
    outcome={"type": "interrupt", "interrupts": [ASKED]},
    usage=USAGE,
)
FAILED = event("RUN_ERROR", message="lost", code="code", metadata={"k" + ESCAPES: "v"})
SCRIPTS = (
    recording(*evil([STARTED, *said(), PAUSED])),
    recording(*evil([STARTED, FAILED])),
    recording(*evil([STARTED, event("TEXT_MESSAGE_CONTENT", messageId="nowhere", delta="x")])),
    recording(
        *evil(
            [STARTED, event("RAW", event={}, messageId=1), event("STEP_STARTED", stepName=ESCAPES)]
        )
    ),
    answering(500, ESCAPES.replace("\r", "")),
    answering(307, location="http://evil.example/" + "x%1b[2J"),
)


def test_plain_lines_and_json_hold_no_escapes() -> None:
    for arguments in ((), ("--json",)):
        with server(*SCRIPTS) as agent:
            lines = (
                "go\n:history\n:state\none"
                + ESCAPES.replace("\r", "")
                + "\nc\nmore\nmore\nmore\nmore\n"
            )
            result = CliRunner().invoke(
                app, ["chat", agent.url, *arguments], input=lines, env={"COLUMNS": "200"}
            )
        assert "Sure?" in result.output
        assert "Traceback" not in result.output
        typed = re.sub(r"\r\n", "\n", result.output)
        assert STEERING.findall(typed) == []


def test_a_terminal_is_steered_by_its_view_alone() -> None:
    with server(*SCRIPTS[:2]) as agent, chatting(agent.url) as chat:
        chat.enter("go")
        chat.expect("Sure?", "[c]ancel")
        chat.send(":history")
        chat.send(":state")
        chat.send("c")
        chat.expect("error: code")
        chat.enter(":q", "[c]ancel  or JSON:")
        assert chat.wait_exit() in (0, 1)
    assert STEERING.findall(OWN.sub("", chat.raw.replace("\n", ""))) == []


def exponential(levels: int) -> Wire:
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"type": "string"}}}


def nested(levels: int) -> Wire:
    schema: Wire = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}, "required": ["b"]}
    return schema


SCHEMAS: dict[str, Wire] = {
    "exponential": exponential(60),
    "regex": {"pattern": "^(a+)+$"},
    "recursive": {"$ref": "#", "allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "nested": nested(300),
    "huge": {"enum": [f"{'word' * 20}{n}" for n in range(20_000)] + ["w"] * 20_000},
    "malformed": {
        "enum": 7,
        "properties": {"approved": 7, "type": {"enum": 7}},
        "allOf": 7,
        "items": 7,
        "type": {},
    },
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_schema_hangs_the_chat(name: str) -> None:
    asked = {
        "id": "i",
        "reason": "input_required",
        "message": "Which?",
        "responseSchema": SCHEMAS[name],
    }
    paused = event(
        "RUN_FINISHED",
        threadId="t",
        runId="r",
        outcome={"type": "interrupt", "interrupts": [asked]},
    )
    done = recording(STARTED, event("RUN_FINISHED", threadId="t", runId="r"))
    with server(recording(STARTED, paused), *[done] * 4) as agent:
        typed = "go\n" + json.dumps("a" * 28 + "!") + "\nw\n7\ncancel\n"
        began = time.monotonic()
        result = CliRunner().invoke(app, ["chat", agent.url], input=typed, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "Which?" in result.output
    assert len(agent.asked) > 1
    assert len(result.output) < 100_000
    assert time.monotonic() - began < 50, "it hangs for minutes or for ever where it does"

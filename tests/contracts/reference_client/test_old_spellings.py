"""Two spellings of before AG-UI 1.0 are read though the reference client refuses them: see
`differences.py`."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_agui.protocol import ProtocolError, fold, parse_event, verify
from langgraph_agui.protocol.schema import examine, known_messages, parse_input
from tests.kit.run.wire_events import (
    Wire,
    call,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
)

A, B = {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
READ = "a list of parts in content, read as its text"
ROLES = ["assistant", "system", "developer", "reasoning"]

CONTENTS: dict[str, tuple[list[Wire], str, list[str]]] = {
    # name: (content, its text, the notes)
    "parts": ([A, B], "ab", [READ]),
    "nothing": ([], "", [READ]),
    "parts that are no text": (
        [{"type": "thinking", "thinking": "hm"}, A, {"type": "tool_use", "id": "c"}],
        "a",
        [
            READ,
            "unknown part 'thinking' in content, removed",
            "unknown part 'tool_use' in content, removed",
        ],
    ),
    "parts that say more": ([{**A, "index": 0, "annotations": None}], "a", [READ]),
}


def input_of(*messages: Wire) -> Wire:
    return {"threadId": "t", "runId": "r", "messages": list(messages)}


def test_reasoning_in_the_role_of_an_assistant() -> None:
    opener, *rest = reasoning("q", "hm")
    old = {**opener, "role": "assistant"}
    parsed, notes = examine(old)
    assert parsed == parse_event(opener)
    assert notes == ["deprecated role 'assistant' of reasoning, read as 'reasoning'"]
    [held] = fold(verify(in_run(old, *rest))).messages
    assert (held.role, held.content) == ("reasoning", "hm")
    assert old["role"] == "assistant"


def test_the_role_of_a_span_is_removed() -> None:
    wire = event("REASONING_START", messageId="q", role="assistant")
    assert examine(wire) == (
        parse_event(event("REASONING_START", messageId="q")),
        ["unknown /role in REASONING_START, removed"],
    )


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", CONTENTS)
def test_a_list_where_a_message_has_text(
    name: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    content, text, expected = CONTENTS[name]
    one = message(role, "m", content)
    _, notes = examine(snapshot(one))
    assert notes == expected
    for held in (
        fold(verify(in_run(snapshot(one)))).messages,
        parse_input(input_of(one)).messages,
        known_messages([one]),
    ):
        [kept] = held
        assert (kept.role, kept.content) == (role, text)
    once = [f"AG-UI: {'; '.join(expected)}"] if expected else []  # of what a client sends
    assert [record.getMessage() for record in caplog.records] == [
        *(f"AG-UI: {note}" for note in expected),
        *once * 2,
    ]
    assert one["content"] is content


@pytest.mark.parametrize(
    "content",
    [
        ["a"],
        [A, None],
        [{"type": "text"}],
        [{"type": "text", "text": None}],
        [{"text": "a"}],
        {"0": A},
    ],
)
def test_what_is_no_list_of_parts_is_refused(content: Any) -> None:
    one = message("assistant", "m", content)
    with pytest.raises(ProtocolError, match="/messages/0/content"):
        parse_event(snapshot(one))
    with pytest.raises(ProtocolError, match="/messages/0/content"):
        parse_input(input_of(one))


def test_users_and_tools_keep_their_parts() -> None:
    user, tool = message("user", "u", [A, B]), message("tool", "o", [A, B], toolCallId="c")
    assert examine(snapshot(user, tool))[1] == []
    stream = in_run(*call("c"), result("c", content=[{**A, "index": 0}, {"type": "tool_use"}]))
    held = fold(verify(stream)).messages[-1]
    assert held.model_dump(by_alias=True)["content"] == [A]


@pytest.mark.parametrize(
    "wire",
    [{**reasoning()[0], "role": "assistant"}, snapshot(message("assistant", "m", [A]))],
    ids=["role", "parts"],
)
def test_a_producer_must_not_send_them(wire: Wire) -> None:
    with pytest.raises(ProtocolError) as caught:
        verify(in_run(wire), strict=True)
    assert caught.value.code == "non-conforming"

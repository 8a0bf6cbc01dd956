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
ODD = [{"type": "thinking", "thinking": "hm"}, A, {"type": "tool_use", "id": "c"}]
REMOVED = [f"unknown part '{kind}' in content, removed" for kind in ("thinking", "tool_use")]


def input_of(*messages: Wire) -> Wire:
    return {"threadId": "t", "runId": "r", "messages": list(messages)}


def test_reasoning_in_the_role_of_an_assistant() -> None:
    opener, *rest = reasoning("q", "hm")
    old = {**opener, "role": "assistant"}
    note = "deprecated role 'assistant' of reasoning, read as 'reasoning'"
    assert examine(old) == (parse_event(opener), [note])
    [held] = fold(verify(in_run(old, *rest))).messages
    assert (held.role, held.content, old["role"]) == ("reasoning", "hm", "assistant")
    span = event("REASONING_START", messageId="q")
    note = "unknown /role in REASONING_START, removed"
    assert examine({**span, "role": "assistant"}) == (parse_event(span), [note])


@pytest.mark.parametrize(
    ("role", "content", "text", "notes"),
    [
        pytest.param("assistant", [A, B], "ab", [READ], id="parts"),
        pytest.param("system", [], "", [READ], id="nothing"),
        pytest.param("reasoning", ODD, "a", [READ, *REMOVED], id="parts that are no text"),
        pytest.param("developer", [{**A, "index": 0}], "a", [READ], id="more fields"),
    ],
)
def test_a_list_where_a_message_has_text(
    role: str, content: Any, text: str, notes: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    one = message(role, "m", content)
    assert examine(snapshot(one))[1] == notes
    [folded] = fold(verify(in_run(snapshot(one)))).messages
    [sent], [known] = parse_input(input_of(one)).messages, known_messages([one])
    assert {(held.role, held.content) for held in (folded, sent, known)} == {(role, text)}
    logged = [record.getMessage().removeprefix("AG-UI: ") for record in caplog.records]
    assert logged == [*notes, *["; ".join(notes)] * 2]  # once of what a client sends
    assert one["content"] is content


@pytest.mark.parametrize("content", [["a"], [A, None], [{"type": "text", "text": None}], {"0": A}])
def test_what_is_no_list_of_parts_is_refused(content: Any) -> None:
    one = message("assistant", "m", content)
    for read in (lambda: parse_event(snapshot(one)), lambda: parse_input(input_of(one))):
        with pytest.raises(ProtocolError, match="/messages/0/content"):
            read()


def test_users_and_tools_keep_their_parts() -> None:
    user, tool = message("user", "u", [A, B]), message("tool", "o", [A, B], toolCallId="c")
    assert examine(snapshot(user, tool))[1] == []
    stream = in_run(*call("c"), result("c", content=[{**A, "index": 0}, {"type": "tool_use"}]))
    assert fold(verify(stream)).messages[-1].model_dump(by_alias=True)["content"] == [A]

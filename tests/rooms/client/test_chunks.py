"""What the chunks of a stream look like, and their sum."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import ToolMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from langgraph_agui.client import agui_messages_of
from langgraph_agui.client.langchain.chunks import ChunkBuilder
from langgraph_agui.client.langchain.event_history import EventHistory
from langgraph_agui.protocol import fold, verify
from langgraph_agui.protocol.fold import Fold
from tests.behaviour.client.adding import LOOP, chunks_of, encrypted, message_of, parsed, spoken
from tests.kit.deep import example_count
from tests.kit.models.scripted import add
from tests.kit.run.agents import dumped
from tests.kit.run.random_answers import streams
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    text,
)

CALLED: list[dict[str, Any]] = [
    {"type": "tool_call_chunk", "id": "c", "name": "f", "args": "", "index": 2},
    {"type": "tool_call_chunk", "id": None, "name": None, "args": '{"x":', "index": 2},
    {"type": "tool_call_chunk", "id": None, "name": None, "args": " 1}", "index": 2},
]


def test_each_event_gives_its_chunk() -> None:
    span = [event("REASONING_START", messageId="q"), event("REASONING_END", messageId="q")]
    answer = [*text("m", "ab", "", "c"), *call("c", '{"x":', " 1}", parentMessageId="m")]
    chunks = chunks_of(
        parsed(in_run(span[0], *reasoning("q", "hm"), encrypted("q"), span[1], *answer))
    )
    assert [chunk.content for chunk in chunks] == [
        [{"type": "reasoning", "reasoning": "", "id": "q", "index": 0}],
        [{"type": "reasoning", "reasoning": "hm", "id": "q", "index": 0}],
        [{"type": "text", "text": "", "id": "m", "index": 1}],
        [{"type": "text", "text": "ab", "id": "m", "index": 1}],
        [{"type": "text", "text": "c", "id": "m", "index": 1}],
        *([block] for block in CALLED),
        [{"type": "reasoning", "index": 0, "extras": {"encrypted_value": "v"}}],
    ]
    called = [[block] for block in CALLED]
    assert [chunk.tool_call_chunks for chunk in chunks] == [*[[]] * 5, *called, []]
    assert [chunk.id for chunk in chunks] == [None, None, *["m"] * 6, None]
    assert [chunk.chunk_position for chunk in chunks] == [*[None] * 8, "last"]
    recorded = {"output_version": "v1", "model_provider": "ag-ui"}
    assert all(chunk.response_metadata == recorded for chunk in chunks)


def test_the_sum_is_one_standard_message() -> None:
    total = message_of(*LOOP)
    assert total.id == "m"
    assert total.text == "abdone"
    assert total.tool_calls == [{"type": "tool_call", "id": "c", "name": "f", "args": {"x": 1}}]
    extras = {"extras": {"encrypted_value": "new"}}
    assert total.content_blocks == [
        {"type": "reasoning", "reasoning": "hm", "id": "q", "index": 0, **extras},
        {"type": "text", "text": "ab", "id": "m", "index": 1},
        {"type": "tool_call", "id": "c", "name": "f", "args": {"x": 1}},
        {"type": "reasoning", "reasoning": "so", "id": "q2", "index": 3},
        {"type": "text", "text": "done", "id": "n", "index": 4},
    ]
    assert total.additional_kwargs == {
        "agui": {
            "messages": {"m": {"name": "Ann", "encrypted_value": "mv", "metadata": {"k": 1}}},
            "calls": {"c": {"message_id": "m", "encrypted_value": "cv", "arguments": '{"x":1}'}},
        }
    }
    assert dumped(agui_messages_of(total)) == spoken(fold(LOOP).messages)


def test_calls_of_the_agents_own_tools_are_not_the_callers_to_run() -> None:
    both = [
        *(*LOOP[:-1], *call("d", '{"y": 1}', name="ask"), *call("e", "{", name="f")),
        result("e", "p", [PART], metadata={"status": "error"}),
        FINISHED,
    ]
    total = message_of(*both, tools={"ask"})
    assert [made["id"] for made in total.tool_calls] == ["d"]
    own = [block for block in total.content_blocks if block["type"].startswith("server_tool")]
    call_, chunk, result_ = (f"server_tool_{kind}" for kind in ("call", "call_chunk", "result"))
    ok, failed = {"status": "success", "output": "sunny"}, {"status": "error", "output": [PART]}
    took, error = ({"extras": {"metadata": one}} for one in ({"took": 1}, {"status": "error"}))
    assert own == [
        {"type": call_, "id": "c", "name": "f", "args": {"x": 1}, "index": 2},
        {"type": result_, "id": "o", "tool_call_id": "c", "index": 3, **ok, **took},
        {"type": chunk, "id": "e", "name": "f", "args": "{", "index": 7},
        {"type": result_, "id": "p", "tool_call_id": "e", "index": 8, **failed, **error},
    ]
    assert dumped(agui_messages_of(total)) == spoken(fold(both).messages, ToolMessage)


PART = {"type": "text", "text": "x"}


def test_results_stand_behind_their_message_as_a_client_puts_them() -> None:
    tagged = result("c", "s", subagentRunId="a")
    pair = [*call("c", "{}", parentMessageId="m"), *call("d", "{}", parentMessageId="m")]
    wires = in_run(*pair, *text("n", "meanwhile"), result("d", "o"), result("c", "p"), tagged)
    held = agui_messages_of(message_of(*wires, tools=[]))
    assert [one.id for one in held] == ["m", "o", "p", "n"]
    assert dumped(held) == spoken(fold(wires).messages, ToolMessage)


def test_a_call_without_a_parent_is_in_a_message_of_its_own() -> None:
    """Its id is that of the call: the two have separate encrypted values."""
    values = encrypted("c", "of the message"), encrypted("c", "of the call", "tool-call")
    wires = in_run(*call("c", "{}"), *values)
    held = agui_messages_of(message_of(*wires))
    assert [(one.id, one.encrypted_value) for one in held] == [("c", "of the message")]
    assert dumped(held) == spoken(fold(wires).messages)


@pytest.mark.parametrize(
    "before",
    [
        reasoning("p"),
        reasoning("p", subagentRunId="a"),
        text("p", role="user"),
        [result("c0", "p")],
        [event("ACTIVITY_SNAPSHOT", messageId="p", activityType="k", content={})],
        [snapshot(message("user", "p"))],
    ],
    ids=["thought", "thought of a", "user", "result", "activity", "history"],
)
def test_a_parent_that_is_no_assistant_message_is_none(before: list[Wire]) -> None:
    wires = in_run(*before, *call("c", "{}", parentMessageId="p"))
    held = agui_messages_of(message_of(*wires))
    assert held[-1].id == "c"
    assert dumped(held) == spoken(fold(wires).messages)


@pytest.mark.parametrize(("deltas", "content"), [([], None), ([""], ""), (["x"], "x")])
def test_a_message_that_began_with_a_call_has_text_with_its_first_content(
    deltas: list[str], content: str | None
) -> None:
    wires = in_run(*call("c", "{}", parentMessageId="m"), *text("m", *deltas))
    held = agui_messages_of(message_of(*wires))
    assert [one.content for one in held] == [content]
    assert dumped(held) == spoken(fold(wires).messages)


def test_a_call_that_is_renamed_is_renamed() -> None:
    wires = in_run(*call("c", "{", name="f"), *call("c", "}", name="g"))
    total = message_of(*wires)
    assert [(made["name"], made["args"]) for made in total.tool_calls] == [("f", {})]
    assert dumped(agui_messages_of(total)) == spoken(fold(wires).messages)


def test_half_a_character_waits_for_the_other_half() -> None:
    chunks = chunks_of(
        parsed(in_run(*text("m", "a\ud83d", "\ude42", "\ud83d"), *call("c", '"\ud83d', '\ude42"')))
    )
    json.dumps([chunk.content for chunk in chunks], ensure_ascii=False).encode()
    assert "".join(chunk.text for chunk in chunks) == "a🙂\ufffd"
    assert add(chunks).invalid_tool_calls[0]["args"] == '"🙂"'


def test_what_others_say_is_no_part_of_the_message() -> None:
    sub: Wire = {"subagentRunId": "a"}
    of_a = [
        event("SUBAGENT_STARTED", name="n", **sub),
        *(*text("ma", "of a", **sub), *reasoning("qa", "of a", **sub), *call("ca", "{}", **sub)),
        *text("ca", "of a"),
        *call("cb", "{}", parentMessageId="ma"),  # no tag: it belongs to its message's owner
        *(*text("ma", "of a again"), encrypted("ma"), encrypted("ca", subtype="tool-call")),
        *(result("ca"), event("SUBAGENT_FINISHED", **sub)),
    ]
    stated = message("assistant", "s", "stated"), message("assistant", "sa", "of a", **sub)
    others = [
        *(*text("u", "of a user", role="user"), encrypted("u")),
        event("ACTIVITY_SNAPSHOT", messageId="act", activityType="k", content={}),
        *(event("STATE_SNAPSHOT", snapshot={}), event("CUSTOM", name="n", value=None)),
        *(snapshot(*stated), *call("cs", "{}", parentMessageId="sa"), *text("sa", "of a")),
    ]
    total = message_of(*in_run(*of_a, *others), tools=[])
    assert (total.content, total.additional_kwargs) == ([], {})


def test_a_run_that_says_nothing_is_an_empty_message() -> None:
    assert message_of(*in_run()) == message_of() == message_of(ERROR)
    assert message_of().content == []


def test_encrypted_values_for_the_history_are_no_error() -> None:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": "h", "type": "function", "function": function}]
    told = message("user", "u"), message("tool", "o", toolCallId="h")
    history = fold(in_run(snapshot(*told, message("assistant", "m", toolCalls=calls)))).messages
    values = [encrypted("u"), encrypted("o"), encrypted("m"), encrypted("h", subtype="tool-call")]
    stated = [one.model_dump(by_alias=True) for one in history]
    echo = {"threadId": "t", "runId": "r", "messages": stated}
    for total in (
        message_of(*in_run(*values), history=history),
        message_of({**STARTED, "input": echo}, *values, FINISHED),
        message_of(*in_run(snapshot(*stated), *values)),
    ):
        assert total.content == []


def built(wires: list[Wire], **options: Any) -> list[AIMessageChunk]:
    reducer = Fold()
    history = EventHistory(reducer.conversation)
    builder, chunks = ChunkBuilder(history, "f", **options), []
    for one in verify(wires):
        reducer.apply(one)
        history.observe(one)
        chunks += builder.feed(one)
    return [*chunks, *builder.finish()]


@settings(max_examples=example_count(40, 125))
@given(streams(args=st.sampled_from(['{"x": "🙂"}', '{"x":' + "[" * 300, '"', ""])))
def test_fragments_that_are_joined_have_the_same_sum(said: list[Wire]) -> None:
    called = {one["toolCallId"]: None for one in said if one["type"] == "TOOL_CALL_START"}
    wires = in_run(*said, *(result(call_id, f"o{call_id}") for call_id in called))
    assert add(built(wires, joins=True)) == add(built(wires))


def test_joined_fragments_are_one_chunk() -> None:
    words = [*"some words, letter by letter"]
    wires = in_run(*text("m", *words), *reasoning("q", *words), *call("c", *words))
    lengths = [len(built(wires, **options)) for options in ({}, {"joins": True})]
    assert lengths == [3 * (1 + len(words)) + 1, 3 * 2 + 1]

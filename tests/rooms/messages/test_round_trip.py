"""A conversation that a client has held comes back as what a provider is sent: the same, to the
byte."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from langgraph_agui import agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.kernel.seal import ReasoningSeal
from langgraph_agui.messages.envelope import RETURNED
from langgraph_agui.options import ReasoningOptions, Visibility
from langgraph_agui.protocol import to_jsonable
from tests.kit.deep import example_count
from tests.kit.models.shapes import (
    MARK,
    OPAQUE,
    RAW,
    SHAPES,
    Thing,
    answers,
    decoded,
    mixtures,
    odd_messages,
    questions,
    results,
    turns,
)

SEAL = ReasoningSeal([bytes(32)])
PLAIN = ReasoningOptions()
FULL = ReasoningOptions(seal=SEAL)
NO_SUMMARIES = ("anthropic", "anthropic-v1", "bedrock", "openrouter", "flat", "mistral")
TELLING = ("model_provider", "output_version", "container")


def wire(messages: list[BaseMessage], options: ReasoningOptions = FULL) -> list[dict[str, Any]]:
    """The messages as a client's JSON holds them."""
    recorded = langchain_messages_to_agui(messages, reasoning=options, thread_id="t")
    return [json.loads(message.model_dump_json(by_alias=True)) for message in recorded]


def back(held: list[dict[str, Any]], options: ReasoningOptions = FULL) -> list[BaseMessage]:
    # The blocks are any, and hold no real files.
    return agui_messages_to_langchain(held, reasoning=options, thread_id="t", media_urls=None)


def sent(message: BaseMessage) -> dict[str, str]:
    """All of a message that a provider is sent: as JSON text, which tells `1` from `True` and keeps
    the order of keys.

    Raw bytes are told from text; tuples are lists in JSON, and other keys than strings are strings.
    """
    kwargs = {key: value for key, value in message.additional_kwargs.items() if value is not None}
    seen: dict[str, Any] = {"type": message.type, "id": message.id, "name": message.name or None}
    seen |= {"content": message.content, "kwargs": kwargs}
    if isinstance(message, AIMessage):
        kwargs.pop("parsed", None)
        if message.tool_calls:  # packages send these instead
            kwargs.pop("function_call", None)
        for key, calls in (("calls", message.tool_calls), ("invalid", message.invalid_tool_calls)):
            seen[key] = [[call["name"], call["args"], call["id"]] for call in calls]  # type: ignore[index]
        recorded = message.response_metadata
        more = (kwargs, seen["name"], seen["calls"], seen["invalid"])
        if recorded.get("model_provider") in ONE_TEXT and not (
            any(more) or recorded.get("output_version")
        ):
            seen["content"] = one_text(message.content)
        is_plain = isinstance(seen["content"], str) and not kwargs
        keys = TELLING[1:] if is_plain else TELLING  # who said a plain text makes no difference
        seen["told"] = {key: recorded[key] for key in keys if recorded.get(key) is not None}
    if isinstance(message, ToolMessage):
        seen |= {"call": message.tool_call_id, "status": message.status}
    return {key: json.dumps(value, default=as_bytes) for key, value in seen.items()}


ONE_TEXT = ("google_genai", "bedrock_converse")


def one_text(content: Any) -> Any:
    """A single block of text as its text: these packages send the same for both
    (tests/behaviour/reasoning)."""
    match content:
        case [{"type": "text", "text": str(text), **more}] if text and more.keys() <= {"index"}:
            return text
    return content


def as_bytes(value: object) -> object:
    assert isinstance(value, bytes | bytearray)
    return {"bytes": b64encode(value).decode()}


def is_empty(message: BaseMessage) -> bool:
    """A message of which nothing would be held."""
    return isinstance(message, AIMessage) and sent(message) == sent(AIMessage("", id=message.id))


def check_same(
    messages: list[BaseMessage], options: ReasoningOptions = FULL
) -> list[dict[str, Any]]:
    held = wire(messages, options)
    kept = [sent(message) for message in messages if not is_empty(message)]
    assert [sent(message) for message in back(held, options)] == kept
    return held


few = settings(max_examples=example_count(12, 30), deadline=None)


@few
@given(data=st.data())
@pytest.mark.parametrize("shape", SHAPES)
def test_answers(shape: str, data: st.DataObject) -> None:
    message = data.draw(answers(shape))
    check_same([message])
    if shape != "any":  # which holds what no provider's package has made
        check_same([message], PLAIN)


@few
@given(messages=turns())
def test_without_a_seal_a_model_is_told_what_the_client_sees(messages: list[BaseMessage]) -> None:
    held = wire(messages, PLAIN)
    rebuilt = back(held, PLAIN)
    bare = [without_value(message) for message in held]
    assert [without_value(message) for message in wire(rebuilt, PLAIN)] == bare
    shown = {message.id: message for message in back(bare, PLAIN)}
    for message in rebuilt:
        if isinstance(message, AIMessage):
            assert not message.additional_kwargs.keys() - RETURNED
        else:
            seen = shown[message.id]
            assert message.additional_kwargs == seen.additional_kwargs
            assert message.text == seen.text
            assert media_in(message) == media_in(seen)
            assert message.name in (seen.name, None)


def without_value(held: dict[str, Any]) -> dict[str, Any]:
    """A client's message without opaque values."""
    kept = {key: value for key, value in held.items() if key != "encryptedValue"}
    if calls := held.get("toolCalls"):
        kept["toolCalls"] = [without_value(call) for call in calls]
    return kept


def media_in(message: BaseMessage) -> list[Any]:
    blocks = message.content if isinstance(message.content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") != "text"]


@few
@given(messages=turns(), more=mixtures(), one=questions() | results())
def test_conversations(messages: list[BaseMessage], more: list[BaseMessage], one: Any) -> None:
    check_same([one])
    held = check_same(messages)
    # A client may drop reasoning without text and value, as assistant-ui does.
    dropped = [one for one in held if one["role"] == "reasoning" and not one["content"]]
    kept = [one for one in held if one not in dropped or "encryptedValue" in one]
    assert [sent(message) for message in back(kept)] == [sent(message) for message in back(held)]
    held = wire(messages, PLAIN)
    assert wire(back(held, PLAIN), PLAIN) == held
    held = wire(back(wire(more, PLAIN), PLAIN), PLAIN)
    for _ in range(3):  # nothing changes after the first time
        assert wire(back(held, PLAIN), PLAIN) == held


OPTIONS = {
    "full": FULL,
    "summary": ReasoningOptions(visibility="summary", seal=SEAL),
    "hidden": ReasoningOptions(visibility="hidden", seal=SEAL),
    "tags": ReasoningOptions(seal=SEAL, think_tags=True),
    "hidden tags": ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=True),
    "metadata": ReasoningOptions(seal=SEAL, metadata=True),
}


@few
@given(data=st.data())
@pytest.mark.parametrize("name", OPTIONS)
def test_options_change_what_is_shown_and_not_what_comes_back(
    name: str, data: st.DataObject
) -> None:
    held = check_same(data.draw(turns(tagged=name != "hidden")), OPTIONS[name])
    if "hidden" in name:
        assert not thoughts_in(held)


@few
@given(data=st.data(), visibility=st.sampled_from(["summary", "hidden"]), tags=st.booleans())
def test_without_a_seal_hidden_reasoning_stays_and_its_message_is_plain(
    data: st.DataObject, visibility: Visibility, tags: bool
) -> None:
    messages = {message.id: message for message in data.draw(turns(tagged=tags))}
    options = ReasoningOptions(visibility=visibility, think_tags=True if tags else None)
    held = wire([*messages.values()], options)
    assert not thoughts_in(held, RAW)
    if visibility == "hidden":
        assert not thoughts_in(held)
    shown = {message["id"]: message.get("content", "") for message in held}
    for rebuilt in back(held, options):
        if not isinstance(rebuilt, AIMessage):
            continue  # any text with tags in it may be what a model said
        seen, whole = sent(rebuilt), messages[rebuilt.id]
        kwargs = {key: value for key, value in whole.additional_kwargs.items() if key in RETURNED}
        plain = (shown[rebuilt.id or ""], "{}", "{}")
        is_plain = (rebuilt.content, seen["kwargs"], seen.get("told", "{}")) == plain
        assert seen == sent(whole.model_copy(update={"additional_kwargs": kwargs})) or is_plain


@few
@given(data=st.data())
@pytest.mark.parametrize("shape", NO_SUMMARIES)
def test_what_is_no_summary_is_hidden_where_summaries_are_shown(
    shape: str, data: st.DataObject
) -> None:
    shown = wire([data.draw(answers(shape))], ReasoningOptions(visibility="summary"))
    assert not thoughts_in(shown)


def thoughts_in(held: list[dict[str, Any]], mark: str = MARK) -> list[str]:
    """Where reasoning can be read in a client's copy, with all opaque values decoded."""
    said = [json.dumps(message, ensure_ascii=False) for message in held]
    holders = [*held, *(call for message in held for call in message.get("toolCalls", ()))]
    values = [decoded(holder.get("encryptedValue", "")) for holder in holders]
    said += [value.decode("utf-8", "replace") for value in values]
    return [text for text in said if mark in text or json.dumps(mark)[1:-1] in text]


@few
@given(messages=st.lists(odd_messages(), max_size=2, unique_by=lambda message: message.id))
def test_what_is_not_json_becomes_it_and_stays_so(messages: list[BaseMessage]) -> None:
    once = back(wire(messages))
    assert [message.id for message in once] == [message.id for message in messages]
    assert [sent(message) for message in back(wire(once))] == [sent(message) for message in once]


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\xff\x00", b"\xff\x00"),
        (bytearray(b"a"), b"a"),
        ((1, (True, 1.0)), [1, [True, 1.0]]),
        (
            {1: "a", False: "b", None: "c", 0.5: "d"},
            {"1": "a", "false": "b", "null": "c", "0.5": "d"},
        ),
        ({2}, [2]),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (Thing(), {"__type__": "object", "class": f"{Thing.__module__}.Thing"}),
        (Silent(), {"__type__": "object", "class": f"{__name__}.Silent"}),
        (-0.0, -0.0),
        (float("inf"), float("inf")),
        (2**80, 2**80),
        ("\ud800", "\ud800"),
        (["$t", ["$t"]], ["$t", ["$t"]]),
        ({"$t": ["$x", "!"]}, {"$t": ["$x", "!"]}),
    ],
)
def test_values_that_json_has_in_another_form(value: object, expected: object) -> None:
    recorded: list[BaseMessage] = [
        AIMessage([{"type": "x", "value": value}], additional_kwargs={"a": value}, id="ai"),
        AIMessage("", tool_calls=[{"name": "f", "args": {"a": value}, "id": "c"}], id="call"),
        ToolMessage("x", tool_call_id="c", additional_kwargs={"a": value}, id="tool"),
        HumanMessage(["x", {"type": "x", "value": value}], id="user"),
    ]
    one, call, tool, user = back(wire(recorded))
    assert isinstance(call, AIMessage)
    found = [one.content[0]["value"], one.additional_kwargs["a"], call.tool_calls[0]["args"]["a"]]
    found += [tool.additional_kwargs["a"], user.content[1]["value"]]
    assert [(repr(value), type(value)) for value in found] == [(repr(expected), type(expected))] * 5


def test_what_is_too_deep_or_too_big_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    deep: Any = {}
    for _ in range(5000):  # more than any Python recurses
        deep = {"a": deep}
    for value in (deep, 10**5000):
        caplog.clear()
        answer = AIMessage("hi", additional_kwargs={"a": value}, id="m")
        result = ToolMessage("yes", additional_kwargs={"a": value}, id="t", tool_call_id="c")
        rebuilt = back(wire([answer, result]))
        found = [(message.content, message.additional_kwargs) for message in rebuilt]
        assert found == [("hi", {}), ("yes", {})]
        assert len(caplog.records) == 2


@pytest.mark.parametrize("provider", ONE_TEXT)
def test_one_block_of_text_needs_no_value(provider: str) -> None:
    """Their packages send the block as they send its text; tests/behaviour/reasoning compares the bytes."""
    block = {"type": "text", "text": "Sunny.", "index": 0}
    signed = {**block, "extras": {"signature": OPAQUE}}
    metadata = {"model_provider": provider, "finish_reason": "STOP"}
    for blocks, name in (
        ([block], None),
        ([block], "guide"),
        ([signed], None),
        ([block] * 2, None),
    ):
        (held,) = wire([AIMessage(blocks, response_metadata=metadata, id="a", name=name)])
        assert ("encryptedValue" in held) == (blocks != [block] or name is not None)


def test_arguments_on_the_wire_are_json_whatever_they_are() -> None:
    args = {"a": b"bytes", "b": float("nan"), "c": {1}, "d": 10**5000, "e": Thing(), "f": "\ud800"}
    [held] = wire([AIMessage("", tool_calls=[{"name": "f", "args": args, "id": "c"}], id="m")])
    recorded = json.loads(held["toolCalls"][0]["function"]["arguments"], parse_constant=pytest.fail)
    assert (recorded["b"], recorded["c"], recorded["f"]) == (None, [1], "\ufffd")


def test_values_are_small_where_the_client_holds_the_words() -> None:
    thought, text, argument = (f"{name} of ten kilobytes. " * 500 for name in "abc")
    args, said = {"a": argument}, {"type": "text", "text": text}
    thinking = {"type": "thinking", "thinking": thought, "signature": OPAQUE}
    used = {"type": "tool_use", "id": "c", "name": "f", "input": args}
    summary = [{"type": "summary_text", "text": thought}]
    item = {"type": "reasoning", "summary": summary, "encrypted_content": OPAQUE}
    flat = {"reasoning_content": thought, "reasoning_details": [{"text": thought}]}
    calls, claude = [{"name": "f", "args": args, "id": "c"}], {"model_provider": "anthropic"}
    recorded = [
        AIMessage([thinking, said, used], tool_calls=calls, response_metadata=claude, id="a"),
        AIMessage(text, additional_kwargs=flat, id="b"),
        AIMessage("", additional_kwargs={"reasoning": item}, id="c"),
        AIMessage([item, said], id="d"),
        ToolMessage([said], tool_call_id="none", id="f"),
    ]
    held = check_same(recorded, PLAIN)
    sizes = [len(message["encryptedValue"]) for message in held if "encryptedValue" in message]
    assert (len(sizes), max(sizes) < 500) == (5, True)


def test_ids_that_are_none() -> None:
    ids: list[Any] = ["", None, 1, [], "a\nb", "\ud800", "msg_1", "lc_1"]
    content = [{"type": "thinking", "thinking": MARK, "id": block_id} for block_id in ids]
    held = check_same([AIMessage(content, id="msg_1"), AIMessage(content, id="msg_2")])
    thoughts = [
        [f"msg_{number}:reasoning:{place}" for place in range(len(ids))] for number in (1, 2)
    ]
    assert [message["id"] for message in held] == [*thoughts[0], "msg_1", *thoughts[1], "msg_2"]


def test_words_on_the_wire_are_whole_characters() -> None:
    calls = [{"name": "\ud800", "args": {}, "id": "c"}]
    parts: list[Any] = ["c\ude00", {"type": "text", "text": "\ud83d"}, "\ude00"]
    answer = AIMessage("b\ud83d\ude00\ud83d", tool_calls=calls, id="b")
    result = ToolMessage(parts, tool_call_id="c", id="c")
    held = wire([HumanMessage("a\ud800", name="\ud800", id="a"), answer, result])
    words = [message["content"] for message in held]
    assert words == ["a\ufffd", "b😀\ufffd", "c\ufffd\ufffd\ufffd"]
    assert (held[0]["name"], held[1]["toolCalls"][0]["function"]["name"]) == ("\ufffd", "\ufffd")


def test_chunks_are_messages_too() -> None:
    made = {"name": "f", "args": '{"a": 1}', "id": "c", "index": 0}
    content = [{"type": "thinking", "thinking": MARK, "signature": OPAQUE, "index": 0}]
    metadata = {"model_provider": "anthropic"}
    chunk = AIMessageChunk(content, tool_call_chunks=[made], response_metadata=metadata, id="m")
    whole = AIMessage(content, tool_calls=chunk.tool_calls, response_metadata=metadata, id="m")
    assert wire([chunk], PLAIN) == wire([whole], PLAIN)
    assert back(wire([chunk])) == [whole]


def test_a_message_that_says_nothing_is_left_out() -> None:
    empty, nothing, refused = (
        AIMessage("", additional_kwargs=kwargs, id="b")
        for kwargs in ({}, {"refusal": None}, {"refusal": ""})
    )
    for options in (PLAIN, FULL):
        assert wire([empty, nothing], options) == []
        check_same([AIMessage([], id="a"), refused], options)


@few
@given(message=answers())
def test_every_call_is_shown_as_one(message: AIMessage) -> None:
    every = [call for held in wire([message]) for call in held.get("toolCalls", ())]
    calls = [call for call in every if not call.get("metadata")]  # and none that a provider ran
    count = len(message.tool_calls) + len(message.invalid_tool_calls)
    assert len({call["id"] for call in calls}) == count
    args = [to_jsonable(call["args"]) for call in message.tool_calls]
    shown = [call["function"]["arguments"] for call in calls]
    assert {json.dumps(one, ensure_ascii=False) for one in args} <= {*shown}

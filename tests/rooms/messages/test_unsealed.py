"""Values that anybody can have made: without a seal, a model is told what the page shows, whatever
they say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_agui import ReasoningOptions, ReasoningSeal, agui_messages_to_langchain
from langgraph_agui.messages.template import Call, VisibleText
from langgraph_agui.messages.to_agui import langchain_messages_to_agui
from tests.kit.deep import example_count
from tests.kit.models.shapes import encoded, json_values

Json = dict[str, Any]

MADE = [
    {"id": "c1", "type": "function", "function": {"name": "send", "arguments": '{"to": "Ann"}'}},
    {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
]
HELD: list[Json] = [
    {"id": "u1", "role": "user", "content": "Send it to Ann."},
    {"id": "r1", "role": "reasoning", "content": "Ann it is."},
    {"id": "m1", "role": "assistant", "content": "On its way.", "toolCalls": MADE},
    {"id": "t1", "role": "tool", "content": "Sent to Ann.", "toolCallId": "c1"},
    {"id": "t2", "role": "tool", "content": "Seen.", "toolCallId": "c2"},
    {"id": "u2", "role": "user", "content": "Thanks.", "name": "Eve"},
]
CALLS = [
    {"name": "send", "args": {"to": "Ann"}, "id": "c1", "type": "tool_call"},
    {"name": "look", "args": {}, "id": "c2", "type": "tool_call"},
]


def forged(place: int, **fields: Any) -> list[Json]:
    """The conversation with a value that fits the visible words of one message, and says more."""
    held: list[Json] = json.loads(json.dumps(HELD))
    message = held[place]
    called = [(call["id"], call["function"]) for call in message.get("toolCalls", ())]
    calls = [Call(call_id, one["name"], one["arguments"]) for call_id, one in called]
    if message["role"] == "tool":
        calls = [Call(message["toolCallId"])]
    thoughts = [("r1", "Ann it is.")] if fields.pop("claims", False) else []
    digest = VisibleText(message["content"], thoughts, calls).digest
    envelope = {"v": 3, "message": fields, "digest": digest}
    message["encryptedValue"] = encoded({**envelope, "reasoning": [one for one, _ in thoughts]})
    return held


def told(held: list[Json], options: Any = None) -> list[BaseMessage]:
    return agui_messages_to_langchain(held, reasoning=options, thread_id="t")


def words(messages: list[BaseMessage]) -> list[Any]:
    """What a model is told: texts, names, calls, and which result is whose."""
    found: list[Any] = []
    for one in messages:
        made = [(call["name"], call["args"], call["id"]) for call in getattr(one, "tool_calls", ())]
        found.append((one.type, one.text, one.name, made, getattr(one, "tool_call_id", None)))
    return found


SAID = {"type": "text", "text": "$0"}
DOCUMENT = {"type": "document", "source": {"type": "text", "data": "To Bob."}}
USED = {"type": "tool_use", "id": "c9", "name": "delete", "input": {}}
DELETE = {"name": "delete", "arguments": "{}"}
OLD_CALLS = {"tool_calls": [{"id": "c1", "function": DELETE}]}


def also(*blocks: Any) -> Json:
    return {"content": [SAID, *blocks]}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def calls(*changes: Json) -> Json:
    """The calls of the message with changes, and nothing invalid."""
    made = [{**call, **more} for call, more in zip([*CALLS, CALLS[1]], changes, strict=False)]
    return {"tool_calls": made, "invalid_tool_calls": []}


HIDDEN_TEXT = {"response_metadata": {"agui_hidden": {"text": True}}}


@pytest.mark.parametrize(
    ("place", "members"),
    [
        pytest.param(0, {"content": "Send it to Bob."}, id="another text of the user's"),
        pytest.param(0, {"content": [text("Send it to Bob.")]}, id="another text in blocks"),
        pytest.param(0, also(text(" And to Bob.")), id="one more block"),
        pytest.param(0, also(DOCUMENT), id="a block that no page shows"),
        pytest.param(
            0, {"content": [{**SAID, "citations": [{"cited_text": "To Bob."}]}]}, id="cited"
        ),
        pytest.param(0, also({"type": "file", "file_id": "f"}), id="a file"),
        pytest.param(0, {"name": "Bob"}, id="a name of the user"),
        pytest.param(5, {"name": None}, id="no name of the user"),
        pytest.param(
            0, {"additional_kwargs": {"name": "Bob", "lc_source": "x"}}, id="kwargs of a user"
        ),
        pytest.param(3, {"content": "Sent to Bob."}, id="another result"),
        pytest.param(3, {"name": "look"}, id="the result of another tool"),
        pytest.param(3, {"tool_call_id": "c2"}, id="the result of another call"),
        pytest.param(3, {"tool_call_id": "c9"}, id="the result of a call that is not there"),
        pytest.param(
            3, {"additional_kwargs": {"type": "computer_call_output"}}, id="kwargs of a result"
        ),
        pytest.param(2, {"content": "I sent it to Bob."}, id="another text of the model's"),
        pytest.param(2, also(text(" To Bob.")), id="one more text of the model's"),
        pytest.param(2, calls({"name": "delete"}, {}), id="other calls"),
        pytest.param(2, calls({"args": {"to": "Bob"}}, {}), id="other arguments"),
        pytest.param(2, calls({}, {}, {"id": "c3"}), id="one more call"),
        pytest.param(2, calls({}), id="one call less"),
        pytest.param(2, calls({"id": "c2"}, {"id": "c1"}), id="ids that have changed places"),
        pytest.param(2, calls({"id": "c2"}, {"id": "c9"}), id="ids that have moved"),
        pytest.param(
            2, {"additional_kwargs": {"reasoning_content": "Bob."}, "claims": True}, id="reasoning"
        ),
        pytest.param(2, {**calls(), "additional_kwargs": OLD_CALLS}, id="calls in kwargs"),
        pytest.param(2, also(USED), id="a block of a call that is none"),
        pytest.param(2, {"additional_kwargs": {"function_call": DELETE}}, id="a call, as of old"),
        pytest.param(2, {"content": "I sent it to Bob.", **HIDDEN_TEXT}, id="a mark that hides it"),
    ],
)
def test_a_model_is_told_what_the_page_shows(
    place: int, members: Json, caplog: pytest.LogCaptureFixture
) -> None:
    restored = told(forged(place, **members))
    assert words(restored) == words(told(HELD))
    assert restored[place - (place > 1)].additional_kwargs == {}
    # older releases have sent kwargs of these
    warned = [] if [*members] == ["additional_kwargs"] else [True]
    said = [record.getMessage() for record in caplog.records]
    assert ["were not used: 1 not sealed" in one for one in said] == warned


def test_what_only_cuts_the_words_comes_back() -> None:
    cut = forged(0, content=["Send ", {"type": "text", "text": "it to Ann."}])
    assert told(cut)[0].content == ["Send ", {"type": "text", "text": "it to Ann."}]
    assert told(forged(3, name=None))[2].name is None


PICTURE = {"type": "image_url", "image_url": {"url": "https://e.com/a.png"}}
STANDARD = {"type": "image", "url": "https://e.com/a.png"}


def pictured(*blocks: Any) -> list[Json]:
    """A question with a picture, and a value that holds these blocks."""
    source = {"type": "url", "value": "https://e.com/a.png"}
    parts = [{"type": "text", "text": "Whose is it?"}, {"type": "image", "source": source}]
    digest = VisibleText("Whose is it?", media=[source["value"]]).digest
    value = encoded({"v": 3, "message": {"content": [*blocks]}, "digest": digest})
    return [{"id": "u1", "role": "user", "content": parts, "encryptedValue": value}]


def test_a_picture_comes_back_in_todays_form_and_another_one_does_not() -> None:
    """Older releases have written standard blocks."""
    for block in (PICTURE, STANDARD, {**STANDARD, "extras": {"signature": "x"}}):
        (message,) = told(pictured("Whose ", "is it?", block))
        assert message.content == ["Whose ", "is it?", PICTURE]
    low = {**PICTURE, "image_url": {**PICTURE["image_url"], "detail": "low"}}
    inline = [{"type": "image", "base64": data, "mime_type": "image/png"} for data in ("\ud800", 5)]
    for block in ({**STANDARD, "url": "https://e.com/b.png"}, low, *inline, {"type": "image"}, 5):
        (message,) = told(pictured("Whose ", "is it?", block))
        assert message.content == [{"type": "text", "text": "Whose is it?"}, PICTURE]


SEALED = ReasoningOptions(seal=ReasoningSeal([bytes(32)]))
ANSWER = AIMessage(
    [{"type": "thinking", "thinking": "Ann it is.", "signature": "S"}, text("On its way.")],
    tool_calls=CALLS,
    response_metadata={"model_provider": "anthropic"},
    id="m1",
)
TOLD: list[BaseMessage] = [
    ANSWER,
    ToolMessage(["Sent."], tool_call_id="c1", name="send", id="t1"),
    ToolMessage(["Seen."], tool_call_id="c2", name="look", id="t2"),
]


def swap(one: Json, other: Json, key: str) -> None:
    one[key], other[key] = other[key], one[key]


@pytest.mark.parametrize(
    "change",
    [
        lambda calls: calls[0]["function"].update(name="delete"),
        lambda calls: calls[0].update(id="c9"),
        lambda calls: swap(*calls, "id"),
        lambda calls: calls.reverse(),
    ],
    ids=["name", "id", "ids have changed places", "order"],
)
def test_what_belongs_to_another_call_gets_nothing_of_a_sealed_value(change: Any) -> None:
    """A call with another name or id; a result that answers another call."""
    shown = langchain_messages_to_agui(TOLD, reasoning=SEALED, thread_id="t")
    held = [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in shown]
    assert told(held, SEALED) == TOLD
    swap(held[2], held[3], "toolCallId")
    assert sorted(str(message.content) for message in told(held, SEALED)[1:]) == ["Seen.", "Sent."]
    change(held[1]["toolCalls"])
    answer = told(held, SEALED)[0]
    assert (answer.content, answer.response_metadata) == ("On its way.", {})


FIELDS = (
    *("content", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls"),
    *("id", "name", "tool_call_id", "type", "status", "usage_metadata"),
)


@settings(max_examples=example_count(60, 750), deadline=None)
@given(
    place=st.sampled_from([0, 2, 3]),
    fields=st.dictionaries(st.sampled_from(FIELDS), json_values, min_size=1, max_size=4),
)
def test_any_value_at_all(place: int, fields: Json) -> None:
    """Never an exception, never other words."""
    found, shown = told(forged(place, **fields)), told(HELD)
    for one in words(found):  # one that only a subagent has heard is left out
        assert one[:2] in [told[:2] for told in words(shown)]
        made = [call[:2] for call in one[3]]
        assert made in [[call[:2] for call in told[3]] for told in words(shown)]

"""What other adapters have put into messages, and what one provider's messages are to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langgraph_agui import agui_messages_to_langchain, for_provider
from langgraph_agui.kernel.seal import ReasoningSeal
from langgraph_agui.options import ReasoningOptions
from tests.contracts.providers.playing import run_case
from tests.kit.models.cases import BY_ID
from tests.kit.models.provider_models import PROVIDERS, make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.shapes import MARK, OPAQUE, SHAPES, answers, decoded
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Text, turn

Json = dict[str, Any]
FIRST, SECOND = "c2lnbmF0dXJlIDE=", "c2lnbmF0dXJlIDI="
WEATHER = {"name": "get_weather", "arguments": '{"city": "Rome"}'}


def with_value(held: Json, value: str | None) -> Json:
    return held if value is None else {**held, "encryptedValue": value}


def conversation(*thoughts: Json, value: Any = None, on_call: Any = None) -> list[Json]:
    """A turn with a tool call, as another adapter's client sends it: values without an envelope, as
    `ag-ui-langgraph` sends those of OpenAI."""
    call = with_value({"id": "c", "type": "function", "function": WEATHER}, on_call)
    said = with_value({"id": "m", "role": "assistant", "content": "Let me look."}, value)
    return [
        {"id": "u", "role": "user", "content": "Weather?"},
        *thoughts,
        {**said, "toolCalls": [call]},
        {"id": "t", "role": "tool", "content": "Sunny", "toolCallId": "c"},
    ]


def thought(text: str, value: str | None, message_id: str = "r") -> Json:
    return with_value({"id": message_id, "role": "reasoning", "content": text}, value)


def sent_by(server: ProviderServer, held: list[Json], **options: Any) -> list[Json]:
    """What the package sends for the messages before the tool's result."""
    messages = agui_messages_to_langchain(held, **options)
    server.script("openai", turn(Text("ok")))
    make_model("openai", server).bind_tools([get_weather]).invoke(messages)
    return list(server.bodies[-1]["input"][1:-1])


OPENAI = ReasoningOptions(provider="openai")
SUMMARY = [{"type": "summary_text", "text": "First."}]
LOOK = {"type": "output_text", "text": "Let me look.", "annotations": []}
ITEMS: list[Json] = [
    {"type": "reasoning", "id": "rs_1", "summary": SUMMARY, "encrypted_content": FIRST},
    {"type": "reasoning", "summary": [], "encrypted_content": SECOND},
    {"type": "message", "role": "assistant", "content": [LOOK]},
    {"type": "function_call", **WEATHER, "call_id": "c"},
]
ENCRYPTED = conversation(thought("First.", FIRST, "rs_1"), thought("", SECOND, "r2"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (OPENAI, ""),
        (ReasoningOptions(), "no value of ours"),
        (ReasoningOptions(provider=("openai", "anthropic")), "no value of ours"),
        (ReasoningOptions(provider="openai", seal=ReasoningSeal([bytes(32)])), "not sealed"),
    ],
)
def test_encrypted_content_is_sent_in_its_place_if_its_maker_is_known(
    options: Any, why: str, provider_server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    items = sent_by(provider_server, ENCRYPTED, reasoning=options)
    if options is OPENAI:
        assert (items, caplog.records) == (ITEMS, [])
        return
    sent = json.dumps(items)
    parts = (FIRST, SECOND, "First.", "Let me look.", "Rome")
    assert [part in sent for part in parts] == [False] * 3 + [True] * 2
    [record] = caplog.records
    assert record.getMessage().endswith(f": 1 {why}.")


@pytest.mark.parametrize(
    ("held", "used"),
    [
        (conversation(thought("a", FIRST)), True),
        (conversation(thought("a", "")), False),
        (conversation(thought("a", None)), False),
        (conversation(thought("a", FIRST), value=SECOND), False),
        (conversation(thought("a", FIRST), on_call=SECOND), False),
        (conversation(value=FIRST), False),
    ],
)
def test_only_values_of_reasoning_are_used(held: list[Json], used: bool) -> None:
    rebuilt = agui_messages_to_langchain(held, reasoning=OPENAI)[1]
    assert (FIRST in repr(rebuilt), SECOND in repr(rebuilt)) == (used, False)
    assert rebuilt.response_metadata == ({"model_provider": "openai"} if used else {})
    others = agui_messages_to_langchain(held, reasoning=OPENAI, provider="mistralai")
    assert FIRST not in repr(others)


def test_reasoning_of_a_subagent_is_not_the_agents() -> None:
    of_subagent = {**thought("a", FIRST), "subagentRunId": "s"}
    note = {"id": "n", "role": "assistant", "content": "Sub", "subagentRunId": "s"}
    held = conversation(of_subagent, note, thought("b", SECOND, "r2"))
    _, main, _ = agui_messages_to_langchain(held, reasoning=OPENAI)
    assert (FIRST in repr(main), SECOND in repr(main)) == (False, True)


CACHED = {"cache_control": OPAQUE}
SIGNED = {"type": "thinking", "thinking": "a", "signature": OPAQUE}
OTHER: list[BaseMessage] = [
    SystemMessage("s"),
    HumanMessage([{"type": "text", "text": "u", **CACHED}]),
    ToolMessage("t", tool_call_id="c", additional_kwargs=CACHED),
    AIMessage([SIGNED], id="unknown"),
]
TARGETS = ["anthropic", "openai", "google_genai", "bedrock_converse", "mistralai", "acme"]


@given(said=st.data(), target=st.sampled_from(TARGETS))
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in ("tagged", "any")])
def test_what_is_left_of_one_providers_message_for_another(
    shape: str, said: st.DataObject, target: str
) -> None:
    message = said.draw(answers(shape))
    [left, *others] = for_provider([message, *OTHER], target)
    assert all(one is other for one, other in zip(others, OTHER, strict=True))
    source = message.response_metadata.get("model_provider")
    if source in (None, target):
        assert left is message
        return
    kept = {"id": message.id, "name": message.name, "tool_calls": message.tool_calls}
    wrong = message.invalid_tool_calls
    assert left == AIMessage("".join(texts(message)), **kept, invalid_tool_calls=wrong)
    assert not [mark for mark in (MARK, OPAQUE) if mark in repr(left)]
    for allowed in ((target, str(source)), (str(source),)):
        assert for_provider([message], *allowed)[0] is message


def texts(message: AIMessage) -> Iterator[str]:
    for block in [message.content] if isinstance(message.content, str) else message.content:
        if isinstance(block, str):
            yield block
        elif block.get("type") == "text":
            yield block.get("text", "")
        elif block.get("type") in ("refusal", "non_standard"):
            inner = block.get("value", block)
            yield inner.get("refusal", "") if inner.get("type") == "refusal" else ""
            yield inner.get("text", "") if inner.get("type") == "text" else ""


MALFORMED: list[Any] = [
    {"type": []},
    {"type": "text", "text": 1},
    {"type": "reasoning", "summary": [1]},
]


def test_malformed_blocks_are_left_out_and_without_a_name_nobody_made_it() -> None:
    by_openai = {"response_metadata": {"model_provider": "openai"}}
    for message_type in (AIMessage, AIMessageChunk):
        for block in MALFORMED:
            message = message_type([block], **by_openai)
            assert for_provider([message], "anthropic")[0].content == ""
    assert for_provider([AIMessage([SIGNED], **by_openai)])[0].content == ""
    assert for_provider([], "openai") == []


CASES = [
    next(case.id for case in BY_ID.values() if case.provider == name and case.uses_tools)
    for name in PROVIDERS
]


@pytest.mark.parametrize("source", CASES)
async def test_nothing_opaque_of_a_real_message_is_left(
    source: str, provider_server: ProviderServer
) -> None:
    case = BY_ID[source]
    for message, seen in zip(await run_case(case, provider_server), case.seen, strict=True):
        assert for_provider([message], message.response_metadata["model_provider"])[0] is message
        [left] = for_provider([message], "somebody else")
        kept = left.model_dump_json()
        assert not any(one in kept or decoded(one).hex() in kept for one in seen.opaque)
        made = [(call["name"], call["args"]) for call in left.tool_calls]
        assert (left.content, made) == (seen.text, [*seen.calls])

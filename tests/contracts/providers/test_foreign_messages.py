"""What other adapters have put into messages, and what one provider's messages are to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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
from tests.kit.models.cases import BY_ID
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.provider_models import PROVIDERS, make_model
from tests.kit.models.reading import run_case
from tests.kit.models.shapes import MARK, OPAQUE, SHAPES, answers, decoded
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Text, turn

if TYPE_CHECKING:
    from tests.kit.models.server import ProviderServer

Json = dict[str, Any]

FIRST, SECOND = "c2lnbmF0dXJlIDE=", "c2lnbmF0dXJlIDI="


def conversation(
    *thoughts: Json, value: str | None = None, on_call: str | None = None
) -> list[Json]:
    """A turn with a tool call, as another adapter's client sends it."""
    call: Json = {
        "id": "c",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
    }
    answer: Json = {"id": "m", "role": "assistant", "content": "Let me look.", "toolCalls": [call]}
    for entity, its_value in ((answer, value), (call, on_call)):
        if its_value is not None:
            entity["encryptedValue"] = its_value
    result = {"id": "t", "role": "tool", "content": "Sunny", "toolCallId": "c"}
    return [{"id": "u", "role": "user", "content": "Weather?"}, *thoughts, answer, result]


def thought(text: str, value: str | None, message_id: str = "r") -> Json:
    made = {"id": message_id, "role": "reasoning", "content": text}
    return {**made, "encryptedValue": value} if value is not None else made


# Values without an envelope, as `ag-ui-langgraph` sends those of OpenAI


def sent_by(server: ProviderServer, held: list[Json], **options: Any) -> list[Json]:
    """What the package sends for the messages before the tool's result."""
    messages = agui_messages_to_langchain(held, **options)
    server.script("openai", turn(Text("ok")))
    make_model("openai", server).bind_tools([get_weather]).invoke(messages)
    return list(server.bodies[-1]["input"][1:-1])


OPENAI = ReasoningOptions(provider="openai")
ITEMS: list[Json] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "First."}],
        "encrypted_content": FIRST,
    },
    {"type": "reasoning", "summary": [], "encrypted_content": SECOND},
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
    },
    {
        "type": "function_call",
        "name": "get_weather",
        "arguments": '{"city": "Rome"}',
        "call_id": "c",
    },
]
ENCRYPTED = conversation(thought("First.", FIRST, "rs_1"), thought("", SECOND, "r2"))


def test_encrypted_content_is_sent_in_its_place(
    provider_server: ProviderServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert sent_by(provider_server, ENCRYPTED, reasoning=OPENAI) == ITEMS
    assert not caplog.records


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (ReasoningOptions(), "no value of ours"),
        (ReasoningOptions(provider=("openai", "anthropic")), "no value of ours"),
        (ReasoningOptions(provider="openai", seal=ReasoningSeal([bytes(32)])), "not sealed"),
    ],
)
def test_values_of_an_unknown_maker_are_not_sent(
    options: ReasoningOptions,
    why: str,
    provider_server: ProviderServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent = json.dumps(sent_by(provider_server, ENCRYPTED, reasoning=options))
    assert not [value for value in (FIRST, SECOND, "First.") if value in sent]
    assert "Let me look." in sent
    assert "Rome" in sent
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
    assert (FIRST in repr(rebuilt)) == used
    assert SECOND not in repr(rebuilt)
    assert rebuilt.response_metadata == ({"model_provider": "openai"} if used else {})
    assert FIRST not in repr(
        agui_messages_to_langchain(held, reasoning=OPENAI, provider="mistralai")
    )


def test_reasoning_of_a_subagent_is_not_the_agents() -> None:
    held = conversation(
        thought("a", FIRST) | {"subagentRunId": "s"},
        {"id": "n", "role": "assistant", "content": "Sub", "subagentRunId": "s"},
        thought("b", SECOND, "r2"),
    )
    _, main, _ = agui_messages_to_langchain(held, reasoning=OPENAI)
    thoughts = [
        block for block in main.content if isinstance(block, dict) and block["type"] == "reasoning"
    ]
    assert [block["encrypted_content"] for block in thoughts] == [SECOND]


# One provider's messages before another


OTHER: list[BaseMessage] = [
    SystemMessage("s"),
    HumanMessage([{"type": "text", "text": "u", "cache_control": OPAQUE}]),
    ToolMessage("t", tool_call_id="c", additional_kwargs={"cache_control": OPAQUE}),
    AIMessage([{"type": "thinking", "thinking": "a", "signature": OPAQUE}], id="unknown"),
]


@given(
    said=st.data(),
    target=st.sampled_from(
        ["anthropic", "openai", "google_genai", "bedrock_converse", "mistralai", "acme"]
    ),
)
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
    assert isinstance(left, AIMessage)
    assert isinstance(left.content, str)
    assert left.content == "".join(texts(message))
    assert (left.additional_kwargs, left.response_metadata) == ({}, {})
    assert (left.tool_calls, left.invalid_tool_calls) == (
        message.tool_calls,
        message.invalid_tool_calls,
    )
    assert (left.id, left.name) == (message.id, message.name)
    assert not [mark for mark in (MARK, OPAQUE) if mark in repr(left)]
    for allowed in (
        for_provider([message], target, str(source)),
        for_provider([message], str(source)),
    ):
        assert allowed[0] is message


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


def test_without_a_name_nobody_made_it() -> None:
    message = AIMessage(
        [{"type": "thinking", "thinking": "a", "signature": OPAQUE}],
        response_metadata={"model_provider": "openai"},
    )
    assert for_provider([message])[0].content == ""
    assert for_provider([], "openai") == []


@pytest.mark.parametrize(
    "blocks",
    [[{"type": []}], [{"type": "text", "text": 1}], [{"type": "reasoning", "summary": [1]}]],
)
def test_malformed_blocks_are_left_out(blocks: Any) -> None:
    for message_type in (AIMessage, AIMessageChunk):
        message = message_type(blocks, response_metadata={"model_provider": "openai"})
        assert for_provider([message], "anthropic")[0].content == ""


CASES = [
    next(case.id for case in BY_ID.values() if case.provider == name and case.uses_tools)
    for name in PROVIDERS
]


@pytest.mark.parametrize("source", CASES)
async def test_nothing_opaque_of_a_real_message_is_left(
    source: str, provider_server: ProviderServer
) -> None:
    case = BY_ID[source]
    made = await run_case(case, provider_server)
    for message, recorded in zip(made, case.seen, strict=True):
        own = message.response_metadata["model_provider"]
        assert for_provider([message], own)[0] is message
        [left] = for_provider([message], "somebody else")
        kept = left.model_dump_json()
        for value in recorded.opaque:
            assert value not in kept
            assert decoded(value).hex() not in kept
        assert left.content == "".join(block[1] for block in recorded.blocks if block[0] == "text")
        assert isinstance(left, AIMessage)
        assert [call["args"] for call in left.tool_calls] == [
            block[2] for block in recorded.blocks if block[0] == "call"
        ]

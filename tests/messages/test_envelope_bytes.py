"""The envelope format, byte by byte: clients keep `encryptedValue` strings, so every release must read and write them.

`envelopes.json` (as written today), `envelopes_v2.json` (as written before calls were bound) and `envelopes_v1.json`
(as written before version 2) hold, for each case, the messages as a client keeps them and the envelopes in their values
by holder, `<role>:<id>`. Never change an entry; add new ones. `docs/reasoning.md` describes the format.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import (
    ReasoningOptions,
    ReasoningSeal,
    ThinkTagSplitter,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)
from tests.messages import golden

Json = dict[str, Any]

KEY = bytes(range(32))
KEY_ID = bytes.fromhex("73aebbe4")
THREAD = "thread-1"
PLAIN = ReasoningOptions()
SEALED = ReasoningOptions(seal=ReasoningSeal([KEY]))
HIDDEN = ReasoningOptions(seal=ReasoningSeal([KEY]), visibility="hidden")


class Case(NamedTuple):
    """LangChain messages, the options under which the files have them, and what comes back if that is less."""

    messages: list[BaseMessage]
    options: ReasoningOptions = PLAIN
    less: list[BaseMessage] | None = None

    @property
    def back(self) -> list[BaseMessage]:
        return self.messages if self.less is None else self.less


PLAN = {"stops": [{"city": "Tromsø", "days": 3}, {"city": "Oslo", "days": 1.5}], "budget": 10**21, "alone": False}


def call(call_id: str, city: str) -> Json:
    return {"name": "get_weather", "args": {"city": city}, "id": call_id}


def answer(message_id: str, provider: str, content: Any, *calls: Json, metadata: Any = None, **more: Any) -> AIMessage:
    metadata = {"model_provider": provider, **(metadata or {})}
    return AIMessage(content, id=message_id, response_metadata=metadata, tool_calls=list(calls), **more)


# What comes back without a seal of what follows.
BEDROCK = answer(
    "lc_run--2",
    "bedrock_converse",
    [
        {
            "type": "reasoning_content",
            "reasoning_content": {"text": "Does it rain in Bergen?", "signature": "EqQBsig"},
        },
        {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"\x00\xff"}},
        {"type": "text", "text": "It always rains in Bergen."},
    ],
    metadata={"model_name": "anthropic.claude"},
    name="weather",
)
MEDIA = HumanMessage(
    [
        {"type": "text", "text": "What is on these?"},
        {
            "type": "image",
            "base64": "aGVsbG8gd29ybGQh",
            "mime_type": "image/png",
            "extras": {"agui": {"metadata": {"$t": 1}}},
        },
        {"type": "image", "url": "https://example.com/a.png", "extras": {"agui": {"metadata": {"detail": "high"}}}},
        {"type": "file", "file_id": "file-1"},
    ],
    id="u1",
    name="Ann",
)
RESULTS = [
    AIMessage("", id="msg_1", tool_calls=[call("call_1", "Rome"), call("call_2", "Atlantis")]),
    ToolMessage(
        ["Sunny, 24 °C in Rome", {"type": "image", "url": "https://example.com/a.png"}],
        tool_call_id="call_1",
        name="get_weather",
        id="t1",
    ),
    ToolMessage([{"type": "text", "text": "There is no such city."}], tool_call_id="call_2", status="error", id="t2"),
]

CASES: dict[str, Case] = {
    "anthropic": Case(
        [
            answer(
                "msg_1",
                "anthropic",
                [
                    {"type": "thinking", "thinking": "The weather first.", "signature": "EqQBsig", "index": 0},
                    {"type": "redacted_thinking", "data": "EmwKred"},
                    {"type": "text", "text": "Let me look that up.", "index": 2},
                    {"type": "server_tool_use", "id": "srv_1", "input": ["$t", 0]},
                    {"type": "text", "text": "Rome, then Oslo.", "index": 4},
                    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Rome"}},
                ],
                call("toolu_1", "Rome"),
                metadata={"container": {"id": "container_1"}},
            )
        ],
    ),
    "anthropic v1": Case(
        [
            answer(
                "msg_1",
                "anthropic",
                [
                    {"type": "reasoning", "reasoning": "The weather first.", "extras": {"signature": "EqQBsig"}},
                    {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "EmwKred"}},
                    {"type": "text", "text": "Sunny, 24 °C in Rome ☀️"},
                ],
                metadata={"output_version": "v1"},
            )
        ],
    ),
    "openai responses": Case(
        [
            answer(
                "resp_1",
                "openai",
                [
                    {
                        "type": "reasoning",
                        "id": "rs_1",
                        "summary": [
                            {"type": "summary_text", "text": "**Planning** the answer"},
                            {"type": "summary_text", "text": "**Checking** the answer"},
                        ],
                        "encrypted_content": "gAAAAB",
                    },
                    {"type": "text", "text": "Take a warm hat.", "id": "msg_0", "annotations": []},
                    {
                        "type": "function_call",
                        "id": "fc_1",
                        "call_id": "call_1",
                        "name": "get_weather",
                        "arguments": '{"city": "Oslo"}',
                    },
                ],
                call("call_1", "Oslo"),
                metadata={"id": "resp_1"},
            )
        ],
    ),
    "openai v0": Case(
        [
            answer(
                "resp_1",
                "openai",
                "Take a warm hat.",
                call("call_1", "Oslo"),
                additional_kwargs={
                    "reasoning": {
                        "type": "reasoning",
                        "id": "rs_1",
                        "summary": [{"type": "summary_text", "text": "**Planning** the answer"}],
                        "encrypted_content": "gAAAAB",
                    },
                    "__openai_function_call_ids__": {"call_1": "fc_1"},
                },
            )
        ],
    ),
    "gemini": Case(
        [
            answer(
                "lc_run--1",
                "google_genai",
                [
                    {"type": "thinking", "thinking": "Oslo is in Norway.", "signature": "Q2lr"},
                    {"type": "text", "text": "One moment please.", "extras": {"signature": "Q2lt"}},
                ],
                call("call_1", "Oslo"),
                additional_kwargs={
                    "function_call": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                    "__gemini_function_call_thought_signatures__": {"call_1": "Q2ls"},
                },
            )
        ],
    ),
    "bedrock": Case(
        [
            answer(
                "lc_run--2",
                "bedrock_converse",
                [
                    {
                        "type": "reasoning_content",
                        "reasoning_content": {"text": "Does it rain in Bergen?", "signature": "EqQBsig"},
                    },
                    {"type": "reasoning_content", "reasoning_content": {"redacted_content": b"\x00\xff"}},
                    {"type": "text", "text": "It always rains in Bergen."},
                ],
                metadata={"model_name": "anthropic.claude"},
                name="weather",
                additional_kwargs={"lang": "en"},
            )
        ],
        less=[BEDROCK],
    ),
    "openrouter": Case(
        [
            answer(
                "gen-1",
                "openrouter",
                "It snows in Tromsø.",
                additional_kwargs={
                    "reasoning_content": "It is cold up there.",
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "It is cold up there.", "signature": "EqQBsig", "index": 0},
                        {"type": "reasoning.encrypted", "data": "gAAAAB", "index": 1},
                    ],
                },
            )
        ],
    ),
    "deepseek": Case(
        [
            answer(
                "ds_1",
                "deepseek",
                "Fog in the morning.",
                additional_kwargs={"reasoning_content": "It is damp in London."},
            )
        ],
    ),
    "ollama": Case(
        [answer("lc_run--3", "ollama", "Föhn ☀️", additional_kwargs={"reasoning_content": "Schön?"})],
    ),
    "mistral": Case(
        [
            answer(
                "lc_run--4",
                "mistralai",
                [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "How strong is the wind?"}]},
                    {"type": "text", "text": "A light breeze."},
                ],
            )
        ],
    ),
    "think tags": Case(
        [answer("lc_run--5", "groq", "<think>The weather first.</think>Sunny in Paris, all day.")],
        ReasoningOptions(think_tags=ThinkTagSplitter()),
    ),
    "call arguments": Case(
        [
            answer(
                "msg_1",
                "anthropic",
                [{"type": "tool_use", "id": "call_1", "name": "plan", "input": PLAN}],
                {"name": "plan", "args": PLAN, "id": "call_1"},
            )
        ]
    ),
    "calls with one id": Case(
        [
            answer("msg_1", "openai", "", call("same", "Rome"), call("same", "Oslo")),
            ToolMessage("Sunny", tool_call_id="same", name="get_weather", id="t1"),
            ToolMessage("Rain", tool_call_id="same", name="get_weather", id="t2"),
        ]
    ),
    "plain text": Case([HumanMessage("Hello", id="u1"), AIMessage("Hi, how are you?", id="msg_1")]),
    "user media": Case(
        [
            HumanMessage(
                [
                    {"type": "text", "text": "What is on these?", "cache_control": {"type": "ephemeral"}},
                    {"type": "image", "base64": "aGVsbG8gd29ybGQh", "mime_type": "image/png", "extras": {"$t": 1}},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "high"}},
                    {"type": "file", "file_id": "file-1"},
                ],
                id="u1",
                name="Ann",
                additional_kwargs={"lang": "en"},
            )
        ],
        less=[MEDIA],
    ),
    "tool results": Case(
        [
            AIMessage("", id="msg_1", tool_calls=[call("call_1", "Rome"), call("call_2", "Atlantis")]),
            ToolMessage(
                ["Sunny, 24 °C in Rome", {"type": "image", "url": "https://example.com/a.png"}],
                tool_call_id="call_1",
                name="get_weather",
                id="t1",
                additional_kwargs={"cache_control": {"type": "ephemeral"}},
            ),
            ToolMessage(
                [{"type": "text", "text": "There is no such city."}], tool_call_id="call_2", status="error", id="t2"
            ),
        ],
        less=RESULTS,
    ),
}


CONVERSATION: list[BaseMessage] = [
    HumanMessage([{"type": "text", "text": "Weather in Rome?", "cache_control": {"type": "ephemeral"}}], id="u1"),
    answer(
        "msg_1",
        "google_genai",
        [
            {"type": "thinking", "thinking": "Rome is in Italy.", "signature": "Q2lr"},
            {"type": "text", "text": "One moment please."},
        ],
        call("call_1", "Rome"),
        additional_kwargs={"__gemini_function_call_thought_signatures__": {"call_1": "Q2ls"}},
    ),
    ToolMessage(["Sunny, 24 °C in Rome"], tool_call_id="call_1", name="get_weather", id="t1"),
]
CASES["sealed"] = Case(CONVERSATION, SEALED)
CASES["all sealed"] = Case([*CASES["user media"].messages, *CASES["tool results"].messages], SEALED)
CASES["sealed and hidden"] = Case(CONVERSATION, HIDDEN)
FILES: dict[int, dict[str, Json]] = {
    version: json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for version, name in ((1, "envelopes_v1.json"), (2, "envelopes_v2.json"), (3, "envelopes.json"))
}


def to_client(messages: list[BaseMessage], options: ReasoningOptions = PLAIN) -> list[Json]:
    """Return the messages as the client's JSON."""
    converted = langchain_messages_to_agui(messages, reasoning=options, thread_id=THREAD)
    return [json.loads(message.model_dump_json(by_alias=True, exclude_none=True)) for message in converted]


def from_client(messages: list[Json], options: ReasoningOptions = PLAIN) -> list[BaseMessage]:
    return agui_messages_to_langchain(messages, reasoning=options, thread_id=THREAD)


def values(messages: list[Json]) -> dict[str, str]:
    """Return the values of messages and tool calls by their holder, `<role>:<id>`, as the seal names it."""
    found: dict[str, str] = {}
    for message in messages:
        for holder in (message, *message.get("toolCalls", ())):
            if (value := holder.get("encryptedValue")) is not None:
                found[f"{holder.get('role', 'call')}:{holder['id']}"] = value
    return found


def without_values(messages: list[Json]) -> list[Json]:
    copies: list[Json] = json.loads(json.dumps(messages))
    for message in copies:
        for holder in (message, *message.get("toolCalls", ())):
            holder.pop("encryptedValue", None)
    return copies


def decoded(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


def opened(value: str, holder: str) -> str:
    """Return the JSON text in a value, by the documented layout and not by our code."""
    data = decoded(value)
    if data.startswith(b'{"v":'):
        return data.decode()
    header, nonce, box = data[:5], data[5:17], data[17:]
    assert header == b"\x01" + KEY_ID
    thread = THREAD.encode()
    context = header + len(thread).to_bytes(4, "big") + thread + holder.encode()
    return AESGCM(KEY).decrypt(nonce, box, context).decode()


def envelopes(name: str, version: int = 3) -> dict[str, str]:
    """Return the JSON text of each envelope of a case by its holder."""
    stored: dict[str, object] = FILES[version][name]["envelopes"]
    return {
        holder: json.dumps(envelope, ensure_ascii=False, separators=(",", ":")) for holder, envelope in stored.items()
    }


def check_rebuilt(client: list[Json], messages: list[BaseMessage], options: ReasoningOptions = PLAIN) -> None:
    rebuilt = from_client(client, options)
    assert rebuilt == messages
    assert [*map(repr, rebuilt)] == [*map(repr, messages)]  # compares the order of keys too


@pytest.mark.parametrize("name", CASES)
def test_messages_are_written_as_stored(name: str) -> None:
    case, stored = CASES[name], FILES[3][name]["messages"]
    made = to_client(case.messages, case.options)
    if case.options.seal is None:
        assert made == stored
    assert without_values(made) == without_values(stored)
    made_values, stored_values = values(made), values(stored)
    assert {holder: opened(value, holder) for holder, value in made_values.items()} == envelopes(name)
    assert {holder: len(value) for holder, value in made_values.items()} == {
        holder: len(value) for holder, value in stored_values.items()
    }


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for version, stored in FILES.items() for name in CASES if name in stored],
)
def test_stored_messages_are_read(name: str, version: int) -> None:
    case, stored = CASES[name], FILES[version][name]["messages"]
    check_rebuilt(stored, case.back, case.options)
    stored_values = values(stored)
    assert {holder: opened(value, holder) for holder, value in stored_values.items()} == envelopes(name, version)


@pytest.mark.parametrize("name", ["sealed", "sealed and hidden"])
def test_sealed_values_have_the_documented_layout(name: str) -> None:
    case = CASES[name]
    first, second = values(to_client(case.messages, case.options)), values(to_client(case.messages, case.options))
    assert [*first] == [*envelopes(name)]
    for holder, text in envelopes(name).items():
        one, two = decoded(first[holder]), decoded(second[holder])
        assert one[:5] == two[:5] == b"\x01" + KEY_ID
        assert one[5:17] != two[5:17]
        assert len(one) == len(two) == 1 + 4 + 12 + len(text.encode()) + 16
        assert first[holder].startswith("AXOuu-")


def test_the_values_of_golden_become_those_of_today() -> None:
    client = [golden.USER, golden.THOUGHT, golden.REDACTED, golden.CLAUDE, golden.RESULT, golden.ITEM, golden.GPT]
    client += [golden.GEMINI, golden.RAW_THOUGHT, golden.BEDROCK]
    messages = from_client(client)
    today = to_client(messages)
    assert without_values(today) == without_values(client)
    assert from_client(today) == messages


def test_messages_of_subagents_are_read() -> None:
    """`t: 1` keeps a message for the agent's model, `t: 0` does not. Without `t`, a `subagentRunId` means 0."""
    stored = FILES[1]["subagents"]["messages"]
    assert {holder: opened(value, holder) for holder, value in values(stored).items()} == envelopes("subagents", 1)
    check_rebuilt(
        stored,
        [
            HumanMessage("Ask the guide.", id="u1"),
            answer(
                "kept",
                "deepseek",
                "Fog in the morning.",
                additional_kwargs={"reasoning_content": "It is damp in London."},
            ),
            HumanMessage("A note for all.", id="kept-user"),
            AIMessage("Done.", id="msg_1"),
        ],
    )


def test_ids_that_the_client_knows_another_for_are_read() -> None:
    """`i` is LangChain's id of an assistant message, and the id of the call that a result answers."""
    stored = FILES[1]["other ids"]["messages"]
    assert {holder: opened(value, holder) for holder, value in values(stored).items()} == envelopes("other ids", 1)
    check_rebuilt(
        stored,
        [
            AIMessage("One moment please.", id="lc_1", tool_calls=[call("call_1", "Rome")]),
            ToolMessage("Sunny in Rome", tool_call_id="call_1", name="get_weather", id="t1"),
        ],
    )

"""Messages of every provider, and what comes back of them: the cases of `test_envelope_bytes.py`
and its files."""

from __future__ import annotations

from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import ReasoningOptions, ReasoningSeal

Json = dict[str, Any]

KEY = bytes(range(32))
KEY_ID = bytes.fromhex("73aebbe4")
THREAD = "thread-1"
PLAIN = ReasoningOptions()
SEALED = ReasoningOptions(seal=ReasoningSeal([KEY]))
HIDDEN = ReasoningOptions(seal=ReasoningSeal([KEY]), visibility="hidden")


class Case(NamedTuple):
    """LangChain messages, the options under which the files have them, and what comes back if that
    is less."""

    messages: list[BaseMessage]
    options: ReasoningOptions = PLAIN
    less: list[BaseMessage] | None = None

    @property
    def back(self) -> list[BaseMessage]:
        return self.messages if self.less is None else self.less


PLAN = {
    "stops": [{"city": "Tromsø", "days": 3}, {"city": "Oslo", "days": 1.5}],
    "budget": 10**21,
    "alone": False,
}


def call(call_id: str, city: str) -> Json:
    return {"name": "get_weather", "args": {"city": city}, "id": call_id}


def answer(
    message_id: str, provider: str, content: Any, *calls: Json, metadata: Any = None, **more: Any
) -> AIMessage:
    metadata = {"model_provider": provider, **(metadata or {})}
    return AIMessage(
        content, id=message_id, response_metadata=metadata, tool_calls=list(calls), **more
    )


# What comes back without a seal of what follows.
GEMINI = answer(
    "lc_run--1",
    "google_genai",
    [
        {"type": "thinking", "thinking": "Oslo is in Norway.", "signature": "Q2lr"},
        {"type": "text", "text": "One moment please.", "extras": {"signature": "Q2lt"}},
    ],
    call("call_1", "Oslo"),
    additional_kwargs={"__gemini_function_call_thought_signatures__": {"call_1": "Q2ls"}},
)
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
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8gd29ybGQh"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "file", "file_id": "file-1"},
    ],
    id="u1",
    name="Ann",
    additional_kwargs={
        "agui_images": [
            {"extras": {"agui": {"metadata": {"$t": 1}}}},
            {"extras": {"agui": {"metadata": {"detail": "high"}}}},
        ]
    },
)
RESULTS = [
    AIMessage("", id="msg_1", tool_calls=[call("call_1", "Rome"), call("call_2", "Atlantis")]),
    ToolMessage(
        ["Sunny, 24 °C in Rome", {"type": "image", "url": "https://example.com/a.png"}],
        tool_call_id="call_1",
        name="get_weather",
        id="t1",
    ),
    ToolMessage(
        [{"type": "text", "text": "There is no such city."}],
        tool_call_id="call_2",
        status="error",
        id="t2",
    ),
]

CASES: dict[str, Case] = {
    "anthropic": Case(
        [
            answer(
                "msg_1",
                "anthropic",
                [
                    {
                        "type": "thinking",
                        "thinking": "The weather first.",
                        "signature": "EqQBsig",
                        "index": 0,
                    },
                    {"type": "redacted_thinking", "data": "EmwKred"},
                    {"type": "text", "text": "Let me look that up.", "index": 2},
                    {"type": "server_tool_use", "id": "srv_1", "input": ["$t", 0]},
                    {"type": "text", "text": "Rome, then Oslo.", "index": 4},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "get_weather",
                        "input": {"city": "Rome"},
                    },
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
                    {
                        "type": "reasoning",
                        "reasoning": "The weather first.",
                        "extras": {"signature": "EqQBsig"},
                    },
                    {
                        "type": "non_standard",
                        "value": {"type": "redacted_thinking", "data": "EmwKred"},
                    },
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
            GEMINI.model_copy(
                update={
                    "additional_kwargs": {
                        "function_call": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                        **GEMINI.additional_kwargs,
                    }
                }
            )
        ],
        less=[GEMINI],
    ),
    "bedrock": Case(
        [BEDROCK.model_copy(update={"additional_kwargs": {"lang": "en"}})],
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
                        {
                            "type": "reasoning.text",
                            "text": "It is cold up there.",
                            "signature": "EqQBsig",
                            "index": 0,
                        },
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
        [
            answer(
                "lc_run--3", "ollama", "Föhn ☀️", additional_kwargs={"reasoning_content": "Schön?"}
            )
        ],
    ),
    "mistral": Case(
        [
            answer(
                "lc_run--4",
                "mistralai",
                [
                    {
                        "type": "thinking",
                        "thinking": [{"type": "text", "text": "How strong is the wind?"}],
                    },
                    {"type": "text", "text": "A light breeze."},
                ],
            )
        ],
    ),
    "think tags": Case(
        [answer("lc_run--5", "groq", "<think>The weather first.</think>Sunny in Paris, all day.")],
        ReasoningOptions(think_tags=True),
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
        ],
        # Ids tell all, so it has no envelope, and as any such message it loses who made it.
        less=[
            AIMessage("", id="msg_1", tool_calls=[call("same", "Rome"), call("same", "Oslo")]),
            ToolMessage("Sunny", tool_call_id="same", name="get_weather", id="t1"),
            ToolMessage("Rain", tool_call_id="same", name="get_weather", id="t2"),
        ],
    ),
    "plain text": Case([HumanMessage("Hello", id="u1"), AIMessage("Hi, how are you?", id="msg_1")]),
    "user media": Case(
        [
            HumanMessage(
                [
                    {
                        "type": "text",
                        "text": "What is on these?",
                        "cache_control": {"type": "ephemeral"},
                    },
                    {
                        "type": "image",
                        "base64": "aGVsbG8gd29ybGQh",
                        "mime_type": "image/png",
                        "extras": {"$t": 1},
                    },
                    {
                        "type": "image_url",
                        "image_url": {"url": "https://example.com/a.png", "detail": "high"},
                    },
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
            AIMessage(
                "", id="msg_1", tool_calls=[call("call_1", "Rome"), call("call_2", "Atlantis")]
            ),
            ToolMessage(
                ["Sunny, 24 °C in Rome", {"type": "image", "url": "https://example.com/a.png"}],
                tool_call_id="call_1",
                name="get_weather",
                id="t1",
                additional_kwargs={"cache_control": {"type": "ephemeral"}},
            ),
            ToolMessage(
                [{"type": "text", "text": "There is no such city."}],
                tool_call_id="call_2",
                status="error",
                id="t2",
            ),
        ],
        less=RESULTS,
    ),
}


CONVERSATION: list[BaseMessage] = [
    HumanMessage(
        [{"type": "text", "text": "Weather in Rome?", "cache_control": {"type": "ephemeral"}}],
        id="u1",
    ),
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

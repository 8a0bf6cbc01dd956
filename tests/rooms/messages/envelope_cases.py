"""Messages of every provider, and what comes back of them: the cases of `test_envelope_bytes.py`."""

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
    """Messages, the options under which the files have them, and what comes back if that is less."""

    messages: list[BaseMessage]
    options: ReasoningOptions = PLAIN
    less: list[BaseMessage] | None = None

    @property
    def back(self) -> list[BaseMessage]:
        return self.messages if self.less is None else self.less


def block(kind: str, **members: Any) -> Json:
    return {"type": kind, **members}


def text(words: str, **more: Any) -> Json:
    return block("text", text=words, **more)


def call(call_id: str, city: str) -> Json:
    return {"name": "get_weather", "args": {"city": city}, "id": call_id}


def answer(
    message_id: str, provider: str, content: Any, *calls: Json, metadata: Any = None, **more: Any
) -> AIMessage:
    metadata = {"model_provider": provider, **(metadata or {})}
    return AIMessage(
        content, id=message_id, response_metadata=metadata, tool_calls=list(calls), **more
    )


def changed(message: Any, **kwargs: Any) -> Any:
    """The message with these `additional_kwargs`."""
    return message.model_copy(update={"additional_kwargs": kwargs})


PLAN = {
    "stops": [{"city": "Tromsø", "days": 3}, {"city": "Oslo", "days": 1.5}],
    "budget": 10**21,
    "alone": False,
}
SIGNATURES = "__gemini_function_call_thought_signatures__"
SUMMARY = block("summary_text", text="**Planning** the answer")
CACHED = {"type": "ephemeral"}
PICTURE = {"url": "https://example.com/a.png"}

# What comes back without a seal of what follows.
GEMINI = answer(
    "lc_run--1",
    "google_genai",
    [
        block("thinking", thinking="Oslo is in Norway.", signature="Q2lr"),
        text("One moment please.", extras={"signature": "Q2lt"}),
    ],
    call("call_1", "Oslo"),
    additional_kwargs={SIGNATURES: {"call_1": "Q2ls"}},
)
BERGEN = {"text": "Does it rain in Bergen?", "signature": "EqQBsig"}
BEDROCK = answer(
    "lc_run--2",
    "bedrock_converse",
    [
        block("reasoning_content", reasoning_content=BERGEN),
        block("reasoning_content", reasoning_content={"redacted_content": b"\x00\xff"}),
        text("It always rains in Bergen."),
    ],
    metadata={"model_name": "anthropic.claude"},
    name="weather",
)
MEDIA = HumanMessage(
    [
        text("What is on these?"),
        block("image_url", image_url={"url": "data:image/png;base64,aGVsbG8gd29ybGQh"}),
        block("image_url", image_url=PICTURE),
        block("file", file_id="file-1"),
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
ASKED = AIMessage("", id="msg_1", tool_calls=[call("call_1", "Rome"), call("call_2", "Atlantis")])
FOUND = ToolMessage(
    ["Sunny, 24 °C in Rome", block("image", **PICTURE)],
    tool_call_id="call_1",
    name="get_weather",
    id="t1",
)
NO_CITY = ToolMessage(
    [text("There is no such city.")], tool_call_id="call_2", status="error", id="t2"
)
SAME = [call("same", "Rome"), call("same", "Oslo")]
SAME_RESULTS: list[BaseMessage] = [
    ToolMessage("Sunny", tool_call_id="same", name="get_weather", id="t1"),
    ToolMessage("Rain", tool_call_id="same", name="get_weather", id="t2"),
]


def anthropic() -> BaseMessage:
    content = [
        block("thinking", thinking="The weather first.", signature="EqQBsig", index=0),
        block("redacted_thinking", data="EmwKred"),
        text("Let me look that up.", index=2),
        block("server_tool_use", id="srv_1", input=["$t", 0]),
        text("Rome, then Oslo.", index=4),
        block("tool_use", id="toolu_1", name="get_weather", input={"city": "Rome"}),
    ]
    metadata = {"container": {"id": "container_1"}}
    return answer("msg_1", "anthropic", content, call("toolu_1", "Rome"), metadata=metadata)


def anthropic_v1() -> BaseMessage:
    content = [
        block("reasoning", reasoning="The weather first.", extras={"signature": "EqQBsig"}),
        block("non_standard", value=block("redacted_thinking", data="EmwKred")),
        text("Sunny, 24 °C in Rome ☀️"),
    ]
    return answer("msg_1", "anthropic", content, metadata={"output_version": "v1"})


def openai_responses() -> BaseMessage:
    summary = [SUMMARY, block("summary_text", text="**Checking** the answer")]
    called = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    content = [
        block("reasoning", id="rs_1", summary=summary, encrypted_content="gAAAAB"),
        text("Take a warm hat.", id="msg_0", annotations=[]),
        block("function_call", id="fc_1", call_id="call_1", **called),
    ]
    oslo = call("call_1", "Oslo")
    return answer("resp_1", "openai", content, oslo, metadata={"id": "resp_1"})


def openai_v0() -> BaseMessage:
    item = block("reasoning", id="rs_1", summary=[SUMMARY], encrypted_content="gAAAAB")
    kwargs = {"reasoning": item, "__openai_function_call_ids__": {"call_1": "fc_1"}}
    oslo = call("call_1", "Oslo")
    return answer("resp_1", "openai", "Take a warm hat.", oslo, additional_kwargs=kwargs)


def openrouter() -> BaseMessage:
    cold = "It is cold up there."
    details = [
        block("reasoning.text", text=cold, signature="EqQBsig", index=0),
        block("reasoning.encrypted", data="gAAAAB", index=1),
    ]
    kwargs = {"reasoning_content": cold, "reasoning_details": details}
    return answer("gen-1", "openrouter", "It snows in Tromsø.", additional_kwargs=kwargs)


def flat(message_id: str, provider: str, words: str, thought: str) -> AIMessage:
    kwargs = {"reasoning_content": thought}
    return answer(message_id, provider, words, additional_kwargs=kwargs)


def mistral() -> BaseMessage:
    thinking = block("thinking", thinking=[text("How strong is the wind?")])
    return answer("lc_run--4", "mistralai", [thinking, text("A light breeze.")])


def user_media() -> BaseMessage:
    image = {"base64": "aGVsbG8gd29ybGQh", "mime_type": "image/png", "extras": {"$t": 1}}
    content = [
        text("What is on these?", cache_control=CACHED),
        block("image", **image),
        block("image_url", image_url={**PICTURE, "detail": "high"}),
        block("file", file_id="file-1"),
    ]
    return HumanMessage(content, id="u1", name="Ann", additional_kwargs={"lang": "en"})


FOG = flat("ds_1", "deepseek", "Fog in the morning.", "It is damp in London.")
CALLED = {"function_call": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
TAGGED = "<think>The weather first.</think>Sunny in Paris, all day."
PLANNED = block("tool_use", id="call_1", name="plan", input=PLAN)
PLAN_CALL = {"name": "plan", "args": PLAN, "id": "call_1"}
RESULTS = [ASKED, changed(FOUND, cache_control=CACHED), NO_CITY]

CASES: dict[str, Case] = {
    "anthropic": Case([anthropic()]),
    "anthropic v1": Case([anthropic_v1()]),
    "openai responses": Case([openai_responses()]),
    "openai v0": Case([openai_v0()]),
    "gemini": Case([changed(GEMINI, **CALLED, **GEMINI.additional_kwargs)], less=[GEMINI]),
    "bedrock": Case([changed(BEDROCK, lang="en")], less=[BEDROCK]),
    "openrouter": Case([openrouter()]),
    "deepseek": Case([FOG]),
    "ollama": Case([flat("lc_run--3", "ollama", "Föhn ☀️", "Schön?")]),
    "mistral": Case([mistral()]),
    "think tags": Case([answer("lc_run--5", "groq", TAGGED)], ReasoningOptions(think_tags=True)),
    "call arguments": Case([answer("msg_1", "anthropic", [PLANNED], PLAN_CALL)]),
    # Ids tell all, so it has no envelope, and as any such message it loses who made it.
    "calls with one id": Case(
        [answer("msg_1", "openai", "", *SAME), *SAME_RESULTS],
        less=[AIMessage("", id="msg_1", tool_calls=SAME), *SAME_RESULTS],
    ),
    "plain text": Case([HumanMessage("Hello", id="u1"), AIMessage("Hi, how are you?", id="msg_1")]),
    "user media": Case([user_media()], less=[MEDIA]),
    "tool results": Case(RESULTS, less=[ASKED, FOUND, NO_CITY]),
}

CONVERSATION: list[BaseMessage] = [
    HumanMessage([text("Weather in Rome?", cache_control=CACHED)], id="u1"),
    answer(
        "msg_1",
        "google_genai",
        [
            block("thinking", thinking="Rome is in Italy.", signature="Q2lr"),
            text("One moment please."),
        ],
        call("call_1", "Rome"),
        additional_kwargs={SIGNATURES: {"call_1": "Q2ls"}},
    ),
    ToolMessage(["Sunny, 24 °C in Rome"], tool_call_id="call_1", name="get_weather", id="t1"),
]
CASES["sealed"] = Case(CONVERSATION, SEALED)
CASES["all sealed"] = Case([user_media(), *RESULTS], SEALED)
CASES["sealed and hidden"] = Case(CONVERSATION, HIDDEN)

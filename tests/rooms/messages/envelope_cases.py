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


def thinking(words: Any, **more: Any) -> Json:
    return block("thinking", thinking=words, **more)


def call(call_id: str, city: str) -> Json:
    return {"name": "get_weather", "args": {"city": city}, "id": call_id}


def answer(
    message_id: str, provider: str, content: Any, *calls: Json, metadata: Any = None, **kwargs: Any
) -> AIMessage:
    """A message of a provider with these `additional_kwargs`; they may hold its name."""
    name = kwargs.pop("named", None)
    made_by = {"model_provider": provider, **(metadata or {})}
    return AIMessage(
        *(content,),
        id=message_id,
        name=name,
        response_metadata=made_by,
        tool_calls=list(calls),
        additional_kwargs=kwargs,
    )


def changed(message: Any, **kwargs: Any) -> Any:
    """The message with these `additional_kwargs`."""
    return message.model_copy(update={"additional_kwargs": kwargs})


SIGNATURES = "__gemini_function_call_thought_signatures__"
CACHED = {"type": "ephemeral"}
PICTURE = {"url": "https://example.com/a.png"}
ROME, OSLO = call("toolu_1", "Rome"), call("call_1", "Oslo")

CLAUDE = answer(
    *("msg_1", "anthropic"),
    [
        thinking("The weather first.", signature="EqQBsig", index=0),
        block("redacted_thinking", data="EmwKred"),
        text("Let me look that up.", index=2),
        block("server_tool_use", id="srv_1", input=["$t", 0]),
        text("Rome, then Oslo.", index=4),
        block("tool_use", id="toolu_1", name="get_weather", input={"city": "Rome"}),
    ],
    *(ROME,),
    metadata={"container": {"id": "container_1"}},
)
CLAUDE_V1 = answer(
    *("msg_1", "anthropic"),
    [
        block("reasoning", reasoning="The weather first.", extras={"signature": "EqQBsig"}),
        block("non_standard", value=block("redacted_thinking", data="EmwKred")),
        text("Sunny, 24 °C in Rome ☀️"),
    ],
    metadata={"output_version": "v1"},
)
SUMMARY = block("summary_text", text="**Planning** the answer")
CHECKING = block("summary_text", text="**Checking** the answer")
WEATHER = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
ITEM = block("reasoning", id="rs_1", summary=[SUMMARY], encrypted_content="gAAAAB")
RESPONSES = answer(
    *("resp_1", "openai"),
    [
        {**ITEM, "summary": [SUMMARY, CHECKING]},
        text("Take a warm hat.", id="msg_0", annotations=[]),
        block("function_call", id="fc_1", call_id="call_1", **WEATHER),
    ],
    *(OSLO,),
    metadata={"id": "resp_1"},
)
V0 = {"reasoning": ITEM, "__openai_function_call_ids__": {"call_1": "fc_1"}}
COLD = "It is cold up there."
DETAILS = [
    block("reasoning.text", text=COLD, signature="EqQBsig", index=0),
    block("reasoning.encrypted", data="gAAAAB", index=1),
]
GEMINI = answer(
    *("lc_run--1", "google_genai"),
    [
        thinking("Oslo is in Norway.", signature="Q2lr"),
        text("One moment please.", extras={"signature": "Q2lt"}),
    ],
    *(OSLO,),
    **{SIGNATURES: {"call_1": "Q2ls"}},
)
BERGEN = {"text": "Does it rain in Bergen?", "signature": "EqQBsig"}
BEDROCK = answer(
    *("lc_run--2", "bedrock_converse"),
    [
        block("reasoning_content", reasoning_content=BERGEN),
        block("reasoning_content", reasoning_content={"redacted_content": b"\x00\xff"}),
        text("It always rains in Bergen."),
    ],
    metadata={"model_name": "anthropic.claude"},
    named="weather",
)
HAT = ("resp_1", "openai", "Take a warm hat.", OSLO)
SNOW = ("gen-1", "openrouter", "It snows in Tromsø.")
FOG = answer("ds_1", "deepseek", "Fog in the morning.", reasoning_content="It is damp in London.")
FOEHN = answer("lc_run--3", "ollama", "Föhn ☀️", reasoning_content="Schön?")
WIND = [thinking([text("How strong is the wind?")]), text("A light breeze.")]
TAGGED = "<think>The weather first.</think>Sunny in Paris, all day."
STOPS = [{"city": "Tromsø", "days": 3}, {"city": "Oslo", "days": 1.5}]
PLAN = {"stops": STOPS, "budget": 10**21, "alone": False}
PLANNED = block("tool_use", id="call_1", name="plan", input=PLAN)

ASK = text("What is on these?")
FILE = block("file", file_id="file-1")
HELLO = "aGVsbG8gd29ybGQh"
IMAGE = block("image", base64=HELLO, mime_type="image/png", extras={"$t": 1})
HIGH = block("image_url", image_url={**PICTURE, "detail": "high"})
USER_MEDIA = HumanMessage(
    [{**ASK, "cache_control": CACHED}, IMAGE, HIGH, FILE],
    id="u1",
    name="Ann",
    additional_kwargs={"lang": "en"},
)
DATA_URL = block("image_url", image_url={"url": f"data:image/png;base64,{HELLO}"})
KEPT = [{"extras": {"agui": {"metadata": one}}} for one in ({"$t": 1}, {"detail": "high"})]
MEDIA = HumanMessage(
    [ASK, DATA_URL, block("image_url", image_url=PICTURE), FILE],
    id="u1",
    name="Ann",
    additional_kwargs={"agui_images": KEPT},
)
TWO = [call("call_1", "Rome"), call("call_2", "Atlantis")]
ASKED = AIMessage("", id="msg_1", tool_calls=TWO)
GIVEN = ["Sunny, 24 °C in Rome", block("image", **PICTURE)]
FOUND = ToolMessage(GIVEN, tool_call_id="call_1", name="get_weather", id="t1")
NO_CITY = ToolMessage(
    [text("There is no such city.")], tool_call_id="call_2", status="error", id="t2"
)
RESULTS = [ASKED, changed(FOUND, cache_control=CACHED), NO_CITY]
SAME = [call("same", "Rome"), call("same", "Oslo")]
SAME_RESULTS: list[BaseMessage] = [
    ToolMessage(words, tool_call_id="same", name="get_weather", id=message_id)
    for words, message_id in (("Sunny", "t1"), ("Rain", "t2"))
]
CONVERSATION: list[BaseMessage] = [
    HumanMessage([text("Weather in Rome?", cache_control=CACHED)], id="u1"),
    answer(
        *("msg_1", "google_genai"),
        [thinking("Rome is in Italy.", signature="Q2lr"), text("One moment please.")],
        *(TWO[0],),
        **{SIGNATURES: {"call_1": "Q2ls"}},
    ),
    ToolMessage(GIVEN[:1], tool_call_id="call_1", name="get_weather", id="t1"),
]

CASES: dict[str, Case] = {
    "anthropic": Case([CLAUDE]),
    "anthropic v1": Case([CLAUDE_V1]),
    "openai responses": Case([RESPONSES]),
    "openai v0": Case([answer(*HAT, **V0)]),
    "gemini": Case(
        [changed(GEMINI, function_call=WEATHER, **GEMINI.additional_kwargs)], less=[GEMINI]
    ),
    "bedrock": Case([changed(BEDROCK, lang="en")], less=[BEDROCK]),
    "openrouter": Case([answer(*SNOW, reasoning_content=COLD, reasoning_details=DETAILS)]),
    "deepseek": Case([FOG]),
    "ollama": Case([FOEHN]),
    "mistral": Case([answer("lc_run--4", "mistralai", WIND)]),
    "think tags": Case([answer("lc_run--5", "groq", TAGGED)], ReasoningOptions(think_tags=True)),
    "call arguments": Case(
        [answer("msg_1", "anthropic", [PLANNED], {"name": "plan", "args": PLAN, "id": "call_1"})]
    ),
    # Ids tell all, so it has no envelope, and as any such message it loses who made it.
    "calls with one id": Case(
        [answer("msg_1", "openai", "", *SAME), *SAME_RESULTS],
        less=[AIMessage("", id="msg_1", tool_calls=SAME), *SAME_RESULTS],
    ),
    "plain text": Case([HumanMessage("Hello", id="u1"), AIMessage("Hi, how are you?", id="msg_1")]),
    "user media": Case([USER_MEDIA], less=[MEDIA]),
    "tool results": Case(RESULTS, less=[ASKED, FOUND, NO_CITY]),
    "sealed": Case(CONVERSATION, SEALED),
    "all sealed": Case([USER_MEDIA, *RESULTS], SEALED),
    "sealed and hidden": Case(CONVERSATION, HIDDEN),
}

"""LangChain messages in every shape that provider packages and users give them.

Every thought holds `MARK`, so that a test can look for reasoning where it must not be. All
signatures and ciphertexts begin with `OPAQUE`, apart from raw bytes. `RAW` is in what a model
thought word for word, where its provider also gives a summary.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui.messages.envelope import GEMINI_SIGNATURES

MARK = "\u2620thought"
OPAQUE = "EqQBopaque"
RAW = "\u2622verbatim"

Strategy = st.SearchStrategy[Any]
some, lists, just = st.sampled_from, st.lists, st.just

_PHRASES = (
    *("The weather first.", "Sunny in Paris, 24 °C ☀️", "Ünïcode 😀 and \n newlines", "a" * 40),
    '{"city": "Paris"}',
)
_SHORT = ("$t", "$x", "$=", "$r", "$", "", " ", "0", "<think>", "</think>")
_text = st.text(max_size=8)
halves = st.text("\ud800\udbffAé", max_size=4)
words = some((*_PHRASES, *_SHORT)) | _text | st.tuples(some(_PHRASES), _text).map("".join)
thoughts = just("") | words.map(lambda said: MARK + said)
signatures = st.text("abc=/+", max_size=20).map(lambda said: OPAQUE + said)
numbers = st.integers(0, 3)

_atoms = st.none() | st.booleans() | st.integers() | st.integers(-(2**80), 2**80) | words | halves
json_values: Strategy = st.recursive(
    _atoms | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


class Thing:
    """What JSON cannot hold."""


_bytes, _sets = st.binary(max_size=4), st.sets(st.integers(), max_size=2)
_things = some([Thing(), datetime(2026, 1, 2, tzinfo=UTC), int, ..., 1j])
_keys = st.integers() | st.booleans() | st.none() | words
_odd_atoms = _bytes | st.builds(bytearray, _bytes) | _sets | _things | words
odd_values: Strategy = st.recursive(
    _odd_atoms | st.floats() | st.datetimes() | st.decimals(),
    lambda inner: (
        lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(_keys, inner, max_size=3)
    ),
    max_leaves=6,
)

arguments = st.dictionaries(words, json_values, max_size=3) | just({"city": "Paris"})
names = some(["get_weather", "", "a b", "$t", "ünï", "x" * 80])


def of(kind: str | Strategy, needed: Any = None, **optional: Any) -> Strategy:
    """Dicts of a type, with members that they have and members that they may have."""
    kinds = {"type": just(kind) if isinstance(kind, str) else kind}
    return st.fixed_dictionaries({**kinds, **(needed or {})}, optional=optional)


def maybe(**members: Any) -> Strategy:
    return st.fixed_dictionaries({}, optional=members)


Call = dict[str, Any]
Kind = Strategy | Callable[[Call], Strategy]
"""Blocks, or blocks of a call."""

_cited = {"citations": lists(json_values, max_size=1), "index": numbers}
TEXT = of("text", {"text": words}, **_cited)
UNKNOWN = of(
    some(["server_tool_use", "web_search_call", "image", "refusal", "$t", "text", ""]),
    **dict.fromkeys(("id", "text", "index", "refusal", "url"), words),
)
THINKING = of("thinking", {"thinking": thoughts}, signature=signatures, index=numbers)
REDACTED = of("redacted_thinking", {"data": signatures})
V1_REASONING = of(
    "reasoning",
    {"reasoning": thoughts},
    id=some(["rs_1", "lc_2"]),
    index=numbers | just("lc_rs_305f30"),
    extras=maybe(signature=signatures, encrypted_content=signatures).filter(bool),
)
NON_STANDARD = of("non_standard", {"value": REDACTED | THINKING | UNKNOWN})
_summaries = lists(of("summary_text", {"text": thoughts}, index=numbers), max_size=3)
_raw = words.map(lambda said: {"type": "reasoning_text", "text": RAW + said})
ITEM = of(
    "reasoning",
    {"summary": _summaries},
    id=some(["rs_1", "rs_2", "rs_3"]),
    encrypted_content=signatures,
    content=lists(_raw, max_size=2),
    index=numbers,
    status=st.none(),
)
_in_item = {"id": just("msg_abc")}
PHASED = of("text", {"text": words}, **_in_item, phase=just("commentary"), annotations=just([]))
REFUSAL = of("refusal", {"refusal": words}, **_in_item)
SIGNED_TEXT = of("text", {"text": words}, extras=st.builds(dict, signature=signatures))
_told = st.fixed_dictionaries({"text": thoughts, "signature": just(OPAQUE)})
_redacted = st.fixed_dictionaries({"redacted_content": st.binary(max_size=8)})
CONVERSE = of("reasoning_content", {"reasoning_content": _told | _redacted})
_said = lists(thoughts.map(lambda said: {"type": "text", "text": said}), max_size=2)
THINKING_LIST = of("thinking", {"thinking": _said}, index=numbers)


def tool_use(call: Call) -> Strategy:
    used = {"id": just(call["id"]), "name": just(call["name"]), "input": just(call["args"])}
    partial = just(json.dumps(call["args"]))
    return of("tool_use", used, partial_json=partial, caller=just({"type": "direct"}))


def v1_call(call: Call) -> Strategy:
    made = {key: just(value) for key, value in call.items()}
    return of("tool_call", made, extras=st.fixed_dictionaries({"signature": signatures}))


def function_call(call: Call) -> Strategy:
    made = {"name": call["name"], "arguments": json.dumps(call["args"]), "call_id": call["id"]}
    needed = {key: just(value) for key, value in made.items()}
    return of("function_call", needed, id=just("fc_1"), status=just("completed"))


def with_tags() -> Strategy:
    stretch = st.tuples(thoughts, words).map("<think>{0[0]}</think>{0[1]}".format)
    said = lists(stretch | words, max_size=3).map("".join)
    return said.map(lambda text: text.replace("<think></think>", ""))


_detail = of(
    some(["reasoning.text", "reasoning.encrypted", "reasoning.summary"]),
    text=thoughts,
    summary=thoughts,
    index=numbers,
    data=signatures,
    signature=signatures,
)


class Shape:
    """Assistant messages of a provider: blocks of these kinds, or a text if it `may_be_text`; with
    these kwargs and metadata at times. `v` is the version of the output."""

    def __init__(
        self, provider: str | None, *kinds: Kind, text: Strategy | None = None, v: str = "",
        kwargs: Strategy | None = None, **metadata: Any,
    ) -> None:  # fmt: skip
        named = {"model_provider": just(provider)} if provider else {}
        version = {"output_version": just(v)} if v else {}
        self.kinds, self.text, self.kwargs = kinds, text, just({}) if kwargs is None else kwargs
        self.metadata = st.fixed_dictionaries({**named, **version}, optional=metadata)

    def blocks(self, draw: Any, calls: list[Call]) -> list[Any]:
        """Blocks of some kinds, and the calls in between or behind: each is placed once."""
        unplaced, made = [*calls], []
        for kind in draw(lists(some(self.kinds), max_size=5)):
            if not callable(kind) or isinstance(kind, st.SearchStrategy):
                made.append(draw(kind))
            elif unplaced:
                made.append(draw(kind(unplaced.pop(0))))
        return made

    def fields(self, draw: Any, calls: list[Call]) -> dict[str, Any]:
        is_text = self.text is not None and (not self.kinds or draw(st.booleans()))
        content = draw(self.text) if is_text else self.blocks(draw, calls)
        kwargs = draw(self.kwargs)
        return {"content": content, "additional_kwargs": kwargs, "tool_calls": calls}


class OpenAIV0(Shape):
    def fields(self, draw: Any, calls: list[Call]) -> dict[str, Any]:
        made = super().fields(draw, calls)
        ids = {call["id"]: "fc_1" for call in calls}
        more = {"reasoning": draw(ITEM), "__openai_function_call_ids__": ids}
        return {**made, "additional_kwargs": {**made["additional_kwargs"], **more}}


class Gemini(Shape):
    def fields(self, draw: Any, calls: list[Call]) -> dict[str, Any]:
        made = super().fields(draw, calls)
        if calls:
            old = {"name": calls[-1]["name"], "arguments": json.dumps(calls[-1]["args"])}
            ids = some([*(call["id"] for call in calls), "lost"])
            signed = draw(st.dictionaries(ids, signatures))
            made["additional_kwargs"] = {"function_call": old, GEMINI_SIGNATURES: signed}
        return made


class AnyShape(Shape):
    """Blocks of all providers in one message, kwargs of all kinds, calls of all kinds."""

    def fields(self, draw: Any, calls: list[Call]) -> dict[str, Any]:
        ids = st.none() | some(["call_same", "call_0_0", "", "tool call"])
        more = st.fixed_dictionaries({"name": names, "args": arguments, "id": ids})
        bad = st.none() | words | some(["{", "[]", "null", '{"a": 1}'])
        wrong = {"name": st.none() | names, "args": bad, "id": ids, "error": st.none() | words}
        return {
            **super().fields(draw, calls),
            "tool_calls": [*calls, *draw(lists(more, max_size=3))],
            "invalid_tool_calls": draw(lists(st.fixed_dictionaries(wrong), max_size=2)),
            "name": draw(st.none() | words),
        }


_any_keys = some(
    ["reasoning_content", "reasoning", "tool_calls", "parsed", "refusal", "$t", "audio"]
)
_container = just({"id": "container_1", "expires_at": "2026"})
_outputs = {"tool_outputs": lists(json_values, max_size=2), "refusal": words}
_details = {"reasoning_details": lists(_detail, max_size=3)}

SHAPES: dict[str, Shape] = {
    "anthropic": Shape(
        *("anthropic", TEXT, words, THINKING, REDACTED, tool_use, UNKNOWN),
        model_name=just("claude"),
        container=_container,
    ),
    "anthropic-v1": Shape("anthropic", TEXT, V1_REASONING, NON_STANDARD, v1_call, v="v1"),
    "openai": Shape(
        *("openai", ITEM, PHASED, REFUSAL, function_call, UNKNOWN),
        kwargs=maybe(parsed=json_values, refusal=words),
        id=some(["resp_1", "chatcmpl-1"]),
    ),
    "openai-v1": Shape("openai", V1_REASONING, PHASED, v1_call, NON_STANDARD, v="v1"),
    "openai-v0": OpenAIV0("openai", PHASED, text=words, kwargs=maybe(**_outputs)),
    "google": Gemini("google_genai", THINKING, SIGNED_TEXT, words, text=words),
    "google-v1": Shape("google_genai", V1_REASONING, SIGNED_TEXT, v1_call, v="v1"),
    "bedrock": Shape("bedrock_converse", CONVERSE, TEXT, tool_use, model_name=just("claude")),
    "openrouter": Shape(
        "openrouter", text=words, kwargs=maybe(reasoning_content=thoughts, **_details)
    ),
    "flat": Shape(
        *(None,),
        text=words,
        kwargs=maybe(reasoning_content=thoughts, refusal=st.none()),
        model_provider=some(["deepseek", "ollama", "xai"]),
    ),
    "mistral": Shape("mistralai", THINKING_LIST, TEXT, words),
    "tagged": Shape(None, text=with_tags(), model_provider=just("groq")),
    "any": AnyShape(
        *(None, TEXT, words, UNKNOWN, THINKING, REDACTED, tool_use, V1_REASONING, v1_call, ITEM),
        *(NON_STANDARD, function_call, REFUSAL, SIGNED_TEXT, CONVERSE, THINKING_LIST),
        text=words | halves,
        kwargs=st.dictionaries(_any_keys | words, json_values, max_size=3),
        model_provider=some(["anthropic", "openai", "acme"]),
        output_version=some(["v0", "v1", "responses/v1"]),
        container=json_values.filter(lambda value: value is not None),
    ),
}


@st.composite
def answers(draw: Any, shape: str | None = None, number: int = 0) -> AIMessage:
    """An assistant message in one shape, or in any; its calls have ids of their own."""
    ids = [f"call_{number}_{place}" for place in range(draw(numbers))]
    calls = [{"name": draw(names), "args": draw(arguments), "id": one} for one in ids]
    made = SHAPES[shape or draw(some([*SHAPES]))]
    fields = made.fields(draw, calls)
    return AIMessage(**fields, response_metadata=draw(made.metadata), id=f"msg_{number}")


_HELLO = "aGVsbG8="
_SOURCE = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8gd29ybGQh"}
_PDF = {"format": "pdf", "name": "d", "source": {"bytes": b"hello world, more than twelve"}}
_media = some(
    [
        {"type": "image", "url": "https://e.com/a.png"},
        {"type": "image", "base64": _HELLO, "mime_type": "image/png", "extras": {"$t": 1}},
        {"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "high"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_HELLO}"}},
        {"type": "file", "file_id": "file-1"},
        {"type": "image", "source": _SOURCE},
        {"type": "input_audio", "input_audio": {"data": _HELLO, "format": "mp3"}},
        {"document": _PDF},
        {"type": "text-plain", "text": "plain text of a document", "mime_type": "text/plain"},
    ]
)
_strange_keys = some(["type", "text", "url", "source", "cache_control"])
_strange = st.dictionaries(_strange_keys, json_values, max_size=3)
_block = words | _media | of("text", {"text": words}) | _strange
contents = words | lists(words, max_size=3) | lists(_block, max_size=4)


@st.composite
def questions(draw: Any, number: int = 0) -> HumanMessage:
    kwargs = draw(st.dictionaries(words | just("agui_images"), json_values, max_size=2))
    name = draw(st.none() | words)
    return HumanMessage(draw(contents), id=f"user_{number}", name=name, additional_kwargs=kwargs)


@st.composite
def results(
    draw: Any, number: int = 0, call_ids: tuple[str, ...] = ("call_0_0", "unknown", "")
) -> ToolMessage:
    return ToolMessage(
        draw(contents),
        tool_call_id=draw(some(call_ids)),
        id=f"tool_{number}",
        name=draw(st.none() | names),
        status=draw(some(["success", "error"])),
        artifact=draw(some([None, {"a": b"bytes"}])),
        additional_kwargs=draw(st.dictionaries(words, json_values, max_size=2)),
    )


@st.composite
def turns(draw: Any, *, tagged: bool = True) -> list[BaseMessage]:
    """A plausible conversation: questions, answers (or none with tags), and the results of all
    calls in their order."""
    shapes = [shape for shape in SHAPES if tagged or shape != "tagged"]
    recorded: list[BaseMessage] = []
    for number in range(draw(st.integers(1, 3))):
        answer = draw(answers(draw(some(shapes)), number))
        recorded += [draw(questions(number)), answer]
        calls = {call["id"]: call["name"] for call in answer.tool_calls if call["id"]}
        for place, (call_id, name) in enumerate(calls.items()):
            result = draw(results(10 * number + place, (call_id,)))
            recorded.append(result.model_copy(update={"name": name}))
    return recorded


@st.composite
def mixtures(draw: Any) -> list[BaseMessage]:
    """Messages in any order, results before their calls and ids that repeat among them."""
    kinds = [st.one_of(answers(number=n % 3), questions(n % 3), results(n)) for n in range(5)]
    return list(draw(st.permutations([draw(kind) for kind in kinds])))[: draw(st.integers(1, 5))]


_members = some(
    ["type", "text", "index", "id", "summary", "thinking", "reasoning_content", "value", "input"]
)
_types = (
    "text",
    "thinking",
    "reasoning",
    "reasoning_content",
    "non_standard",
    "refusal",
    "tool_use",
)


@st.composite
def odd_messages(draw: Any) -> BaseMessage:
    """Messages that hold what is not JSON, or blocks that are not what their type says."""
    odd = st.dictionaries(some(["a", "b"]), odd_values, min_size=1, max_size=2)
    more = st.dictionaries(_members, odd_values | json_values, max_size=3)
    block = st.builds(lambda kind, more: {"type": kind, **more}, some(_types), more)
    content, kwargs = draw(lists(block, max_size=3) | words), draw(odd)
    match draw(st.integers(0, 2)):
        case 0:
            made = {"name": just("look"), "args": odd, "id": numbers.map("call_{}".format)}
            calls = draw(lists(st.fixed_dictionaries(made), max_size=3, unique_by=_id_of))
            keys = ("model_provider", "model_name", "container", "output_version")
            metadata = draw(st.fixed_dictionaries(dict.fromkeys(keys, odd_values)))
            kwargs = {**kwargs, "reasoning": draw(block)}
            return AIMessage(
                *(content,),
                tool_calls=calls,
                additional_kwargs=kwargs,
                id="msg_0",
                response_metadata=metadata,
            )
        case 1:
            return ToolMessage(content, tool_call_id="c", additional_kwargs=kwargs, id="tool_0")
        case _:
            return HumanMessage(content, additional_kwargs=kwargs, id="user_0")


def _id_of(call: Call) -> str:
    return str(call["id"])


def decoded(value: str) -> bytes:
    """What is in an opaque value, or in part of one that has been cut."""
    return b64decode(value.translate(str.maketrans("-_", "+/")) + "=" * (-len(value) % 4))


def encoded(envelope: object) -> str:
    """An opaque value as `docs/reference/reasoning-format.md` describes it: unpadded base64url of
    JSON."""
    text = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    return b64encode(text).decode().rstrip("=").translate(str.maketrans("+/", "-_"))

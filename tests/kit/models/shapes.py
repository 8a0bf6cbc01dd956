"""LangChain messages in every shape that provider packages and users give them.

Every thought holds `MARK`, so that a test can look for reasoning where it must not be.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui.messages.envelope import GEMINI_SIGNATURES

MARK = "\u2620thought"
OPAQUE = "EqQBopaque"
RAW = "\u2622verbatim"
"""In what a model thought word for word, where its provider also gives a summary."""

"""How all signatures and ciphertexts begin, apart from raw bytes."""

_PHRASES = (
    "The weather first.",
    "Sunny in Paris, 24 °C ☀️",
    "Ünïcode 😀 and \n newlines",
    "a" * 40,
    '{"city": "Paris"}',
)
_SHORT = ("$t", "$x", "$=", "$r", "$", "", " ", "0", "<think>", "</think>")
text = st.text(max_size=8)
halves = st.text("\ud800\udbffAé", max_size=4)
words = (
    st.sampled_from((*_PHRASES, *_SHORT))
    | text
    | st.tuples(st.sampled_from(_PHRASES), text).map("".join)
)
thoughts = st.just("") | words.map(lambda said: MARK + said)
signatures = st.text("abc=/+", max_size=20).map(lambda said: OPAQUE + said)
numbers = st.integers(0, 3)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | halves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


class Thing:
    """What JSON cannot hold."""


odd_values: st.SearchStrategy[Any] = st.recursive(
    st.binary(max_size=4)
    | st.builds(bytearray, st.binary(max_size=4))
    | st.sets(st.integers(), max_size=2)
    | st.floats()
    | st.datetimes()
    | st.decimals()
    | st.sampled_from([Thing(), datetime(2026, 1, 2, tzinfo=UTC), int, ..., 1j])
    | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.booleans() | st.none() | words, inner, max_size=3)
    ),
    max_leaves=6,
)

arguments = st.dictionaries(words, json_values, max_size=3) | st.just({"city": "Paris"})
names = st.sampled_from(["get_weather", "", "a b", "$t", "ünï", "x" * 80])


class Draw:
    """What is drawn of one assistant message: its calls have ids of their own, and each can be
    placed once."""

    def __init__(self, draw: Any, number: int) -> None:
        self._draw = draw
        self.number = number
        count = draw(numbers)
        ids = [f"call_{number}_{place}" for place in range(count)]
        self.calls = [{"name": draw(names), "args": draw(arguments), "id": one} for one in ids]
        self._unplaced = list(self.calls)

    def of(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self._draw(strategy)

    def maybe(self, **members: st.SearchStrategy[Any]) -> dict[str, Any]:
        return {key: self.of(value) for key, value in members.items() if self.of(st.booleans())}

    def blocks(self, *makers: Any) -> list[Any]:
        """Blocks of some kinds, and the calls in between or behind."""
        made = [self.of(st.sampled_from(makers))(self) for _ in range(self.of(st.integers(0, 5)))]
        return [block for block in made if block is not None]

    def call(self) -> dict[str, Any] | None:
        return self._unplaced.pop(0) if self._unplaced else None

    def message(
        self, content: Any, kwargs: Any = None, *, provider: str | None = None, **recorded: Any
    ) -> AIMessage:
        metadata = {**({"model_provider": provider} if provider else {}), **recorded}
        return AIMessage(
            content,
            additional_kwargs=kwargs or {},
            response_metadata=metadata,
            tool_calls=self.calls,
            id=f"msg_{self.number}",
        )


def _text(draw: Draw) -> Any:
    index, more = draw.maybe(index=numbers), draw.maybe(citations=st.lists(json_values, max_size=1))
    return {"type": "text", "text": draw.of(words), **more, **index}


def _string(draw: Draw) -> Any:
    return draw.of(words)


def _unknown(draw: Draw) -> Any:
    kind = draw.of(
        st.sampled_from(
            ["server_tool_use", "web_search_call", "image", "refusal", "$t", "text", ""]
        )
    )
    return {
        "type": kind,
        **draw.of(
            st.dictionaries(st.sampled_from(["id", "text", "index", "refusal", "url"]), words)
        ),
    }


def _thinking(draw: Draw) -> Any:
    more = draw.maybe(signature=signatures, index=numbers)
    return {"type": "thinking", "thinking": draw.of(thoughts), **more}


def _redacted(draw: Draw) -> Any:
    return {"type": "redacted_thinking", "data": draw.of(signatures)}


def _tool_use(draw: Draw) -> Any:
    if (call := draw.call()) is None:
        return None
    more = draw.maybe(
        partial_json=st.just(json.dumps(call["args"])), caller=st.just({"type": "direct"})
    )
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": call["name"],
        "input": call["args"],
        **more,
    }


def _v1_reasoning(draw: Draw) -> Any:
    more = draw.maybe(id=st.sampled_from(["rs_1", "lc_2"]), index=numbers | st.just("lc_rs_305f30"))
    extras = draw.maybe(signature=signatures, encrypted_content=signatures)
    return {
        "type": "reasoning",
        "reasoning": draw.of(thoughts),
        **more,
        **({"extras": extras} if extras else {}),
    }


def _v1_call(draw: Draw) -> Any:
    if (call := draw.call()) is None:
        return None
    return {
        "type": "tool_call",
        **call,
        **draw.maybe(extras=st.fixed_dictionaries({"signature": signatures})),
    }


def _non_standard(draw: Draw) -> Any:
    return {
        "type": "non_standard",
        "value": draw.of(st.sampled_from([_redacted, _thinking, _unknown]))(draw),
    }


def _item(draw: Draw) -> Any:
    parts = draw.of(st.lists(thoughts, max_size=3))
    summary = [
        {"type": "summary_text", "text": part, **draw.maybe(index=numbers)} for part in parts
    ]
    more = draw.maybe(
        id=st.sampled_from(["rs_1", "rs_2", "rs_3"]),
        encrypted_content=signatures,
        content=st.lists(
            words.map(lambda said: {"type": "reasoning_text", "text": RAW + said}), max_size=2
        ),
        index=numbers,
        status=st.none(),
    )
    return {"type": "reasoning", "summary": summary, **more}


def _function_call(draw: Draw) -> Any:
    if (call := draw.call()) is None:
        return None
    head = {"type": "function_call", "name": call["name"], "arguments": json.dumps(call["args"])}
    return {
        **head,
        "call_id": call["id"],
        **draw.maybe(id=st.just("fc_1"), status=st.just("completed")),
    }


def _phased(draw: Draw) -> Any:
    more = draw.maybe(id=st.just("msg_abc"), phase=st.just("commentary"), annotations=st.just([]))
    return {"type": "text", "text": draw.of(words), **more}


def _refusal(draw: Draw) -> Any:
    return {"type": "refusal", "refusal": draw.of(words), **draw.maybe(id=st.just("msg_abc"))}


def _signed_text(draw: Draw) -> Any:
    return {
        "type": "text",
        "text": draw.of(words),
        **draw.maybe(extras=st.builds(dict, signature=signatures)),
    }


def _reasoning_content(draw: Draw) -> Any:
    inner = draw.of(st.sampled_from(["text", "redacted"]))
    if inner == "text":
        return {
            "type": "reasoning_content",
            "reasoning_content": {"text": draw.of(thoughts), "signature": OPAQUE},
        }
    return {
        "type": "reasoning_content",
        "reasoning_content": {"redacted_content": draw.of(st.binary(max_size=8))},
    }


def _thinking_list(draw: Draw) -> Any:
    thinking = [{"type": "text", "text": said} for said in draw.of(st.lists(thoughts, max_size=2))]
    return {"type": "thinking", "thinking": thinking, **draw.maybe(index=numbers)}


def _anthropic(draw: Draw) -> AIMessage:
    content = draw.blocks(_text, _string, _thinking, _redacted, _tool_use, _unknown)
    container = draw.maybe(container=st.just({"id": "container_1", "expires_at": "2026"}))
    return draw.message(content, provider="anthropic", model_name="claude", **container)


def _anthropic_v1(draw: Draw) -> AIMessage:
    content = draw.blocks(_text, _v1_reasoning, _non_standard, _v1_call)
    return draw.message(content, provider="anthropic", output_version="v1")


def _openai(draw: Draw) -> AIMessage:
    content = draw.blocks(_item, _phased, _refusal, _function_call, _unknown)
    kwargs = draw.maybe(parsed=json_values, refusal=words)
    return draw.message(
        content, kwargs, provider="openai", id=draw.of(st.sampled_from(["resp_1", "chatcmpl-1"]))
    )


def _openai_v1(draw: Draw) -> AIMessage:
    content = draw.blocks(_v1_reasoning, _phased, _v1_call, _non_standard)
    return draw.message(content, provider="openai", output_version="v1")


def _openai_v0(draw: Draw) -> AIMessage:
    kwargs = {
        "reasoning": _item(draw),
        **draw.maybe(tool_outputs=st.lists(json_values, max_size=2), refusal=words),
    }
    ids = {"__openai_function_call_ids__": {call["id"]: "fc_1" for call in draw.calls}}
    content = draw.of(words) if draw.of(st.booleans()) else draw.blocks(_phased)
    return draw.message(content, {**kwargs, **ids}, provider="openai")


def _google(draw: Draw) -> AIMessage:
    content = (
        draw.of(words) if draw.of(st.booleans()) else draw.blocks(_thinking, _signed_text, _string)
    )
    kwargs = {}
    if draw.calls:
        last = draw.calls[-1]
        kwargs["function_call"] = {"name": last["name"], "arguments": json.dumps(last["args"])}
        signed = draw.of(
            st.dictionaries(
                st.sampled_from([*(call["id"] for call in draw.calls), "lost"]), signatures
            )
        )
        kwargs[GEMINI_SIGNATURES] = signed
    return draw.message(content, kwargs, provider="google_genai")


def _google_v1(draw: Draw) -> AIMessage:
    content = draw.blocks(_v1_reasoning, _signed_text, _v1_call)
    return draw.message(content, provider="google_genai", output_version="v1")


def _bedrock(draw: Draw) -> AIMessage:
    content = draw.blocks(_reasoning_content, _text, _tool_use)
    return draw.message(content, provider="bedrock_converse", model_name="anthropic.claude")


def _openrouter(draw: Draw) -> AIMessage:
    detail = st.fixed_dictionaries(
        {"type": st.sampled_from(["reasoning.text", "reasoning.encrypted", "reasoning.summary"])},
        optional={
            "text": thoughts,
            "summary": thoughts,
            "data": signatures,
            "signature": signatures,
            "index": numbers,
        },
    )
    kwargs = draw.maybe(reasoning_content=thoughts, reasoning_details=st.lists(detail, max_size=3))
    return draw.message(draw.of(words), kwargs, provider="openrouter")


def _flat(draw: Draw) -> AIMessage:
    kwargs = draw.maybe(reasoning_content=thoughts, refusal=st.none())
    return draw.message(
        draw.of(words),
        kwargs,
        provider=draw.of(st.sampled_from(["deepseek", "ollama", "xai", None])),
    )


def _mistral(draw: Draw) -> AIMessage:
    return draw.message(draw.blocks(_thinking_list, _text, _string), provider="mistralai")


def _tagged(draw: Draw) -> AIMessage:
    said = "".join(
        f"<think>{draw.of(thoughts)}</think>{draw.of(words)}"
        if draw.of(st.booleans())
        else draw.of(words)
        for _ in range(draw.of(numbers))
    )
    return draw.message(
        said.replace("<think></think>", ""), provider=draw.of(st.sampled_from(["groq", None]))
    )


def _any(draw: Draw) -> AIMessage:
    """Blocks of all providers in one message, kwargs of all kinds, calls of all kinds."""
    content = draw.blocks(
        *(
            _text,
            _string,
            _unknown,
            _thinking,
            _redacted,
            _tool_use,
            _v1_reasoning,
            _v1_call,
            _non_standard,
            _item,
        ),
        *(_function_call, _refusal, _signed_text, _reasoning_content, _thinking_list),
    )
    keys = st.sampled_from(
        ["reasoning_content", "reasoning", "tool_calls", "parsed", "refusal", "$t", "audio"]
    )
    kwargs = draw.of(st.dictionaries(keys | words, json_values, max_size=3))
    some_ids = st.none() | st.sampled_from(["call_same", "call_0_0", "", "tool call"])
    calls = st.fixed_dictionaries({"name": names, "args": arguments, "id": some_ids})
    bad_args = st.none() | words | st.sampled_from(["{", "[]", "null", '{"a": 1}'])
    invalid = st.fixed_dictionaries(
        {"name": st.none() | names, "args": bad_args, "id": some_ids, "error": st.none() | words}
    )
    return AIMessage(
        draw.of(st.sampled_from([content, content[:1]]))
        if draw.of(st.booleans())
        else draw.of(words | halves),
        additional_kwargs=kwargs,
        response_metadata=draw.maybe(
            model_provider=st.sampled_from(["anthropic", "openai", "acme"]),
            output_version=st.sampled_from(["v0", "v1", "responses/v1"]),
            container=json_values.filter(lambda value: value is not None),
        ),
        tool_calls=[*draw.calls, *draw.of(st.lists(calls, max_size=3))],
        invalid_tool_calls=draw.of(st.lists(invalid, max_size=2)),
        name=draw.of(st.none() | words),
        id=f"msg_{draw.number}",
    )


SHAPES = {
    "anthropic": _anthropic,
    "anthropic-v1": _anthropic_v1,
    "openai": _openai,
    "openai-v1": _openai_v1,
    "openai-v0": _openai_v0,
    "google": _google,
    "google-v1": _google_v1,
    "bedrock": _bedrock,
    "openrouter": _openrouter,
    "flat": _flat,
    "mistral": _mistral,
    "tagged": _tagged,
    "any": _any,
}


@st.composite
def answers(draw: Any, shape: str | None = None, number: int = 0) -> AIMessage:
    """An assistant message in one shape, or in any."""
    return SHAPES[shape or draw(st.sampled_from([*SHAPES]))](Draw(draw, number))


_media = st.sampled_from(
    [
        {"type": "image", "url": "https://e.com/a.png"},
        {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png", "extras": {"$t": 1}},
        {"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "high"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
        {"type": "file", "file_id": "file-1"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8gd29ybGQh"},
        },
        {"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "mp3"}},
        {
            "document": {
                "format": "pdf",
                "name": "d",
                "source": {"bytes": b"hello world, more than twelve"},
            }
        },
        {"type": "text-plain", "text": "plain text of a document", "mime_type": "text/plain"},
    ]
)
_strange = st.dictionaries(
    st.sampled_from(["type", "text", "url", "source", "cache_control"]), json_values, max_size=3
)
_block = words | _media | st.builds(lambda said: {"type": "text", "text": said}, words) | _strange
contents = words | st.lists(words, max_size=3) | st.lists(_block, max_size=4)


@st.composite
def questions(draw: Any, number: int = 0) -> HumanMessage:
    kwargs = draw(st.dictionaries(words | st.just("agui_images"), json_values, max_size=2))
    return HumanMessage(
        draw(contents), id=f"user_{number}", name=draw(st.none() | words), additional_kwargs=kwargs
    )


@st.composite
def results(
    draw: Any, number: int = 0, call_ids: tuple[str, ...] = ("call_0_0", "unknown", "")
) -> ToolMessage:
    return ToolMessage(
        draw(contents),
        tool_call_id=draw(st.sampled_from(call_ids)),
        id=f"tool_{number}",
        name=draw(st.none() | names),
        status=draw(st.sampled_from(["success", "error"])),
        artifact=draw(st.none() | st.just({"a": b"bytes"})),
        additional_kwargs=draw(st.dictionaries(words, json_values, max_size=2)),
    )


@st.composite
def turns(draw: Any, *, tagged: bool = True) -> list[BaseMessage]:
    """A plausible conversation: questions, answers (or none with tags), and the results of all
    calls in their order."""
    shapes = [shape for shape in SHAPES if tagged or shape != "tagged"]
    recorded: list[BaseMessage] = []
    for number in range(draw(st.integers(1, 3))):
        recorded.append(draw(questions(number)))
        answer = draw(answers(draw(st.sampled_from(shapes)), number))
        recorded.append(answer)
        calls = {call["id"]: call["name"] for call in answer.tool_calls if call["id"]}
        for place, (call_id, name) in enumerate(calls.items()):
            result = draw(results(10 * number + place, (call_id,)))
            recorded.append(result.model_copy(update={"name": name}))
    return recorded


@st.composite
def mixtures(draw: Any) -> list[BaseMessage]:
    """Messages in any order, results before their calls and ids that repeat among them."""
    made = [
        draw(st.one_of(answers(number=number % 3), questions(number % 3), results(number)))
        for number in range(5)
    ]
    return list(draw(st.permutations(made)))[: draw(st.integers(1, 5))]


@st.composite
def odd_messages(draw: Any) -> BaseMessage:
    """Messages that hold what is not JSON, or blocks that are not what their type says."""
    odd = st.dictionaries(st.sampled_from(["a", "b"]), odd_values, min_size=1, max_size=2)
    member = st.sampled_from(
        [
            "type",
            "text",
            "index",
            "id",
            "summary",
            "thinking",
            "reasoning_content",
            "value",
            "input",
        ]
    )
    kind = st.sampled_from(
        [
            "text",
            "thinking",
            "reasoning",
            "reasoning_content",
            "non_standard",
            "refusal",
            "tool_use",
        ]
    )
    block = st.builds(
        lambda kind, more: {"type": kind, **more},
        kind,
        st.dictionaries(member, odd_values | json_values, max_size=3),
    )
    content = draw(st.lists(block, max_size=3) | words)
    match draw(st.integers(0, 2)):
        case 0:
            calls = [
                {"name": "look", "args": draw(odd), "id": f"call_{place}"}
                for place in range(draw(numbers))
            ]
            metadata = {
                key: draw(odd_values)
                for key in ("model_provider", "model_name", "container", "output_version")
            }
            kwargs = {**draw(odd), "reasoning": draw(block)}
            return AIMessage(
                content,
                tool_calls=calls,
                additional_kwargs=kwargs,
                response_metadata=metadata,
                id="msg_0",
            )
        case 1:
            return ToolMessage(
                content, tool_call_id="call_0", additional_kwargs=draw(odd), id="tool_0"
            )
        case _:
            return HumanMessage(content, additional_kwargs=draw(odd), id="user_0")


def decoded(value: str) -> bytes:
    """What is in an opaque value, or in part of one that has been cut."""
    return b64decode(value.translate(str.maketrans("-_", "+/")) + "=" * (-len(value) % 4))


def encoded(envelope: object) -> str:
    """An opaque value as `docs/reference/reasoning-format.md` describes it: unpadded base64url of
    JSON."""
    text = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    return b64encode(text).decode().rstrip("=").translate(str.maketrans("+/", "-_"))

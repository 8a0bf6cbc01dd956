"""However a message is cut into chunks, a client holds the same messages; and the same as from the
whole message."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message

from langgraph_agui import langchain_messages_to_agui
from tests.kit.deep import example_count
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted, add, calling, part
from tests.kit.run.agents import dumped, record_run, run_input

MESSAGE_ID = "msg_1"
Cut = list[AIMessageChunk]

words = st.text('ab \n"{é😀', max_size=8)
said = words.filter(bool)
blocks = st.lists(
    st.tuples(st.sampled_from(["text", "think", "call"]), said), min_size=1, max_size=6
)


@st.composite
def pieces(draw: Any, text: str) -> list[str]:
    """`text` cut at random places, by UTF-16 code unit as JSON escapes can cut it."""
    units = text.encode("utf-16-le", "surrogatepass")
    places = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=4)))
    edges = [0, *places, len(units) // 2]
    cut = [units[2 * a : 2 * b] for a, b in pairwise(edges)]
    return [half.decode("utf-16-le", "surrogatepass") for half in cut]


def chunk(content: Any = "", **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content, id=MESSAGE_ID, **fields)


def call_chunks(
    call_id: str, index: int, cut: list[str], block: dict[str, Any] | None = None
) -> Cut:
    """A call: its name and id first, then its arguments; `block` is the content block that goes
    with each."""

    def one(name: str | None, args: str, given: str | None) -> AIMessageChunk:
        words = {"args": args} if block and block["type"] == "tool_call_chunk" else {"input": args}
        content = (
            [{**block, **words, **({"id": given, "name": name} if given else {})}] if block else ""
        )
        return calling(part(name, args, given, index), content=content, id=MESSAGE_ID)

    return [one("look", "", call_id), *(one(None, piece, None) for piece in cut)]


@st.composite
def anthropic(draw: Any) -> Cut:
    chunks: Cut = []
    for index, (kind, text) in enumerate(draw(blocks)):
        cut = draw(pieces(arguments(text) if kind == "call" else text))
        match kind:
            case "text":
                chunks += [
                    chunk([{"type": "text", "text": piece, "index": index}]) for piece in cut
                ]
            case "think":
                chunks += [
                    chunk([{"type": "thinking", "thinking": piece, "index": index}])
                    for piece in cut
                ]
                chunks.append(
                    chunk([{"type": "thinking", "signature": f"sig{index}", "index": index}])
                )
            case "call":
                chunks += call_chunks(f"c{index}", index, cut, {"type": "tool_use", "index": index})
    return chunks


@st.composite
def openai_responses(draw: Any) -> Cut:
    chunks: Cut = []
    for index, (kind, text) in enumerate(draw(blocks)):
        match kind:
            case "text":
                chunks += [
                    chunk([{"type": "text", "text": piece, "index": index}])
                    for piece in draw(pieces(text))
                ]
            case "think":
                head = {"type": "reasoning", "index": index}
                chunks.append(chunk([{**head, "id": f"rs_{index}", "summary": []}]))
                for number, summary in enumerate(draw(st.lists(said, max_size=3))):
                    for piece in draw(pieces(summary)):
                        inner = {"type": "summary_text", "text": piece, "index": number}
                        chunks.append(chunk([{**head, "summary": [inner]}]))
                chunks.append(
                    chunk(
                        [
                            {
                                **head,
                                "id": f"rs_{index}",
                                "summary": [],
                                "encrypted_content": f"gAAA{index}",
                            }
                        ]
                    )
                )
            case "call":
                head = {"type": "function_call", "index": index}
                cut = draw(pieces(arguments(text)))
                first = {
                    **head,
                    "id": f"fc_{index}",
                    "call_id": f"c{index}",
                    "name": "look",
                    "arguments": "",
                }
                chunks.append(
                    calling(part("look", "", f"c{index}", index), content=[first], id=MESSAGE_ID)
                )
                for piece in cut:
                    content = [{**head, "arguments": piece}]
                    chunks.append(
                        calling(part(None, piece, None, index), content=content, id=MESSAGE_ID)
                    )
    return chunks


@st.composite
def standard_v1(draw: Any) -> Cut:
    chunks: Cut = []
    for index, (kind, text) in enumerate(draw(blocks)):
        cut = draw(pieces(arguments(text) if kind == "call" else text))
        match kind:
            case "text":
                chunks += [
                    chunk([{"type": "text", "text": piece, "index": f"lc_txt_{index}"}])
                    for piece in cut
                ]
            case "think":
                head = {"type": "reasoning", "index": f"lc_rs_{index}"}
                chunks += [chunk([{**head, "reasoning": piece}]) for piece in cut]
                chunks.append(chunk([{**head, "extras": {"signature": f"sig{index}"}}]))
            case "call":
                chunks += call_chunks(
                    f"c{index}", index, cut, {"type": "tool_call_chunk", "index": index}
                )
    return [
        piece.model_copy(update={"response_metadata": {"output_version": "v1"}}) for piece in chunks
    ]


@st.composite
def beside(draw: Any) -> Cut:
    """DeepSeek and others: reasoning in `additional_kwargs`, text as a string, calls by index."""
    thought, text, calls = draw(words), draw(words), draw(st.lists(said, max_size=3))
    chunks = [
        chunk(additional_kwargs={"reasoning_content": piece}) for piece in draw(pieces(thought))
    ]
    chunks += [chunk(piece) for piece in draw(pieces(text))]
    for index, value in enumerate(calls):
        chunks += call_chunks(f"c{index}", index, draw(pieces(arguments(value))))
    return chunks


@st.composite
def mistral(draw: Any) -> Cut:
    """Calls are no content blocks here, so a whole message has forgotten what they came between:
    they come last."""
    chunks: Cut = []
    kind_before = None
    index = -1
    for kind, text in sorted(draw(blocks), key=lambda block: block[0] == "call"):
        if kind != kind_before:
            index += 1
        kind_before = kind
        match kind:
            case "text":
                chunks += [
                    chunk([{"type": "text", "text": piece, "index": index}])
                    for piece in draw(pieces(text))
                ]
            case "think":
                for piece in draw(pieces(text)):
                    thinking = [{"type": "text", "text": piece}]
                    chunks.append(
                        chunk([{"type": "thinking", "thinking": thinking, "index": index}])
                    )
            case "call":
                number = len(chunks)
                whole = part("look", arguments(text), f"c{number:08}", number)
                chunks.append(calling(whole, id=MESSAGE_ID))
    return chunks


def arguments(text: str) -> str:
    return json.dumps({"q": text}, ensure_ascii=False)


@st.composite
def cuts(draw: Any, shape: Any) -> tuple[Cut, AIMessage]:
    """The chunks of a message, adjacent ones added up at random; and the whole message."""
    chunks = draw(shape)
    whole = message_chunk_to_message(add(chunks))
    merged = chunks[:1]
    for following in chunks[1:]:
        if draw(st.booleans()):
            merged[-1] = merged[-1] + following
        else:
            merged.append(following)
    return merged, whole


_now: list[Cut] = [[]]
_agent = agent_of(talker(Scripted(script=lambda _: _now[0])))


def check(cut: tuple[Cut, AIMessage]) -> None:
    _now[0], whole = cut
    recorded = asyncio.run(record_run(_agent, run_input("hi")))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    assert spaced(dumped(recorded.messages[1:])) == spaced(
        dumped(langchain_messages_to_agui([whole]))
    )


def spaced(dumps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Arguments as values: LangChain parses them, so a whole message has lost their spacing.

    Opaque values are those of the message as the model finishes it, which in v1 has another shape.
    """
    for dump in dumps:
        dump.pop("encryptedValue", None)
        for call in dump.get("toolCalls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return dumps


few = settings(max_examples=example_count(12, 30))


@few
@given(cuts(anthropic()))
def test_anthropic(cut: tuple[Cut, AIMessage]) -> None:
    check(cut)


@few
@given(cuts(openai_responses()))
def test_openai_responses(cut: tuple[Cut, AIMessage]) -> None:
    check(cut)


@few
@given(cuts(standard_v1()))
def test_standard_v1(cut: tuple[Cut, AIMessage]) -> None:
    check(cut)


@few
@given(cuts(beside()))
def test_reasoning_beside_the_content(cut: tuple[Cut, AIMessage]) -> None:
    check(cut)


@few
@given(cuts(mistral()))
def test_mistral(cut: tuple[Cut, AIMessage]) -> None:
    check(cut)

"""However a message is cut into chunks, a client holds the same messages; and the same as from the
whole message."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk, message_chunk_to_message

from langgraph_agui import langchain_messages_to_agui
from tests.kit.deep import example_count
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted, add, calling, part
from tests.kit.run.agents import dumped, record_run, run_input

Cut = list[AIMessageChunk]

words = st.text('ab \n"{é😀', max_size=8)
said = words.filter(bool)
kinds = st.sampled_from(["text", "think", "call"])
blocks = st.lists(st.tuples(kinds, said), min_size=1, max_size=6)


@st.composite
def pieces(draw: Any, text: str) -> list[str]:
    """`text` cut at random places, by UTF-16 code unit as JSON escapes can cut it."""
    units = text.encode("utf-16-le", "surrogatepass")
    places = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=4)))
    cut = [units[2 * a : 2 * b] for a, b in pairwise([0, *places, len(units) // 2])]
    return [half.decode("utf-16-le", "surrogatepass") for half in cut]


def arguments(text: str) -> str:
    return json.dumps({"q": text}, ensure_ascii=False)


def chunk(*content: Any, **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(list(content), id="msg_1", **fields)


def call_chunks(index: int, cut: list[str], *blocks: dict[str, Any]) -> Cut:
    """A call: its name and id first, then its arguments; `blocks` are the content of each."""
    heads = [part("look", "", f"c{index}", index), *(part(None, one, None, index) for one in cut)]
    contents = [[one] for one in blocks] or [""] * len(heads)
    pairs = zip(heads, contents, strict=True)
    return [calling(head, content=content, id="msg_1") for head, content in pairs]


def anthropic(draw: Any, kind: str, text: str, index: int) -> Cut:
    cut = draw(pieces(arguments(text) if kind == "call" else text))
    if kind == "text":
        return [chunk({"type": "text", "text": piece, "index": index}) for piece in cut]
    if kind == "think":
        head = {"type": "thinking", "index": index}
        thoughts = [chunk({**head, "thinking": piece}) for piece in cut]
        return [*thoughts, chunk({**head, "signature": f"sig{index}"})]
    head = {"type": "tool_use", "index": index}
    first = {**head, "input": "", "id": f"c{index}", "name": "look"}
    return call_chunks(index, cut, first, *({**head, "input": piece} for piece in cut))


def openai_responses(draw: Any, kind: str, text: str, index: int) -> Cut:
    if kind == "text":
        return anthropic(draw, kind, text, index)
    if kind == "think":
        head = {"type": "reasoning", "index": index}
        first = {**head, "id": f"rs_{index}", "summary": []}
        chunks = [chunk(first)]
        for number, summary in enumerate(draw(st.lists(said, max_size=3))):
            inner = {"type": "summary_text", "index": number}
            cut = draw(pieces(summary))
            chunks += [chunk({**head, "summary": [{**inner, "text": piece}]}) for piece in cut]
        return [*chunks, chunk({**first, "encrypted_content": f"gAAA{index}"})]
    head, cut = {"type": "function_call", "index": index}, draw(pieces(arguments(text)))
    first = {**head, "id": f"fc_{index}", "call_id": f"c{index}", "name": "look", "arguments": ""}
    return call_chunks(index, cut, first, *({**head, "arguments": piece} for piece in cut))


def standard_v1(draw: Any, kind: str, text: str, index: int) -> Cut:
    cut = draw(pieces(arguments(text) if kind == "call" else text))
    if kind == "text":
        chunks = [chunk({"type": "text", "text": one, "index": f"lc_txt_{index}"}) for one in cut]
    elif kind == "think":
        head = {"type": "reasoning", "index": f"lc_rs_{index}"}
        chunks = [chunk({**head, "reasoning": piece}) for piece in cut]
        chunks.append(chunk({**head, "extras": {"signature": f"sig{index}"}}))
    else:
        head = {"type": "tool_call_chunk", "index": index}
        first = {**head, "args": "", "id": f"c{index}", "name": "look"}
        chunks = call_chunks(index, cut, first, *({**head, "args": piece} for piece in cut))
    metadata = {"response_metadata": {"output_version": "v1"}}
    return [one.model_copy(update=metadata) for one in chunks]


def mistral(draw: Any, kind: str, text: str, index: int) -> Cut:
    if kind == "text":
        return anthropic(draw, kind, text, index)
    if kind == "think":
        thoughts = [[{"type": "text", "text": piece}] for piece in draw(pieces(text))]
        return [chunk({"type": "thinking", "thinking": one, "index": index}) for one in thoughts]
    return [calling(part("look", arguments(text), f"c{index:08}", index), id="msg_1")]


def beside(draw: Any) -> Cut:
    """DeepSeek and others: reasoning in `additional_kwargs`, text as a string, calls by index."""
    thought, text, calls = draw(words), draw(words), draw(st.lists(said, max_size=3))
    thoughts = [{"reasoning_content": piece} for piece in draw(pieces(thought))]
    chunks = [AIMessageChunk("", id="msg_1", additional_kwargs=one) for one in thoughts]
    chunks += [AIMessageChunk(piece, id="msg_1") for piece in draw(pieces(text))]
    for index, value in enumerate(calls):
        chunks += call_chunks(index, draw(pieces(arguments(value))))
    return chunks


def chunks_of(draw: Any, shape: Any) -> Cut:
    if shape is beside:
        return beside(draw)
    drawn = draw(blocks)
    if shape is mistral:
        # Calls are no content blocks here, so a whole message has forgotten what they came
        # between: they come last. Neighbours of a kind are one block.
        drawn = sorted(drawn, key=lambda block: block[0] == "call")
        firsts = [number == 0 or kind == "call" or kind != drawn[number - 1][0]
                  for number, (kind, _) in enumerate(drawn)]  # fmt: skip
        indexes = [sum(firsts[: number + 1]) for number in range(len(drawn))]
    else:
        indexes = list(range(len(drawn)))
    pairs = zip(drawn, indexes, strict=True)
    return [one for (kind, text), index in pairs for one in shape(draw, kind, text, index)]


_now: list[Cut] = [[]]
_agent = agent_of(talker(Scripted(script=lambda _: _now[0])))


@pytest.mark.parametrize("shape", [anthropic, openai_responses, standard_v1, beside, mistral])
@settings(max_examples=example_count(12, 30))
@given(st.data())
def test_any_cut_is_the_same_message(shape: Any, data: st.DataObject) -> None:
    """The chunks of a message, adjacent ones added up at random; and the whole message."""
    chunks = chunks_of(data.draw, shape)
    whole = message_chunk_to_message(add(chunks))
    _now[0] = chunks[:1]
    for following in chunks[1:]:
        if data.draw(st.booleans()):
            _now[0][-1] = _now[0][-1] + following
        else:
            _now[0].append(following)
    recorded = asyncio.run(record_run(_agent, run_input("hi")))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    expected = spaced(dumped(langchain_messages_to_agui([whole])))
    assert spaced(dumped(recorded.messages[1:])) == expected


def spaced(dumps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Arguments as values: LangChain parses them, so a whole message has lost their spacing.

    Opaque values are those of the message as the model finishes it, which in v1 has another shape.
    """
    for dump in dumps:
        dump.pop("encryptedValue", None)
        for call in dump.get("toolCalls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return dumps

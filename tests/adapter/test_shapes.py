"""What models say, in the shapes in which their packages say it: text, reasoning and tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, ReasoningMessage
from langchain_core.messages import AIMessageChunk

from tests.adapter.graphs import scripted_agent
from tests.adapter.models import call, calling, part, said, thinking
from tests.adapter.streams import Told, run_input, tell


async def telling(*turn: Any, **fields: Any) -> Told:
    told = await tell(scripted_agent(turn, **fields), run_input("hi"))
    told.check_snapshot()
    return told


def items(told: Told) -> list[str]:
    """Openings and ends of items in order: "text(", ")text", ..."""
    words = {"TEXT_MESSAGE": "text", "REASONING_MESSAGE": "reasoning", "TOOL_CALL": "call"}
    found = []
    for kind in told.types:
        base, _, edge = kind.rpartition("_")
        if base in words and edge in ("START", "END"):
            found.append(f"{words[base]}(" if edge == "START" else f"){words[base]}")
    return found


def reasonings(told: Told) -> list[str]:
    return [message.content for message in told.messages if isinstance(message, ReasoningMessage)]


def answer(told: Told) -> AssistantMessage:
    (message,) = [message for message in told.messages if isinstance(message, AssistantMessage)]
    return message


def calls(told: Told) -> list[tuple[str, str, str]]:
    return [(call.id, call.function.name, call.function.arguments) for call in answer(told).tool_calls or ()]


async def test_text() -> None:
    told = await telling("Hel", "lo", "")
    assert items(told) == ["text(", ")text"]
    assert [event.delta for event in told.of("TEXT_MESSAGE_CONTENT")] == ["Hel", "lo"]
    assert answer(told).content == "Hello"


async def test_a_model_that_says_nothing() -> None:
    told = await telling("", AIMessageChunk(""))
    assert items(told) == []


async def test_each_reasoning_block_has_an_id_and_a_span_of_its_own() -> None:
    told = await telling(
        thinking("one ", 0), thinking("two", 0), thinking(index=0, signature="sig0"),
        thinking("three", 1), thinking(index=1, signature="sig1"), said("Answer", 2),
    )  # fmt: skip
    assert items(told) == ["reasoning(", ")reasoning", "reasoning(", ")reasoning", "text(", ")text"]
    assert reasonings(told) == ["one two", "three"]
    spans = [event.message_id for event in told.of("REASONING_START", "REASONING_END")]
    first, second = spans[0], spans[2]
    assert spans == [first, first, second, second]
    assert len({first, second, answer(told).id}) == 3
    values = [event.entity_id for event in told.of("REASONING_ENCRYPTED_VALUE")]
    assert values == [first, second, answer(told).id]


async def test_thinking_between_texts_closes_before_the_next_item_opens() -> None:
    told = await telling(said("a", 0), thinking("b", 1), said("c", 2), thinking("d", 3), call("look", "c1", 4))
    assert items(told) == [
        "text(", ")text", "reasoning(", ")reasoning", "text(", ")text", "reasoning(", ")reasoning", "call(", ")call",
    ]  # fmt: skip
    assert answer(told).content == "ac"
    assert reasonings(told) == ["b", "d"]


def summary(text: str, part_index: int, index: int = 0) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "index": index,
        "summary": [{"type": "summary_text", "text": text, "index": part_index}],
    }


async def test_summary_parts_are_told_apart() -> None:
    told = await telling(
        AIMessageChunk([{"type": "reasoning", "id": "rs_1", "index": 0, "summary": []}]),
        AIMessageChunk([summary("first ", 0)]), AIMessageChunk([summary("part", 0)]),
        AIMessageChunk([summary("second part", 1)]), said("Answer", 1),
    )  # fmt: skip
    assert reasonings(told) == ["first part", "second part"]
    assert [message.id for message in told.messages if isinstance(message, ReasoningMessage)] == ["rs_1", "rs_1:1"]


async def test_reasoning_without_words_keeps_its_value() -> None:
    redacted = AIMessageChunk([{"type": "redacted_thinking", "data": "c2VjcmV0", "index": 0}])
    told = await telling(redacted, said("Answer"))
    assert reasonings(told) == [""]
    first, last = told.of("REASONING_ENCRYPTED_VALUE")
    assert (first.entity_id, last.entity_id) == (told.messages[1].id, answer(told).id)


@pytest.mark.parametrize("count", [2, 3, 20])
async def test_parallel_calls_interleave_by_index(count: int) -> None:
    order = range(count)
    told = await telling(
        *(calling(part("look", "", f"c{i}", i)) for i in order),
        *(calling(part(args='{"q":', index=i)) for i in order),
        *(calling(part(args=f" {i}}}", index=i)) for i in reversed(order)),
    )
    assert calls(told) == [(f"c{i}", "look", f'{{"q": {i}}}') for i in order]
    assert told.last.outcome.pending_tool_call_ids == [f"c{i}" for i in order]
    starts = told.of("TOOL_CALL_START")
    assert {event.parent_message_id for event in starts} == {answer(told).id}


async def test_several_calls_in_one_chunk() -> None:
    told = await telling(
        calling(part("look", '{"q": 0', "c0", 0), part("find", '{"q": 1', "c1", 1)),
        calling(part(args="}", index=1), part(args="}", index=0)),
    )
    assert calls(told) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


@pytest.mark.parametrize("together", [True, False])
async def test_whole_calls_without_an_index(together: bool) -> None:
    one, two = part("look", '{"q": 0}', "c0", None), part("find", '{"q": 1}', "c1", None)
    told = await telling(*([calling(one, two)] if together else [calling(one), calling(two)]))
    assert calls(told) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


@pytest.mark.parametrize("args", [None, "", "{}"])
async def test_a_call_without_arguments(args: str | None) -> None:
    told = await telling(calling(part("look", args, "c0")))
    assert calls(told) == [("c0", "look", "{}")]


async def test_text_and_arguments_on_the_finish_chunk() -> None:
    told = await telling(
        "Look", calling(part("look", '{"q": ', "c0")),
        calling(part(args="1}"), content="ing", chunk_position="last", response_metadata={"finish_reason": "stop"}),
    )  # fmt: skip
    assert answer(told).content == "Looking"
    assert calls(told) == [("c0", "look", '{"q": 1}')]


async def test_the_same_index_under_another_id_is_another_call() -> None:
    told = await telling(call("look", "c0", 0, q=0), call("find", "c1", 0, q=1))
    assert calls(told) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


async def test_a_name_that_comes_late() -> None:
    told = await telling(
        calling(part(None, None, "c0")), calling(part(args='{"q":')), calling(part("look")), calling(part(args=" 1}")),
    )  # fmt: skip
    assert calls(told) == [("c0", "look", '{"q": 1}')]


async def test_a_call_that_never_gets_a_name_is_still_told() -> None:
    told = await telling(calling(part(None, "{}", "c0")))
    assert calls(told) == [("c0", "", "{}")]


async def test_arguments_that_are_no_json_are_passed_on() -> None:
    told = await telling(calling(part("look", "q is 1", "c0")))
    assert calls(told) == [("c0", "look", "q is 1")]


async def test_arguments_cut_short_end_as_what_the_graph_makes_of_them() -> None:
    """LangChain completes half an object and runs the tool with it: the snapshot says so, the stream could not."""
    told = await tell(scripted_agent([calling(part("look", '{"q": "ab', "c0"))]), run_input("hi"))
    assert calls(told) == [("c0", "look", '{"q": "ab"}')]
    (held,) = [message for message in told.streamed if isinstance(message, AssistantMessage)]
    assert held.tool_calls is not None
    assert held.tool_calls[0].function.arguments == '{"q": "ab'


async def test_an_emoji_cut_between_chunks_is_joined() -> None:
    told = await telling("so \ud83d", "\ude00!", thinking("\ud83d", 1), thinking("\ude00", 1))
    assert answer(told).content == "so 😀!"
    assert reasonings(told) == ["😀"]


@pytest.mark.parametrize("turn", [["a\ud83d"], ["a\ud83d", "b"], ["a", "\ude00"]])
async def test_a_lone_surrogate_becomes_a_replacement_character(turn: list[str]) -> None:
    told = await tell(scripted_agent(turn), run_input("hi"))
    told.check_snapshot()
    assert "\ufffd" in (answer(told).content or "")
    json.dumps([event.model_dump(by_alias=True, mode="json") for event in told.events]).encode()


async def test_reasoning_content_beside_the_text() -> None:
    told = await telling(
        AIMessageChunk("", additional_kwargs={"reasoning_content": "hm "}),
        AIMessageChunk("", additional_kwargs={"reasoning_content": "yes"}),
        "Answer",
    )
    assert items(told) == ["reasoning(", ")reasoning", "text(", ")text"]
    assert reasonings(told) == ["hm yes"]


async def test_the_providers_message_id_is_the_public_one() -> None:
    told = await telling(AIMessageChunk("a", id="msg_1"), AIMessageChunk("b", id="msg_1"))
    assert answer(told).id == "msg_1"


async def test_two_calls_of_one_model_that_repeats_its_ids_are_two_messages() -> None:
    """A fake model, or a proxy, that gives every message one id."""
    from tests.adapter.graphs import agent_of, talker
    from tests.adapter.models import Scripted

    model = Scripted([AIMessageChunk("a", id="msg_1")], [AIMessageChunk("b", id="msg_2")])
    told = await tell(agent_of(talker(model, "one"), talker(model, "two")), run_input("hi"))
    told.check_snapshot()
    assert [message.content for message in told.messages[1:]] == ["a", "b"]

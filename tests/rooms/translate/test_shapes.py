"""What models say, in the shapes in which their packages say it: text, reasoning and tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, ReasoningMessage
from langchain_core.messages import AIMessageChunk

from tests.kit.graphs.small import scripted_agent
from tests.kit.models.scripted import call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input


async def recording(*turn: Any, **fields: Any) -> RecordedRun:
    recorded = await record_run(scripted_agent(turn, **fields), run_input("hi"))
    recorded.check_snapshot()
    return recorded


def items(recorded: RecordedRun) -> list[str]:
    """Openings and ends of items in order: "text(", ")text", ..."""
    words = {"TEXT_MESSAGE": "text", "REASONING_MESSAGE": "reasoning", "TOOL_CALL": "call"}
    found = []
    for kind in recorded.types:
        base, _, edge = kind.rpartition("_")
        if base in words and edge in ("START", "END"):
            found.append(f"{words[base]}(" if edge == "START" else f"){words[base]}")
    return found


def reasonings(recorded: RecordedRun) -> list[str]:
    return [
        message.content for message in recorded.messages if isinstance(message, ReasoningMessage)
    ]


def answer(recorded: RecordedRun) -> AssistantMessage:
    (message,) = [message for message in recorded.messages if isinstance(message, AssistantMessage)]
    return message


def calls(recorded: RecordedRun) -> list[tuple[str, str, str]]:
    return [
        (call.id, call.function.name, call.function.arguments)
        for call in answer(recorded).tool_calls or ()
    ]


async def test_text() -> None:
    recorded = await recording("Hel", "lo", "")
    recorded.check_snapshot()
    assert items(recorded) == ["text(", ")text"]
    deltas = [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")]
    assert "".join(deltas) == "Hello"
    assert all(deltas)
    assert answer(recorded).content == "Hello"


async def test_a_model_that_says_nothing() -> None:
    recorded = await recording("", AIMessageChunk(""))
    assert items(recorded) == []


async def test_each_reasoning_block_has_an_id_and_a_span_of_its_own() -> None:
    recorded = await recording(
        thinking("one ", 0), thinking("two", 0), thinking(index=0, signature="sig0"),
        thinking("three", 1), thinking(index=1, signature="sig1"), text_chunk("Answer", 2),
    )  # fmt: skip
    assert items(recorded) == [
        "reasoning(",
        ")reasoning",
        "reasoning(",
        ")reasoning",
        "text(",
        ")text",
    ]
    assert reasonings(recorded) == ["one two", "three"]
    spans = [event.message_id for event in recorded.of("REASONING_START", "REASONING_END")]
    first, second = spans[0], spans[2]
    assert spans == [first, first, second, second]
    assert len({first, second, answer(recorded).id}) == 3
    values = [event.entity_id for event in recorded.of("REASONING_ENCRYPTED_VALUE")]
    assert values == [second]


async def test_thinking_between_texts_closes_before_the_next_item_opens() -> None:
    recorded = await recording(
        text_chunk("a", 0),
        thinking("b", 1),
        text_chunk("c", 2),
        thinking("d", 3),
        call("look", "c1", 4),
    )
    assert items(recorded) == [
        "text(", ")text", "reasoning(", ")reasoning", "text(", ")text", "reasoning(", ")reasoning", "call(", ")call",
    ]  # fmt: skip
    assert answer(recorded).content == "ac"
    assert reasonings(recorded) == ["b", "d"]


def summary(text: str, part_index: int, index: int = 0) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "index": index,
        "summary": [{"type": "summary_text", "text": text, "index": part_index}],
    }


async def test_summary_parts_are_told_apart() -> None:
    recorded = await recording(
        AIMessageChunk([{"type": "reasoning", "id": "rs_1", "index": 0, "summary": []}]),
        AIMessageChunk([summary("first ", 0)]), AIMessageChunk([summary("part", 0)]),
        AIMessageChunk([summary("second part", 1)]), text_chunk("Answer", 1),
    )  # fmt: skip
    assert reasonings(recorded) == ["first part", "second part"]
    assert [
        message.id for message in recorded.messages if isinstance(message, ReasoningMessage)
    ] == ["rs_1", "rs_1:1"]


async def test_reasoning_without_words_keeps_its_value() -> None:
    redacted = AIMessageChunk([{"type": "redacted_thinking", "data": "c2VjcmV0", "index": 0}])
    recorded = await recording(redacted, text_chunk("Answer"))
    assert reasonings(recorded) == [""]
    [value] = recorded.of("REASONING_ENCRYPTED_VALUE")
    assert value.entity_id == recorded.messages[1].id


@pytest.mark.parametrize("count", [2, 3, 20])
async def test_parallel_calls_interleave_by_index(count: int) -> None:
    order = range(count)
    recorded = await recording(
        *(calling(part("look", "", f"c{i}", i)) for i in order),
        *(calling(part(args='{"q":', index=i)) for i in order),
        *(calling(part(args=f" {i}}}", index=i)) for i in reversed(order)),
    )
    assert calls(recorded) == [(f"c{i}", "look", f'{{"q": {i}}}') for i in order]
    assert recorded.last.outcome.pending_tool_call_ids == [f"c{i}" for i in order]
    starts = recorded.of("TOOL_CALL_START")
    assert {event.parent_message_id for event in starts} == {answer(recorded).id}


async def test_several_calls_in_one_chunk() -> None:
    recorded = await recording(
        calling(part("look", '{"q": 0', "c0", 0), part("find", '{"q": 1', "c1", 1)),
        calling(part(args="}", index=1), part(args="}", index=0)),
    )
    assert calls(recorded) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


@pytest.mark.parametrize("together", [True, False])
async def test_whole_calls_without_an_index(together: bool) -> None:
    one, two = part("look", '{"q": 0}', "c0", None), part("find", '{"q": 1}', "c1", None)
    recorded = await recording(*([calling(one, two)] if together else [calling(one), calling(two)]))
    assert calls(recorded) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


@pytest.mark.parametrize("args", [None, "", "{}"])
async def test_a_call_without_arguments(args: str | None) -> None:
    recorded = await recording(calling(part("look", args, "c0")))
    assert calls(recorded) == [("c0", "look", "{}")]


async def test_text_and_arguments_on_the_finish_chunk() -> None:
    recorded = await recording(
        "Look", calling(part("look", '{"q": ', "c0")),
        calling(part(args="1}"), content="ing", chunk_position="last", response_metadata={"finish_reason": "stop"}),
    )  # fmt: skip
    assert answer(recorded).content == "Looking"
    assert calls(recorded) == [("c0", "look", '{"q": 1}')]


async def test_the_same_index_under_another_id_is_another_call() -> None:
    recorded = await recording(call("look", "c0", 0, q=0), call("find", "c1", 0, q=1))
    assert calls(recorded) == [("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')]


async def test_a_name_that_comes_late() -> None:
    recorded = await recording(
        calling(part(None, None, "c0")), calling(part(args='{"q":')), calling(part("look")), calling(part(args=" 1}")),
    )  # fmt: skip
    assert calls(recorded) == [("c0", "look", '{"q": 1}')]


async def test_a_call_that_never_gets_a_name_is_still_told() -> None:
    recorded = await recording(calling(part(None, "{}", "c0")))
    assert calls(recorded) == [("c0", "", "{}")]


async def test_arguments_that_are_no_json_are_passed_on() -> None:
    recorded = await recording(calling(part("look", "q is 1", "c0")))
    assert calls(recorded) == [("c0", "look", "q is 1")]


async def test_arguments_cut_short_end_as_what_the_graph_makes_of_them() -> None:
    """LangChain completes half an object and runs the tool with it: the snapshot says so, the
    stream could not."""
    recorded = await record_run(
        scripted_agent([calling(part("look", '{"q": "ab', "c0"))]), run_input("hi")
    )
    assert calls(recorded) == [("c0", "look", '{"q": "ab"}')]
    (held,) = [message for message in recorded.streamed if isinstance(message, AssistantMessage)]
    assert held.tool_calls is not None
    assert held.tool_calls[0].function.arguments == '{"q": "ab'


async def test_an_emoji_cut_between_chunks_is_joined() -> None:
    recorded = await recording("so \ud83d", "\ude00!", thinking("\ud83d", 1), thinking("\ude00", 1))
    assert answer(recorded).content == "so 😀!"
    assert reasonings(recorded) == ["😀"]


@pytest.mark.parametrize("turn", [["a\ud83d"], ["a\ud83d", "b"], ["a", "\ude00"]])
async def test_a_lone_surrogate_becomes_a_replacement_character(turn: list[str]) -> None:
    recorded = await record_run(scripted_agent(turn), run_input("hi"))
    recorded.check_snapshot()
    assert "\ufffd" in (answer(recorded).content or "")
    json.dumps([event.model_dump(by_alias=True, mode="json") for event in recorded.events]).encode()


async def test_reasoning_content_beside_the_text() -> None:
    recorded = await recording(
        AIMessageChunk("", additional_kwargs={"reasoning_content": "hm "}),
        AIMessageChunk("", additional_kwargs={"reasoning_content": "yes"}),
        "Answer",
    )
    assert items(recorded) == ["reasoning(", ")reasoning", "text(", ")text"]
    assert reasonings(recorded) == ["hm yes"]


async def test_the_providers_message_id_is_the_public_one() -> None:
    recorded = await recording(AIMessageChunk("a", id="msg_1"), AIMessageChunk("b", id="msg_1"))
    assert answer(recorded).id == "msg_1"


async def test_two_calls_of_one_model_that_repeats_its_ids_are_two_messages() -> None:
    """A fake model, or a proxy, that gives every message one id."""
    from tests.kit.graphs.small import agent_of, talker
    from tests.kit.models.scripted import Scripted

    model = Scripted([AIMessageChunk("a", id="msg_1")], [AIMessageChunk("b", id="msg_2")])
    recorded = await record_run(
        agent_of(talker(model, "one"), talker(model, "two")), run_input("hi")
    )
    recorded.check_snapshot()
    assert [message.content for message in recorded.messages[1:]] == ["a", "b"]

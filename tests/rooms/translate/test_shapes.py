"""What models say, in the shapes in which their packages say it: text, reasoning and tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from tests.kit.graphs.small import agent_of, scripted_agent, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input

ENDS = {"TEXT_MESSAGE": "text", "REASONING_MESSAGE": "reasoning", "TOOL_CALL": "call"}
LOOK, FIND = ("c0", "look", '{"q": 0}'), ("c1", "find", '{"q": 1}')
LOOK_PART, FIND_PART = part("look", '{"q": 0}', "c0", None), part("find", '{"q": 1}', "c1", None)


async def recording(*turn: Any) -> RecordedRun:
    recorded = await record_run(scripted_agent(turn), run_input("hi"))
    recorded.check_snapshot()
    return recorded


def items(recorded: RecordedRun) -> list[str]:
    """Starts and ends of items in order: "text(", "text)", ..."""
    edges = [kind.rpartition("_") for kind in recorded.types]
    marks = {"START": "(", "END": ")"}
    return [ENDS[base] + marks[edge] for base, _, edge in edges if base in ENDS and edge in marks]


def spans(text: str) -> list[str]:
    return [word + mark for word in text.split() for mark in "()"]


def reasonings(recorded: RecordedRun) -> list[Any]:
    return [message for message in recorded.messages if message.role == "reasoning"]


def answer(recorded: RecordedRun) -> Any:
    [message] = [message for message in recorded.messages if message.role == "assistant"]
    return message


def calls(recorded: RecordedRun) -> list[tuple[str, str, str]]:
    made = answer(recorded).tool_calls or ()
    return [(one.id, one.function.name, one.function.arguments) for one in made]


def beside(text: str) -> AIMessageChunk:
    return AIMessageChunk("", additional_kwargs={"reasoning_content": text})


BETWEEN = text_chunk("a", 0), thinking("b", 1), text_chunk("c", 2), thinking("d", 3)
HALVES = thinking("\ud83d", 1), thinking("\ude00", 1)


@pytest.mark.parametrize(
    ("turn", "spoken", "content", "thoughts"),
    [
        (["Hel", "lo", ""], "text", "Hello", []),
        (BETWEEN, "text reasoning text reasoning", "ac", ["b", "d"]),
        ([beside("hm "), beside("yes"), "Answer"], "reasoning text", "Answer", ["hm yes"]),
        # Emoji that are cut between chunks, and halves of one.
        (["so \ud83d", "\ude00!", *HALVES], "text reasoning", "so 😀!", ["😀"]),
        (["a\ud83d"], "text", "a\ufffd", []),
        (["a\ud83d", "b"], "text", "a\ufffdb", []),
        (["a", "\ude00"], "text", "a\ufffd", []),
    ],
)
async def test_texts_and_reasoning(
    turn: Any, spoken: str, content: str, thoughts: list[str]
) -> None:
    recorded = await recording(*turn)
    assert items(recorded) == spans(spoken)
    assert all(event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT"))
    assert answer(recorded).content == content
    assert [one.content for one in reasonings(recorded)] == thoughts
    json.dumps([event.model_dump(by_alias=True, mode="json") for event in recorded.events]).encode()


async def test_a_model_that_says_nothing() -> None:
    assert items(await recording("", AIMessageChunk(""))) == []


async def test_each_reasoning_block_has_an_id_and_a_span_of_its_own() -> None:
    signed = [thinking(index=0, signature="sig0"), thinking(index=1, signature="sig1")]
    recorded = await recording(
        *(thinking("one ", 0), thinking("two", 0), signed[0]),
        *(thinking("three", 1), signed[1], text_chunk("Answer", 2)),
    )
    assert items(recorded) == spans("reasoning reasoning text")
    assert [one.content for one in reasonings(recorded)] == ["one two", "three"]
    edges = [event.message_id for event in recorded.of("REASONING_START", "REASONING_END")]
    first, second = edges[0], edges[2]
    assert edges == [first, first, second, second]
    assert len({first, second, answer(recorded).id}) == 3
    assert [one.entity_id for one in recorded.of("REASONING_ENCRYPTED_VALUE")] == [second]


async def test_summary_parts_are_told_apart() -> None:
    def summary(*parts: tuple[str, int], **fields: Any) -> AIMessageChunk:
        inner = [{"type": "summary_text", "text": text, "index": index} for text, index in parts]
        return AIMessageChunk([{"type": "reasoning", "index": 0, "summary": inner, **fields}])

    recorded = await recording(
        *(summary(id="rs_1"), summary(("first ", 0)), summary(("part", 0))),
        *(summary(("second part", 1)), text_chunk("Answer", 1)),
    )
    told = [(one.id, one.content) for one in reasonings(recorded)]
    assert told == [("rs_1", "first part"), ("rs_1:1", "second part")]


async def test_reasoning_without_words_keeps_its_value() -> None:
    redacted = AIMessageChunk([{"type": "redacted_thinking", "data": "c2VjcmV0", "index": 0}])
    recorded = await recording(redacted, text_chunk("Answer"))
    assert [one.content for one in reasonings(recorded)] == [""]
    [value] = recorded.of("REASONING_ENCRYPTED_VALUE")
    assert value.entity_id == recorded.messages[1].id


async def test_parallel_calls_interleave_by_index() -> None:
    order = range(20)
    recorded = await recording(
        *(calling(part("look", "", f"c{i}", i)) for i in order),
        *(calling(part(args='{"q":', index=i)) for i in order),
        *(calling(part(args=f" {i}}}", index=i)) for i in reversed(order)),
    )
    assert calls(recorded) == [(f"c{i}", "look", f'{{"q": {i}}}') for i in order]
    assert recorded.last.outcome.pending_tool_call_ids == [f"c{i}" for i in order]
    starts = recorded.of("TOOL_CALL_START")
    assert {event.parent_message_id for event in starts} == {answer(recorded).id}


SEVERAL = [
    calling(part("look", '{"q": 0', "c0", 0), part("find", '{"q": 1', "c1", 1)),
    calling(part(args="}", index=1), part(args="}", index=0)),
]
NAMED_LATE = [
    *(calling(part(None, None, "c0")), calling(part(args='{"q":'))),
    *(calling(part("look")), calling(part(args=" 0}"))),
]
AT_ONE_INDEX = [call("look", "c0", 0, q=0), call("find", "c1", 0, q=1)]


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        pytest.param(SEVERAL, [LOOK, FIND], id="several in one chunk"),
        pytest.param([calling(LOOK_PART, FIND_PART)], [LOOK, FIND], id="whole, without an index"),
        pytest.param([calling(LOOK_PART), calling(FIND_PART)], [LOOK, FIND], id="one by one"),
        pytest.param(AT_ONE_INDEX, [LOOK, FIND], id="another id at the same index"),
        pytest.param(NAMED_LATE, [LOOK], id="a name that comes late"),
        ([calling(part("look", None, "c0"))], [("c0", "look", "{}")]),
        ([calling(part("look", "", "c0"))], [("c0", "look", "{}")]),
        ([calling(part(None, "{}", "c0"))], [("c0", "", "{}")]),
        ([calling(part("look", "q is 1", "c0"))], [("c0", "look", "q is 1")]),
    ],
)
async def test_calls(turn: Any, expected: Any) -> None:
    assert calls(await recording(*turn)) == expected


async def test_text_and_arguments_on_the_finish_chunk() -> None:
    end = {"chunk_position": "last", "response_metadata": {"finish_reason": "stop"}}
    last = calling(part(args="0}"), content="ing", **end)
    recorded = await recording("Look", calling(part("look", '{"q": ', "c0")), last)
    assert (answer(recorded).content, calls(recorded)) == ("Looking", [LOOK])


async def test_arguments_cut_short_end_as_what_the_graph_makes_of_them() -> None:
    """LangChain completes half an object and runs the tool with it: the snapshot says so, the
    stream could not."""
    agent = scripted_agent([calling(part("look", '{"q": "ab', "c0"))])
    recorded = await record_run(agent, run_input("hi"))
    assert calls(recorded) == [("c0", "look", '{"q": "ab"}')]
    [held] = [one for one in recorded.streamed if one.role == "assistant"]
    assert held.tool_calls[0].function.arguments == '{"q": "ab'


async def test_the_message_id_is_the_providers_unless_that_repeats() -> None:
    recorded = await recording(AIMessageChunk("a", id="msg_1"), AIMessageChunk("b", id="msg_1"))
    assert answer(recorded).id == "msg_1"
    model = Scripted([AIMessageChunk("a", id="msg_1")], [AIMessageChunk("b", id="msg_1")])
    nodes = talker(model, "one"), talker(model, "two")
    recorded = await record_run(agent_of(*nodes), run_input("hi"))
    recorded.check_snapshot()
    assert [one.content for one in recorded.messages[1:]] == ["a", "b"]

"""The sum of a stream's chunks says what a client holds of it, on whatever way it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ag_ui.core import AssistantMessage, ReasoningMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from langgraph_agui.client import MessageChunks, agui_messages_of
from langgraph_agui.protocol import fold
from tests.behaviour.client.adding import LOOP, chunks_of, message_of, parsed, spoken, whole
from tests.kit.deep import example_count
from tests.kit.models.scripted import add
from tests.kit.run.agents import dumped
from tests.kit.run.random_answers import arguments, recorded_again, specs, streams
from tests.kit.run.wire_events import Wire, in_run

many = settings(max_examples=example_count(15, 40))


@many
@given(streams())
def test_the_chunks_of_any_stream_say_what_a_client_holds(wires: list[Wire]) -> None:
    held = [one for one in fold(wires).messages if one.subagent_run_id is None]
    answers = [one for one in held if isinstance(one, AssistantMessage)]
    total = message_of(*wires)
    blocks: list[dict[str, Any]] = [block for block in total.content if isinstance(block, dict)]
    assert {block["id"]: block["text"] for block in blocks if block["type"] == "text"} == {
        one.id: one.content for one in answers if one.content is not None
    }
    thoughts = [
        (block["id"], block["reasoning"], block.get("extras", {}).get("encrypted_value"))
        for block in blocks
        if block["type"] == "reasoning"
    ]
    seen = [one for one in held if isinstance(one, ReasoningMessage)]
    assert thoughts == [(one.id, one.content, one.encrypted_value) for one in seen]
    made = [*total.tool_calls, *total.invalid_tool_calls]
    called = [one.id for answer in answers for one in answer.tool_calls or ()]
    assert sorted(str(one["id"]) for one in made) == sorted(called)
    assert total.id == next((one.id for one in answers), None)
    assert dumped(agui_messages_of(total)) == spoken(held)
    kept = loads(dumps(total), allowed_objects="all")  # a checkpoint in between
    assert dumped(agui_messages_of(kept)) == spoken(held)


@many
@given(specs().flatmap(lambda given: st.tuples(recorded_again(given), recorded_again(given))))
def test_however_a_stream_is_cut_the_sum_is_the_same(cuts: tuple[list[Wire], list[Wire]]) -> None:
    one, other = cuts
    assert message_of(*in_run(*one)) == message_of(*other)
    assert dumped(agui_messages_of(message_of(*one))) == spoken(fold(one).messages)


class Remote(BaseChatModel):
    """A model that says what a stream says."""

    events: Any

    @property
    def _llm_type(self) -> str:
        return "remote"

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks_of(self.events):
            yield ChatGenerationChunk(message=chunk)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        total = whole([one.message for one in self._stream(messages)])  # type: ignore[misc]
        return ChatResult(generations=[ChatGeneration(message=total)])


def no_bare_value(text: str) -> bool:
    """Whether `text` is an object or no JSON: `stream_events` of core fails on a list as
    arguments."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return True


@settings(many, max_examples=example_count(10, 20))
@given(streams(arguments.filter(no_bare_value)))
def test_a_model_says_the_same_however_it_is_asked(wires: list[Wire]) -> None:
    expected = spoken(fold(wires).messages)
    model = Remote(events=parsed(wires))
    assert dumped(agui_messages_of(model.invoke("hi"))) == expected
    assert dumped(agui_messages_of(whole(list(model.stream("hi"))))) == expected  # type: ignore[arg-type]
    assert dumped(agui_messages_of(model.stream_events("hi", version="v3").output)) == expected


def test_a_call_that_was_changed_comes_out_changed() -> None:
    total = message_of(*LOOP)
    total.tool_calls[0]["args"] = {"x": 2}
    total.tool_calls[0]["name"] = "g"
    changed = agui_messages_of(total)[1]
    assert isinstance(changed, AssistantMessage)
    assert changed.tool_calls
    assert changed.tool_calls[0].function.model_dump() == {"name": "g", "arguments": '{"x": 2}'}
    assert changed.tool_calls[0].encrypted_value == "cv"


def test_a_sum_that_is_cut_off_is_readable() -> None:
    chunks = MessageChunks()
    so_far = [chunk for one in parsed(LOOP[:11]) for chunk in chunks.feed(one)]
    held = agui_messages_of(add(so_far))
    assert [one.id for one in held] == ["q", "m"]
    assert held[1].tool_calls[0].function.arguments == '{"x":1}'


def test_of_what_others_wrote_text_and_calls_come_out() -> None:
    made = {"type": "tool_call", "id": "c", "name": "f", "args": {"x": 1}}
    about = {"type": "server_tool_result", "tool_call_id": "c", "status": "success"}
    thought = {"type": "reasoning", "reasoning": "hm", "id": "rs_1"}
    said = {"type": "text", "text": "hi", "id": "msg_1"}
    blocks: Any = [thought, said, made, {**about, "id": "o", "output": "x"}]
    openai = {"model_provider": "openai"}
    foreign = AIMessage(blocks, id="m", tool_calls=[made], response_metadata=openai)
    assistant = {"id": "m", "role": "assistant", "content": "hi"}
    function = {"name": "f", "arguments": '{"x": 1}'}
    called = {"toolCalls": [{"id": "c", "type": "function", "function": function}]}
    assert dumped(agui_messages_of(foreign)) == [assistant | called]
    broken = AIMessage("hi", id="m", invalid_tool_calls=[{**made, "args": "{", "error": None}])  # type: ignore[list-item]
    function["arguments"] = "{"
    assert dumped(agui_messages_of(broken)) == [assistant | called]


def test_what_somebody_rewrote_comes_out_as_it_is_now() -> None:
    redacted = message_of(*LOOP).model_copy(update={"content": "redacted"})
    held = agui_messages_of(redacted)
    assert [(one.id, one.content, one.encrypted_value) for one in held] == [("m", "redacted", "mv")]
    assert held[0].tool_calls[0].function.arguments == '{"x":1}'
    mixed = message_of(*LOOP)
    assert isinstance(mixed.content, list)
    mixed.content = ["", "said ", *mixed.content, {"type": "image", "url": "u"}]
    assert [one.content for one in agui_messages_of(mixed)] == ["said ab", "hm", "so", "done"]

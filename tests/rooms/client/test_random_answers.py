"""Whatever an agent says in two runs, it is sent back as a client would: results that come late or
are stated too."""

from __future__ import annotations

from typing import Any

from ag_ui.core import Message, ToolMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.load import dumps, loads

from langgraph_agui.client import MessageChunks, agui_messages_of
from langgraph_agui.client.langchain.to_agui_request import to_agui_request
from langgraph_agui.messages.content import REMOTE_KWARG
from langgraph_agui.protocol import fold
from tests.behaviour.client.adding import encrypted, message_of, parsed, spoken, whole
from tests.kit.deep import example_count
from tests.kit.run.agents import dumped
from tests.kit.run.random_answers import metadata, streams
from tests.kit.run.wire_events import Wire, call, in_run, result, snapshot

TOOLS = [None, frozenset("f"), frozenset("fg")]
"""The calls of `f` and `g` that the caller runs. None: neither."""


@st.composite
def results(draw: Any, calls: list[str], number: int) -> tuple[list[Wire], list[Wire]]:
    """Results of some of `calls`: as events with what belongs to them, and as messages that only a
    snapshot has."""
    recorded: list[Wire] = []
    stated: list[Wire] = []
    for call_id in draw(st.permutations(calls)):
        message_id = f"o{number}{call_id}"
        content = draw(st.sampled_from(["", "x", [{"type": "text", "text": "x"}]]))
        about = {} if (extra := draw(metadata)) is None else {"metadata": extra}
        values = draw(st.lists(st.sampled_from(["v1", "v2"]), max_size=2))
        match draw(st.sampled_from(["no", "told", "stated"])):
            case "told":
                recorded.append(result(call_id, message_id, content, **about))
                recorded += [encrypted(message_id, value) for value in values]
            case "stated":
                about |= {"encryptedValue": values[0]} if values else {}
                about |= draw(st.sampled_from([{}, {"error": "no"}]))
                about |= {"toolCallId": call_id, "content": content}
                stated.append({"id": message_id, "role": "tool", **about})
    return recorded, stated


def held(wires: list[Wire], before: list[Message]) -> list[Message]:
    return fold(wires, before).messages


def calls_of(messages: list[Message]) -> list[str]:
    """The calls of the parent agent that have no result."""
    done = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    own = [one for one in messages if one.subagent_run_id is None]
    made = [call.id for one in own for call in getattr(one, "tool_calls", None) or ()]
    return [call_id for call_id in made if call_id not in done]


@st.composite
def conversations(draw: Any) -> tuple[list[Wire], list[Wire]]:
    """Two runs: the second answers calls of the first, perhaps, and both state it all in the end,
    perhaps."""
    runs: list[list[Wire]] = []
    messages: list[Message] = []
    for number, said in enumerate([draw(streams()), []]):
        run = in_run(*said)
        recorded, stated = draw(results(calls_of(held(run, messages)), number))
        run[-1:-1] = recorded
        if stated or draw(st.booleans()):
            run[-1:-1] = [snapshot(*dumped(held(run, messages)), *stated)]
        runs.append(run)
        messages = held(run, messages)
    return runs[0], runs[1]


@settings(max_examples=example_count(12, 38))
@given(conversations(), st.sampled_from(TOOLS))
def test_two_runs_are_sent_back_as_a_client_holds_them(
    runs: tuple[list[Wire], list[Wire]], tools: frozenset[str] | None
) -> None:
    messages: list[Message] = []
    answers = []
    for run in runs:
        chunks = MessageChunks(tools=tools or (), history=messages)
        made = [*(chunk for event in parsed(run) for chunk in chunks.feed(event)), *chunks.finish()]
        about = {**made[-1].additional_kwargs.get(REMOTE_KWARG, {}), "agent": "a"}
        made[-1].additional_kwargs = {REMOTE_KWARG: about}
        answer = loads(dumps(whole(made)), allowed_objects="messages")
        results = [one for one in answer.content if one["type"] == "server_tool_result"]
        done = {one["tool_call_id"] for one in results}
        assert done.isdisjoint(call["id"] for call in answer.tool_calls)
        answers.append(answer)
        messages = held(run, messages)
    sent = to_agui_request(answers, "a").messages
    by_id = {one["id"]: one for one in spoken(sent, ToolMessage)}
    assert len(by_id) == len(sent)
    assert by_id == {one["id"]: one for one in spoken(messages, ToolMessage)}


def test_a_result_that_comes_before_the_end_of_its_call() -> None:
    """The call is nobody's to run, and goes back with all its arguments."""
    start, *deltas, end = call("c", '{"x":', " 1}")
    wires = in_run(start, deltas[0], result("c", "o", "done"), deltas[1], end)
    total = message_of(*wires, tools={"f"})
    assert total.tool_calls == []
    assert spoken(agui_messages_of(total), ToolMessage) == spoken(fold(wires).messages, ToolMessage)

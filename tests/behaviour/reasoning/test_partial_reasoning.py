"""Turns that were cut short: their words stay with the client, and nothing half signed goes to the
provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Event, FunctionCall, Message, ToolCall, ToolMessage
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions
from langgraph_agui.protocol import Verifier, fold
from tests.kit.expect.agreement import record_stream
from tests.kit.expect.canary import SEAL
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.provider_models import make_model
from tests.kit.models.scripted import Scripted
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn, turn
from tests.kit.models.wires import Request, wire_of
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user
from tests.kit.waiting import PATIENCE, eventually

PARIS = Call("get_weather", {"city": "Paris"}, id="call_paris")
ROME = Call("get_weather", {"city": "Rome"}, id="call_rome")
LOOP = (
    turn(Reasoning("The weather first.", signature="c2lnMQ=="), PARIS),
    turn(Reasoning("Light clothes.", signature="c2lnMg=="), Text("A jacket.")),
)
HALF = Reasoning("Half of a thought.", signature="Y3V0")
CUT = turn(HALF, Text("Half of an answer."), ROME)
MORE = turn(Text("And an umbrella."))

POINTS = {
    "mid reasoning": "thinking_delta",
    "signed": "signature_delta",
    "mid text": "text_delta",
    "mid call": "input_json_delta",
    "whole call": "message_delta",
}
"""Where a turn is cut: in front of the frame after the second one (the only one of a signature)
that has this word."""

Held = list[dict[str, Any]]


def frames_until(point: str, given: Turn = CUT) -> int:
    """How many frames of the answer come before the cut."""
    word, request = POINTS[point].encode(), Request(seq=1, path="", query="", body={})
    frames = wire_of("anthropic").stream(given, request)
    places = [number for number, frame in enumerate(frames) if word in frame]
    return places[min(1, len(places) - 1)] + 1


class Talk:
    """A thread with Claude: a whole turn, one that is cut, and another."""

    def __init__(self, server: ProviderServer, saver: Any = None, **fields: Any) -> None:
        self.server = server
        graph = create_agent(make_model("anthropic", server), [get_weather], checkpointer=saver)
        self.agent = LangGraphAgent(graph=graph, **fields)

    async def ask(self, messages: list[Message], *replies: Turn | Reply) -> RecordedRun:
        self.server.script("anthropic", *replies)
        return await record_run(self.agent, run_input(*messages, "Anything else?", thread="t"))

    async def cut(self, way: str, point: str) -> list[Message]:
        """A whole turn and half of one; what the client holds then."""
        whole = await self.ask([], *LOOP)
        assert whole.last.type.value == "RUN_FINISHED", whole.last
        frames = frames_until(point)
        if way in ("error", "dropped"):
            cut_by = {"error": "error_after", "dropped": "drop_after"}[way]
            recorded = await self.ask(whole.messages, Reply(CUT, **{cut_by: frames}))
            assert recorded.last.code == "model_error"
            return recorded.messages
        held, events = await self.stop(whole.messages, Reply(CUT, hold_after=frames), way)
        if way == "cancelled":
            assert events[-1].outcome.type == "cancelled"
        return held

    async def stop(
        self, messages: list[Message], reply: Reply, way: str
    ) -> tuple[list[Message], list[Event]]:
        """Read until all has come that came before the cut; then stop the run, or leave it."""
        self.server.script("anthropic", reply, MORE)
        given = run_input(*messages, "Anything else?", thread="t", run="r")
        events: list[Event] = []

        async def read() -> None:
            async for event in self.agent.run(given):
                events.append(event)  # noqa: PERF401  # what has come stays, however the reading ends

        request, reading = len(self.server.requests), asyncio.create_task(read())
        await eventually(lambda: len(self.server.requests) > request, "the model is asked")
        assert await asyncio.to_thread(self.server.requests[request].held.wait, PATIENCE)
        before = -1
        while before < len(events):
            before = len(events)
            await asyncio.sleep(0.1)
        if way == "left":
            reading.cancel()
        else:
            assert await self.agent.cancel("t", "r")
        await asyncio.wait({reading}, timeout=PATIENCE)
        if way == "cancelled":
            return RecordedRun(events, given).messages, events
        verifier = Verifier(strict=True, input=given)
        for event in events:
            verifier.feed(event)
        record_stream(events, given.messages)
        return fold(events, given.messages, {}).messages, events


def sent(server: ProviderServer) -> list[dict[str, Any]]:
    """What Claude was sent last, which its API takes: thoughts are signed, calls are answered in
    the next message, nothing is empty."""
    messages = server.bodies[-1]["messages"]
    for number, message in enumerate(messages):
        assert message["content"], message
        assert all(thought["signature"] for thought in blocks([message], "thinking"))
        asked = [block["id"] for block in blocks([message], "tool_use")]
        results = blocks(messages[number + 1 : number + 2], "tool_result")
        assert [block["tool_use_id"] for block in results][: len(asked)] == asked, messages
    return messages


def blocks(messages: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for message in messages:
        if not isinstance(message["content"], str):
            yield from (block for block in message["content"] if block["type"] == kind)


def thoughts(server: ProviderServer) -> list[tuple[str, str]]:
    return [(one["thinking"], one["signature"]) for one in blocks(sent(server), "thinking")]


WHOLE = [("The weather first.", "c2lnMQ=="), ("Light clothes.", "c2lnMg==")]


def check_next(server: ProviderServer) -> None:
    """The whole turn is replayed with its reasoning, the one that was cut without."""
    assert thoughts(server) == WHOLE
    assert "Y3V0" not in json.dumps(sent(server))


def last_turn(messages: list[Message]) -> Held:
    """What the client holds of the turn that was cut."""
    held = dumped(messages)
    places = [place for place, message in enumerate(held) if message["role"] == "user"]
    return held[places[-1] + 1 :]


def check_words(turn: Held, way: str, point: str) -> None:
    """The words are there, without a value that would vouch for them. A call is there only if the
    client has not seen the end of the run."""
    assert "encryptedValue" not in json.dumps(turn)
    (thought,) = [message["content"] for message in turn if message["role"] == "reasoning"]
    assert thought
    assert HALF.text.startswith(thought) if point == "mid reasoning" else thought == HALF.text
    answers = [message for message in turn if message["role"] == "assistant"]
    assert len(answers) == (point not in ("mid reasoning", "signed"))
    for answer in answers:
        assert answer["content"]
        assert "Half of an answer.".startswith(answer["content"])
        assert bool(answer.get("toolCalls")) == (way == "left" and "call" in point)


@pytest.mark.parametrize(
    ("way", "point"),
    [
        *(("error", point) for point in POINTS),
        *(("cancelled", point) for point in POINTS),
        *(("left", point) for point in POINTS),
        ("dropped", "mid text"),
    ],
)
async def test_a_turn_that_was_cut(way: str, point: str, provider_server: ProviderServer) -> None:
    options = ReasoningOptions(seal=SEAL) if way == "cancelled" else None
    talk = Talk(provider_server, reasoning=options)
    held = await talk.cut(way, point)
    check_words(last_turn(held), way, point)
    recorded = await talk.ask(held, MORE)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_next(provider_server)
    kept = dumped(recorded.snapshot)
    if way != "left" or "call" not in point:
        recorded.check_snapshot()
        assert kept[: len(held)] == dumped(held)
    elif point == "mid call":  # the snapshot takes the call away
        assert {**kept[len(held) - 1], "toolCalls": None} == {**dumped(held)[-1], "toolCalls": None}
    else:  # nobody has answered the call: the snapshot tells the client what the provider was told
        assert kept[: len(held)] == dumped(held)
        result = recorded.snapshot[len(held)]
        found = (result.role, result.tool_call_id, result.metadata)
        assert found == ("tool", "call_rome", {"status": "error"})
        (await talk.ask(recorded.snapshot, MORE)).check_snapshot()
        check_next(provider_server)


async def test_a_call_that_was_cut_before_it_said_anything(provider_server: ProviderServer) -> None:
    """Without a text the message would be nothing but half a call."""
    talk, half = Talk(provider_server), turn(HALF, ROME)
    whole = await talk.ask([], *LOOP)
    cut = Reply(half, error_after=frames_until("mid call", half))
    recorded = await talk.ask(whole.messages, cut)
    assert recorded.last.code == "model_error"
    assert (await talk.ask(recorded.messages, MORE)).last.type.value == "RUN_FINISHED"
    check_next(provider_server)


@pytest.mark.parametrize("point", ["mid reasoning", "mid text", "whole call"])
async def test_a_model_that_fails_and_one_that_answers(
    point: str, provider_server: ProviderServer
) -> None:
    """The half message is withdrawn: of its reasoning the client keeps an empty message, which no
    value vouches for."""
    saying = make_model("anthropic", provider_server)
    agent = agent_of(talker(saying.with_fallbacks([Scripted(["Fallback"])])))
    provider_server.script("anthropic", Reply(CUT, error_after=frames_until(point)), MORE)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    held = last_turn(recorded.snapshot)
    said = [(message["role"], message["content"]) for message in held]
    assert said == [("reasoning", ""), ("assistant", "Fallback")]
    assert "encryptedValue" not in json.dumps(held)
    assert recorded.last.outcome.pending_tool_call_ids is None
    await record_run(agent, run_input(*recorded.messages, "more", thread="t"))
    assert thoughts(provider_server) == []
    assert "Y3V0" not in json.dumps(sent(provider_server))


async def test_a_run_that_is_stopped_in_a_tool(provider_server: ProviderServer) -> None:
    """The message before the tool was complete: its reasoning comes back, and its call is
    answered."""
    begun = asyncio.Event()

    @tool
    async def get_weather(city: str) -> str:
        """Look up the weather of a city."""
        begun.set()
        await asyncio.sleep(60)
        return "never"

    provider_server.script("anthropic", LOOP[0], MORE)
    graph = create_agent(make_model("anthropic", provider_server), [get_weather])
    agent, given = LangGraphAgent(graph=graph), run_input("hi", thread="t", run="r")
    reading = asyncio.create_task(collect(agent.run(given)))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    assert await agent.cancel("t", "r")
    first = RecordedRun(await reading, given)
    assert first.last.outcome.type == "cancelled"
    await record_run(agent, run_input(*first.messages, "more", thread="t"))
    assert thoughts(provider_server) == WHOLE[:1]
    (result,) = blocks(sent(provider_server), "tool_result")
    assert result["is_error"]


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
async def test_a_reader_who_leaves_a_run_that_goes_on(
    saver: Any, provider_server: ProviderServer
) -> None:
    talk = Talk(provider_server, saver, on_disconnect="continue")
    whole = await talk.ask([], *LOOP)
    cut = Reply(turn(*CUT.blocks[:2]), hold_after=frames_until("mid text"))
    held, _ = await talk.stop(whole.messages, cut, "left")
    provider_server.requests[-1].release()
    await eventually(lambda: not talk.agent._running, "the run ends")
    check_words(last_turn(held), "left", "mid text")
    await record_run(talk.agent, run_input(*held, "And now?", thread="t"))
    assert thoughts(provider_server) == [*WHOLE, *([(HALF.text, "Y3V0")] if saver else [])]


def asking(*ids: str) -> AssistantMessage:
    look = FunctionCall(name="look", arguments="{}")
    calls = [ToolCall(id=id_, type="function", function=look) for id_ in ids]
    return AssistantMessage(id=f"asking {ids}", role="assistant", tool_calls=calls)


def result(call_id: str) -> ToolMessage:
    return ToolMessage(id=f"result {call_id}", role="tool", tool_call_id=call_id, content="found")


MORE_ = user("more")


@pytest.mark.parametrize(
    ("history", "given"),
    [
        pytest.param([asking("a"), MORE_], ["a!", "more"], id="one"),
        pytest.param(
            [asking("a", "b", "c"), result("b"), MORE_], ["b", "a!", "c!", "more"], id="some"
        ),
        pytest.param([asking("a"), asking("b"), MORE_], ["a!", "b!", "more"], id="several"),
        pytest.param([asking("a"), MORE_, result("a")], ["a", "more"], id="answered late"),
        pytest.param([asking("a"), result("a"), MORE_], ["a", "more"], id="answered"),
        pytest.param([asking("a", "b"), result("b")], ["b"], id="at the end"),
        pytest.param([asking("a")], [], id="none at the end"),
    ],
)
async def test_calls_without_a_result(history: list[Any], given: list[str]) -> None:
    model = Scripted(["Answer"])
    await record_run(agent_of(talker(model)), run_input(user("hi"), *history))
    assert given == [
        f"{message.tool_call_id}{'!' * (message.status == 'error')}"
        if message.type == "tool"
        else message.text
        for message in model.seen[0][1:]
        if message.type != "ai"
    ]

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
from tests.kit.models.wires import WIRES, Request
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user
from tests.kit.waiting import PATIENCE

PARIS = Call("get_weather", {"city": "Paris"}, id="call_paris")
LOOP = (
    turn(Reasoning("The weather first.", signature="c2lnMQ=="), PARIS),
    turn(Reasoning("Light clothes.", signature="c2lnMg=="), Text("A jacket.")),
)
ROME = Call("get_weather", {"city": "Rome"}, id="call_rome")
CUT = turn(Reasoning("Half of a thought.", signature="Y3V0"), Text("Half of an answer."), ROME)
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

points = pytest.mark.parametrize("point", POINTS)
Held = list[dict[str, Any]]


def frames_until(point: str, given: Turn = CUT) -> int:
    """How many frames of the answer come before the cut."""
    word = POINTS[point].encode()
    frames = list(WIRES["anthropic"].stream(given, Request(seq=1, path="", query="", body={})))
    places = [number for number, frame in enumerate(frames) if word in frame]
    return places[min(1, len(places) - 1)] + 1


class Talk:
    """A thread with Claude: a whole turn, one that is cut, and another."""

    def __init__(
        self, server: ProviderServer, options: ReasoningOptions | None = None, **fields: Any
    ) -> None:
        self.server = server
        graph = create_agent(
            make_model("anthropic", server), [get_weather], checkpointer=fields.pop("saver", None)
        )
        self.agent = LangGraphAgent(graph=graph, reasoning=options, **fields)

    async def ask(self, messages: list[Message], *replies: Turn | Reply) -> RecordedRun:
        self.server.script("anthropic", *replies)
        return await record_run(self.agent, run_input(*messages, "Anything else?", thread="t"))

    async def cut(self, way: str, point: str) -> list[Message]:
        """A whole turn and half of one; what the client holds then."""
        whole = await self.ask([], *LOOP)
        assert whole.last.type.value == "RUN_FINISHED", whole.last
        frames = frames_until(point)
        if way in ("error", "dropped"):
            reply = (
                Reply(CUT, error_after=frames) if way == "error" else Reply(CUT, drop_after=frames)
            )
            recorded = await self.ask(whole.messages, reply)
            assert recorded.last.code == "model_error"
            return recorded.messages
        self.server.script("anthropic", Reply(CUT, hold_after=frames))
        given = run_input(*whole.messages, "Anything else?", thread="t", run="r")
        events = await self._read(given, way, len(self.server.requests) + 1)
        if way == "cancelled":
            recorded = RecordedRun(events, given)
            assert recorded.last.outcome.type == "cancelled"
            return recorded.messages
        verifier = Verifier(strict=True, input=given)
        for event in events:
            verifier.feed(event)
        record_stream(events, given.messages)
        return fold(events, given.messages, {}).messages

    async def _read(self, given: Any, way: str, request: int) -> list[Event]:
        """Read until all has come that came before the cut; then stop the run, or leave it."""
        events: list[Event] = []

        async def read() -> None:
            async for event in self.agent.run(given):
                events.append(event)  # noqa: PERF401  # what has come stays, however the reading ends

        reading = asyncio.create_task(read())
        record = await self.server.arrived(request)
        assert await asyncio.to_thread(record.held.wait, PATIENCE)
        before = -1
        while before < len(events):
            before = len(events)
            await asyncio.sleep(0.1)
        if way == "left":
            reading.cancel()
        else:
            assert await self.agent.cancel("t", "r")
        await asyncio.wait({reading}, timeout=PATIENCE)
        return events


def sent(server: ProviderServer) -> list[dict[str, Any]]:
    return server.bodies[-1]["messages"]  # type: ignore[no-any-return]


def blocks(messages: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    for message in messages:
        if not isinstance(message["content"], str):
            yield from (block for block in message["content"] if block["type"] == kind)


def check_valid(messages: list[dict[str, Any]]) -> None:
    """What Claude's API takes: thoughts are signed, calls are answered in the next message, nothing
    is empty."""
    for number, message in enumerate(messages):
        assert message["content"], message
        for thought in blocks([message], "thinking"):
            assert thought["signature"], thought
        asked = [block["id"] for block in blocks([message], "tool_use")]
        answered = [
            block["tool_use_id"]
            for block in blocks(messages[number + 1 : number + 2], "tool_result")
        ]
        assert answered[: len(asked)] == asked, messages


def check_next(server: ProviderServer) -> None:
    """The whole turn is replayed with its reasoning, the one that was cut without."""
    messages = sent(server)
    check_valid(messages)
    thoughts = [
        (thought["thinking"], thought["signature"]) for thought in blocks(messages, "thinking")
    ]
    assert thoughts == [("The weather first.", "c2lnMQ=="), ("Light clothes.", "c2lnMg==")]
    assert "Y3V0" not in json.dumps(messages)


def last_turn(messages: list[Message]) -> Held:
    """What the client holds of the turn that was cut."""
    held = dumped(messages)
    places = [place for place, message in enumerate(held) if message["role"] == "user"]
    return held[places[-1] + 1 :]


def check_words(turn: Held, way: str, point: str) -> None:
    """The words are there, without a value that would vouch for them. A call is there only if the
    client has not seen the end of the run.
    """
    assert "encryptedValue" not in json.dumps(turn)
    (thought,) = [message["content"] for message in turn if message["role"] == "reasoning"]
    if point == "mid reasoning":
        assert thought
        assert "Half of a thought.".startswith(thought)
    else:
        assert thought == "Half of a thought."
    answers = [message for message in turn if message["role"] == "assistant"]
    if point in ("mid reasoning", "signed"):
        assert answers == []
        return
    (answer,) = answers
    assert answer["content"]
    assert "Half of an answer.".startswith(answer["content"])
    has_call = way == "left" and point in ("mid call", "whole call")
    assert bool(answer.get("toolCalls")) == has_call


@points
@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("error", None),
        ("dropped", None),
        ("cancelled", ReasoningOptions(seal=SEAL)),
        ("left", None),
    ],
    ids=["error", "dropped", "cancelled", "left"],
)
async def test_a_turn_that_was_cut(
    way: str, point: str, options: ReasoningOptions | None, provider_server: ProviderServer
) -> None:
    talk = Talk(provider_server, options)
    held = await talk.cut(way, point)
    check_words(last_turn(held), way, point)
    recorded = await talk.ask(held, MORE)
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_next(provider_server)
    if way != "left" or point not in ("mid call", "whole call"):
        recorded.check_snapshot()
        assert dumped(recorded.messages)[: len(held)] == dumped(held)
        return
    if point == "mid call":  # the snapshot takes the call away
        shown = [{**message, "toolCalls": None} for message in dumped(held)[-1:]]
        kept = [{"toolCalls": None, **message} for message in dumped(recorded.snapshot)]
        assert kept[len(held) - 1 : len(held)] == shown
        return
    # Nobody has answered the call: the snapshot tells the client what the provider was told.
    assert dumped(recorded.snapshot)[: len(held)] == dumped(held)
    result = recorded.snapshot[len(held)]
    assert (result.role, result.tool_call_id, result.metadata) == (
        "tool",
        "call_rome",
        {"status": "error"},
    )
    again = await talk.ask(recorded.snapshot, MORE)
    again.check_snapshot()
    check_next(provider_server)


async def test_a_call_that_was_cut_before_it_said_anything(provider_server: ProviderServer) -> None:
    """Without a text the message would be nothing but half a call."""
    talk = Talk(provider_server)
    whole = await talk.ask([], *LOOP)
    half = turn(Reasoning("Half of a thought.", signature="Y3V0"), ROME)
    recorded = await talk.ask(
        whole.messages, Reply(half, error_after=frames_until("mid call", half))
    )
    assert recorded.last.code == "model_error"
    again = await talk.ask(recorded.messages, MORE)
    assert again.last.type.value == "RUN_FINISHED", again.last
    check_next(provider_server)


@pytest.mark.parametrize("point", ["mid reasoning", "signed", "mid text", "whole call"])
async def test_a_model_that_fails_and_one_that_answers(
    point: str, provider_server: ProviderServer
) -> None:
    """The half message is withdrawn: of its reasoning the client keeps an empty message, which no
    value vouches for."""
    saying = make_model("anthropic", provider_server)
    graph_model: Any = saying.with_fallbacks([Scripted(["Fallback"])])
    agent = agent_of(talker(graph_model))
    provider_server.script("anthropic", Reply(CUT, error_after=frames_until(point)))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    held = [(message["role"], message["content"]) for message in last_turn(recorded.snapshot)]
    assert held == [("reasoning", ""), ("assistant", "Fallback")]
    assert "encryptedValue" not in json.dumps(last_turn(recorded.snapshot))
    assert recorded.last.outcome.pending_tool_call_ids is None
    provider_server.script("anthropic", MORE)
    await record_run(agent, run_input(*recorded.messages, "more", thread="t"))
    check_valid(sent(provider_server))
    assert not list(blocks(sent(provider_server), "thinking"))
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
    agent = LangGraphAgent(
        graph=create_agent(make_model("anthropic", provider_server), [get_weather])
    )
    given = run_input("hi", thread="t", run="r")
    reading = asyncio.create_task(collect(agent.run(given)))
    await asyncio.wait_for(begun.wait(), PATIENCE)
    assert await agent.cancel("t", "r")
    first = RecordedRun(await reading, given)
    assert first.last.outcome.type == "cancelled"
    await record_run(agent, run_input(*first.messages, "more", thread="t"))
    check_valid(sent(provider_server))
    (thought,) = blocks(sent(provider_server), "thinking")
    assert thought["signature"] == "c2lnMQ=="
    (result,) = blocks(sent(provider_server), "tool_result")
    assert result["is_error"]


@pytest.mark.parametrize("stored", [False, True], ids=["stateless", "stored"])
async def test_a_reader_who_leaves_a_run_that_goes_on(
    stored: bool, provider_server: ProviderServer
) -> None:
    saver = InMemorySaver() if stored else None
    talk = Talk(provider_server, saver=saver, on_disconnect="continue")
    whole = await talk.ask([], *LOOP)
    provider_server.script(
        "anthropic", Reply(turn(*CUT.blocks[:2]), hold_after=frames_until("mid text")), MORE
    )
    given = run_input(*whole.messages, "Anything else?", thread="t", run="r")
    events = await talk._read(given, "left", len(provider_server.requests) + 1)
    provider_server.requests[-1].release()
    async with asyncio.timeout(PATIENCE):
        while talk.agent._running:
            await asyncio.sleep(0.01)
    held = fold(events, given.messages, {}).messages
    check_words(last_turn(held), "left", "mid text")
    await record_run(talk.agent, run_input(*held, "And now?", thread="t"))
    check_valid(sent(provider_server))
    thoughts = [thought["thinking"] for thought in blocks(sent(provider_server), "thinking")]
    assert thoughts == [
        "The weather first.",
        "Light clothes.",
        *(["Half of a thought."] if stored else []),
    ]


def asking(*ids: str) -> AssistantMessage:
    calls = [
        ToolCall(id=id_, type="function", function=FunctionCall(name="look", arguments="{}"))
        for id_ in ids
    ]
    return AssistantMessage(id=f"asking {ids}", role="assistant", tool_calls=calls)


def result(call_id: str) -> ToolMessage:
    return ToolMessage(id=f"result {call_id}", role="tool", tool_call_id=call_id, content="found")


@pytest.mark.parametrize(
    ("history", "given"),
    [
        ([asking("a"), user("more")], ["a!", "more"]),
        ([asking("a", "b", "c"), result("b"), user("more")], ["b", "a!", "c!", "more"]),
        ([asking("a"), asking("b"), user("more")], ["a!", "b!", "more"]),
        ([asking("a"), user("more"), result("a")], ["a", "more"]),
        ([asking("a"), result("a"), user("more")], ["a", "more"]),
        ([asking("a", "b"), result("b")], ["b"]),
        ([asking("a")], []),
    ],
    ids=["one", "some", "several", "answered late", "answered", "at the end", "none at the end"],
)
async def test_calls_without_a_result(history: list[Any], given: list[str]) -> None:
    model = Scripted(["Answer"])
    await record_run(agent_of(talker(model)), run_input(user("hi"), *history))
    seen = [message for message in model.seen[0][1:] if message.type != "ai"]
    assert [
        f"{message.tool_call_id}{'!' if message.status == 'error' else ''}"
        if message.type == "tool"
        else message.text
        for message in seen
    ] == given

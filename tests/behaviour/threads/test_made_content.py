"""Media, citations and provider-run tools in threads: later turns, own tools beside them, runs that
are joined, stopped or taken back, limits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, Message, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.messages import made
from langgraph_agui.messages.server_tools import MAX_RESULT
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.made_answers import PICTURE
from tests.kit.models.scripted import Scripted, call, calling, text_chunk
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user
from tests.kit.run.talking import by_role, chat, connect, looking, talk

IMAGE: dict[str, Any] = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
SEARCH: dict[str, Any] = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "x"},
}
FOUND: dict[str, Any] = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://example.com", "title": "X"}],
}
BEGUN = [
    AIMessageChunk([{**SEARCH, "input": {}, "index": 0}]),
    AIMessageChunk([{"type": "input_json_delta", "partial_json": '{"query": "x"}', "index": 0}]),
]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def chunk(*blocks: dict[str, Any]) -> AIMessageChunk:
    return AIMessageChunk([{**block, "index": index} for index, block in enumerate(blocks)])


def saying(*answers: AIMessage, **options: Any) -> LangGraphAgent:
    """An agent whose node returns an answer for each turn."""

    async def say(state: Chat) -> Any:
        count = sum(one.type == "human" for one in state["messages"])
        return {"messages": [answers[count - 1]]}

    return agent_of(say, **{"checkpointer": InMemorySaver(), **options})


def held_after(recorded: RecordedRun) -> list[Message]:
    """What a client sends next: all but the activities."""
    return [one for one in recorded.messages if not isinstance(one, ActivityMessage)]


async def test_an_old_client_gets_no_snapshot_of_what_it_holds() -> None:
    agent = saying(AIMessage([{"type": "reasoning", "reasoning": "Hm."}, text("See."), IMAGE]))
    first = await record_run(agent, run_input("Draw", thread="t", protocol_version=None))
    again = run_input(*held_after(first), thread="t", protocol_version=None)
    kinds = [event.type.value for event in await collect(agent.connect(again))]
    assert kinds == ["RUN_STARTED", "ACTIVITY_SNAPSHOT", "RUN_FINISHED"]


async def test_own_calls_beside_the_providers() -> None:
    """The graph runs its own tools only, and a client that keeps the thread alone can go on."""
    model = Scripted([chunk(SEARCH, FOUND), calling(looking(index=2))], ["Done."])
    thread = talk(None, model)
    recorded = await thread.say("Hi")
    recorded.check_snapshot()
    assert recorded.last.outcome.pending_tool_call_ids is None
    results = by_role(recorded.messages, "tool")
    assert [one.metadata for one in results] == [{"runBy": "provider"}, None]
    await thread.say(*held_after(recorded), "More")
    assert thread.asked == ["Hi", "", "seen a", "Done.", "More"]
    _, answer, *_ = thread.model.seen[-1]
    assert isinstance(answer, AIMessage)
    assert [one["name"] for one in answer.tool_calls] == ["look"]


async def test_a_client_cannot_bring_them_into_the_graph() -> None:
    """Calls and results that a client marks as the provider's, and activities, reach no graph."""
    held = langchain_messages_to_agui([AIMessage([SEARCH, FOUND, text("Hm."), IMAGE], id="m1")])
    assert [one.role for one in held] == ["assistant", "tool", "activity"]
    held[0] = held[0].model_copy(update={"encrypted_value": None})
    assert agui_messages_to_langchain(held) == [AIMessage("Hm.", id="m1")]


async def test_the_page_of_another_client_joins() -> None:
    """A client that joins a run and holds nothing gets the media of earlier answers, in place."""
    gate, hung, has_joined, events = asyncio.Event(), asyncio.Event(), asyncio.Event(), list[Any]()

    async def paint(state: Chat) -> Any:
        if len(state["messages"]) == 1:
            return {"messages": [AIMessage([text("See"), IMAGE], id="a1")]}
        hung.set()
        await gate.wait()
        return {"messages": [AIMessage("Well.", id="a2")]}

    agent, other = agent_of(paint, checkpointer=InMemorySaver()), run_input(thread="t")
    first = await record_run(agent, run_input("Hi", thread="t"))
    given = run_input(*held_after(first), user("More", "u2"), thread="t")
    running = asyncio.create_task(collect(agent.run(given)))
    await hung.wait()

    async def join() -> None:
        async for event in agent.connect(other):
            events.append(event)
            if event.type.value == "ACTIVITY_SNAPSHOT":
                has_joined.set()

    joined = asyncio.create_task(join())
    await has_joined.wait()
    gate.set()
    await asyncio.gather(running, joined)
    shown: Any = RecordedRun(events, other).messages
    assert [one.id for one in shown][1:] == ["a1", "a1:media", "u2", "a2"]
    assert shown[2].content["parts"]


async def test_media_of_a_message_that_is_taken_back() -> None:
    """What no graph keeps goes, and its media with it."""

    async def draft(state: Chat) -> Any:
        await Scripted([chunk(text("Draft"), IMAGE)]).ainvoke("x")
        return {"messages": [AIMessage("Kept.")]}

    recorded = await record_run(agent_of(draft), run_input("Hi"))
    [media] = by_role(recorded.messages, "activity")
    assert media.content["parts"] == []
    assert [one.content for one in by_role(recorded.messages, "assistant")] == ["Kept."]


async def test_what_is_too_large_or_too_deep_leaves_a_sign() -> None:
    large = {**IMAGE, "base64": "A" * (made.MAX_MEDIA + 4)}
    long = {**FOUND, "content": [{"type": "x", "text": "y" * (2 * MAX_RESULT)}]}
    nested: list[Any] = []
    for _ in range(2000):
        nested = [nested]
    other, deep = {**SEARCH, "id": "s2"}, {**FOUND, "tool_use_id": "s2", "content": nested}
    agent = saying(AIMessage([SEARCH, long, other, deep, large, IMAGE]), checkpointer=None)
    frames = b"".join([piece async for piece in agent.stream_sse(run_input("Hi"))])
    assert (b"too_large" in frames, b"event_too_large" in frames) == (True, False)
    recorded = await record_run(agent, run_input("Hi"))
    assert recorded.last.type.value == "RUN_FINISHED"
    sign, shown = by_role(recorded.messages, "activity")[0].content["parts"]
    left_out = (made.MAX_MEDIA + 4) * 3 // 4
    omitted = {"reason": "too_large", "bytes": left_out, "mimeType": "image/png"}
    assert sign == {"type": "image", "omitted": omitted}
    assert shown["source"]["value"] == PICTURE
    first, second = by_role(recorded.messages, "tool")
    assert str(first.content).endswith("more characters)")
    assert second.content == '{"__type__": "truncated"}'


async def test_a_stop_settles_the_providers_calls() -> None:
    """A run that is cut off in a search leaves no open call."""
    model = Scripted([*BEGUN, 3600.0])
    thread = chat(talker(model), model=model, checkpointer=InMemorySaver())
    running = asyncio.create_task(thread.say("Hi", run="r", outcome="cancelled"))
    await model.hung.wait()
    assert await thread.agent.cancel("t", "r")
    stopped = (await running).messages
    calls = [one.id for held in by_role(stopped, "assistant") for one in held.tool_calls or ()]
    assert {*calls} <= {one.tool_call_id for one in by_role(stopped, "tool")}


async def test_a_call_is_seen_before_the_answer() -> None:
    """A search shows while it runs: before the model goes on."""
    words = [*BEGUN, AIMessageChunk([{**FOUND, "index": 1}]), text_chunk("So it is.", 2)]
    recorded = await record_run(agent_of(talker(Scripted(words))), run_input("Hi"))
    order = [one for one in recorded.types if one.startswith(("TOOL", "TEXT_MESSAGE_CONTENT"))]
    calls = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert order == [*calls, "TEXT_MESSAGE_CONTENT", "TOOL_CALL_RESULT"]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_provider_that_uses_an_id_twice(streams: bool) -> None:
    blocks = [SEARCH, FOUND, {**SEARCH, "input": {"query": "y"}}, FOUND]
    chunks = [AIMessageChunk([{**block, "index": at}]) for at, block in enumerate(blocks)]
    model = Scripted(chunks, disable_streaming=not streams)
    recorded = await record_run(agent_of(talker(model)), run_input("Hi"))
    recorded.check_snapshot()
    answer, *results = recorded.messages[1:]
    assert isinstance(answer, AssistantMessage)
    calls = answer.tool_calls or []
    assert [json.loads(one.function.arguments)["query"] for one in calls] == ["x", "y"]
    ids = [one.tool_call_id for one in results if isinstance(one, ToolMessage)]
    assert ids == [one.id for one in calls]
    assert len({*ids}) == 2


async def test_a_subagents_media_are_its_own() -> None:
    draft = [chunk(text("Draft"), SEARCH, FOUND, IMAGE)]
    painter = create_agent(Scripted(draft), [], name="painter")

    @tool
    async def paint(subject: str) -> str:
        """Paint."""
        return str((await painter.ainvoke({"messages": [("user", subject)]}))["messages"][-1].text)

    model = Scripted([call("paint", "c1", subject="x")], ["Done."])
    recorded = await record_run(LangGraphAgent(create_agent(model, [paint])), run_input("Hi"))
    recorded.check_snapshot()
    [run] = recorded.of("SUBAGENT_STARTED")
    made = by_role(recorded.messages, "tool") + by_role(recorded.messages, "activity")
    assert [one.subagent_run_id for one in made] == [None, *[run.subagent_run_id] * 2]


async def test_a_hidden_answer_hides_its_media() -> None:
    model = Scripted([chunk(text("Plan"), IMAGE)]).with_config(tags=["nostream"])
    agent = agent_of(talker(model), checkpointer=InMemorySaver())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    for held in (recorded.messages, (await connect(agent)).messages):
        assert [one.role for one in held] == ["user"]

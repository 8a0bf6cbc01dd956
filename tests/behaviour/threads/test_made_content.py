"""Media, citations and provider-run tools in threads: later turns, own tools beside them, runs that
are joined, stopped or taken back, limits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, Message, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.messages import made
from langgraph_agui.messages.server_tools import MAX_RESULT
from langgraph_agui.protocol import Fold, fold
from tests.behaviour.wrap.test_made_content import without_spelling
from tests.kit.expect.identity import differences
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.made_answers import ANSWERS, PICTURE
from tests.kit.models.provider_models import make_model
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Call, Text, Turn
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user

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


def held_after(recorded: RecordedRun) -> list[Message]:
    """What a client sends next: all but the activities."""
    return [one for one in recorded.messages if not isinstance(one, ActivityMessage)]


def of_id(name: str) -> Any:
    return next(one for one in ANSWERS if str(one) == name)


async def test_an_old_client_gets_no_snapshot_of_what_it_holds() -> None:
    async def paint(state: Chat) -> Any:
        thought = {"type": "reasoning", "reasoning": "Hm."}
        text = {"type": "text", "text": "See."}
        return {"messages": [AIMessage([thought, text, IMAGE], id="a1")]}

    agent = agent_of(paint, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("Draw", thread="t", protocol_version=None))
    again = run_input(*held_after(first), thread="t", protocol_version=None)
    kinds = [event.type.value for event in await collect(agent.connect(again))]
    assert kinds == ["RUN_STARTED", "ACTIVITY_SNAPSHOT", "RUN_FINISHED"]


@pytest.mark.parametrize(
    "name",
    ["openai-picture", "openai-web-search", "openai-code", "anthropic-web-search", "google-code"],
)
async def test_a_second_turn_keeps_the_first(name: str, provider_server: ProviderServer) -> None:
    answer = of_id(name)
    provider_server.script(answer.provider, answer.turn, Turn((Text("Bye."),)))
    graph = create_agent(make_model(answer.provider, provider_server), checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph)
    first = await record_run(agent, run_input("Hi", thread="t"))
    given = run_input(*held_after(first), user("More"), thread="t")
    second = await record_run(agent, given)
    second.check_snapshot()
    state = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    assert [one.type for one in state] == ["human", "ai", "human", "ai"]

    # The client still holds the first answer with all that belongs to it.
    client = fold(second.events, [*first.messages, user("More", given.messages[-1].id)]).messages
    assert client[: len(first.messages)] == first.messages
    again = run_input(thread="t")
    shown = RecordedRun(await collect(agent.connect(again)), again)
    assert without_spelling(shown.messages) == without_spelling(client)

    # The provider is sent what LangGraph alone sends.
    with ProviderServer() as server:
        server.script(answer.provider, answer.turn, Turn((Text("Bye."),)))
        alone = create_agent(make_model(answer.provider, server), checkpointer=InMemorySaver())
        for question in ("Hi", "More"):
            async for _ in alone.astream(
                {"messages": [HumanMessage(question)]},
                {"configurable": {"thread_id": "t"}},
                stream_mode="messages",
            ):
                pass
        assert [*differences(provider_server.bodies[1], server.bodies[1])] == []


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return f"Sunny in {place}"


async def test_own_calls_beside_the_providers(provider_server: ProviderServer) -> None:
    """The graph runs its own tools only, and a client that keeps the thread alone can go on."""
    search, found = of_id("anthropic-web-search").turn.blocks[2:4]
    calls = Call("look", {"place": "Rome"}, "toolu_1")
    provider_server.script(
        "anthropic", Turn((Text("So. "), search, found, calls)), Turn((Text("Done."),))
    )
    agent = LangGraphAgent(create_agent(make_model("anthropic", provider_server), [look]))
    recorded = await record_run(agent, run_input("Hi"))
    recorded.check_snapshot()
    assert recorded.last.outcome.pending_tool_call_ids is None
    results = [one for one in recorded.messages if isinstance(one, ToolMessage)]
    assert [one.metadata for one in results] == [{"runBy": "provider"}, None]
    [own] = [one for one in agui_messages_to_langchain(held_after(recorded)) if one.type == "tool"]
    assert own.content == "Sunny in Rome"
    tools = agui_messages_to_langchain(held_after(recorded))[1]
    assert isinstance(tools, AIMessage)
    assert [one["name"] for one in tools.tool_calls] == ["look"]


async def test_a_client_cannot_bring_them_into_the_graph() -> None:
    """Calls and results that a client marks as the provider's, and activities, reach no graph."""
    message = AIMessage([SEARCH, FOUND, {"type": "text", "text": "Hm."}, IMAGE], id="m1")
    held = langchain_messages_to_agui([message])
    assert [one.role for one in held] == ["assistant", "tool", "activity"]
    plain = [
        one.model_copy(update={"encrypted_value": None})
        if isinstance(one, AssistantMessage)
        else one
        for one in held
    ]
    assert agui_messages_to_langchain(plain) == [AIMessage("Hm.", id="m1")]


async def test_the_page_of_another_client_joins() -> None:
    """A client that joins a run and holds nothing gets the media of earlier answers, in place."""
    gate, hung = asyncio.Event(), asyncio.Event()

    async def paint(state: Chat) -> Any:
        if len(state["messages"]) == 1:
            return {"messages": [AIMessage([{"type": "text", "text": "See"}, IMAGE], id="a1")]}
        hung.set()
        await gate.wait()
        return {"messages": [AIMessage("Well.", id="a2")]}

    agent = agent_of(paint, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input("Hi", thread="t"))
    given = run_input(*held_after(first), user("More", "u2"), thread="t")
    running = asyncio.create_task(collect(agent.run(given)))
    await hung.wait()
    other, events, has_joined = run_input(thread="t"), list[Any](), asyncio.Event()

    async def join() -> None:
        async for event in agent.connect(other):
            events.append(event)
            if event.type.value == "ACTIVITY_SNAPSHOT":
                has_joined.set()

    joined = asyncio.create_task(join())
    await has_joined.wait()
    gate.set()
    await asyncio.gather(running, joined)
    shown = RecordedRun(events, other)
    assert [one.id for one in shown.messages][1:] == ["a1", "a1:media", "u2", "a2"]
    assert shown.messages[2].content["parts"]  # type: ignore[index]


async def test_media_of_a_message_that_is_taken_back() -> None:
    """What no graph keeps goes, and its media with it."""

    async def draft(state: Chat) -> Any:
        await Scripted(
            [AIMessageChunk([{"type": "text", "text": "Draft", "index": 0}, {**IMAGE, "index": 1}])]
        ).ainvoke("x")
        return {"messages": [AIMessage("Kept.")]}

    recorded = await record_run(agent_of(draft), run_input("Hi"))
    [media] = [one for one in recorded.messages if isinstance(one, ActivityMessage)]
    assert media.content["parts"] == []
    assert [one.content for one in recorded.messages if one.role == "assistant"] == ["Kept."]


async def test_what_is_too_large_leaves_a_sign() -> None:
    large = {**IMAGE, "base64": "A" * (made.MAX_MEDIA + 4)}
    result = {**FOUND, "content": [{"type": "x", "text": "y" * (2 * MAX_RESULT)}]}

    async def paint(state: Chat) -> Any:
        return {"messages": [AIMessage([SEARCH, result, large, IMAGE], id="a1")]}

    agent = agent_of(paint, checkpointer=InMemorySaver())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED"
    [media] = [one for one in recorded.messages if isinstance(one, ActivityMessage)]
    sign, shown = media.content["parts"]
    bytes_left_out = (made.MAX_MEDIA + 4) * 3 // 4
    assert sign == {
        "type": "image",
        "omitted": {"reason": "too_large", "bytes": bytes_left_out, "mimeType": "image/png"},
    }
    assert shown["source"]["value"] == PICTURE
    [answer] = [one for one in recorded.messages if isinstance(one, ToolMessage)]
    assert str(answer.content).endswith("more characters)")
    frames = b"".join([piece async for piece in agent.stream_sse(run_input("Hi", thread="t2"))])
    assert b"too_large" in frames
    assert b"event_too_large" not in frames


async def test_a_stop_settles_the_providers_calls() -> None:
    """A run that is cut off in a search leaves no open call."""
    begun = [
        AIMessageChunk([{**SEARCH, "input": {}, "index": 0}]),
        AIMessageChunk(
            [{"type": "input_json_delta", "partial_json": '{"query": "x"}', "index": 0}]
        ),
    ]

    class Stuck(Scripted):
        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            async for chunk in super()._astream(*args, **kwargs):
                yield chunk
            await asyncio.sleep(3600)

    agent = agent_of(talker(Stuck(begun)), checkpointer=InMemorySaver())
    given, client = run_input("Hi", thread="t"), Fold()
    events = []
    async for event in agent.run(given):
        events.append(event)
        client.feed(event)
        if event.type.value == "TOOL_CALL_ARGS":
            await agent.cancel("t", given.run_id)
    RecordedRun(events, given)
    calls = [
        one for message in client.messages for one in getattr(message, "tool_calls", None) or ()
    ]
    results = {one.tool_call_id for one in client.messages if isinstance(one, ToolMessage)}
    assert {one.id for one in calls} <= results


async def test_a_call_is_seen_before_the_answer() -> None:
    """A search shows while it runs: before the model goes on."""
    words = [
        AIMessageChunk([{**SEARCH, "input": {}, "index": 0}]),
        AIMessageChunk(
            [{"type": "input_json_delta", "partial_json": '{"query": "x"}', "index": 0}]
        ),
        AIMessageChunk([{**FOUND, "index": 1}]),
        text_chunk("So it is.", 2),
    ]
    recorded = await record_run(agent_of(talker(Scripted(words))), run_input("Hi"))
    order = [one for one in recorded.types if one.startswith(("TOOL", "TEXT_MESSAGE_CONTENT"))]
    assert order == [
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TEXT_MESSAGE_CONTENT",
        "TOOL_CALL_RESULT",
    ]


@pytest.mark.parametrize("streams", [True, False])
async def test_a_provider_that_uses_an_id_twice(streams: bool) -> None:
    again = {**SEARCH, "input": {"query": "y"}}
    chunks = [
        AIMessageChunk([{**block, "index": index}])
        for index, block in enumerate([SEARCH, FOUND, again, FOUND])
    ]
    recorded = await record_run(
        agent_of(talker(Scripted(chunks, disable_streaming=not streams))), run_input("Hi")
    )
    recorded.check_snapshot()
    answer, *results = recorded.messages[1:]
    assert isinstance(answer, AssistantMessage)
    calls = answer.tool_calls or []
    assert [json.loads(one.function.arguments)["query"] for one in calls] == ["x", "y"]
    assert [one.tool_call_id for one in results] == [one.id for one in calls]  # type: ignore[union-attr]
    assert len({one.id for one in calls}) == 2


async def test_a_result_that_is_nested_too_deeply() -> None:
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]

    async def search(state: Chat) -> Any:
        return {"messages": [AIMessage([SEARCH, {**FOUND, "content": deep}], id="a1")]}

    recorded = await record_run(agent_of(search), run_input("Hi"))
    assert recorded.last.type.value == "RUN_FINISHED"
    [answer] = [one for one in recorded.messages if isinstance(one, ToolMessage)]
    assert answer.content == '{"__type__": "truncated"}'


async def test_a_subagents_media_are_its_own() -> None:
    draft = [
        AIMessageChunk([{"type": "text", "text": "Draft", "index": 0}]),
        AIMessageChunk([{**SEARCH, "index": 1}, {**FOUND, "index": 2}, {**IMAGE, "index": 3}]),
    ]
    painter = create_agent(Scripted(draft), [], name="painter")

    @tool
    async def paint(subject: str) -> str:
        """Paint."""
        return str((await painter.ainvoke({"messages": [("user", subject)]}))["messages"][-1].text)

    model = Scripted([call("paint", "c1", subject="x")], ["Done."])
    recorded = await record_run(LangGraphAgent(create_agent(model, [paint])), run_input("Hi"))
    recorded.check_snapshot()
    [run] = recorded.of("SUBAGENT_STARTED")
    [media] = [one for one in recorded.messages if isinstance(one, ActivityMessage)]
    results = [one for one in recorded.messages if isinstance(one, ToolMessage)]
    assert [one.subagent_run_id for one in (*results, media)] == [
        *(None, run.subagent_run_id),
        run.subagent_run_id,
    ]


async def test_a_hidden_answer_hides_its_media() -> None:
    words = [AIMessageChunk([{"type": "text", "text": "Plan", "index": 0}, {**IMAGE, "index": 1}])]
    model = Scripted(words).with_config(tags=["nostream"])
    agent = agent_of(talker(model), checkpointer=InMemorySaver())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    given = run_input(thread="t")
    shown = RecordedRun(await collect(agent.connect(given)), given)
    for held in (recorded.messages, shown.messages):
        assert [one.role for one in held] == ["user"]

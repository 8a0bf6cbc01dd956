"""What a remote agent says in a local graph: told as a subagent's, kept, and sent back to it on the
next turn."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Annotated, Any

import pytest
from ag_ui.core import AssistantMessage, ReasoningMessage, ToolMessage
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ModelRequest, wrap_model_call
from langchain.tools import ToolRuntime
from langchain_core.callbacks import dispatch_custom_event
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_agui import ClientOptions, state_update
from langgraph_agui.client import RemoteAgent
from langgraph_agui.protocol import compact
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking, used
from tests.kit.processes.remote_agents import Client, Host, Shared, around, tagged, words
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import PATIENCE

IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


@tool
def look_up(city: str) -> str:
    """Look up the weather."""
    if city == "Nowhere":
        raise ToolException("no such city")
    dispatch_custom_event("looking", {"city": city})
    return f"sunny in {city}"


look_up.handle_tool_error = True


@tool
def photo() -> list[dict[str, Any]]:
    """Take a photo."""
    return [{"type": "text", "text": "here"}, IMAGE]


@tool
def digest(runtime: ToolRuntime) -> str:
    """Take long."""
    runtime.emit_output_delta("half")
    get_stream_writer()({"progress": 1})
    return "whole"


def busy() -> Scripted:
    """Thinks, calls two tools at once, then another two, then answers."""
    return Scripted(
        [
            thinking("look "),
            thinking("it up"),
            thinking(signature="sig-1"),
            text_chunk("one moment"),
            calling(
                part("look_up", '{"city": "Rome"}', "c1", 2),
                part("look_up", '{"city": "Nowhere"}', "c2", 3),
            ),
            used(3, 4),
        ],
        [call("photo", "c3"), call("digest", "c4", 1), used(1, 1)],
        [
            thinking("so"),
            thinking(signature="sig-2"),
            text_chunk("It is "),
            text_chunk("sunny."),
            used(5, 6),
        ],
        ["As I said."],
    )


def roles(messages: Any) -> list[str]:
    return [message.role for message in messages]


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("here", [True, False], ids=["thread here", "client-held here"])
@pytest.mark.parametrize("there", [True, False], ids=["thread there", "client-held there"])
async def test_a_whole_turn_and_the_next(
    host: Host, streams: bool, here: bool, there: bool
) -> None:
    model = busy()
    model.disable_streaming = not streams
    remote = create_agent(
        model, [look_up, photo, digest], checkpointer=InMemorySaver() if there else None
    )
    expert = RemoteAgent(host(remote), name="expert")
    client = Client(around(expert, checkpointer=InMemorySaver() if here else None))

    recorded = await client.say("how is it?")
    (begun,), (ended,) = recorded.of("SUBAGENT_STARTED"), recorded.of("SUBAGENT_FINISHED")
    assert begun.name == "expert"
    assert tagged(recorded) == {begun.subagent_run_id} == {ended.subagent_run_id}
    assert roles(client.messages) == [
        *("user", "reasoning", "assistant", "tool", "tool", "assistant", "tool", "tool"),
        *("reasoning", "assistant"),
    ]
    results = {one.tool_call_id: one for one in recorded.messages if isinstance(one, ToolMessage)}
    assert results["c1"].content == "sunny in Rome"
    assert results["c2"].error == "no such city"
    assert results["c3"].content[1].source.value == IMAGE["base64"]  # type: ignore[union-attr]
    assert [one.content for one in recorded.messages if isinstance(one, ReasoningMessage)] == [
        "look it up",
        "so",
    ]
    assert [one.content for one in recorded.messages if isinstance(one, AssistantMessage)] == [
        "one moment",
        None,
        "It is sunny.",
    ]
    opened = [event.message_id for event in recorded.of("REASONING_START", "TEXT_MESSAGE_START")]
    assert len(opened) == len(set(opened)) == 4
    assert [(one.input_tokens, one.output_tokens) for one in recorded.last.usage] == [(9, 11)]

    await client.say("sure?")
    first, second = model.seen[2], model.seen[3]
    assert words(second) == [*words(first), ("ai", "It is sunny."), ("human", "sure?")]
    thought = [
        message.content[0]
        for message in second
        if isinstance(message, AIMessage) and message.content
    ]
    assert [(one["thinking"], one["signature"]) for one in thought if isinstance(one, dict)] == [
        ("look it up", "sig-1"),
        ("so", "sig-2"),
    ]
    answers = [message for message in second if isinstance(message, LCToolMessage)]
    assert [(one.tool_call_id, one.status) for one in answers] == [
        ("c1", "success"),
        ("c2", "error"),
        ("c3", "success"),
        ("c4", "success"),
    ]
    assert answers[2].content == [message for message in first if message.type == "tool"][2].content


async def test_everything_beside_the_messages(host: Host) -> None:
    remote = create_agent(busy(), [look_up, photo, digest])
    client = Client(around(RemoteAgent(host(remote), name="expert")))
    recorded = await client.say("go")
    custom = [(event.name, event.value) for event in recorded.of("CUSTOM")]
    assert custom == [("looking", {"city": "Rome"}), ("custom", {"progress": 1})]
    (activity,) = [message for message in recorded.messages if message.role == "activity"]
    assert activity.content == {
        "toolCallId": "c4",
        "toolName": "digest",
        "output": ["half"],
        "status": "done",
    }

    # A result is told when it comes, which is before the model goes on.
    order = [
        event.type.value
        for event in recorded.of("TOOL_CALL_START", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START")
    ]
    asked, answered, spoke = (
        ["TOOL_CALL_START"] * 2,
        ["TOOL_CALL_RESULT"] * 2,
        ["TEXT_MESSAGE_START"],
    )
    assert order == [*spoke, *asked, *answered, *asked, *answered, *spoke]


async def test_a_result_is_told_before_the_model_is_asked_again(host: Host) -> None:
    received: list[str] = []
    went = threading.Event()

    @wrap_model_call
    async def waits(request: ModelRequest, handler: Any) -> Any:
        if request.messages[-1].type == "tool":
            assert await asyncio.to_thread(went.wait, PATIENCE)
        return await handler(request)

    model = Scripted([call("look_up", "c1", city="Rome")], ["Sunny."])
    remote = create_agent(model, [look_up], middleware=[waits])
    client = Client(around(RemoteAgent(host(remote), name="expert")))
    given = run_input("hi", thread="local")
    events = []
    async with aclosing(client.agent.run(given)) as stream:
        async for event in stream:
            events.append(event)
            received.append(event.type.value)
            if event.type == "TOOL_CALL_RESULT":
                went.set()  # the model says nothing before the client has heard the result
    RecordedRun(events, given).check_snapshot()
    assert "TEXT_MESSAGE_CONTENT" in received[received.index("TOOL_CALL_RESULT") :]


@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_other_ways_to_show_subagents(host: Host, mode: Any) -> None:
    remote = create_agent(busy(), [look_up, photo, digest])
    graph = around(RemoteAgent(host(remote), name="expert"), checkpointer=InMemorySaver())
    client = Client(graph, clients=ClientOptions(subagents=mode))
    recorded = await client.say("go")
    assert not recorded.of("SUBAGENT_STARTED")
    shown = [one.content for one in recorded.messages if isinstance(one, AssistantMessage)]
    assert shown == ["one moment", None, "It is sunny."]
    assert {
        event.subagent_run_id for event in recorded.events if hasattr(event, "subagent_run_id")
    } == {None}
    told = [event.delta for event in compact(recorded.of("TEXT_MESSAGE_CONTENT"))]
    assert told == ["one moment", "It is sunny."]
    assert bool(recorded.of("CUSTOM")) is (mode == "inline")
    assert [kind for kind, _ in words(await client.held())] == [
        "human",
        "ai",
        "tool",
        "tool",
        "ai",
        "tool",
        "tool",
        "ai",
    ]
    await client.say("more")


async def test_langgraphs_own_modes_hear_it(host: Host) -> None:
    remote = create_agent(busy(), [look_up, photo, digest])
    graph = around(RemoteAgent(host(remote), name="expert"))
    modes = ["messages", "custom"]
    tokens, nodes, customs = [], set(), []
    async for _, mode, part_ in graph.astream(
        {"messages": "hi"}, stream_mode=modes, subgraphs=True
    ):
        if mode == "messages":
            tokens += [part_[0].text] if part_[0].type == "AIMessageChunk" else []
            nodes.add(part_[1]["langgraph_checkpoint_ns"].partition(":")[0])
        else:
            customs.append(part_)
    assert "".join(tokens) == "one momentIt is sunny."
    assert nodes == {"expert"}
    assert customs == []


class Cooking(AgentState):
    recipe: Any
    secret: Any


class Kitchen(Shared):
    meal: Any


@tool
def cook(runtime: ToolRuntime) -> Command[str]:
    """Cook."""
    return state_update(runtime, "done", {"recipe": {"steps": ["stir", "serve"]}, "secret": "mine"})


def cooking() -> Scripted:
    return Scripted([call("cook", "k1")], ["Done."])


@pytest.mark.parametrize("keys", [["recipe"], {"meal": "recipe"}], ids=["by name", "renamed"])
async def test_state_is_mapped_by_name(host: Host, keys: Any) -> None:
    remote = create_agent(cooking(), [cook], state_schema=Cooking)
    here = "meal" if isinstance(keys, dict) else "recipe"
    graph = around(
        RemoteAgent(host(remote), name="chef", state=keys),
        schema=Kitchen,
        checkpointer=InMemorySaver(),
    )
    client = Client(graph)
    client.state = {here: {"steps": []}, "private": 1}
    recorded = await client.say("cook")
    kept = (await graph.aget_state(client.config)).values
    assert kept[here] == {"steps": ["stir", "serve"]}
    assert recorded.state[here] == {"steps": ["stir", "serve"]}
    assert kept["private"] == 1
    assert "secret" not in recorded.state
    assert set(kept) & {"recipe", "meal"} == {here}

    # What the agent makes of it is shown while it works, before its last words.
    changed = [
        place
        for place, one in enumerate(recorded.events)
        if one.type.value in ("STATE_DELTA", "STATE_SNAPSHOT")
    ]
    assert min(
        place for place in changed if "serve" in recorded.events[place].model_dump_json()
    ) < recorded.types.index("TEXT_MESSAGE_START")


async def test_only_what_the_agent_has_changed_is_written(host: Host) -> None:
    seen: list[Any] = []

    def note(state: dict[str, Any]) -> dict[str, Any]:
        seen.append(state.get("recipe"))
        return {}

    class Recipe(BaseModel):
        steps: list[str] = []

    remote = StateGraph(Cooking).add_node("note", note).add_edge(START, "note").compile()
    expert = RemoteAgent(host(remote), name="chef", state=["recipe", "dish"])
    recipe = Recipe(steps=["stir"])
    made = await expert.ainvoke(
        {"messages": [HumanMessage("hi")], "recipe": recipe, "private": object()}
    )
    assert seen == [{"steps": ["stir"]}]
    assert made == {"messages": []}


async def test_a_state_that_is_an_object(host: Host) -> None:
    class State(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        recipe: Any = None

    remote = create_agent(cooking(), [cook], state_schema=Cooking)
    graph = around(RemoteAgent(host(remote), name="chef", state=["recipe"]), schema=State)
    made = await graph.ainvoke({"messages": [HumanMessage("cook")]})
    assert made["recipe"] == {"steps": ["stir", "serve"]}
    assert made["messages"][-1].text == "Done."

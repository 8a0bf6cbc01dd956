"""What a remote agent says in a local graph: told as a subagent's, kept, and sent back to it on the
next turn; and the ways to use one: by itself, side by side, in tools, with tools of its own."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Annotated, Any

import httpx2
import pytest
from ag_ui.core import ActivityMessage
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ModelRequest, wrap_model_call
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler, dispatch_custom_event
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send
from pydantic import BaseModel

from langgraph_agui import ClientOptions, astream_agui, state_update
from langgraph_agui.client import AGUIClient, AGUISession, RemoteAgent
from langgraph_agui.middleware import AGUIMiddleware
from langgraph_agui.protocol import compact
from tests.behaviour.client.remote.local_graph import (
    LATER,
    Client,
    Host,
    Shared,
    around,
    client_of,
    tagged,
    words,
)
from tests.behaviour.threads.test_made_content import FOUND, SEARCH
from tests.behaviour.threads.test_made_content import IMAGE as MADE
from tests.kit.deep import together
from tests.kit.graphs.small import Chat, agent_of, chain_of
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking, used
from tests.kit.processes.client_agents import remote
from tests.kit.processes.scripted_servers import Peer, frames, server
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.wire_events import call as called
from tests.kit.run.wire_events import in_run, result, text
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


def busy(host: Host, *, streams: bool = True, saver: Any = None) -> tuple[Scripted, str]:
    """Thinks, calls two tools at once, then another two, then answers."""
    cities = [part("look_up", '{"city": "Rome"}', "c1", 2)]
    cities += [part("look_up", '{"city": "Nowhere"}', "c2", 3)]
    thoughts = [thinking("look "), thinking("it up"), thinking(signature="sig-1")]
    model = Scripted(
        [*thoughts, text_chunk("one moment"), calling(*cities), used(3, 4)],
        [call("photo", "c3"), call("digest", "c4", 1), used(1, 1)],
        [thinking("so"), thinking(signature="sig-2"), "It is ", "sunny.", used(5, 6)],
        ["As I said."],
        disable_streaming=not streams,
    )
    return model, host(create_agent(model, [look_up, photo, digest], checkpointer=saver))


@together(
    pytest.mark.parametrize("streams", [True, False], ids=["streamed", "whole"]),
    pytest.mark.parametrize("here", [True, False], ids=["thread here", "client-held here"]),
    pytest.mark.parametrize("there", [True, False], ids=["thread there", "client-held there"]),
)
async def test_a_whole_turn_and_the_next(
    host: Host, streams: bool, here: bool, there: bool
) -> None:
    model, url = busy(host, streams=streams, saver=InMemorySaver() if there else None)
    client = client_of(url, saver=here)
    recorded = await client.say("how is it?")
    (begun,), (ended,) = recorded.of("SUBAGENT_STARTED"), recorded.of("SUBAGENT_FINISHED")
    assert begun.name == "expert"
    assert tagged(recorded) == {begun.subagent_run_id} == {ended.subagent_run_id}
    held: list[Any] = client.held
    assert [one.role for one in held] == [
        *("user", "reasoning", "assistant", "tool", "tool", "assistant", "tool", "tool"),
        *("reasoning", "assistant"),
    ]
    results = {one.tool_call_id: one for one in held if one.role == "tool"}
    assert (results["c1"].content, results["c2"].error) == ("sunny in Rome", "no such city")
    assert results["c3"].content[1].source.value == IMAGE["base64"]
    told = [one.content for one in held if one.role in ("reasoning", "assistant")]
    assert told == ["look it up", "one moment", None, "so", "It is sunny."]
    opened = [event.message_id for event in recorded.of("REASONING_START", "TEXT_MESSAGE_START")]
    assert len(opened) == len(set(opened)) == 4
    assert [(one.input_tokens, one.output_tokens) for one in recorded.last.usage] == [(9, 11)]

    custom = [(event.name, event.value) for event in recorded.of("CUSTOM")]
    assert custom == [("looking", {"city": "Rome"}), ("custom", {"progress": 1})]
    [shown] = [one.content for one in recorded.messages if one.role == "activity"]
    about = {"toolCallId": "c4", "toolName": "digest"}
    assert shown == {**about, "output": ["half"], "status": "done"}
    # A result is told when it comes, which is before the model goes on.
    kinds = ("TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")
    spoke, asked, answered = [kinds[0]], [kinds[1]] * 2, [kinds[2]] * 2
    order = [event.type.value for event in recorded.of(*kinds)]
    assert order == [*spoke, *asked, *answered, *asked, *answered, *spoke]

    await client.say("sure?")
    first, second = model.seen[2], model.seen[3]
    assert words(second) == [*words(first), ("ai", "It is sunny."), ("human", "sure?")]
    thoughts = [one.content[0] for one in second if one.type == "ai" and one.content]
    signed = [(one["thinking"], one["signature"]) for one in thoughts if isinstance(one, dict)]
    assert signed == [("look it up", "sig-1"), ("so", "sig-2")]
    answers = [message for message in second if message.type == "tool"]
    assert [one.tool_call_id for one in answers if one.status == "success"] == ["c1", "c3", "c4"]
    assert [one.tool_call_id for one in answers if one.status == "error"] == ["c2"]
    assert answers[2].content == [one for one in first if one.type == "tool"][2].content


async def test_a_result_is_told_before_the_model_is_asked_again(host: Host) -> None:
    events, went = list[Any](), threading.Event()

    @wrap_model_call
    async def waits(request: ModelRequest, handler: Any) -> Any:
        if request.messages[-1].type == "tool":
            assert await asyncio.to_thread(went.wait, PATIENCE)
        return await handler(request)

    model = Scripted([call("look_up", "c1", city="Rome")], ["Sunny."])
    client = client_of(host(create_agent(model, [look_up], middleware=[waits])), saver=False)
    given = run_input("hi", thread="t")
    async with aclosing(client.agent.run(given)) as stream:
        async for event in stream:
            events.append(event)
            if event.type == "TOOL_CALL_RESULT":
                went.set()  # the model says nothing before the client has heard the result
    recorded = RecordedRun(events, given)
    recorded.check_snapshot()
    assert "TEXT_MESSAGE_CONTENT" in recorded.types[recorded.types.index("TOOL_CALL_RESULT") :]


@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_other_ways_to_show_subagents(host: Host, mode: Any) -> None:
    expert = RemoteAgent(busy(host)[1], name="expert")
    client = Client(around(expert), clients=ClientOptions(subagents=mode))
    recorded = await client.say("go")
    assert not recorded.of("SUBAGENT_STARTED")
    shown = [one.content for one in recorded.messages if one.role == "assistant"]
    assert shown == ["one moment", None, "It is sunny."]
    assert {getattr(event, "subagent_run_id", None) for event in recorded.events} == {None}
    told = [event.delta for event in compact(recorded.of("TEXT_MESSAGE_CONTENT"))]
    assert told == ["one moment", "It is sunny."]
    assert bool(recorded.of("CUSTOM")) is (mode == "inline")
    kinds = [one.type for one in await client.stored()]
    assert kinds == ["human", *["ai", "tool", "tool"] * 2, "ai"]
    await client.say("more")


async def test_langgraphs_own_modes_hear_it(host: Host) -> None:
    graph = client_of(busy(host)[1]).graph
    modes: Any = ["messages", "custom"]
    tokens, nodes, customs = [], set(), []
    stream = graph.astream({"messages": "hi"}, LATER, stream_mode=modes, subgraphs=True)
    async for _, mode, part_ in stream:
        if mode == "messages":
            tokens += [part_[0].text] if part_[0].type == "AIMessageChunk" else []
            nodes.add(part_[1]["langgraph_checkpoint_ns"].partition(":")[0])
        else:
            customs.append(part_)
    assert ("".join(tokens), nodes, customs) == ("one momentIt is sunny.", {"expert"}, [])


class Cooking(AgentState):
    recipe: Any
    secret: Any


class Kitchen(Shared):
    meal: Any


@tool
def cook(runtime: ToolRuntime) -> Command[str]:
    """Cook."""
    return state_update(runtime, "done", {"recipe": RECIPE, "secret": "mine"})


RECIPE = {"steps": ["stir", "serve"]}


def chef(host: Host) -> str:
    model = Scripted([call("cook", "k1")], ["Done."])
    return host(create_agent(model, [cook], state_schema=Cooking))


@pytest.mark.parametrize("keys", [["recipe"], {"meal": "recipe"}], ids=["by name", "renamed"])
async def test_state_is_mapped_by_name(host: Host, keys: Any) -> None:
    here = "meal" if isinstance(keys, dict) else "recipe"
    client = Client(around(RemoteAgent(chef(host), name="chef", state=keys), schema=Kitchen))
    client.state = {here: {"steps": []}, "private": 1}
    recorded = await client.say("cook")
    kept = (await client.graph.aget_state(LATER)).values
    assert kept[here] == recorded.state[here] == RECIPE
    assert (kept["private"], set(kept) & {"recipe", "meal"}) == (1, {here})
    assert "secret" not in recorded.state
    # What the agent makes of it is shown while it works, before its last words.
    shown = next(
        one
        for one in recorded.of("STATE_DELTA", "STATE_SNAPSHOT")
        if "serve" in one.model_dump_json()
    )
    assert recorded.events.index(shown) < recorded.types.index("TEXT_MESSAGE_START")


async def test_only_what_the_agent_has_changed_is_written(host: Host) -> None:
    seen: list[Any] = []

    def note(state: dict[str, Any]) -> dict[str, Any]:
        seen.append(state.get("recipe"))
        return {}

    class Recipe(BaseModel):
        steps: list[str] = []

    url = host(chain_of(note, state=Cooking))
    expert = RemoteAgent(url, name="chef", state=["recipe", "dish"])
    given = {"messages": "hi", "recipe": Recipe(steps=["stir"]), "private": object()}
    assert await expert.ainvoke(given) == {"messages": []}
    assert seen == [{"steps": ["stir"]}]


async def test_a_state_that_is_an_object(host: Host) -> None:
    class State(BaseModel):
        messages: Annotated[list[AnyMessage], add_messages] = []
        recipe: Any = None

    graph = around(RemoteAgent(chef(host), name="chef", state=["recipe"]), schema=State)
    made = await graph.ainvoke({"messages": "cook"}, LATER)
    assert (made["recipe"], made["messages"][-1].text) == (RECIPE, "Done.")


def answering(host: Host, *turns: Any, **options: Any) -> tuple[Scripted, str]:
    model = Scripted(*turns)
    return model, host(create_agent(model, [], checkpointer=InMemorySaver(), **options))


def test_without_a_loop(host: Host) -> None:
    agent = RemoteAgent(answering(host, ["Hel", "lo."])[1], name="expert")
    assert words(agent.invoke({"messages": "hi"})["messages"]) == [("ai", "Hello.")]
    graph = around(agent, saver=False)

    async def inside() -> Any:
        return graph.invoke({"messages": "hi"})

    for made in (graph.invoke({"messages": "hi"}), asyncio.run(inside())):
        assert words(made["messages"]) == [("human", "hi"), ("ai", "Hello.")]
    told = [part[0] for part in graph.stream({"messages": "hi"}, stream_mode="messages")]
    assert [(type(one), one.text) for one in told] == [(AIMessage, "Hello.")]


def test_what_it_takes_for_messages(host: Host) -> None:
    model, url = answering(host, ["Hello."])
    hi, said = HumanMessage("hi"), {"role": "user", "content": "hi"}
    forms = ["hi", hi, said, ("user", "hi"), ["hi"], [("user", "hi")], (hi,)]
    for form in [*forms, ChatPromptValue(messages=[hi])]:
        RemoteAgent(url, name="expert").invoke({"messages": form})
    assert [words(seen) for seen in model.seen] == [[("human", "hi")]] * 8


async def test_a_handler_hears_a_remote_agent_alone(host: Host) -> None:
    agent = RemoteAgent(AGUIClient(answering(host, ["Hello."])[1]), name="expert")
    given, asked = run_input("hi"), {"messages": [HumanMessage("hi", id="u1")]}
    recorded = RecordedRun(await collect(astream_agui(agent, asked, given)), given)
    recorded.check_snapshot()
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Hello."]
    assert recorded.messages[-1].content == "Hello."


async def test_two_side_by_side_on_one_server(host: Host) -> None:
    model, url = answering(host, ["Yes."])
    builder = StateGraph(Shared)
    for name in ("one", "two"):
        builder.add_node(name, RemoteAgent(url, name=name)).add_edge(START, name)
    client = Client(builder.compile(InMemorySaver()))
    recorded = await client.say("well?")
    assert len(recorded.of("SUBAGENT_STARTED")) == len(tagged(recorded)) == 2
    assert len({message.id for message in recorded.messages}) == 3
    again = await client.say("sure?")  # each in its own thread, or one would find it taken
    assert again.last.outcome.type == "success"
    mine = [[text for kind, text in words(seen) if kind == "human"] for seen in model.seen[2:]]
    assert mine == [["well?", "sure?"]] * 2


async def test_local_tools(host: Host) -> None:
    turns = [call("where_am_i", "w1", how="fast")], ["In Rome."], ["Still."]
    model, url = answering(host, *turns, middleware=[AGUIMiddleware()])
    seen: list[Any] = []

    @tool
    def where_am_i(how: str, runtime: ToolRuntime) -> str:
        """Find the user."""
        said = [one.text for one in runtime.state["messages"]]
        seen.append((how, runtime.tool_call_id, said, runtime.state["dish"]))
        return "Rome"

    client = client_of(url, tools=[where_am_i], state=["dish"])
    client.state = {"dish": "soup"}
    recorded = await client.say("where?")
    assert seen == [("fast", "w1", ["where?", ""], "soup")]
    assert recorded.types.index("TOOL_CALL_RESULT") < recorded.types.index("TEXT_MESSAGE_START")
    assert tagged(recorded) == {recorded.of("SUBAGENT_STARTED")[0].subagent_run_id}
    kept = words(await client.stored())
    assert kept[1:] == [("ai", ["where_am_i"]), ("tool", "Rome"), ("ai", "In Rome.")]
    await client.say("and now?")
    assert words(model.seen[-1]) == [*kept, ("human", "and now?")]


async def test_among_local_agents(host: Host) -> None:
    model = Scripted(["Mine."])

    @tool
    def nothing() -> str:
        """Do nothing."""
        return "nothing"

    boss = Scripted([call("nothing", "n1")], ["Ask the expert."])
    first = create_agent(boss, [nothing], name="boss")
    expert = RemoteAgent(host(create_agent(model, [])), name="expert")
    client = Client(around(first, expert))
    await client.say("go")
    asked = [("human", "go"), ("ai", ["nothing"]), ("tool", "nothing"), ("ai", "Ask the expert.")]
    assert words(await client.stored()) == [*asked, ("ai", "Mine.")]
    assert words(model.seen[0]) == asked


async def test_calls_that_nobody_answers(host: Host) -> None:
    def calls(state: Any) -> Any:
        request = {"name": "theirs", "args": {}, "id": "x1", "type": "tool_call"}
        return {"messages": AIMessage("", tool_calls=[request], id="calls")}

    client = client_of(host(chain_of(calls)))
    recorded = await client.say("go")
    results: list[Any] = [one for one in await client.stored() if one.type == "tool"]
    assert [(one.tool_call_id, one.status) for one in results] == [("x1", "error")]
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["x1"]


async def test_branches_that_begin_at_once() -> None:
    """Several with one history cannot share its thread, which would be busy for all but one."""
    met = threading.Barrier(3)

    def answers(peer: Peer) -> None:
        number = peer.asked.json["messages"][-1]["content"]
        if number.isdigit():
            met.wait(PATIENCE)
        peer.head()
        peer.write(frames(in_run(*text(f"m{peer.asked.json['runId']}", f"Part {number}"))))

    def parts(state: Any) -> list[Send]:
        said = [HumanMessage(str(number)) for number in range(3)]
        return [Send("expert", {"messages": [*state["messages"], one]}) for one in said]

    with server(*[answers] * 7) as running:
        expert = RemoteAgent(running.url, name="expert")
        builder = StateGraph(Shared).add_node("expert", expert)
        graph = builder.add_conditional_edges(START, parts, ["expert"]).compile(InMemorySaver())
        for _ in range(2):
            made = await graph.ainvoke({"messages": "go"}, LATER)
        await expert.ainvoke({"messages": [*made["messages"], HumanMessage("all?")]})
    threads = [one.json["threadId"] for one in running.asked]
    assert len(set(threads[:3])) == len(set(threads[3:6])) == 3
    assert len(set(threads[:3]) & set(threads[3:6])) == 1  # one goes on with the thread
    assert threads[6] in threads[3:6]


def test_a_client_for_blocking_code() -> None:
    with httpx2.Client() as blocking, pytest.raises(TypeError, match="AsyncClient"):
        RemoteAgent(AGUIClient("http://127.0.0.1:1/agent", http_client=blocking))


async def test_a_long_run_is_not_told_again_with_each_of_its_messages() -> None:
    counts: list[int] = []

    class Asked(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            counts.append(len(messages[0]))

    turns = [one for n in range(5) for one in (*called(f"c{n}", "{}"), result(f"c{n}", f"o{n}"))]
    with server(in_run(*turns)) as running:
        agent, heard = RemoteAgent(running.url), {"callbacks": [Asked()]}
        made = await agent.ainvoke({"messages": "hi"}, heard)  # type: ignore[arg-type]
    assert [message.type for message in made["messages"]] == ["ai", "tool"] * 5
    assert counts == [1, 2, 2, 2, 2]


async def paint(state: Chat) -> Any:
    name = f"s{len(state['messages'])}"
    content: Any = [{**SEARCH, "id": name}, {**FOUND, "tool_use_id": name}, MADE]
    return {"messages": [AIMessage([{"type": "text", "text": "See."}, *content])]}


def pictures(messages: Any) -> list[str]:
    media = [one for one in messages if isinstance(one, ActivityMessage)]
    return [one.content["parts"][0]["source"]["value"] for one in media]


async def test_what_a_provider_s_tools_make_is_whole_in_a_session_and_behind_a_node() -> None:
    def web_search(query: str) -> str:
        """Search."""
        raise AssertionError("the provider has run it")

    with remote(agent_of(paint, checkpointer=InMemorySaver()), meets=True) as agent:
        session = AGUISession[Any](agent.url, tools=[web_search])
        for text in ("Draw", "More"):
            await session.send(text)
        turn = ["user", "assistant", "tool"]
        assert [one.role for one in session.messages] == [*turn, "activity"] * 2
        sent = [[one.role for one in each.messages] for each in agent.inputs]
        assert sent == [["user"], [*turn, "user"]]
        assert pictures(session.messages) == [MADE["base64"]] * 2
        recorded = await client_of(agent.url).say("Draw")
        assert pictures(recorded.messages) == [MADE["base64"]]
        made = [c.id for one in recorded.messages for c in getattr(one, "tool_calls", None) or ()]
        assert made == [one.tool_call_id for one in recorded.messages if one.role == "tool"]
        assert recorded.last.outcome.pending_tool_call_ids is None

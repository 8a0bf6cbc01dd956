"""Ways to use a remote agent: by itself, in a graph without a loop, side by side, in tools, with
tools of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx2
import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from langgraph_agui import astream_agui
from langgraph_agui.client import AGUIClient, RemoteAgent
from langgraph_agui.middleware import AGUIMiddleware
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
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.models.scripted import call as calls
from tests.kit.processes.scripted_servers import Peer, frames, server
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.wire_events import call, in_run, result, text
from tests.kit.waiting import PATIENCE


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
    parts = graph.stream({"messages": "hi"}, stream_mode="messages", subgraphs=True)
    tokens = [part[0] for _, part in parts if part[0].text]
    assert {type(one) for one in tokens} == {AIMessageChunk}
    assert "".join(one.text for one in tokens) == "Hello."


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
    await client.say("sure?")  # each in its own thread, or one would find it taken
    assert client.last.outcome.type == "success"
    mine = [[text for kind, text in words(seen) if kind == "human"] for seen in model.seen[2:]]
    assert mine == [["well?", "sure?"]] * 2


async def test_local_tools(host: Host) -> None:
    turns = [calls("where_am_i", "w1", how="fast")], ["In Rome."], ["Still."]
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
    kept = words(await client.held())
    assert kept[1:] == [("ai", ["where_am_i"]), ("tool", "Rome"), ("ai", "In Rome.")]
    await client.say("and now?")
    assert words(model.seen[-1]) == [*kept, ("human", "and now?")]


async def test_in_a_tool_of_a_supervisor(host: Host) -> None:
    model, url = answering(host, ["A ", "secret."])
    expert = RemoteAgent(url, name="expert")

    @tool
    async def ask(question: str) -> str:
        """Ask the expert."""
        return (await expert.ainvoke({"messages": question}))["messages"][-1].text

    boss = Scripted([calls("ask", "a1", question="why?")], ["It says so."])
    client = Client(create_agent(boss, [ask], checkpointer=InMemorySaver()))
    recorded = await client.say("tell me")
    assert words(model.seen[0]) == [("human", "why?")]
    assert words(await client.held())[2:] == [("tool", "A secret."), ("ai", "It says so.")]
    assert [event.name for event in recorded.of("SUBAGENT_STARTED")] == ["expert"]


async def test_among_local_agents(host: Host) -> None:
    model = Scripted(["Mine."])

    @tool
    def nothing() -> str:
        """Do nothing."""
        return "nothing"

    boss = Scripted([calls("nothing", "n1")], ["Ask the expert."])
    first = create_agent(boss, [nothing], name="boss")
    expert = RemoteAgent(host(create_agent(model, [])), name="expert")
    client = Client(around(first, expert))
    await client.say("go")
    asked = [("human", "go"), ("ai", ["nothing"]), ("tool", "nothing"), ("ai", "Ask the expert.")]
    assert words(await client.held()) == [*asked, ("ai", "Mine.")]
    assert words(model.seen[0]) == asked


async def test_calls_that_nobody_answers(host: Host) -> None:
    def calls(state: Any) -> Any:
        request = {"name": "theirs", "args": {}, "id": "x1", "type": "tool_call"}
        return {"messages": AIMessage("", tool_calls=[request], id="calls")}

    client = client_of(host(chain_of(calls)))
    recorded = await client.say("go")
    results: list[Any] = [one for one in await client.held() if one.type == "tool"]
    assert [(one.tool_call_id, one.status) for one in results] == [("x1", "error")]
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["x1"]


async def test_parts_of_the_remote_agent_speak_for_it(host: Host) -> None:
    teller = Scripted([calls("ask", "a1", question="why?")], ["It says so."], ["Still."])
    inner = create_agent(Scripted(["A secret."]), [], name="helper")

    @tool
    async def ask(question: str) -> str:
        """Ask the helper."""
        return (await inner.ainvoke({"messages": question}))["messages"][-1].text

    client = client_of(host(around(create_agent(teller, [ask], name="teller"))), name="bank")
    recorded = await client.say("hi")
    kept = [("human", "hi"), ("ai", ["ask"]), ("tool", "A secret."), ("ai", "It says so.")]
    assert words(await client.held()) == kept
    assert [event.name for event in recorded.of("SUBAGENT_STARTED")] == ["bank"]
    await client.say("more")
    assert words(teller.seen[-1]) == [*kept, ("human", "more")]


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

    turns = [one for n in range(5) for one in (*call(f"c{n}", "{}"), result(f"c{n}", f"o{n}"))]
    with server(in_run(*turns)) as running:
        agent, heard = RemoteAgent(running.url), {"callbacks": [Asked()]}
        made = await agent.ainvoke({"messages": "hi"}, heard)  # type: ignore[arg-type]
    assert [message.type for message in made["messages"]] == ["ai", "tool"] * 5
    assert counts == [1, 2, 2, 2, 2]

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
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from langgraph_agui import astream_agui
from langgraph_agui.client import AGUIClient, RemoteAgent
from langgraph_agui.middleware import AGUIMiddleware
from tests.kit.models.scripted import Scripted
from tests.kit.models.scripted import call as calls
from tests.kit.processes.remote_agents import LATER, Client, Host, Shared, around, tagged, words
from tests.kit.processes.scripted_servers import Peer, recording, server
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.wire_events import call, in_run, result, text
from tests.kit.waiting import PATIENCE


def answering(*turns: Any) -> Any:
    model = Scripted(*turns)
    return create_agent(model, [], checkpointer=InMemorySaver()), model


def test_without_a_loop(host: Host) -> None:
    graph, _ = answering(["Hel", "lo."])
    url = host(graph)
    agent = RemoteAgent(url, name="expert")
    assert words(agent.invoke({"messages": "hi"})["messages"]) == [("ai", "Hello.")]
    made = around(RemoteAgent(url, name="expert")).invoke({"messages": "hi"})
    assert words(made["messages"]) == [("human", "hi"), ("ai", "Hello.")]

    async def inside() -> Any:
        return around(RemoteAgent(url, name="expert")).invoke({"messages": "hi"})

    assert words(asyncio.run(inside())["messages"]) == [("human", "hi"), ("ai", "Hello.")]
    recorded = [
        part[0] for part in around(agent).stream({"messages": "hi"}, stream_mode="messages")
    ]
    assert [(type(one), one.text) for one in recorded] == [(AIMessage, "Hello.")]
    parts = around(agent).stream({"messages": "hi"}, stream_mode="messages", subgraphs=True)
    tokens = [part[0] for _, part in parts if part[0].text]
    assert {type(one) for one in tokens} == {AIMessageChunk}
    assert "".join(one.text for one in tokens) == "Hello."


GIVEN: dict[str, Any] = {
    "text": "hi",
    "message": HumanMessage("hi"),
    "mapping": {"role": "user", "content": "hi"},
    "pair": ("user", "hi"),
    "list": ["hi"],
    "list of pairs": [("user", "hi")],
    "tuple of messages": (HumanMessage("hi"),),
    "prompt": ChatPromptValue(messages=[HumanMessage("hi")]),
}


@pytest.mark.parametrize("form", GIVEN)
def test_what_it_takes_for_messages(host: Host, form: str) -> None:
    graph, model = answering(["Hello."])
    RemoteAgent(host(graph), name="expert").invoke({"messages": GIVEN[form]})
    assert words(model.seen[0]) == [("human", "hi")]


async def test_a_handler_hears_a_remote_agent_alone(host: Host) -> None:
    graph, _ = answering(["Hello."])
    agent = RemoteAgent(AGUIClient(host(graph)), name="expert")
    given = run_input("hi")
    recorded = RecordedRun(
        [
            one
            async for one in astream_agui(agent, {"messages": [HumanMessage("hi", id="u1")]}, given)
        ],
        given,
    )
    recorded.check_snapshot()
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Hello."]
    assert recorded.messages[-1].content == "Hello."


async def test_two_side_by_side_on_one_server(host: Host) -> None:
    remote, model = answering(["Yes."])
    url = host(remote)
    builder = StateGraph(Shared)
    for name in ("one", "two"):
        builder.add_node(name, RemoteAgent(url, name=name))
        builder.add_edge(START, name)
    client = Client(builder.compile(InMemorySaver()))
    recorded = await client.say("well?")
    assert len(recorded.of("SUBAGENT_STARTED")) == len(tagged(recorded)) == 2
    assert len({message.id for message in recorded.messages}) == 3
    await client.say("sure?")  # each in its own thread, or one would find it taken
    assert client.recorded[-1].last.outcome.type == "success"
    mine = [[text for kind, text in words(seen) if kind == "human"] for seen in model.seen[2:]]
    assert mine == [["well?", "sure?"]] * 2


async def test_local_tools(host: Host) -> None:
    model = Scripted([calls("where_am_i", "w1", how="fast")], ["In Rome."], ["Still."])
    remote = create_agent(model, [], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver())
    seen: list[Any] = []

    @tool
    def where_am_i(how: str, runtime: ToolRuntime) -> str:
        """Find the user."""
        seen.append(
            (
                how,
                runtime.tool_call_id,
                [one.text for one in runtime.state["messages"]],
                runtime.state["dish"],
            )
        )
        return "Rome"

    expert = RemoteAgent(host(remote), name="expert", tools=[where_am_i], state=["dish"])
    client = Client(around(expert, checkpointer=InMemorySaver()))
    client.state = {"dish": "soup"}
    recorded = await client.say("where?")
    assert seen == [("fast", "w1", ["where?", ""], "soup")]
    assert recorded.types.index("TOOL_CALL_RESULT") < recorded.types.index("TEXT_MESSAGE_START")
    assert tagged(recorded) == {recorded.of("SUBAGENT_STARTED")[0].subagent_run_id}
    kept = await client.held()
    assert words(kept) == [
        ("human", "where?"),
        ("ai", ["where_am_i"]),
        ("tool", "Rome"),
        ("ai", "In Rome."),
    ]
    await client.say("and now?")
    assert words(model.seen[-1]) == [*words(kept), ("human", "and now?")]


async def test_in_a_tool_of_a_supervisor(host: Host) -> None:
    remote, model = answering(["A ", "secret."])
    expert = RemoteAgent(host(remote), name="expert")

    @tool
    async def ask(question: str) -> str:
        """Ask the expert."""
        made = await expert.ainvoke({"messages": [HumanMessage(question)]})
        return made["messages"][-1].text

    boss = Scripted([calls("ask", "a1", question="why?")], ["It says so."])
    client = Client(create_agent(boss, [ask], checkpointer=InMemorySaver()))
    recorded = await client.say("tell me")
    assert words(model.seen[0]) == [("human", "why?")]
    assert words(await client.held())[2:] == [("tool", "A secret."), ("ai", "It says so.")]
    assert [event.name for event in recorded.of("SUBAGENT_STARTED")] == ["expert"]


async def test_among_local_agents(host: Host) -> None:
    model = Scripted(["Mine."])
    remote = create_agent(model, [])
    boss = Scripted([calls("nothing", "n1")], ["Ask the expert."], ["Thanks."])

    @tool
    def nothing() -> str:
        """Do nothing."""
        return "nothing"

    first = create_agent(boss, [nothing], name="boss")
    client = Client(
        around(first, RemoteAgent(host(remote), name="expert"), checkpointer=InMemorySaver())
    )
    await client.say("go")
    mine = ("ai", "Mine.")
    asked = [("human", "go"), ("ai", ["nothing"]), ("tool", "nothing"), ("ai", "Ask the expert.")]
    assert words(await client.held()) == [*asked, mine]
    assert words(model.seen[0]) == asked


async def test_calls_that_nobody_answers(host: Host) -> None:
    def calls(state: Any) -> Any:
        request = {"name": "theirs", "args": {}, "id": "x1", "type": "tool_call"}
        return {"messages": AIMessage("", tool_calls=[request], id="calls")}

    remote = StateGraph(Shared).add_node("calls", calls).add_edge(START, "calls").compile()
    client = Client(around(RemoteAgent(host(remote), name="expert"), checkpointer=InMemorySaver()))
    recorded = await client.say("go")
    ((call_id, status),) = [
        (one.tool_call_id, one.status)
        for one in await client.held()
        if isinstance(one, LCToolMessage)
    ]
    assert (call_id, status) == ("x1", "error")
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["x1"]


async def test_parts_of_the_remote_agent_speak_for_it(host: Host) -> None:
    teller, helper = (
        Scripted([calls("ask", "a1", question="why?")], ["It says so."], ["Still."]),
        Scripted(["A secret."]),
    )
    inner = create_agent(helper, [], name="helper")

    @tool
    async def ask(question: str) -> str:
        """Ask the helper."""
        return (await inner.ainvoke({"messages": question}))["messages"][-1].text

    remote = around(create_agent(teller, [ask], name="teller"), checkpointer=InMemorySaver())
    client = Client(around(RemoteAgent(host(remote), name="bank"), checkpointer=InMemorySaver()))
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
        recording(*in_run(*text(f"m{peer.asked.json['runId']}", f"Part {number}")))(peer)

    def parts(state: Any) -> list[Send]:
        return [
            Send("expert", {"messages": [*state["messages"], HumanMessage(str(number))]})
            for number in range(3)
        ]

    with server(*[answers] * 7) as running:
        expert = RemoteAgent(running.url, name="expert")
        builder = (
            StateGraph(Shared)
            .add_node("expert", expert)
            .add_conditional_edges(START, parts, ["expert"])
        )
        graph, alone = builder.compile(InMemorySaver()), around(expert)
        for _ in range(2):
            made = await graph.ainvoke({"messages": "go"}, LATER)
        await alone.ainvoke({"messages": [*made["messages"], HumanMessage("all?")]})
    threads = [one.json["threadId"] for one in running.asked]
    assert len(set(threads[:3])) == len(set(threads[3:6])) == 3
    assert len(set(threads[:3]) & set(threads[3:6])) == 1  # one goes on with the thread
    assert threads[6] in threads[3:6]


def test_a_client_for_blocking_code() -> None:
    with httpx2.Client() as blocking, pytest.raises(TypeError, match="AsyncClient"):
        RemoteAgent(AGUIClient("http://127.0.0.1:1/agent", http_client=blocking))


async def test_a_long_run_is_not_told_again_with_each_of_its_messages() -> None:
    class Asked(BaseCallbackHandler):
        def __init__(self) -> None:
            self.counts: list[int] = []

        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            self.counts.append(len(messages[0]))

    turns = [
        one
        for number in range(5)
        for one in (*call(f"c{number}", "{}"), result(f"c{number}", f"o{number}"))
    ]
    asked = Asked()
    with server(recording(*in_run(*turns))) as running:
        made = await RemoteAgent(running.url).ainvoke(
            {"messages": [HumanMessage("hi")]}, {"callbacks": [asked]}
        )
    assert [message.type for message in made["messages"]] == ["ai", "tool"] * 5
    assert asked.counts == [1, 2, 2, 2, 2]

"""Teams: graphs whose agents share the conversation that the user has with the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send
from langgraph_supervisor import create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool
from langgraph_swarm import create_handoff_tool, create_swarm

from tests.kit.graphs.small import Chat
from tests.kit.models.scripted import Piece, Scripted
from tests.kit.models.voices import spoken


@dataclass(frozen=True)
class Team:
    """A graph, the models of its agents, and its answers to two questions."""

    graph: Any
    models: list[Scripted]
    answers: tuple[str, str]
    at_once: bool = False
    """Whether agents speak at once: the graph keeps what they say one after the other."""


BuildTeam = Callable[[Any], Team]
"""Makes a team with a checkpointer, or with None."""


def member(who: str, *wanted: tuple[str, dict[str, Any]]) -> Scripted:
    """A model that makes these calls one after the other in each turn, and then answers. Its calls
    have ids of their own."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        asked = [number for number, one in enumerate(messages) if isinstance(one, HumanMessage)]
        own = {
            str(call["id"])
            for message in messages[asked[-1] :]
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        ids = [f"{who}.{len(asked)}.{number}" for number in range(len(wanted))]
        for call_id, one in zip(ids, wanted, strict=True):
            if call_id not in own:
                chunks = spoken(f"{who}.{len(asked)}", "calls", [one])
                return [*chunks[:-2], _with_id(chunks[-2], call_id), chunks[-1]]
        return spoken(who, f"answers {len(asked)}")

    return Scripted(script=script)


def _with_id(chunk: Any, call_id: str) -> Any:
    (part,) = chunk.tool_call_chunks
    return chunk.model_copy(
        update={
            "tool_call_chunks": [{**part, "id": call_id}],
            "tool_calls": [{**one, "id": call_id} for one in chunk.tool_calls],
        }
    )


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


ADD = ("add", {"a": 1, "b": 2})


def supervised(saver: Any, mode: Any, *wanted: tuple[str, dict[str, Any]], last: str) -> Team:
    """A supervisor that hands over to an agent with a tool, and then makes these calls."""
    boss, worker = member("boss", ("transfer_to_math", {}), *wanted), member("math", ADD)
    graph = create_supervisor(
        [create_agent(worker, [add], name="math")],
        model=boss,
        tools=[create_forward_message_tool("supervisor")],
        output_mode=mode,
    ).compile(checkpointer=saver)
    return Team(graph, [boss, worker], (f"{last}: answers 1", f"{last}: answers 2"))


def supervisor(saver: Any) -> Team:
    """Of the agent, the conversation keeps the answer."""
    return supervised(saver, "last_message", last="boss")


def supervisor_of_all(saver: Any) -> Team:
    """Of the agent, the conversation keeps everything."""
    return supervised(saver, "full_history", last="boss")


def forwarding(saver: Any) -> Team:
    """The supervisor gives the agent's answer as its own."""
    return supervised(
        saver, "last_message", ("forward_message", {"from_agent": "math"}), last="math"
    )


def supervisors(saver: Any) -> Team:
    """A supervisor of a supervisor."""
    inner, worker = member("inner", ("transfer_to_math", {})), member("math", ADD)
    boss = member("boss", ("transfer_to_inner", {}))
    part = create_supervisor(
        [create_agent(worker, [add], name="math")], model=inner, supervisor_name="head"
    ).compile(name="inner")
    graph = create_supervisor([part], model=boss).compile(checkpointer=saver)
    return Team(graph, [boss, inner, worker], ("boss: answers 1", "boss: answers 2"))


def swarm(saver: Any) -> Team:
    """Two agents that hand over to each other; the second turn begins with the second one."""
    models = [member("ann", ("transfer_to_bob", {})), member("bob", ADD)]
    agents = [
        create_agent(models[0], [create_handoff_tool(agent_name="bob")], name="ann"),
        create_agent(models[1], [add], name="bob"),
    ]
    graph = create_swarm(agents, default_active_agent="ann").compile(checkpointer=saver)
    return Team(graph, models, ("bob: answers 1", "bob: answers 2"))


def router(saver: Any) -> Team:
    """A conditional edge that chooses an agent by the question."""
    models = [member("ann", ADD), member("bob", ADD)]
    builder: Any = StateGraph(Chat)
    for name, model in zip(("ann", "bob"), models, strict=True):
        builder.add_node(name, create_agent(model, [add], name=name))
    choose: Any = lambda state: "bob" if "again" in state["messages"][-1].text else "ann"  # noqa: E731
    builder.add_conditional_edges(START, choose, ["ann", "bob"])
    return Team(builder.compile(checkpointer=saver), models, ("ann: answers 1", "bob: answers 2"))


def handing_over(saver: Any) -> Team:
    """A tool that hands over to another agent, with the call and its result."""

    @tool
    def hand_over(runtime: ToolRuntime) -> Any:
        """Hand over."""
        done = ToolMessage("handed over", tool_call_id=runtime.tool_call_id, name="hand_over")
        update = {"messages": [runtime.state["messages"][-1], done]}
        return Command(goto="bob", graph=Command.PARENT, update=update)

    models = [member("ann", ("hand_over", {})), member("bob", ADD)]
    builder: Any = StateGraph(Chat)
    builder.add_node("ann", create_agent(models[0], [hand_over], name="ann"), destinations=("bob",))
    builder.add_node("bob", create_agent(models[1], [add], name="bob"))
    builder.add_edge(START, "ann")
    return Team(builder.compile(checkpointer=saver), models, ("bob: answers 1", "bob: answers 2"))


def sent(saver: Any) -> Team:
    """`Send`s of the conversation to two agents at once, before a third one answers."""
    models = [member("ann", ADD), member("bob", ADD), member("boss")]
    builder: Any = StateGraph(Chat)
    for name, model in zip(("ann", "bob", "boss"), models, strict=True):
        builder.add_node(name, create_agent(model, [add], name=name))
    fan: Any = lambda state: [  # noqa: E731
        Send(name, {"messages": state["messages"]}) for name in ("ann", "bob")
    ]
    builder.add_conditional_edges(START, fan, ["ann", "bob"])
    builder.add_edge(["ann", "bob"], "boss")
    answers = ("boss: answers 1", "boss: answers 2")
    return Team(builder.compile(checkpointer=saver), models, answers, at_once=True)


def called(saver: Any) -> Team:
    """A node that gives an agent the conversation, and returns its answer alone."""
    models = [member("ann", ADD)]
    agent = create_agent(models[0], [add], name="ann")

    async def consult(state: Any) -> dict[str, Any]:
        answer = await agent.ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"][-1:]}

    builder: Any = StateGraph(Chat)
    builder.add_node("consult", consult)
    builder.add_edge(START, "consult")
    return Team(builder.compile(checkpointer=saver), models, ("ann: answers 1", "ann: answers 2"))


TEAMS: dict[str, BuildTeam] = {
    build.__name__: build
    for build in (
        supervisor,
        supervisor_of_all,
        forwarding,
        supervisors,
        swarm,
        router,
        handing_over,
        sent,
        called,
    )
}

"""Teams: graphs whose agents share the conversation that the user has with the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
    have ids of their own: `<who>.<turn>.<number>`."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        asked = [number for number, one in enumerate(messages) if isinstance(one, HumanMessage)]
        turn = [one for one in messages[asked[-1] :] if isinstance(one, AIMessage)]
        own = {call["id"] for message in turn for call in message.tool_calls}
        for number, one in enumerate(wanted):
            if (call_id := f"{who}.{len(asked)}.{number}") not in own:
                *said, asking, used = spoken(f"{who}.{len(asked)}", "calls", [one])
                return [*said, _with_id(asking, call_id), used]
        return spoken(who, f"answers {len(asked)}")

    return Scripted(script=script)


def _with_id(chunk: Any, call_id: str) -> Any:
    parts = [{**one, "id": call_id} for one in chunk.tool_call_chunks]
    calls = [{**one, "id": call_id} for one in chunk.tool_calls]
    return chunk.model_copy(update={"tool_call_chunks": parts, "tool_calls": calls})


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


ADD = ("add", {"a": 1, "b": 2})


def adding(*names: str) -> tuple[list[Scripted], dict[str, Any]]:
    """Agents that add, and their models."""
    models = [member(name, ADD) for name in names]
    agents = [create_agent(one, [add], name=who) for who, one in zip(names, models, strict=True)]
    return models, dict(zip(names, agents, strict=True))


def answers(first: str, second: str | None = None) -> tuple[str, str]:
    return f"{first}: answers 1", f"{second or first}: answers 2"


def builder_of(**agents: Any) -> Any:
    builder: Any = StateGraph(Chat)
    for name, agent in agents.items():
        builder.add_node(name, agent)
    return builder


def supervised(saver: Any, mode: Any, *wanted: tuple[str, dict[str, Any]], last: str) -> Team:
    """A supervisor that hands over to an agent with a tool, and then makes these calls. Of the
    agent, the conversation keeps the last message, or all."""
    boss, (models, agents) = member("boss", ("transfer_to_math", {}), *wanted), adding("math")
    forward = create_forward_message_tool("supervisor")
    graph = create_supervisor([agents["math"]], model=boss, tools=[forward], output_mode=mode)
    return Team(graph.compile(checkpointer=saver), [boss, *models], answers(last))


def supervisors(saver: Any) -> Team:
    """A supervisor of a supervisor."""
    boss, inner = (
        member("boss", ("transfer_to_inner", {})),
        member("inner", ("transfer_to_math", {})),
    )
    models, agents = adding("math")
    part = create_supervisor([agents["math"]], model=inner, supervisor_name="head")
    graph = create_supervisor([part.compile(name="inner")], model=boss)
    return Team(graph.compile(checkpointer=saver), [boss, inner, *models], answers("boss"))


def swarm(saver: Any) -> Team:
    """Two agents that hand over to each other; the second turn begins with the second one."""
    ann, (models, agents) = member("ann", ("transfer_to_bob", {})), adding("bob")
    first = create_agent(ann, [create_handoff_tool(agent_name="bob")], name="ann")
    graph = create_swarm([first, agents["bob"]], default_active_agent="ann")
    return Team(graph.compile(checkpointer=saver), [ann, *models], answers("bob"))


def router(saver: Any) -> Team:
    """A conditional edge that chooses an agent by the question."""
    models, agents = adding("ann", "bob")
    builder = builder_of(**agents)
    choose: Any = lambda state: "bob" if "again" in state["messages"][-1].text else "ann"  # noqa: E731
    builder.add_conditional_edges(START, choose, ["ann", "bob"])
    return Team(builder.compile(checkpointer=saver), models, answers("ann", "bob"))


def handing_over(saver: Any, kept: str) -> Team:
    """A tool that hands over to another agent: with the call and its result, with all that its
    agent has, or with a request in its name."""

    @tool
    def hand_over(runtime: ToolRuntime) -> Any:
        """Hand over."""
        done = ToolMessage("handed over", tool_call_id=runtime.tool_call_id, name="hand_over")
        had = runtime.state["messages"]
        given = {"pair": [had[-1], done], "all": [*had, done]}
        update = {"messages": given.get(kept, [HumanMessage("please help", name="ann")])}
        return Command(goto="bob", graph=Command.PARENT, update=update)

    ann, (models, agents) = member("ann", ("hand_over", {})), adding("bob")
    builder = builder_of(bob=agents["bob"])
    builder.add_node("ann", create_agent(ann, [hand_over], name="ann"), destinations=("bob",))
    builder.add_edge(START, "ann")
    said = answers("bob") if kept != "request" else ("bob: answers 2", "bob: answers 4")
    return Team(builder.compile(checkpointer=saver), [ann, *models], said)


def sent(saver: Any) -> Team:
    """`Send`s of the conversation to two agents at once, before a third one answers."""
    models, agents = adding("ann", "bob")
    boss = member("boss")
    builder = builder_of(**agents, boss=create_agent(boss, [], name="boss"))
    fan: Any = lambda state: [Send(name, state) for name in ("ann", "bob")]  # noqa: E731
    builder.add_conditional_edges(START, fan, ["ann", "bob"])
    builder.add_edge(["ann", "bob"], "boss")
    graph = builder.compile(checkpointer=saver)
    return Team(graph, [*models, boss], answers("boss"), at_once=True)


def called(saver: Any) -> Team:
    """A node that gives an agent the conversation, and returns its answer alone."""
    models, agents = adding("ann")

    async def consult(state: Any) -> dict[str, Any]:
        answer = await agents["ann"].ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"][-1:]}

    builder = builder_of(consult=consult)
    builder.add_edge(START, "consult")
    return Team(builder.compile(checkpointer=saver), models, answers("ann"))


FORWARD = ("forward_message", {"from_agent": "math"})

TEAMS: dict[str, BuildTeam] = {
    "supervisor": partial(supervised, mode="last_message", last="boss"),
    "supervisor_of_all": partial(supervised, mode="full_history", last="boss"),
    "forwarding": lambda saver: supervised(saver, "last_message", FORWARD, last="math"),
    "supervisors": supervisors,
    "swarm": swarm,
    "router": router,
    "handing_over": partial(handing_over, kept="pair"),
    "handing_over_all": partial(handing_over, kept="all"),
    "handing_over_a_request": partial(handing_over, kept="request"),
    "sent": sent,
    "called": called,
}

"""Graphs with subagents of every kind; who speaks in which subagent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from uuid import uuid4

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.models.voices import breaking, voice
from tests.kit.waiting import eventually

BOSS = "boss"
"""Who speaks in the root graph."""

WHY = {"question": "why"}


@dataclass(frozen=True)
class ExpectedSubagent:
    """What must be told of one subagent when it starts."""

    name: str
    parent: str = BOSS
    call: str | None = None
    description: str | None = None


@dataclass
class Built:
    """A graph, the model of its root, and its subagents by their speakers."""

    graph: Any
    boss: Scripted
    subagents: dict[str, ExpectedSubagent] = field(default_factory=dict)
    models: dict[str, Scripted] = field(default_factory=dict)
    team: frozenset[str] = frozenset()
    """The speakers that speak in the conversation, as the boss does."""
    copied: frozenset[str] = frozenset()
    """The speakers whose words the root repeats in a message of its own."""
    silent: tuple[str, ...] = ()
    """The names of subagents in which no word is told."""


T = TypeVar("T")

Build = Callable[[Any], Built]
"""Makes a graph with a checkpointer, or with None."""


class Topic(TypedDict):
    topic: str
    messages: Annotated[list[AnyMessage], add_messages]


class Notes(TypedDict):
    topic: str
    notes: Annotated[list[AnyMessage], add_messages]


def asking(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def agent_of(model: Any, **fields: Any) -> Any:
    """An agent without tools and, unless `fields` says so, without a name."""
    return create_agent(model, [], **fields)


def agent_tool(name: str, *agents: Any, sync: bool = False) -> BaseTool:
    """A tool that asks one agent after the other, and returns the last one's answer."""

    async def arun(question: str) -> str:
        for agent in agents:
            answer = await agent.ainvoke(asking(question))
        return str(answer["messages"][-1].text)

    def run(question: str) -> str:
        for agent in agents:
            answer = agent.invoke(asking(question))
        return str(answer["messages"][-1].text)

    return tool(name, description=f"Ask {name}.")(run if sync else arun)


def boss_of(
    saver: Any, tools: Sequence[BaseTool], *wanted: tuple[str, dict[str, Any]], **fields: Any
) -> Any:
    boss = voice(BOSS, *wanted)
    return create_agent(boss, tools, checkpointer=saver, **fields), boss


def graph_of(state: Any, saver: Any = None, **nodes: Any) -> Any:
    """A graph that runs `nodes`, functions or graphs, one after the other."""
    builder, before = StateGraph(state), START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=saver)


def called(name: str, tool: str, parent: str = BOSS, number: int = 0) -> ExpectedSubagent:
    """A subagent of a call of `agent_tool`."""
    return ExpectedSubagent(name, parent, f"{parent}.{number}", f"Ask {tool}.")


def tools_of(
    saver: Any, agents: dict[str, Any], *, sync: bool = False, middleware: Any = ()
) -> Built:
    """A boss that asks these agents at once, each by a tool of the speaker's name."""
    tools = [agent_tool(name, agent, sync=sync) for name, agent in agents.items()]
    graph, boss = boss_of(saver, tools, *((one, WHY) for one in agents), middleware=middleware)
    names = {name: name if one.name == "LangGraph" else one.name for name, one in agents.items()}
    subagents = {who: called(names[who], who, number=n) for n, who in enumerate(agents)}
    return Built(graph, boss, subagents)


def in_a_boss_node(saver: Any, state: Any = Topic, **nodes: Any) -> tuple[Any, Scripted]:
    """These nodes, and after them the boss speaks."""
    boss = voice(BOSS)
    return graph_of(state, saver, **nodes, speak=talker(boss, "speak")), boss


def sub(name: str, agent: Any) -> Any:
    """An agent as deepagents takes it."""
    return {"name": name, "description": f"Does {name}.", "runnable": agent}


def task(name: str, description: str) -> tuple[str, dict[str, Any]]:
    """A call of deepagents' tool."""
    return "task", {"description": description, "subagent_type": name}


DEEP = {
    "mid_a": ExpectedSubagent("mid_a", BOSS, "boss.0", "do a"),
    "mid_b": ExpectedSubagent("mid_b", BOSS, "boss.1", "do b"),
    "leaf_a": ExpectedSubagent("leaf_a", "mid_a", "mid_a.0", "do a leaf_a"),
    "leaf_b": ExpectedSubagent("leaf_b", "mid_b", "mid_b.0", "do b leaf_b"),
}


def deep_of(saver: Any, leaf_a: Any, leaf_b: Any) -> Built:
    """A boss with two subagents that work at once, each of which delegates to one of these."""
    mids, models = [], {}
    for which, leaf in (("a", leaf_a), ("b", leaf_b)):
        name, inner = f"mid_{which}", f"leaf_{which}"
        models[name] = voice(name, task(inner, f"do {which} {inner}"))
        agent = create_deep_agent(models[name], subagents=[sub(inner, leaf)], name=name)
        mids.append(sub(name, agent))
    boss = voice(BOSS, task("mid_a", "do a"), task("mid_b", "do b"))
    graph = create_deep_agent(boss, subagents=mids, checkpointer=saver, name=BOSS)
    return Built(graph, boss, DEEP, models)


def guarded_leaf(who: str, mode: Mode, done: list[str], count: int = 1) -> Any:
    """An agent that deploys once it may."""

    @tool
    def deploy(env: str) -> str:
        """Deploy."""
        done.append(env)
        return f"deployed {env}"

    model = voice(who, *(("deploy", {"env": f"{who}{number}"}) for number in range(count)))
    guard = HumanInTheLoopMiddleware({"deploy": True}, interrupt_mode=mode)
    return create_agent(model, [deploy], middleware=[guard], name=who), model


def guarded(
    saver: Any, mode: Mode, done: list[str], *, both: bool = False, count: int = 1
) -> Built:
    """Like `deep`, but `leaf_a`, or both leaves, ask before they do anything."""
    leaf_a, model_a = guarded_leaf("leaf_a", mode, done, count)
    leaf_b, model_b = guarded_leaf("leaf_b", mode, done, count if both else 0)
    built = deep_of(saver, leaf_a, leaf_b)
    built.models |= {"leaf_a": model_a, "leaf_b": model_b}
    return built


class Mend(AgentMiddleware):
    """Answers a call whose tool fails."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except ValueError:
            return ToolMessage("it failed", tool_call_id=request.tool_call["id"], status="error")


def failing(*, handled: bool) -> Built:
    """A tool's agent fails within another one; the root's agent takes that, or fails as well."""
    broken = agent_tool("inner", agent_of(breaking("inner", ValueError("a secret"))))
    outer = create_agent(voice("outer", ("inner", WHY)), [broken])
    built = tools_of(None, {"outer": outer}, middleware=[Mend()] if handled else [])
    built.subagents["inner"] = called("inner", "inner", "outer")
    return built


GRAPHS: dict[str, Build] = {}
"""Graphs that run to their end."""


def named_in(builders: dict[str, T]) -> Callable[[T], T]:
    """A decorator that puts a builder under its name."""

    def add(build: T) -> T:
        builders[build.__name__] = build
        return build

    return add


_kind = named_in(GRAPHS)


@_kind
def deep(saver: Any) -> Built:
    leaves = [agent_of(voice(name, pace=0.01), name=name) for name in ("leaf_a", "leaf_b")]
    return deep_of(saver, *leaves)


@_kind
def deep_specs(saver: Any) -> Built:
    """Subagents that deepagents makes itself."""
    spec: Any = {"name": "worker", "description": "Works.", "system_prompt": "Work."}
    boss = voice(BOSS, task("worker", "do it"))
    subagents = [{**spec, "model": voice("worker")}]
    graph = create_deep_agent(boss, subagents=subagents, checkpointer=saver)
    return Built(graph, boss, {"worker": ExpectedSubagent("worker", BOSS, "boss.0", "do it")})


@_kind
def async_tools(saver: Any, *, sync: bool = False) -> Built:
    """Two tools at once, each of which asks an agent without a name."""
    agents = {name: agent_of(voice(name, pace=0.01)) for name in ("ann", "bob")}
    return tools_of(saver, agents, sync=sync)


@_kind
def sync_tools(saver: Any) -> Built:
    return async_tools(saver, sync=True)


@_kind
def same_tool_twice(saver: Any) -> Built:
    helper = agent_tool("help", agent_of(voice("help", each=True, pace=0.01)))
    graph, boss = boss_of(saver, [helper], *(("help", {"question": which}) for which in "xy"))
    subagents = {f"help-{x}": called("help", "help", number=n) for n, x in enumerate("xy")}
    return Built(graph, boss, subagents)


@_kind
def two_agents_in_a_tool(saver: Any) -> Built:
    both = agent_tool("both", agent_of(voice("one")), agent_of(voice("two"), name="second"))
    graph, boss = boss_of(saver, [both], ("both", WHY))
    return Built(graph, boss, {"one": called("both", "both"), "two": called("second", "both")})


@_kind
def tools_in_tools(saver: Any) -> Built:
    deeper = agent_tool("deeper", agent_of(voice("in")))
    outer = create_agent(voice("outer", ("deeper", {"question": "q"})), [deeper])
    built = tools_of(saver, {"outer": outer})
    built.subagents["in"] = called("deeper", "deeper", "outer")
    return built


@_kind
def nostream(saver: Any) -> Built:
    """A subagent whose model is tagged `nostream`: nobody hears what it says, but for the tool's
    result."""
    built = tools_of(saver, {"quiet": agent_of(voice("quiet").with_config(tags=["nostream"]))})
    return Built(built.graph, built.boss, silent=("quiet",))


def declared(saver: Any, state: Any, key: str) -> Built:
    inner = graph_of(state, speak=talker(voice("inner"), "speak", key))
    outer = graph_of(state, speak=talker(voice("outer"), "speak", key), inside=inner)
    return Built(*in_a_boss_node(saver, part=outer))


@_kind
def declared_shared(saver: Any) -> Built:
    """Declared subgraphs, one in the other, whose messages are the root's."""
    built = declared(saver, Topic, "messages")
    built.team = frozenset({"outer", "inner"})
    return built


@_kind
def declared_apart(saver: Any) -> Built:
    """Declared subgraphs, one in the other, that keep their messages to themselves."""
    built = declared(saver, Notes, "notes")
    inner = ExpectedSubagent("inside", "outer")
    built.subagents = {"outer": ExpectedSubagent("part"), "inner": inner}
    return built


@_kind
def declared_agent(saver: Any) -> Built:
    """An agent with a name of its own as a node."""
    writer = agent_of(voice("writer"), name="author")
    return Built(*in_a_boss_node(saver, Chat, writer=writer), team=frozenset({"writer"}))


@_kind
def asked_about_all(saver: Any) -> Built:
    """A node that gives an agent the whole conversation, and returns its answer."""
    agent = agent_of(voice("adviser"), name="adviser")

    async def consult(state: Any) -> dict[str, Any]:
        answer = await agent.ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"][-1:]}

    return Built(*in_a_boss_node(saver, consult=consult), team=frozenset({"adviser"}))


@_kind
def in_a_node(saver: Any, *, copies: bool = False) -> Built:
    """A node that asks an agent, and uses what it heard."""
    asked = agent_of(voice("asked"))

    async def consult(state: Any) -> dict[str, Any]:
        answer = (await asked.ainvoke(asking("why")))["messages"][-1]
        return {"messages": [AIMessage(answer.content)]} if copies else {"topic": answer.text}

    graph, boss = in_a_boss_node(saver, consult=consult)
    return Built(graph, boss, {"asked": ExpectedSubagent("consult")})


@_kind
def copied(saver: Any) -> Built:
    """A node that asks an agent and returns a copy of its answer as the root's own message."""
    built = in_a_node(saver, copies=True)
    built.copied = frozenset({"asked"})
    return built


@_kind
def quoting(saver: Any) -> Built:
    """A subagent whose own graph puts words into a user's mouth."""
    quote: Any = lambda state: {"messages": [HumanMessage("Obey me.", id=str(uuid4()))]}  # noqa: E731
    inner = graph_of(Chat, quote=quote, speak=talker(voice("inner"), "speak"))
    return tools_of(saver, {"inner": inner})


@_kind
def sent(saver: Any) -> Built:
    """Two `Send`s to one subgraph at once."""
    worker = chain_of(talker(voice("work", each=True, pace=0.01), "speak", "notes"), state=Notes)
    boss, builder = voice(BOSS), StateGraph(Topic)
    builder.add_node("worker", worker)
    builder.add_node("speak", talker(boss, "speak"))
    fan: Any = lambda state: [Send("worker", {"notes": [HumanMessage(one)]}) for one in "xy"]  # noqa: E731
    builder.add_conditional_edges(START, fan, ["worker"])
    builder.add_edge("worker", "speak")
    subagents = {f"work-{which}": ExpectedSubagent("worker") for which in "xy"}
    return Built(builder.compile(checkpointer=saver), boss, subagents)


async def until(met: Callable[[], object]) -> None:
    """Wait until `met()` is true."""
    await eventually(met, "the condition of the test")

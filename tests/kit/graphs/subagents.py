"""Graphs with subagents of every kind, and teams; who speaks in which subagent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import uuid4

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from tests.kit.deep import deep as deep_test
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.models.voices import breaking, voice
from tests.kit.waiting import eventually

BOSS = "boss"
"""Who speaks in the root graph."""


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
    subagent_ids: dict[str, ExpectedSubagent]
    models: dict[str, Scripted] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    """The speakers whose words the root graph's own state holds."""
    copied: frozenset[str] = frozenset()
    """Those of them whose words the root repeats in a message of its own."""
    team: frozenset[str] = frozenset()
    """The speakers that speak in the conversation, as the boss does."""
    silent: tuple[str, ...] = ()
    """The names of subagents in which no word is told."""


Build = Callable[[Any], Built]
"""Makes a graph with a checkpointer, or with None."""


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
    for name, which, leaf in (("mid_a", "a", leaf_a), ("mid_b", "b", leaf_b)):
        inner = f"leaf_{which}"
        models[name] = voice(name, task(inner, f"do {which} {inner}"))
        mids.append(
            sub(name, create_deep_agent(models[name], subagents=[sub(inner, leaf)], name=name))
        )
    boss = voice(BOSS, task("mid_a", "do a"), task("mid_b", "do b"))
    graph = create_deep_agent(boss, subagents=mids, checkpointer=saver, name=BOSS)
    return Built(graph, boss, DEEP, models)


def deep(saver: Any) -> Built:
    leaves = [agent_of(voice(name, pace=0.01), name=name) for name in ("leaf_a", "leaf_b")]
    return deep_of(saver, *leaves)


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
    leaf_b, model_b = agent_of(model := voice("leaf_b"), name="leaf_b"), model
    if both:
        leaf_b, model_b = guarded_leaf("leaf_b", mode, done, count)
    built = deep_of(saver, leaf_a, leaf_b)
    built.models |= {"leaf_a": model_a, "leaf_b": model_b}
    return built


def deep_specs(saver: Any) -> Built:
    """Subagents that deepagents makes itself."""
    spec: Any = {
        "name": "worker",
        "description": "Works.",
        "system_prompt": "Work.",
        "model": voice("worker"),
    }
    boss = voice(BOSS, task("worker", "do it"))
    graph = create_deep_agent(boss, subagents=[spec], checkpointer=saver)
    return Built(graph, boss, {"worker": ExpectedSubagent("worker", BOSS, "boss.0", "do it")})


def boss_of(
    saver: Any, tools: Sequence[BaseTool], *wanted: tuple[str, dict[str, Any]], **fields: Any
) -> Any:
    boss = voice(BOSS, *wanted)
    return create_agent(boss, tools, checkpointer=saver, **fields), boss


def tools_of(saver: Any, *, sync: bool) -> Built:
    """Two tools at once, each of which asks an agent without a name."""
    tools = [
        agent_tool(name, agent_of(voice(name, pace=0.01)), sync=sync) for name in ("ann", "bob")
    ]
    graph, boss = boss_of(saver, tools, *((name, {"question": "why"}) for name in ("ann", "bob")))
    subagent_ids = {
        name: ExpectedSubagent(name, BOSS, f"boss.{n}", f"Ask {name}.")
        for n, name in enumerate(("ann", "bob"))
    }
    return Built(graph, boss, subagent_ids)


def async_tools(saver: Any) -> Built:
    return tools_of(saver, sync=False)


def sync_tools(saver: Any) -> Built:
    return tools_of(saver, sync=True)


def same_tool_twice(saver: Any) -> Built:
    helper = agent_tool("help", agent_of(voice("help", each=True, pace=0.01)))
    graph, boss = boss_of(saver, [helper], *(("help", {"question": which}) for which in "xy"))
    return Built(
        graph,
        boss,
        {
            f"help-{x}": ExpectedSubagent("help", BOSS, f"boss.{n}", "Ask help.")
            for n, x in enumerate("xy")
        },
    )


def two_agents_in_a_tool(saver: Any) -> Built:
    both = agent_tool("both", agent_of(voice("one")), agent_of(voice("two"), name="second"))
    graph, boss = boss_of(saver, [both], ("both", {"question": "why"}))
    subagent_ids = {
        "one": ExpectedSubagent("both", BOSS, "boss.0", "Ask both."),
        "two": ExpectedSubagent("second", BOSS, "boss.0", "Ask both."),
    }
    return Built(graph, boss, subagent_ids)


def tools_in_tools(saver: Any) -> Built:
    inner = create_agent(
        voice("outer", ("deeper", {"question": "q"})), [agent_tool("deeper", agent_of(voice("in")))]
    )
    graph, boss = boss_of(saver, [agent_tool("outer", inner)], ("outer", {"question": "why"}))
    subagent_ids = {
        "outer": ExpectedSubagent("outer", BOSS, "boss.0", "Ask outer."),
        "in": ExpectedSubagent("deeper", "outer", "outer.0", "Ask deeper."),
    }
    return Built(graph, boss, subagent_ids)


def nostream(saver: Any) -> Built:
    """A subagent whose model is tagged `nostream`: nobody hears what it says, but for the tool's
    result."""
    agent = agent_of(voice("quiet").with_config(tags=["nostream"]))
    graph, boss = boss_of(saver, [agent_tool("quiet", agent)], ("quiet", {"question": "why"}))
    return Built(graph, boss, {}, silent=("quiet",))


class Topic(TypedDict):
    topic: str
    messages: Annotated[list[AnyMessage], add_messages]


class Notes(TypedDict):
    topic: str
    notes: Annotated[list[AnyMessage], add_messages]


def graph_of(state: Any, saver: Any = None, **nodes: Any) -> Any:
    """A graph that runs `nodes`, functions or graphs, one after the other."""
    builder, before = StateGraph(state), START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=saver)


def declared(saver: Any, state: Any, key: str) -> Built:
    inner = graph_of(state, speak=talker(voice("inner"), "speak", key))
    outer = graph_of(state, speak=talker(voice("outer"), "speak", key), inside=inner)
    boss = voice(BOSS)
    return Built(graph_of(Topic, saver, part=outer, speak=talker(boss, "speak")), boss, {})


def declared_shared(saver: Any) -> Built:
    """Declared subgraphs, one in the other, whose messages are the root's."""
    built = declared(saver, Topic, "messages")
    built.shared = built.team = frozenset({"outer", "inner"})
    return built


def declared_apart(saver: Any) -> Built:
    """Declared subgraphs, one in the other, that keep their messages to themselves."""
    built = declared(saver, Notes, "notes")
    built.subagent_ids = {
        "outer": ExpectedSubagent("part"),
        "inner": ExpectedSubagent("inside", "outer"),
    }
    return built


def declared_agent(saver: Any) -> Built:
    """An agent with a name of its own as a node."""
    boss, writer = voice(BOSS), frozenset({"writer"})
    graph = graph_of(
        Chat, saver, writer=agent_of(voice("writer"), name="author"), speak=talker(boss, "speak")
    )
    return Built(graph, boss, {}, shared=writer, team=writer)


def asked_about_all(saver: Any) -> Built:
    """A node that gives an agent the whole conversation, and returns its answer."""
    boss, adviser = voice(BOSS), frozenset({"adviser"})
    agent = agent_of(voice("adviser"), name="adviser")

    async def consult(state: Any) -> dict[str, Any]:
        answer = await agent.ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"][-1:]}

    graph = graph_of(Topic, saver, consult=consult, speak=talker(boss, "speak"))
    return Built(graph, boss, {}, shared=adviser, team=adviser)


def in_a_node(saver: Any) -> Built:
    """A node that asks an agent, and another that uses what it heard."""
    boss, asked = voice(BOSS), agent_of(voice("asked"))

    async def consult(state: Any) -> dict[str, Any]:
        answer = await asked.ainvoke(asking("why"))
        return {"topic": answer["messages"][-1].text}

    graph = graph_of(Topic, saver, consult=consult, speak=talker(boss, "speak"))
    return Built(graph, boss, {"asked": ExpectedSubagent("consult")})


def copied(saver: Any) -> Built:
    """A node that asks an agent and returns a copy of its answer as the root's own message."""
    boss, asked, copies = voice(BOSS), agent_of(voice("asked")), frozenset({"asked"})

    async def consult(state: Any) -> dict[str, Any]:
        answer = await asked.ainvoke(asking("why"))
        return {"messages": [AIMessage(answer["messages"][-1].content)]}

    graph = graph_of(Topic, saver, consult=consult, speak=talker(boss, "speak"))
    return Built(graph, boss, {"asked": ExpectedSubagent("consult")}, shared=copies, copied=copies)


def quoting(saver: Any) -> Built:
    """A subagent whose own graph puts words into a user's mouth."""
    quote: Any = lambda state: {"messages": [HumanMessage("Obey me.", id=str(uuid4()))]}  # noqa: E731
    inner = graph_of(Chat, quote=quote, speak=talker(voice("inner"), "speak"))
    graph, boss = boss_of(saver, [agent_tool("ask", inner)], ("ask", {"question": "why"}))
    return Built(graph, boss, {"inner": ExpectedSubagent("ask", BOSS, "boss.0", "Ask ask.")})


def sent(saver: Any) -> Built:
    """Two `Send`s to one subgraph at once."""
    worker = chain_of(talker(voice("work", each=True, pace=0.01), "speak", "notes"), state=Notes)
    boss, builder = voice(BOSS), StateGraph(Topic)
    builder.add_node("fan", lambda state: {})
    builder.add_node("worker", worker)
    builder.add_node("speak", talker(boss, "speak"))
    builder.add_edge(START, "fan")
    builder.add_conditional_edges(
        "fan",
        lambda state: [Send("worker", {"notes": [HumanMessage(which)]}) for which in "xy"],
        ["worker"],
    )
    builder.add_edge("worker", "speak")
    return Built(
        builder.compile(checkpointer=saver),
        boss,
        {f"work-{which}": ExpectedSubagent("worker") for which in "xy"},
    )


GRAPHS: dict[str, Build] = {
    build.__name__: build
    for build in (
        deep,
        deep_specs,
        async_tools,
        sync_tools,
        same_tool_twice,
        two_agents_in_a_tool,
        tools_in_tools,
        nostream,
        declared_shared,
        declared_apart,
        declared_agent,
        asked_about_all,
        in_a_node,
        copied,
        quoting,
        sent,
    )
}
"""Graphs that run to their end."""

_FIRST = {"deep", "async_tools", "tools_in_tools", "declared_shared", "declared_apart", "sent"}

few_graphs = pytest.mark.parametrize(
    "build",
    [
        pytest.param(build, id=name, marks=() if name in _FIRST else deep_test)
        for name, build in GRAPHS.items()
    ],
)
"""Tests with all graphs; those that are not of a kind of their own are deep."""

PARALLEL = {
    "deep": ("leaf_a", "leaf_b"),
    "async_tools": ("ann", "bob"),
    "sync_tools": ("ann", "bob"),
    "same_tool_twice": ("help-x", "help-y"),
    "sent": ("work-x", "work-y"),
}
"""Two speakers of each graph that speak at once."""


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
    outer = agent_tool(
        "outer", create_agent(voice("outer", ("inner", {"question": "q"})), [broken])
    )
    graph, boss = boss_of(
        None, [outer], ("outer", {"question": "q"}), middleware=[Mend()] if handled else []
    )
    subagent_ids = {
        "outer": ExpectedSubagent("outer", BOSS, "boss.0", "Ask outer."),
        "inner": ExpectedSubagent("inner", "outer", "outer.0", "Ask inner."),
    }
    return Built(graph, boss, subagent_ids)


async def until(met: Callable[[], object]) -> None:
    """Wait until `met()` is true."""
    await eventually(met, "the condition of the test")

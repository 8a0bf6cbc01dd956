"""Which chat models are found in a graph, where, and in which order."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    SummarizationMiddleware,
)
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
)
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent

from langgraph_agui import LangGraphAgent
from langgraph_agui.chat_models import find_models
from langgraph_agui.chat_models.find import Place, models_at, walk
from tests.kit.models.provider_models import KEY

if TYPE_CHECKING:
    from collections.abc import Callable


class Fake(GenericFakeChatModel):
    """A chat model to be found."""

    name: str | None = None

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def __repr__(self) -> str:
        return f"Fake({self.name})"


def fake(name: str = "model") -> Fake:
    return Fake(messages=iter(()), name=name)


def names(graph: object) -> list[str | None]:
    return [model.name for model in find_models(graph)]


def places(graph: object) -> list[Place]:
    return [place for _, place in models_at(walk(graph))]


def graph_of(*nodes: Any, checkpointer: Any = None) -> Any:
    builder = StateGraph(MessagesState)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    return builder.compile(checkpointer=checkpointer)


class Service:
    """What users write."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model

    def answer(self, state: Any) -> Any:
        return self.model.invoke(state)


def takes_model(model: Any, state: Any) -> Any:
    return model.invoke(state)


def closed() -> Callable[..., Any]:
    model = fake("closure").bind(stop=["x"])

    def node(state: Any) -> Any:
        return model.invoke(state)

    return node


def nothing(state: Any) -> Any:
    return {"messages": [str(len(state))]}


class Callee:
    def __init__(self) -> None:
        self.by_use = {"fast": [fake("in a list")]}

    def __call__(self, state: Any) -> Any:
        return self.by_use["fast"][0].invoke(state)


NODES: dict[str, tuple[Any, list[str]]] = {
    "closure": (closed(), ["closure"]),
    "partial": (functools.partial(takes_model, fake("partial")), ["partial"]),
    "partial-keyword": (functools.partial(takes_model, model=fake("partial")), ["partial"]),
    "method": (Service(fake("bound")).answer, ["bound"]),
    "callable": (Callee().__call__, ["in a list"]),
    "sequence": (
        RunnableLambda(nothing) | fake("sequence") | RunnableLambda(nothing),
        ["sequence"],
    ),
    "parallel": (RunnableParallel(a=fake("a"), b=fake("b")), ["a", "b"]),
    "branch": (RunnableBranch((lambda _: True, fake("then")), fake("else")), ["else", "then"]),
    "fallbacks": (fake("first").with_fallbacks([fake("second")]), ["first", "second"]),
    "retry": (fake("retried").with_retry(), ["retried"]),
    "config": (fake("tagged").with_config(tags=["x"]), ["tagged"]),
    "alternatives": (
        fake("main").configurable_alternatives(ConfigurableField("which"), other=fake("other")),
        ["main", "other"],
    ),
    "nothing": (nothing, []),
}


@pytest.mark.parametrize("node", NODES)
def test_a_node(node: str) -> None:
    made, expected = NODES[node]
    assert names(graph_of(made)) == expected


def test_a_plain_runnable_and_a_model_itself() -> None:
    model = ChatOpenAI(model="gpt-5.1", api_key=KEY)
    assert find_models(model) == [model]
    assert find_models(model.bind_tools([]) | RunnableLambda(nothing)) == [model]


def test_each_once_and_the_nearest_first() -> None:
    shared = fake("shared")
    graph = graph_of(
        shared, RunnableLambda(nothing) | fake("b"), closed(), shared.with_retry(), fake("a")
    )
    assert names(graph) == ["shared", "a", "b", "closure"]
    assert [found.where for found in places(graph)] == [("n0",), ("n4",), ("n1",), ("n2",)]
    assert names(graph) == names(graph)


def test_subgraphs() -> None:
    inner = graph_of(fake("deep"))
    middle = graph_of(inner, fake("middle"))

    def calls_inner(state: Any) -> Any:
        return inner.invoke(state)

    assert names(graph_of(middle)) == ["middle", "deep"]
    assert places(graph_of(middle))[1].where == ("n0", "n0", "n0")
    assert names(graph_of(calls_inner)) == ["deep"]


def test_the_functional_api() -> None:
    by_task = fake("by a task")

    @task
    def answer(text: str) -> Any:
        return by_task.invoke(text)

    @entrypoint(checkpointer=InMemorySaver())
    def graph(text: str) -> Any:
        return [answer(text).result()]

    assert names(graph) == ["by a task"]


class Fallback(AgentMiddleware):
    """Users' own: its model answers."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self.model = model

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(model=self.model))


def subagent_tool() -> BaseTool:
    agent = create_agent(fake("subagent"), [])

    @tool
    def delegate(question: str) -> str:
        """Delegate."""
        return str(agent.invoke({"messages": [question]}))

    return delegate


AGENTS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "plain": (lambda: create_agent(fake("main"), []), ["main"]),
    "tools": (lambda: create_agent(fake("main"), [subagent_tool()]), ["main", "subagent"]),
    "fallback": (
        lambda: create_agent(fake("main"), [], middleware=[ModelFallbackMiddleware(fake("b"))]),
        ["main", "b"],
    ),
    "own-middleware": (
        lambda: create_agent(fake("main"), [], middleware=[Fallback(fake("b"))]),
        ["main", "b"],
    ),
    "react": (lambda: create_react_agent(fake("main"), []), ["main"]),
    "tool-node": (lambda: graph_of(ToolNode([subagent_tool()])), ["subagent"]),
    "agent": (lambda: LangGraphAgent(create_agent(fake("main"), [])), ["main"]),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent(agent: str) -> None:
    make, expected = AGENTS[agent]
    assert names(make()) == expected


def test_the_place_of_a_subagent_names_its_tool() -> None:
    tools = ToolNode([subagent_tool()])
    assert [found.where for found in places(graph_of(nothing, tools))] == [
        ("n1", "delegate", "model")
    ]


def test_helpers_are_auxiliary_unless_they_answer_too() -> None:
    main, helper_model = fake("main"), fake("helper")

    def found(middleware_model: BaseChatModel) -> list[tuple[str | None, bool]]:
        agent = create_agent(main, [], middleware=[SummarizationMiddleware(model=middleware_model)])
        return [(model.name, place.auxiliary) for model, place in models_at(walk(agent))]

    assert sorted(map(str, found(helper_model))) == ["('helper', True)", "('main', False)"]
    assert found(main) == [("main", False)]
    summing = SummarizationMiddleware(model=main)
    assert [place.auxiliary for place in places(graph_of(summing.before_model))] == [True]
    assert [place.auxiliary for place in places(graph_of(summing.before_model, main))] == [False]


@pytest.mark.parametrize("given", ["string", "configurable", "configured", "tools"])
def test_models_that_langchain_makes(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made: Any = {
        "string": "openai:gpt-5.1",
        "configurable": init_chat_model("openai:gpt-5.1", configurable_fields=["model"]),
        "configured": init_chat_model(configurable_fields=["model"]).with_config(
            {"configurable": {"model": "gpt-5.1"}}
        ),
        "tools": init_chat_model("openai:gpt-5.1", configurable_fields="any").bind_tools([]),
    }[given]
    graph = graph_of(made) if given == "tools" else create_agent(made, [])
    (model,) = find_models(graph)
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "gpt-5.1"


def test_a_configurable_model_without_a_default() -> None:
    assert find_models(create_agent(init_chat_model(configurable_fields="any"), [])) == []
    assert find_models(graph_of(init_chat_model())) == []


class Hostile:
    """Raises wherever it can, without end."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no class")

    @property
    def model(self) -> Any:
        raise RuntimeError("no model")


class Endless(dict[str, Any]):
    def values(self) -> Any:
        return iter(lambda: [fake("never reached")], None)


def test_hostile_objects_do_no_harm() -> None:
    cycle: list[Any] = [fake("in a cycle"), MagicMock(spec=BaseChatModel), Hostile(), sys, None, 3]
    cycle.append(cycle)
    deep: Any = fake("too deep")
    for _ in range(10_000):
        deep = [deep]
    wide = [object() for _ in range(100_000)]
    hostile = Hostile()

    def node(state: Any) -> Any:
        return cycle, hostile, deep, wide

    assert names(graph_of(node)) == ["in a cycle"]
    assert find_models(Hostile()) == []
    assert find_models(None) == find_models(sys) == find_models(MagicMock(spec=BaseChatModel)) == []


def test_an_endless_container_ends() -> None:
    assert len(find_models(graph_of(functools.partial(takes_model, Endless(a=1))))) < 1_000


def test_a_graph_that_calls_itself() -> None:
    def again(state: Any) -> Any:
        return graph.invoke(state)

    graph = graph_of(again, fake("other"))
    assert names(graph) == ["other"]


GLOBAL_MODEL = fake("global")


def ask_global_model() -> Any:
    return GLOBAL_MODEL.invoke("hi")


class Proxy:
    """Fails at whatever is asked of it, as proxies of web frameworks do outside a request."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("outside a request")


REQUEST = Proxy()


def test_models_of_globals_beside_a_proxy_and_through_another_function() -> None:
    def direct(state: Any) -> Any:
        return REQUEST, GLOBAL_MODEL.invoke("hi")

    def through(state: Any) -> Any:
        return ask_global_model()

    assert [names(graph_of(node)) for node in (direct, through)] == [["global"], ["global"]]

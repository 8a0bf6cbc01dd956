"""Which chat models are found in a graph, where, and in which order."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any
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


def graph_of(*nodes: Any) -> Any:
    builder = StateGraph(MessagesState)
    for number, node in enumerate(nodes):
        builder.add_node(f"n{number}", node)
        builder.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    return builder.compile()


class Service:
    """What users write."""

    def __init__(self, model: BaseChatModel) -> None:
        self.model = model
        self.by_use = {"fast": [model]}

    def answer(self, state: Any) -> Any:
        return self.model.invoke(state)

    def __call__(self, state: Any) -> Any:
        return self.by_use["fast"][0].invoke(state)


def takes_model(model: Any, state: Any) -> Any:
    return model.invoke(state)


def closed(model: Any) -> Callable[..., Any]:
    def node(state: Any) -> Any:
        return model.invoke(state)

    return node


def nothing(state: Any) -> Any:
    return {"messages": [str(len(state))]}


LAMBDA, WHICH = RunnableLambda(nothing), ConfigurableField("which")


class Fallback(AgentMiddleware):
    """Users' own: its model answers."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__()
        self.model = model

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(model=self.model))


def subagent_tool() -> BaseTool:
    agent = create_agent(fake("deep"), [])

    @tool
    def delegate(question: str) -> str:
        """Delegate."""
        return str(agent.invoke({"messages": [question]}))

    return delegate


def agent_with(*middleware: Any, tools: Any = ()) -> Any:
    return create_agent(fake("a"), [*tools], middleware=middleware)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: closed(fake("a").bind(stop=["x"])), "a", id="closure"),
        pytest.param(lambda: functools.partial(takes_model, fake("a")), "a", id="partial"),
        pytest.param(lambda: functools.partial(takes_model, model=fake("a")), "a", id="keyword"),
        pytest.param(lambda: Service(fake("a")).answer, "a", id="method"),
        pytest.param(lambda: Service(fake("a")).__call__, "a", id="callable"),
        pytest.param(lambda: LAMBDA | fake("a") | LAMBDA, "a", id="sequence"),
        pytest.param(lambda: RunnableParallel(a=fake("a"), b=fake("b")), "a b", id="parallel"),
        pytest.param(
            lambda: RunnableBranch((lambda _: True, fake("b")), fake("a")), "a b", id="branch"
        ),
        pytest.param(lambda: fake("a").with_fallbacks([fake("b")]), "a b", id="fallbacks"),
        pytest.param(lambda: fake("a").with_retry(), "a", id="retry"),
        pytest.param(lambda: fake("a").with_config(tags=["x"]), "a", id="config"),
        pytest.param(
            lambda: fake("a").configurable_alternatives(WHICH, b=fake("b")), "a b", id="either"
        ),
        pytest.param(lambda: nothing, "", id="nothing"),
        pytest.param(agent_with, "a", id="agent"),
        pytest.param(lambda: agent_with(tools=[subagent_tool()]), "a deep", id="agent as tool"),
        pytest.param(lambda: agent_with(ModelFallbackMiddleware(fake("b"))), "a b", id="fallback"),
        pytest.param(lambda: agent_with(Fallback(fake("b"))), "a b", id="own middleware"),
        pytest.param(lambda: create_react_agent(fake("a"), []), "a", id="react"),
        pytest.param(lambda: ToolNode([subagent_tool()]), "deep", id="tool node"),
    ],
)
def test_what_is_in_a_node(make: Any, expected: str) -> None:
    assert names(graph_of(make())) == expected.split()


def test_runnables_models_and_agents_are_no_nodes() -> None:
    model = ChatOpenAI(model="gpt-5.1", api_key=KEY)
    assert find_models(model) == [model]
    assert find_models(model.bind_tools([]) | LAMBDA) == [model]
    assert names(LangGraphAgent(agent_with())) == names(agent_with()) == ["a"]


def test_each_once_and_the_nearest_first() -> None:
    shared = fake("shared")
    graph = graph_of(shared, LAMBDA | fake("b"), closed(fake("c")), shared.with_retry(), fake("a"))
    for _ in range(2):
        assert names(graph) == ["shared", "a", "b", "c"]
    assert [found.where for found in places(graph)] == [("n0",), ("n4",), ("n1",), ("n2",)]


def test_subgraphs_and_tools_of_subagents_name_the_place() -> None:
    inner = graph_of(fake("deep"))
    middle = graph_of(graph_of(inner, fake("middle")))
    assert names(middle) == ["middle", "deep"]
    assert places(middle)[1].where == ("n0", "n0", "n0")
    assert names(graph_of(closed(inner))) == ["deep"]
    tools = ToolNode([subagent_tool()])
    assert [one.where for one in places(graph_of(nothing, tools))] == [("n1", "delegate", "model")]


def test_the_functional_api() -> None:
    by_task = fake("by a task")

    @task
    def answer(text: str) -> Any:
        return by_task.invoke(text)

    @entrypoint(checkpointer=InMemorySaver())
    def graph(text: str) -> Any:
        return [answer(text).result()]

    assert names(graph) == ["by a task"]


def test_helpers_are_auxiliary_unless_they_answer_too() -> None:
    main, helper = fake("main"), fake("helper")

    def found(model: BaseChatModel) -> list[tuple[str | None, bool]]:
        agent = create_agent(main, [], middleware=[SummarizationMiddleware(model=model)])
        return sorted((one.name, place.auxiliary) for one, place in models_at(walk(agent)))

    assert found(helper) == [("helper", True), ("main", False)]
    assert found(main) == [("main", False)]
    summing = SummarizationMiddleware(model=main).before_model
    for nodes, auxiliary in (((summing,), True), ((summing, main), False)):
        assert [place.auxiliary for place in places(graph_of(*nodes))] == [auxiliary]


def test_models_that_langchain_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen = {"configurable": {"model": "gpt-5.1"}}
    gpt, any_field = "openai:gpt-5.1", {"configurable_fields": "any"}
    by_name = init_chat_model(configurable_fields=["model"])
    for graph in (
        create_agent(gpt, []),
        create_agent(init_chat_model(gpt, configurable_fields=["model"]), []),
        create_agent(by_name.with_config(chosen), []),
        graph_of(init_chat_model(gpt, **any_field).bind_tools([])),
    ):
        (model,) = find_models(graph)
        assert isinstance(model, ChatOpenAI)
        assert model.model_name == "gpt-5.1"
    assert find_models(create_agent(init_chat_model(**any_field), [])) == []
    assert find_models(graph_of(init_chat_model())) == []


class Hostile:
    """Raises wherever it can, without end, as proxies of web frameworks do outside a request."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    @property
    def __class__(self) -> Any:
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
    assert len(find_models(graph_of(functools.partial(takes_model, Endless(a=1))))) < 1_000


def test_a_graph_that_calls_itself() -> None:
    def again(state: Any) -> Any:
        return graph.invoke(state)

    graph = graph_of(again, fake("other"))
    assert names(graph) == ["other"]


GLOBAL_MODEL, REQUEST = fake("global"), Hostile()


def ask_global_model() -> Any:
    return GLOBAL_MODEL.invoke("hi")


def test_models_of_globals_beside_a_proxy_and_through_another_function() -> None:
    def direct(state: Any) -> Any:
        return REQUEST, GLOBAL_MODEL.invoke("hi")

    def through(state: Any) -> Any:
        return ask_global_model()

    assert [names(graph_of(node)) for node in (direct, through)] == [["global"], ["global"]]

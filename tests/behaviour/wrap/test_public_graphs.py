"""Graphs as public applications write them: contexts of defaults, tags that hide models, middleware,
inputs without messages."""

from __future__ import annotations

import logging
from dataclasses import InitVar, dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import collect, record_run, run_input, user

# -- runtime contexts ----------------------------------------------------------------------------


@dataclass
class Settings:
    user_id: str = "default"
    tags: list[str] = field(default_factory=list)


class Model(BaseModel):
    user_id: str = "default"


class Keys(TypedDict, total=False):
    user_id: str


@dataclass
class WithSetup:
    region: InitVar[str]
    user_id: str = "default"


@pydantic_dataclass
class StrictFields:
    user_id: str = Field(...)


@dataclass
class Strict:
    user_id: str


class StrictModel(BaseModel):
    user_id: str


class StrictKeys(TypedDict):
    user_id: str


def with_context(schema: Any, seen: list[object]) -> LangGraphAgent:
    async def node(state: Chat, runtime: Runtime[Any]) -> Any:
        seen.append(runtime.context)
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(Chat, context_schema=schema)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return LangGraphAgent(builder.compile())


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (Settings, Settings()),
        (Model, Model()),
        (Keys, {}),
        (WithSetup, None),
        (StrictFields, None),
        (Strict, None),
        (StrictModel, None),
        (StrictKeys, None),
        (None, None),
    ],
)
async def test_a_context_of_defaults(schema: Any, expected: object) -> None:
    """A graph whose context can be made of nothing gets one; others get none, as before."""
    seen: list[object] = []
    await record_run(with_context(schema, seen), run_input("hi"))
    assert seen == [expected]


async def test_a_context_of_the_server_is_taken() -> None:
    seen: list[object] = []
    await record_run(with_context(Settings, seen), run_input("hi"), context={"user_id": "ann"})
    assert seen == [Settings("ann")]


async def test_a_context_of_a_functional_graph() -> None:
    seen: list[object] = []

    @entrypoint(context_schema=Settings)
    async def work(text: str, *, runtime: Runtime[Settings]) -> str:
        seen.append(runtime.context)
        return text

    await record_run(LangGraphAgent(work), run_input("hi"))
    assert seen == [Settings()]


# -- tags that hide model calls ------------------------------------------------------------------

TAGS = ["nostream", "langsmith:nostream", "skip_stream"]


def tagged(tag: str, kept: bool) -> Any:
    async def think(state: Chat) -> Any:
        reply = await Scripted(["secret"]).ainvoke("x", {"tags": [tag]})
        return {"messages": [reply]} if kept else {}

    async def answer(state: Chat) -> Any:
        return {"messages": [await Scripted(["shown"]).ainvoke("x")]}

    return chain_of(think, answer, checkpointer=InMemorySaver())


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
@pytest.mark.parametrize("tag", TAGS)
async def test_hidden_tags(tag: str, kept: bool) -> None:
    """A call with such a tag is hidden as one with `nostream` is, also where a node keeps it."""
    hides = ClientOptions(hidden_tags=["langsmith:nostream", "skip_stream"])
    agent = LangGraphAgent(tagged(tag, kept), clients=hides)
    first = await record_run(agent, run_input(user("hi", "u1"), thread="t"))
    assert [message.content for message in first.messages] == ["hi", "shown"]
    assert not any("secret" in str(event) for event in first.events)
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, user("more", "u2"), thread="t"))
    shown = await collect(agent.connect(run_input(thread="t")))
    assert not any("secret" in str(event) for event in [*second.events, *shown])


async def test_other_tags_hide_nothing() -> None:
    agent = LangGraphAgent(tagged("skip_stream", kept=True))
    recorded = await record_run(agent, run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "secret", "shown"]


def test_one_tag_is_no_collection() -> None:
    with pytest.raises(TypeError, match="must be list, not str"):
        ClientOptions(hidden_tags="skip_stream")


# -- steps of middleware -------------------------------------------------------------------------


@pytest.mark.parametrize("show", ["hidden", "show"])
@pytest.mark.providers
async def test_steps_of_middleware(show: Any) -> None:
    from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware

    graph = create_agent(Scripted(["ok"]), [], middleware=[PatchToolCallsMiddleware()])
    agent = LangGraphAgent(graph, clients=ClientOptions(middleware_steps=show))
    recorded = await record_run(agent, run_input("hi"))
    hook = ["PatchToolCallsMiddleware.before_agent"] if show == "show" else []
    steps = recorded.of("STEP_STARTED")
    assert [step.step_name for step in steps] == [*hook, "model"]
    assert [message.content for message in recorded.messages] == ["hi", "ok"]


# -- inputs without messages ---------------------------------------------------------------------


class Mail(TypedDict):
    mail: str


class Desk(Mail, Chat):
    pass


def desk() -> Any:
    async def answer(state: Desk) -> Any:
        return {"messages": [AIMessage(f"About {state['mail']}")]}

    builder = StateGraph(Desk, input_schema=Mail)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile()


async def test_an_input_without_messages_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        agent = LangGraphAgent(desk(), name="desk")
    (record,) = caplog.records
    assert "'desk': The graph's input has no key for messages" in record.getMessage()
    custom = agent.capabilities().custom or {}
    assert custom["takesMessages"] is False
    assert custom["warnings"][0].startswith("The graph's input has no key for messages")
    recorded = await record_run(agent, run_input("hi", state={"mail": "cats"}))
    assert [message.content for message in recorded.messages] == ["hi", "About cats"]


async def test_other_inputs_say_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @entrypoint()
    async def work(given: dict) -> Any:
        return given

    with caplog.at_level(logging.WARNING):
        agents = [agent_of(lambda state: {}), LangGraphAgent(work)]
    assert not caplog.records
    for agent in agents:
        custom = agent.capabilities().custom or {}
        assert "takesMessages" not in custom
        assert "warnings" not in custom

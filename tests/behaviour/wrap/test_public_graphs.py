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
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import collect, record_run, run_input, user


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


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        *((Settings, Settings()), (Model, Model()), (Keys, {})),
        *((one, None) for one in (WithSetup, StrictFields, Strict, StrictModel, StrictKeys, None)),
    ],
)
async def test_a_context_of_defaults(schema: Any, expected: object) -> None:
    """A graph whose context can be made of nothing gets one; others get none, as before."""
    seen: list[object] = []

    async def node(state: Chat, runtime: Runtime[Any]) -> None:
        seen.append(runtime.context)

    builder = StateGraph(Chat, context_schema=schema).add_node("node", node)
    agent = LangGraphAgent(builder.add_edge(START, "node").compile())
    await record_run(agent, run_input("hi"))
    assert seen == [expected]
    if schema is Settings:  # one of the server's is taken
        await record_run(agent, run_input("hi"), context={"user_id": "ann"})
        assert seen[1:] == [Settings("ann")]


async def test_a_context_of_a_functional_graph() -> None:
    seen: list[object] = []

    @entrypoint(context_schema=Settings)
    async def work(text: str, *, runtime: Runtime[Settings]) -> None:
        seen.append(runtime.context)

    await record_run(LangGraphAgent(work), run_input("hi"))
    assert seen == [Settings()]


def tagged(tag: str, kept: bool) -> Any:
    async def think(state: Chat) -> Any:
        reply = await Scripted(["secret"]).ainvoke("x", {"tags": [tag]})
        return {"messages": [reply]} if kept else {}

    return chain_of(think, talker(Scripted(["shown"])), checkpointer=InMemorySaver())


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
@pytest.mark.parametrize("tag", ["nostream", "skip_stream"])
async def test_hidden_tags(tag: str, kept: bool) -> None:
    """A call with such a tag is hidden as one with `nostream` is, also where a node keeps it."""
    hides = ClientOptions(hidden_tags=["langsmith:nostream", "skip_stream"])
    agent = LangGraphAgent(tagged(tag, kept), clients=hides)
    first = await record_run(agent, run_input(user("hi", "u1"), thread="t"))
    assert [message.content for message in first.messages] == ["hi", "shown"]
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, user("more", "u2"), thread="t"))
    shown = await collect(agent.connect(run_input(thread="t")))
    assert "secret" not in str([*first.events, *second.events, *shown])


async def test_other_tags_hide_nothing() -> None:
    agent = LangGraphAgent(tagged("skip_stream", kept=True))
    recorded = await record_run(agent, run_input("hi"))
    assert [message.content for message in recorded.messages] == ["hi", "secret", "shown"]
    with pytest.raises(TypeError, match="must be list, not str"):
        ClientOptions(hidden_tags="skip_stream")


@pytest.mark.parametrize("show", ["hidden", "show"])
@pytest.mark.providers
async def test_steps_of_middleware(show: Any) -> None:
    from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware

    graph = create_agent(Scripted(["ok"]), [], middleware=[PatchToolCallsMiddleware()])
    agent = LangGraphAgent(graph, clients=ClientOptions(middleware_steps=show))
    recorded = await record_run(agent, run_input("hi"))
    hook = ["PatchToolCallsMiddleware.before_agent"] if show == "show" else []
    assert [step.step_name for step in recorded.of("STEP_STARTED")] == [*hook, "model"]
    assert [message.content for message in recorded.messages] == ["hi", "ok"]


class Mail(TypedDict):
    mail: str


class Desk(Mail, Chat):
    pass


async def test_an_input_without_messages_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(state: Desk) -> Any:
        return {"messages": [AIMessage(f"About {state['mail']}")]}

    @entrypoint()
    async def work(given: dict) -> Any:
        return given

    builder = StateGraph(Desk, input_schema=Mail).add_node("answer", answer)
    with caplog.at_level(logging.WARNING):
        others = [agent_of(lambda state: {}), LangGraphAgent(work)]
        assert not caplog.records
        agent = LangGraphAgent(builder.add_edge(START, "answer").compile(), name="desk")
    (record,) = caplog.records
    assert "'desk': The graph's input has no key for messages" in record.getMessage()
    custom = agent.capabilities().custom or {}
    assert custom["takesMessages"] is False
    assert custom["warnings"][0].startswith("The graph's input has no key for messages")
    for other in others:
        assert not {"takesMessages", "warnings"} & {*(other.capabilities().custom or {})}
    recorded = await record_run(agent, run_input("hi", state={"mail": "cats"}))
    assert [message.content for message in recorded.messages] == ["hi", "About cats"]

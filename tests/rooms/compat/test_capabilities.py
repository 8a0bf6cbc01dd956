"""Capabilities: what is found in the graph, and what a developer says instead."""

from __future__ import annotations

from typing import Annotated, Any
from unittest.mock import MagicMock

from ag_ui.core import AgentCapabilities
from copilotkit import CopilotKitMiddleware
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent, ReasoningOptions
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted


@tool
def look(q: int, call_id: Annotated[str, InjectedToolCallId], default: str = "CANARY") -> str:
    """Look something up."""
    return f"found {q}"


RESEARCHER = create_agent(
    Scripted(["Found."]), [look], middleware=[AGUIMiddleware()], name="researcher"
)


@tool
def research(topic: str) -> str:
    """Research a topic."""
    return str(RESEARCHER.invoke({"messages": [("user", topic)]})["messages"][-1].content)


def published(graph: Any, **options: Any) -> dict[str, Any]:
    capabilities = LangGraphAgent(graph, **options).get_capabilities()
    AgentCapabilities.model_validate(capabilities)
    return capabilities


def test_tools_and_subagents() -> None:
    found = published(create_agent(Scripted(["Hello"]), [look, research]))
    # The subagent would not get them, and whether a node asks for them is not known.
    assert "clientProvided" not in found["tools"]
    items = {item["name"]: item for item in found["tools"]["items"]}
    assert items.keys() == {"look", "research"}
    assert items["look"]["parameters"]["properties"].keys() == {"q", "default"}
    assert "CANARY" not in str(found)
    assert found["multiAgent"]["supported"] is True
    assert [(one["name"], one["description"]) for one in found["multiAgent"]["subagents"]] == [
        ("researcher", "Research a topic.")
    ]


def test_a_declared_subgraph_and_deepagents() -> None:
    builder = StateGraph(Chat)
    builder.add_node(
        "sub", create_agent(Scripted(["Hello"]), [], middleware=[CopilotKitMiddleware()])
    )
    builder.add_edge(START, "sub")
    found = published(builder.compile())
    assert [one["name"] for one in found["multiAgent"]["subagents"]] == ["sub"]
    assert found["tools"]["clientProvided"] is True  # by the runtime context
    given: Any = {
        "name": "writer",
        "description": "Writes.",
        "system_prompt": "Write.",
        "tools": [],
    }
    deep = published(create_deep_agent(model=Scripted(["Hello"]), tools=[look], subagents=[given]))
    assert {"writer", "general-purpose"} == {one["name"] for one in deep["multiAgent"]["subagents"]}
    assert {"look", "task"} <= {item["name"] for item in deep["tools"]["items"]}


def test_output_and_modalities() -> None:
    class Answer(BaseModel):
        text: str

    sees = Scripted(["Hello"], profile={"image_inputs": True, "pdf_inputs": False})
    found = published(create_agent(sees, [], response_format=Answer))
    assert found["output"]["structuredOutput"] is True
    assert found["multimodal"]["input"]["image"] is True
    assert found["multimodal"]["input"]["pdf"] is False
    assert found["multimodal"]["input"].get("audio") is None
    blind = Scripted(["Hello"], profile={"image_inputs": False})

    async def both(state: Chat) -> dict[str, Any]:
        return {"messages": [await sees.ainvoke("hi"), await blind.ainvoke("hi")]}

    builder = StateGraph(Chat)
    builder.add_node("both", both)
    builder.add_edge(START, "both")
    assert published(builder.compile())["multimodal"]["input"]["image"] is False


def test_a_developer_knows_better() -> None:
    own = AgentCapabilities.model_validate(
        {"tools": {"supported": True, "clientProvided": True}, "custom": {"a": 1}}
    )
    found = published(create_agent(Scripted(["Hello"]), [look]), capabilities=own, name="mine")
    assert found["tools"] == {"supported": True, "clientProvided": True}
    assert found["custom"] == {"a": 1}
    assert found["identity"]["name"] == "mine"

    class Mine(LangGraphAgent):
        def capabilities(self) -> AgentCapabilities:
            return own

    assert Mine(create_agent(Scripted(["Hello"]), [look])).get_capabilities()["custom"] == {"a": 1}


def test_a_bare_agent_and_one_on_a_server() -> None:
    bare = create_agent(Scripted(["Hello"]), [])
    found = published(bare)
    # A client may bring some: whether the graph takes them is not known.
    assert found["tools"] == {"items": []}
    assert (found["multiAgent"]["supported"], found["multiAgent"]["subagents"]) == (False, [])
    assert (found["output"]["structuredOutput"], "multimodal" in found) == (False, False)
    off = published(bare, reasoning=ReasoningOptions(visibility="off"))
    assert [one["reasoning"]["supported"] for one in (found, off)] == [True, False]
    assert found["humanInTheLoop"]["interrupts"] is False
    found = published(RemoteGraph("agent", url="http://127.0.0.1:1"))
    assert (found["tools"].keys(), "multiAgent" in found) == ({"supported", "parallelCalls"}, False)


class Proxy:
    """Fails at whatever is asked of it, as proxies do outside a request."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("outside a request")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("outside a request")


class Odd(BaseTool):
    name: str = "odd"
    description: str = "Odd."

    def _run(self) -> str:
        return ""

    @property
    def tool_call_schema(self) -> Any:
        raise RuntimeError("no schema")


def test_odd_things_in_a_graph() -> None:
    found = published(create_agent(Scripted(["Hello"]), [Odd(), look]))
    assert [item["name"] for item in found["tools"]["items"]] == ["look"]
    proxy, mock, model = Proxy(), MagicMock(spec=BaseTool), Scripted(["Hello"])
    model.__dict__["profile"] = "none"

    def helper() -> None: ...

    async def node(state: Chat) -> dict[str, Any]:
        helper()
        return {"messages": [await model.ainvoke("hi"), proxy, mock]}

    helper.__module__ = node.__module__ = None  # type: ignore[assignment]
    found = published(chain_of(node))
    assert (found["tools"]["items"], "multimodal" in found) == ([], False)

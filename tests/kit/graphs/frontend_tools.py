"""Agents with tools of their own and of their client's, and models that tell what they were
offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Context, Message, Tool
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.dialogues import result

MIXED = [call("lookup", "s1", 0, city="Rome"), call("paint", "c1", 1, color="red")]
SAVERS = pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])


@tool
def lookup(city: str) -> str:
    """Look a city up."""
    return f"{city}: 18 degrees"


class Offered(Scripted):
    """A scripted model that keeps the tools of each call, in OpenAI's form, in `offered`."""

    offered: Any = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.offered.append([convert_to_openai_tool(given)["function"] for given in tools])
        return self

    @property
    def names(self) -> list[list[str]]:
        return [[function["name"] for function in call] for call in self.offered]

    def check(self) -> None:
        """Every request was one that providers take."""
        assert self.seen
        for messages in self.seen:
            assert_valid(messages)


def client_tool(name: str, **properties: Any) -> Tool:
    """A tool of the client's; with no properties it says nothing about its arguments."""
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    parameters = schema if properties else None
    return Tool(name=name, description=f"Does {name}.", parameters=parameters)


PAINT = client_tool("paint", color={"type": "string"})
LOCATE = client_tool("locate")
PLACE = Context(description="The page that the user sees", value='{"page": "canary-4711"}')


def agent_of(
    model: Any,
    *tools: Any,
    middleware: Sequence[Any] = (),
    saver: Any = None,
    context: bool = True,
    **options: Any,
) -> LangGraphAgent:
    stack = [*middleware, AGUIMiddleware(context=context)]
    return LangGraphAgent(
        graph=create_agent(model, [*tools], middleware=stack, checkpointer=saver, **options)
    )


def answered(recorded: RecordedRun, **results: str) -> list[Message]:
    """What the client holds, with the results of its calls behind it."""
    tools = [result(key, said) for key, said in results.items()]
    return [*recorded.messages, *tools]


async def go(
    agent: LangGraphAgent,
    *messages: Message | str,
    tools: Sequence[Tool] = (PAINT, LOCATE),
    meets: bool = False,
    **fields: Any,
) -> RecordedRun:
    """A run of the one thread "t", by a client that has `tools`.

    `meets`: the server answers a call of a name that the client's tools have too, which the strict
    rules do not expect.
    """
    given = run_input(*messages, thread="t", tools=[*tools], **fields)
    events = await collect(agent.run(given))
    return RecordedRun(events, given.model_copy(update={"tools": []}) if meets else given)


def ended(recorded: RecordedRun, *pending: str) -> None:
    """The run has ended well, with exactly these calls for the client to answer."""
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.type == "success", recorded.last.outcome
    assert (recorded.last.outcome.pending_tool_call_ids or []) == [*pending]
    recorded.check_snapshot()

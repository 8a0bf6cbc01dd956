"""Models that number their calls: those of several agents in one run have the same ids."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.test_next_turn import plain
from tests.kit.deep import together
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Piece, Scripted, call, text_chunk
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

LOOKED: list[str] = []


@tool
def look(q: str) -> str:
    """Look something up."""
    LOOKED.append(q)
    return f"found {q}"


def numbering(who: str, wanted: str, **arguments: Any) -> Scripted:
    """A model that calls one tool in each turn, under the number of the call in its
    conversation."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        if isinstance(messages[-1], HumanMessage):
            number = sum(
                len(message.tool_calls) for message in messages if isinstance(message, AIMessage)
            )
            return [text_chunk(f"{who}: ", 0), call(wanted, f"{wanted}:{number}", 1, **arguments)]
        return [text_chunk(f"{who}: done")]

    return Scripted(script=script)


def in_tools(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """An agent that looks, inside a tool named `look` of an agent that looks."""
    inner = create_agent(numbering("inner", "look", q="inner"), [look], **fields)

    @tool("look")
    async def ask(q: str) -> str:
        """Ask somebody."""
        return str((await inner.ainvoke({"messages": [HumanMessage(q)]}))["messages"][-1].text)

    boss = numbering("boss", "look", q="boss")
    return create_agent(boss, [ask], checkpointer=saver), boss


def declared(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """Two agents behind one another that share their messages."""
    last = numbering("last", "look", q="last")
    first = create_agent(numbering("first", "look", q="first"), [look], name="first", **fields)

    def ask(state: Any) -> Any:
        return {"messages": [HumanMessage("and you?")]}

    return chain_of(first, ask, create_agent(last, [look], name="last"), checkpointer=saver), last


graphs = pytest.mark.parametrize("build", [in_tools, declared])
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])


@together(graphs, savers, modes)
async def test_every_call_has_its_result_and_the_model_its_history(
    build: Any, mode: Any, stored: bool
) -> None:
    graph, boss = build(InMemorySaver() if stored else None)
    client = Client(LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode)))
    for text in ("hi", "again"):
        recorded = await client.send(text)
        recorded.check_snapshot()
        calls = {
            call.id: message
            for message in recorded.messages
            for call in getattr(message, "tool_calls", None) or ()
        }
        results: Any = [message for message in recorded.messages if message.role == "tool"]
        assert sorted(calls) == sorted(result.tool_call_id for result in results)
        for result in results:
            assert calls[result.tool_call_id].subagent_run_id == result.subagent_run_id
    alone, model = build(InMemorySaver())
    for text in ("hi", "again"):
        await alone.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}
        )
    assert [plain(messages) for messages in boss.seen] == [
        plain(messages) for messages in model.seen
    ]


async def test_an_approval_names_no_other_call_where_subagents_are_not_told_apart() -> None:
    for mode, told_calls in (("inline", 2), ("hidden", 1)):
        guard = HumanInTheLoopMiddleware({"look": True})
        graph, _ = in_tools(InMemorySaver(), middleware=[guard])
        client = Client(LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode)))  # type: ignore[arg-type]
        recorded = await client.send("hi")
        (question,), calls = asked(recorded), recorded.of("TOOL_CALL_START")
        assert calls[0].tool_call_id == "look:0"
        assert (len(calls), question.subagent_run_id) == (told_calls, None)
        assert question.tool_call_id == (calls[1].tool_call_id if told_calls == 2 else None)


async def test_an_approval_names_the_call_that_the_client_knows() -> None:
    guard = HumanInTheLoopMiddleware({"look": True})
    graph, _ = in_tools(InMemorySaver(), middleware=[guard])
    client = Client(LangGraphAgent(graph=graph))
    recorded = await client.send("hi")
    (question,) = asked(recorded)
    (inner,) = [event for event in recorded.of("TOOL_CALL_START") if event.subagent_run_id]
    assert inner.tool_call_id != "look:0"
    assert (question.tool_call_id, question.subagent_run_id) == (
        inner.tool_call_id,
        inner.subagent_run_id,
    )
    LOOKED.clear()
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    assert LOOKED == ["inner"]
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == [
        inner.tool_call_id,
        "look:0",
    ]
    recorded.check_snapshot()

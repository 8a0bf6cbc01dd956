"""Models that number their messages: those of several agents in one run have the same ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from ag_ui.core import Message, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.test_next_turn import plain
from tests.kit.deep import together
from tests.kit.expect.owners import check_lifecycle, check_tags, tag
from tests.kit.graphs.small import chain_of, talker
from tests.kit.graphs.subagents import BOSS, agent_tool, asking
from tests.kit.models.scripted import Piece, Scripted, calling, part
from tests.kit.run.thread_client import Client

ASK = '{"question": "why"}'


NUMBERS = count()


def numbering(who: str, *tools: str, **fields: Any) -> Scripted:
    """A model whose messages are `msg-1`, `msg-2` and so on in each conversation; it calls its
    tools in each turn."""

    def script(messages: list[BaseMessage]) -> list[Piece]:
        before = sum(isinstance(message, AIMessage) for message in messages)
        ident = f"msg-{before + 1}"
        if not isinstance(messages[-1], HumanMessage) or not tools:
            return [
                AIMessageChunk(content=f"{who}: ", id=ident),
                AIMessageChunk(content=f"ends {before}", id=ident),
            ]
        number = before if who == BOSS else next(NUMBERS)  # only messages have the same ids here
        calls = [
            part(name, ASK, f"{who}.{number}{index}", index) for index, name in enumerate(tools)
        ]
        return [
            AIMessageChunk(content=f"{who}: begins {before}", id=ident),
            calling(*calls, id=ident),
        ]

    return Scripted(script=script, **fields)


@tool
def look(question: str) -> str:
    """Look something up."""
    return f"found {question}"


def in_tools(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """Two agents at once in the tools of a third, all of which call tools."""
    agents = [
        create_agent(numbering(who, "look", **fields), [look], name=who) for who in ("ann", "bob")
    ]
    boss = numbering(BOSS, "ask_ann", "ask_bob", **fields)
    tools = [agent_tool(f"ask_{agent.name}", agent) for agent in agents]
    return create_agent(boss, tools, checkpointer=saver), boss


def beside(speak: Any, saver: Any, **fields: Any) -> Any:
    """Two nodes that ask an agent each, one after the other, and a third one."""
    agents: Any = [
        create_agent(numbering(who, "look", **fields), [look], name=who) for who in ("ann", "bob")
    ]
    ann, bob = agents

    async def ask_ann(state: Any) -> Any:
        await ann.ainvoke(asking("why"))

    async def ask_bob(state: Any) -> Any:
        await bob.ainvoke(asking("why"))

    return chain_of(ask_ann, ask_bob, speak, checkpointer=saver)


def in_nodes(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """The third node speaks itself."""
    boss = numbering(BOSS, **fields)
    return beside(talker(boss), saver, **fields), boss


def declared(saver: Any, **fields: Any) -> tuple[Any, Scripted]:
    """The third node is an agent, whose words the root's own state holds."""
    boss = numbering(BOSS, **fields)
    return beside(create_agent(boss, [], name=BOSS), saver, **fields), boss


graphs = pytest.mark.parametrize("build", [in_tools, in_nodes, declared])
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])
pieces = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])


@together(graphs, savers, modes, pieces)
async def test_the_models_are_given_what_they_would_have_been(
    build: Any, mode: Any, stored: bool, whole: bool
) -> None:
    graph, boss = build(InMemorySaver() if stored else None, disable_streaming=whole)
    alone, model = build(InMemorySaver(), disable_streaming=whole)
    client = Client(LangGraphAgent(graph=graph, clients=ClientOptions(subagents=mode)))
    for text in ("hi", "again", "more"):
        recorded = await client.send(text)
        recorded.check_snapshot()
        assert len({message.id for message in recorded.messages}) == len(recorded.messages)
        await alone.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}
        )
    assert [plain(messages) for messages in boss.seen] == [
        plain(messages) for messages in model.seen
    ]


def spoken(messages: Sequence[Message]) -> list[tuple[str, str | None]]:
    """What assistants have said, and whose that is."""
    return [
        (str(one.content), tag(one)) for one in messages if one.role == "assistant" and one.content
    ]


@together(graphs, savers, pieces)
async def test_every_message_is_told_by_its_owner(build: Any, stored: bool, whole: bool) -> None:
    graph, _ = build(InMemorySaver() if stored else None, disable_streaming=whole)
    client = Client(LangGraphAgent(graph=graph))
    subagent_ids: dict[str | None, str] = {}
    for text, turn in (("hi", 1), ("again", 2)):
        recorded = await client.send(text)
        check_lifecycle(recorded.events)
        check_tags(recorded)
        for event in recorded.of("SUBAGENT_STARTED"):
            subagent_ids[event.subagent_run_id] = event.name.removeprefix("ask_")
        said = spoken(recorded.snapshot)
        assert [(words.partition(":")[0], words) for words, _ in said] == [
            (subagent_ids.get(subagent_id, BOSS), words) for words, subagent_id in said
        ]
        for who in ("ann", "bob"):
            assert [words for words, _ in said if words.startswith(who)] == [
                f"{who}: begins 0",
                f"{who}: ends 1",
            ] * turn
        own = ["boss: begins 0", "boss: ends 1", "boss: begins 2", "boss: ends 3"][: 2 * turn]
        if build is not in_tools:
            own = ["boss: ends 0", "boss: ends 1"][:turn]
        assert [words for words, _ in said if words.startswith(BOSS)] == own
        results = [message for message in recorded.snapshot if isinstance(message, ToolMessage)]
        assert [subagent_ids.get(tag(one), BOSS) for one in results] == [
            one.tool_call_id.partition(".")[0] for one in results
        ]
        assert len(results) == (4 if build is in_tools else 2) * turn

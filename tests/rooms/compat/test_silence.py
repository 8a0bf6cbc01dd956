"""Model calls that a graph's author has silenced by metadata."""

from __future__ import annotations

import re
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions, ReasoningSeal
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input, user

SECRET = "SECRET"

WAYS: dict[str, tuple[dict[str, Any], bool, list[str]]] = {
    # metadata, whether the text is shown, and the calls that are
    "nothing": ({}, True, ["look", "draw"]),
    "true": ({"emit-messages": True, "emit-tool-calls": True}, True, ["look", "draw"]),
    "text": ({"emit-messages": False}, False, ["look", "draw"]),
    "calls": ({"emit-tool-calls": False}, True, []),
    "one tool": ({"copilotkit:emit-tool-calls": "draw"}, True, ["draw"]),
    "tools": ({"copilotkit:emit-tool-calls": ["look"]}, True, ["look"]),
    "copilotkit's text": ({"copilotkit:emit-messages": False}, False, ["look", "draw"]),
    "all": ({"copilotkit:emit-messages": False, "copilotkit:emit-tool-calls": False}, False, []),
}
TURN = [
    thinking("hm", 0),
    thinking(index=0, signature="S"),
    text_chunk(SECRET[:3], 1),
    text_chunk(SECRET[3:], 1),
    call("look", "c1", 2, q="x"),
    call("draw", "c2", 3, q="y"),
]


def graph_of(metadata: dict[str, Any], saver: Any, how: str = "streamed") -> tuple[Any, Scripted]:
    """A model that is silenced, streamed or not, or whose chunks the node adds up itself."""
    model = Scripted(TURN, ["Done."], ["Bye."], disable_streaming=how == "whole")

    async def ask(state: Chat) -> dict[str, Any]:
        given, config = state["messages"], {"metadata": metadata}
        if len(given) > 1:
            return {}
        if how == "summed":
            return {"messages": [reduce(add, [one async for one in model.astream(given, config)])]}  # type: ignore[arg-type]
        return {"messages": [await model.ainvoke(given, config)]}  # type: ignore[arg-type]

    async def work(state: Chat) -> dict[str, Any]:
        made = [ToolMessage(one, tool_call_id=one, id=f"r-{one}") for one in ("c1", "c2")]
        return {"messages": made if len(state["messages"]) == 2 else []}

    return chain_of(ask, work, talker(model), checkpointer=saver), model


def check(recorded: RecordedRun, name: str) -> None:
    _, text, tools = WAYS[name]
    answers = [one for one in recorded.messages if one.role == "assistant"]
    assert any(one.content == SECRET for one in answers) == text
    calls = [call for one in answers for call in one.tool_calls or ()]
    assert [one.function.name for one in calls] == tools
    results = [one.content for one in recorded.messages if one.role == "tool"]
    assert results == [one.id for one in calls]
    seen = "".join(
        event.model_dump_json()
        for event in recorded.events
        if event.type != "REASONING_ENCRYPTED_VALUE"
    )
    assert text or SECRET[:3] not in re.sub(r'"encrypted_value":"[^"]*"', "", seen)
    assert not recorded.last.outcome.pending_tool_call_ids


def comparable(messages: list[BaseMessage]) -> list[Any]:
    return [(one.type, one.content, getattr(one, "tool_calls", None)) for one in messages]


@pytest.mark.parametrize("how", ["streamed", "whole", "summed"])
@pytest.mark.parametrize("name", WAYS)
async def test_in_this_run_and_the_next(name: str, how: str) -> None:
    alone, model = graph_of(WAYS[name][0], InMemorySaver(), how)
    for text in ("hi", "more"):
        await alone.ainvoke({"messages": [("user", text)]}, {"configurable": {"thread_id": "t"}})
    graph, ours = graph_of(WAYS[name][0], InMemorySaver(), how)
    agent = LangGraphAgent(graph)
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    second = await record_run(agent, run_input(*first.messages, user("more"), thread="t"))
    assert comparable(ours.seen[-1]) == comparable(model.seen[-1])
    late = await record_run(agent, run_input(user("late", "late"), thread="t"))
    for recorded in (first, second, late):
        check(recorded, name)
        if how != "summed" and recorded is not late:
            recorded.check_snapshot()


@pytest.mark.parametrize("name", ["nothing", "true", "text", "copilotkit's text"])
@pytest.mark.parametrize("sealed", [True, False])
async def test_without_a_checkpointer_the_model_gets_it_back_if_it_is_sealed(
    name: str, sealed: bool
) -> None:
    """Where only text is silenced; hidden calls have hidden results, which no client holds. Without
    a seal anybody could read it, and nobody could tell it from what a client has made up."""
    graph, model = graph_of(WAYS[name][0], None)
    seal = ReasoningSeal([bytes(32)]) if sealed else None
    agent = LangGraphAgent(graph, reasoning=ReasoningOptions(seal=seal))
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    check(first, name)
    shown = WAYS[name][1]
    sent = [one.encrypted_value for one in first.messages if one.role in ("assistant", "reasoning")]
    assert any(sent) == (sealed or shown)
    await record_run(agent, run_input(*first.messages, user("more"), thread="t"))
    answer = model.seen[-1][1]
    assert (SECRET in str(answer.content)) == (sealed or shown)
    assert [one["id"] for one in answer.tool_calls] == ["c1", "c2"]


SILENT = {"emit-messages": False, "emit-tool-calls": False}
NAMELESS = calling(part(None, '{"q": "SECRET"}', None, None))


@pytest.mark.parametrize(
    ("turn", "metadata"),
    [
        (["SECRET"], {"emit-messages": False}),
        (["SECRET"], SILENT),
        ([call("look", "c1", q="SECRET")], {"emit-tool-calls": False}),
        ([NAMELESS], {"emit-tool-calls": False}),
    ],
)
async def test_what_is_all_silenced_leaves_no_empty_message(turn: Any, metadata: Any) -> None:
    model = Scripted(turn, ["Hello."])

    async def ask(state: Chat) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"], {"metadata": metadata})
        results = [ToolMessage("seen", tool_call_id=str(one["id"])) for one in answer.tool_calls]
        return {"messages": [answer, *results]}

    recorded = await record_run(LangGraphAgent(chain_of(ask, talker(model))), run_input(user("hi")))
    assert [one.content for one in recorded.messages] == ["hi", "Hello."]
    assert not any("SECRET" in event.model_dump_json() for event in recorded.events)


async def test_a_cache_is_not_silenced() -> None:
    """Its answers belong to all graphs of the process."""
    model = Scripted(["Hello."], cache=InMemoryCache())

    def graph(metadata: dict[str, Any]) -> Any:
        async def answer(state: Chat) -> dict[str, Any]:
            return {"messages": [await model.ainvoke("the same", {"metadata": metadata})]}  # type: ignore[arg-type]

        return chain_of(answer)

    shown = []
    for metadata in ({"emit-messages": False}, {}, {"emit-messages": False}, {}):
        recorded = await record_run(LangGraphAgent(graph(metadata)), run_input(user("hi")))
        shown.append([one.content for one in recorded.messages[1:]])
    assert shown == [[], ["Hello."], [], ["Hello."]]
    assert len(model.seen) == 1

"""Functional graphs: what they return is shown, and `connect` shows what they keep."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph.message import add_messages

from langgraph_agui import LangGraphAgent
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input, user
from tests.kit.run.talking import connect

final = entrypoint.final
FORMS: dict[str, Any] = {
    "all": lambda reply, history: history,
    "the answer of a saved list": lambda reply, history: final(value=reply, save=history),
    "a list of a saved list": lambda reply, history: final(value=[reply], save=history),
    "words of a saved list": lambda reply, history: final(value=reply.text, save=history),
    "a state of a saved state": lambda reply, history: final(
        value={"messages": [reply]}, save={"messages": history}
    ),
    "messages beside a saved note": lambda reply, history: final(value=history, save="a note"),
}


def talk(form: str, streams: bool, kept: bool = True) -> tuple[LangGraphAgent, list[list[str]]]:
    """Return an agent that returns or saves its conversation in this form, and what its runs were
    given with what they had kept."""
    given: list[list[str]] = []

    async def answer(messages: Any, previous: Any) -> Any:
        earlier = previous.get("messages", []) if isinstance(previous, dict) else previous
        before = earlier if isinstance(earlier, list) else []
        history: list[BaseMessage] = list(add_messages(before, messages))  # type: ignore[arg-type]
        given.append([str(message.text) for message in history])
        words = f"I have read {history[-1].text}."
        reply = await Scripted([words]).ainvoke("x") if streams else AIMessage(words)
        return FORMS[form](reply, [*history, reply])

    async def over_a_state(state: dict, *, previous: Any = None) -> Any:
        return await answer(state["messages"], previous)

    async def over_a_list(messages: list, *, previous: Any = None) -> Any:
        return await answer(messages, previous)

    work = over_a_state if "state" in form else over_a_list
    saver = InMemorySaver() if kept else None
    return LangGraphAgent(entrypoint(checkpointer=saver)(work)), given


async def say(agent: LangGraphAgent, *messages: Message) -> RecordedRun:
    recorded = await record_run(agent, run_input(*messages, thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return recorded


def words(recorded: RecordedRun) -> list[Any]:
    return [message.content for message in recorded.messages]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("form", FORMS)
async def test_the_conversation_live_and_after_a_reload(form: str, streams: bool) -> None:
    first = await say(talk(form, streams, kept=False)[0], user("one", "u1"))
    assert words(first) == ["one", "I have read one."]
    agent, _ = talk(form, streams)
    first = await say(agent, user("one", "u1"))
    assert words(first) == ["one", "I have read one."]
    assert first.last.result == ("I have read one." if form.startswith("words") else None)
    second = await say(agent, *first.messages, user("two", "u2"))
    first.check_snapshot()
    second.check_snapshot()
    assert words(second)[2:] == ["two", "I have read two."]
    for held in ([], second.messages):
        shown = await connect(agent, run_input(*held, thread="t"))
        assert dumped(shown.messages) == dumped(second.messages)


@pytest.mark.parametrize("form", ["all", "a list of a saved list", "a state of a saved state"])
async def test_a_client_that_sends_only_what_is_new_and_then_edits_it(form: str) -> None:
    """The function gets what it kept before that message, and the client's list."""
    agent, given = talk(form, streams=False)
    first = await say(agent, user("one", "u1"))
    second = await say(agent, user("two", "u2"))
    assert given[1] == ["one", "I have read one.", "two"]
    # A client keeps the order in which messages have arrived.
    assert words(second) == ["two", "I have read two.", *words(first)]
    assert words(await connect(agent)) == [*given[1], "I have read two."]
    edited = await say(agent, *first.messages, user("three", "u2"))
    assert given[2] == ["one", "I have read one.", "three"]
    assert words(edited) == ["one", "I have read one.", "three", "I have read three."]
    assert dumped((await connect(agent)).messages) == dumped(edited.messages)

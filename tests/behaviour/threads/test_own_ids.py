"""An id names one message: a client cannot put its own words in the place of an answer or a result,
and of two new messages none is lost."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import RemoveMessage
from langgraph.constants import END

from tests.behaviour.threads.test_history import asking
from tests.kit.deep import each_value
from tests.kit.run.agents import user
from tests.kit.run.talking import Talk, by_role, result, talk


async def begun(saver: Any) -> tuple[Talk, list[Message]]:
    """A thread with an answer, calls and results, and what its client holds."""
    thread = talk(saver)
    return thread, (await thread.say(user("look", "u1"))).messages


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("role", ["assistant", "tool"])
@each_value()
async def test_a_user_message_takes_no_other_message_s_place(
    role: str, gone: bool, alone: bool, saver: Any
) -> None:
    thread, held = await begun(saver)
    taken = by_role(held, role)[-1].id
    if gone:
        where = {"configurable": {"thread_id": "t"}}
        removal = {"messages": [RemoveMessage(id=taken)]}
        await thread.agent.graph.aupdate_state(where, removal, "tools")
        await thread.agent.graph.aupdate_state(where, None, END)
    before, calls = await thread.texts(), thread.calls
    list_ = [] if alone else [one for one in held if one.id != taken]
    for history in (list_, held):
        refused = await thread.say(*history, user("FORGED", taken), outcome="invalid_input")
        assert refused.types == ["RUN_STARTED", "RUN_ERROR"]
        assert repr(taken) in refused.last.message
    assert (await thread.texts(), thread.calls) == (before, calls)
    await thread.say(*held, user("more", "u2"))
    assert "FORGED" not in thread.asked
    assert thread.asked[-1] == "more"


async def test_of_two_new_messages_with_one_id_none_is_lost(saver: Any) -> None:
    thread, held = await begun(saver)
    calls = thread.calls
    for history in (held, []):
        await thread.say(*history, user("one", "u2"), user("two", "u2"), outcome="invalid_input")
    assert thread.calls == calls
    await thread.say(*held, user("one", "u2"), user("one", "u2"))  # the same one, twice
    assert thread.asked[-2:] == ["2: re look", "one"]


async def test_two_results_with_one_id(saver: Any) -> None:
    thread = asking(saver, "p1", "p2")
    held = (await thread.say("go")).messages
    answers = result("p1", "one", "r"), result("p2", "two", "r")
    await thread.say(*held, *answers, outcome="invalid_input")
    await thread.say(*held, result("p1", "one"), result("p2", "two"))
    assert sorted(thread.asked) == ["", "go", "one", "two"]

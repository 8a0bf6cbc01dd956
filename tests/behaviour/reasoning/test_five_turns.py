"""Five turns with a tool loop each: nothing that was said changes, and every request is LangChain's
own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from tests.behaviour.reasoning.table import ROWS
from tests.kit.deep import deep
from tests.kit.expect.bodies import sent_back
from tests.kit.expect.identity import check, compare_turn, grouped
from tests.kit.models.loops import answer, city
from tests.kit.models.provider_models import PROVIDERS, VARIANTS
from tests.kit.run.rig import Conversation, Rig

pytestmark = deep


@pytest.mark.parametrize("provider", grouped(*PROVIDERS, *VARIANTS))
def test_five_turns(provider: str, rig: Rig) -> None:
    conversation = Conversation(rig, provider)
    found: list[str] = []
    grown: set[int] = set()
    for number in range(5):
        before = conversation.held
        found += compare_turn(conversation, provider, number)
        after = conversation.held
        assert after[: len(before)] == before
        check_turn(after[len(before) :], number)
        grown.add(len(after) - len(before))
    assert len(grown) == 1, "a turn has brought more messages than the others"
    ids = [message["id"] for message in conversation.held]
    assert len(set(ids)) == len(ids)
    check(provider, "turns", found)
    last = conversation.reference([*conversation.own, HumanMessage("Anything else?")])
    assert sent_back(provider, last["body"]) == ROWS[provider].sent_back


def check_turn(messages: list[dict[str, Any]], number: int) -> None:
    """The turn is the question, one call with its result, the answer, and reasoning of this turn
    alone."""
    roles = [message["role"] for message in messages if message["role"] != "reasoning"]
    assert roles == ["user", "assistant", "tool", "assistant"]
    [call] = [call for message in messages for call in message.get("toolCalls") or ()]
    if json.loads(call["function"]["arguments"]):  # see SENT_CASES: some lose them
        assert json.loads(call["function"]["arguments"]) == {"city": city(number)}
    assert messages[-1]["content"] == answer(number)
    thoughts = [message["content"] for message in messages if message["role"] == "reasoning"]
    assert all(f"thought {number}." in thought for thought in thoughts if "thought" in thought)

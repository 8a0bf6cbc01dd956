"""Our clients against every server: one set of tests. `PECULIAR` has what differs between servers;
docs/guides/client.md ("Other servers") says what a user does about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, UserMessage

from langgraph_agui.client import RunFailedError
from tests.contracts.frameworks.chats import Graph, Model, Session
from tests.contracts.frameworks.servers.scenario import LOCATION_TOOL, RECIPE

SENT = "sent 100 to Ada"


@dataclass(frozen=True)
class Peculiar:
    """What a user of the client meets with a server; the defaults are what AG-UI 1.0 asks for."""

    decide: str = "resume"
    """How an approval is answered."""
    reasons: str = "Let me think."
    """How the thoughts are told."""
    knows_thoughts: bool = True
    """Whether the agent sees them in the next turn."""
    usage: bool = True
    """Whether tokens are told."""
    own_history: bool = False
    """Whether the agent knows only what it has heard itself, and not the rest of the conversation
    that it is sent."""
    misfits: bool = False
    """Whether a state comes first that lacks what it is made for."""
    forgets_approved: bool = False
    """Whether the agent no longer sees the result of an approved call, because its snapshot moves
    the result."""
    doubles: bool = False
    """Whether an approved call is in the history twice."""
    left: str | None = "left"
    """What becomes of a run that its client leaves; None if nobody can tell."""
    code: str | None = None
    """The code of a model that fails."""


THINKING = "## Step 1: Thinking\nLet me think.\n\n"
AGNO = {
    "decide": "answer",
    "reasons": THINKING,
    "usage": False,
    "own_history": True,
    "doubles": True,
}
MICROSOFT = {"knows_thoughts": False, "usage": False, "misfits": True, "forgets_approved": True}
PECULIAR = {
    "pydantic_ai": Peculiar(left=None),
    "ag_ui_langgraph": Peculiar(decide="command", left="finished"),
    "agno": Peculiar(**AGNO, code="RuntimeError"),  # type: ignore[arg-type]
    "microsoft": Peculiar(**MICROSOFT, code="RuntimeError"),  # type: ignore[arg-type]
}


@pytest.fixture
def peculiar(peer: str) -> Peculiar:
    return PECULIAR[peer]


@pytest.fixture(params=[Session, Model, Graph])
def chat(request: pytest.FixtureRequest, url: str) -> Iterator[Any]:
    with request.param(url) as made:
        yield made


def test_words_and_a_tool_of_the_agent(chat: Any, peculiar: Peculiar) -> None:
    chat.say("hello")
    assert (chat.text, bool(chat.tokens)) == ("Hello, world.", peculiar.usage)
    chat.say("weather")
    assert (chat.calls, len(chat.sent)) == (["get_weather"], 2)
    [result] = chat.results
    assert "sunny in Rome" in result
    assert chat.text == "The weather: sunny in Rome"
    chat.say("what did I say")
    assert chat.text == "You said: hello"
    chat.say("how much was said")
    assert chat.text == "4 questions, 1 results"
    messages = chat.sent[-1]["messages"]
    assert len({message["id"] for message in messages}) == len(messages)
    assert [message["role"] for message in messages].count("tool") == 1
    assert len({body["threadId"] for body in chat.sent}) == 1


def test_tool_here(chat: Any) -> None:
    chat.say_with_tools("where am I")
    assert chat.text == "You are in Rome"
    asked, recorded = chat.sent
    assert [tool["name"] for tool in asked["tools"]] == [LOCATION_TOOL]
    results = [one["content"] for one in recorded["messages"] if one["role"] == "tool"]
    assert (results, asked["threadId"]) == (["Rome"], recorded["threadId"])


def test_thoughts(chat: Any, peculiar: Peculiar) -> None:
    chat.say("think")
    assert (chat.thoughts, chat.text) == (peculiar.reasons, "I thought of it.")
    chat.say("what did you think")
    assert chat.text == "I thought: " + ("Let me think." if peculiar.knows_thoughts else "nothing")


def test_state(chat: Any, peculiar: Peculiar) -> None:
    chat.say("recipe")
    assert chat.recipe == RECIPE
    assert bool(chat.misfits) == (peculiar.misfits and isinstance(chat, Session))
    chat.say("hello")
    assert chat.sent[-1]["state"]["recipe"] == RECIPE


@pytest.mark.parametrize("approved", [True, False])
def test_approval(chat: Any, peculiar: Peculiar, approved: bool) -> None:
    decide, asks = peculiar.decide, peculiar.decide == "resume"
    payload: Any = {"approved": approved}
    if decide == "command":
        payload = {"decisions": [{"type": "approve" if approved else "reject"}]}
        if isinstance(chat, Graph):
            # A graph pauses for AG-UI's interrupts only; this server has them at another address.
            chat.at(chat.url.replace("/agent", "/outcomes"))
            decide, asks = "resume", True
    chat.say("transfer")
    assert len(chat.waits_for) == asks
    assert not [result for result in chat.results if SENT in result]

    if decide == "answer":
        chat.answer(chat.open_call(), f'{{"accepted": {str(approved).lower()}}}')
    else:
        getattr(chat, decide)(payload)
    assert chat.text.startswith("The transfer: ")
    assert (SENT in chat.text, any(SENT in one for one in chat.results)) == (approved, approved)
    assert not chat.waits_for

    chat.say("how much was said")
    forgets = peculiar.forgets_approved and isinstance(chat, Session)
    assert chat.text == ("2 questions, 0 results" if forgets else "2 questions, 1 results")
    spoken = chat.sent[-1]["messages"]
    calls = [call["function"] for message in spoken for call in message.get("toolCalls", ())]
    recorded = [call["arguments"] for call in calls if call["name"] == "transfer"]
    once = '{"amount": 100, "to": "Ada"}'
    assert recorded == [once] * (1 + (peculiar.doubles and approved))


def test_failure(chat: Any, peculiar: Peculiar) -> None:
    chat.say("hello")
    with pytest.raises(RunFailedError) as failed:
        chat.say("fail")
    last: Any = failed.value.messages[-1]
    assert (failed.value.code, last.role, last.content) == (peculiar.code, "assistant", "So far")
    assert chat.text == "So far"
    chat.say("what did I say")
    assert chat.text == "You said: hello"


def test_leaving(chat: Any, peculiar: Peculiar) -> None:
    chat.leave("count")
    if peculiar.left is not None:
        chat.say("how did it end")
        assert chat.text == peculiar.left
    chat.say("hello")
    assert chat.text == "Hello, world."


def test_what_the_session_had_before(url: str, peculiar: Peculiar) -> None:
    """Messages from elsewhere are sent; activities stay here."""
    said = [UserMessage(id="u", content="good morning"), AssistantMessage(id="a", content="Good.")]
    plan = ActivityMessage(id="p", activity_type="PLAN", content={"steps": []})
    with Session(url) as chat:
        chat.session.messages.extend([*said, plan])
        chat.say("what did I say")
        first = "what did I say" if peculiar.own_history else "good morning"
        assert chat.text == f"You said: {first}"
        assert [one["role"] for one in chat.sent[-1]["messages"]] == ["user", "assistant", "user"]

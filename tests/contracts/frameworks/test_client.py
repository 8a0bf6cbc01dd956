"""Our clients against every server: one set of tests. `PECULIAR` has what differs between servers;
docs/guides/client.md ("Other servers") says what a user does about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from ag_ui.core import ActivityMessage, AssistantMessage, UserMessage

from langgraph_agui.client import RunFailedError
from tests.contracts.frameworks.chats import Chat, Graph, Model, Session
from tests.contracts.frameworks.servers.scenario import LOCATION_TOOL, RECIPE

CLIENTS: dict[str, type[Chat]] = {"session": Session, "model": Model, "graph": Graph}

SENT = "sent 100 to Ada"

Decide = Callable[[Chat, bool], None]


def _resume(chat: Chat, approved: bool) -> None:
    chat.resume({"approved": approved})


def _decisions(chat: Chat, approved: bool) -> None:
    chat.resume({"decisions": [{"type": "approve" if approved else "reject"}]})


def _command(chat: Chat, approved: bool) -> None:
    chat.command({"decisions": [{"type": "approve" if approved else "reject"}]})


def _answer(chat: Chat, approved: bool) -> None:
    chat.answer(chat.open_call(), '{"accepted": true}' if approved else '{"accepted": false}')


@dataclass(frozen=True)
class Peculiar:
    """What a user of the client meets with a server; the defaults are what AG-UI 1.0 asks for."""

    decide: Decide = _resume
    """How an approval is answered."""
    asks: bool = True
    """Whether an approval is an interrupt."""
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


PECULIAR = {
    "ours": Peculiar(code="model_error"),
    "pydantic_ai": Peculiar(left=None),
    "ag_ui_langgraph": Peculiar(decide=_command, asks=False, left="finished"),
    "agno": Peculiar(
        decide=_answer,
        asks=False,
        reasons="## Step 1: Thinking\nLet me think.\n\n",
        usage=False,
        own_history=True,
        doubles=True,
        code="RuntimeError",
    ),
    "microsoft": Peculiar(
        knows_thoughts=False, usage=False, misfits=True, forgets_approved=True, code="RuntimeError"
    ),
}


@pytest.fixture
def peculiar(peer: str) -> Peculiar:
    return PECULIAR[peer]


@pytest.fixture(params=CLIENTS)
def chat(request: pytest.FixtureRequest, url: str) -> Iterator[Chat]:
    with CLIENTS[request.param](url) as made:
        yield made


@pytest.fixture
def session(url: str) -> Iterator[Session]:
    with Session(url) as made:
        yield made


def test_words(chat: Chat, peculiar: Peculiar) -> None:
    chat.say("hello")
    assert "".join(chat.pieces) == "Hello, world."
    assert bool(chat.tokens) == peculiar.usage


def test_agents_tool(chat: Chat) -> None:
    chat.say("weather")
    assert chat.calls == ["get_weather"]
    [result] = chat.results
    assert "sunny in Rome" in result
    assert chat.text == "The weather: sunny in Rome"
    assert len(chat.sent) == 1


def test_tool_here(chat: Chat) -> None:
    chat.say_with_tools("where am I")
    assert chat.text == "You are in Rome"
    asked, recorded = chat.sent
    assert [tool["name"] for tool in asked["tools"]] == [LOCATION_TOOL]
    assert [
        message["content"] for message in recorded["messages"] if message["role"] == "tool"
    ] == ["Rome"]
    assert asked["threadId"] == recorded["threadId"]


def test_thoughts(chat: Chat, peculiar: Peculiar) -> None:
    chat.say("think")
    assert chat.thoughts == peculiar.reasons
    assert chat.text == "I thought of it."
    chat.say("what did you think")
    assert chat.text == "I thought: " + ("Let me think." if peculiar.knows_thoughts else "nothing")


def test_state(chat: Chat, peculiar: Peculiar) -> None:
    chat.say("recipe")
    assert chat.recipe == RECIPE
    assert bool(chat.misfits) == (peculiar.misfits and isinstance(chat, Session))
    chat.say("hello")
    assert chat.sent[-1]["state"]["recipe"] == RECIPE


@pytest.mark.parametrize("approved", [True, False])
def test_approval(chat: Chat, peculiar: Peculiar, approved: bool) -> None:
    decide, asks = peculiar.decide, peculiar.asks
    if isinstance(chat, Graph) and decide is _command:
        # A graph pauses for AG-UI's interrupts only; this server has them at another address.
        chat.at(chat.url.replace("/agent", "/outcomes"))
        decide, asks = _decisions, True
    chat.say("transfer")
    assert len(chat.waits_for) == asks
    assert not [result for result in chat.results if SENT in result]

    decide(chat, approved)
    assert chat.text.startswith("The transfer: ")
    assert (SENT in chat.text) == approved
    assert any(SENT in result for result in chat.results) == approved
    assert not chat.waits_for

    chat.say("how much was said")
    forgets = peculiar.forgets_approved and isinstance(chat, Session)
    assert chat.text == ("2 questions, 0 results" if forgets else "2 questions, 1 results")
    calls = [
        call["function"]
        for message in chat.sent[-1]["messages"]
        for call in message.get("toolCalls", ())
    ]
    once = '{"amount": 100, "to": "Ada"}'
    recorded = [call["arguments"] for call in calls if call["name"] == "transfer"]
    assert recorded == [once] * (1 + (peculiar.doubles and approved))


def test_failure(chat: Chat, peculiar: Peculiar) -> None:
    chat.say("hello")
    with pytest.raises(RunFailedError) as failed:
        chat.say("fail")
    assert failed.value.code == peculiar.code
    last = failed.value.messages[-1]
    assert isinstance(last, AssistantMessage)
    assert last.content == "So far"
    assert chat.text == "So far"
    chat.say("what did I say")
    assert chat.text == "You said: hello"


def test_memory(chat: Chat) -> None:
    for said in ("hello", "weather", "what did I say"):
        chat.say(said)
    assert chat.text == "You said: hello"
    chat.say("how much was said")
    assert chat.text == "4 questions, 1 results"
    messages = chat.sent[-1]["messages"]
    assert len({message["id"] for message in messages}) == len(messages)
    assert [message["role"] for message in messages].count("tool") == 1
    assert len({body["threadId"] for body in chat.sent}) == 1


def test_history_from_elsewhere(session: Session, peculiar: Peculiar) -> None:
    said = [
        UserMessage(id="u", content="good morning"),
        AssistantMessage(id="a", content="Good morning."),
    ]
    session.session.messages.extend(said)
    session.say("what did I say")
    assert session.text == "You said: " + (
        "what did I say" if peculiar.own_history else "good morning"
    )


def test_leaving(chat: Chat, peculiar: Peculiar) -> None:
    chat.leave("count")
    if peculiar.left is not None:
        chat.say("how did it end")
        assert chat.text == peculiar.left
    chat.say("hello")
    assert chat.text == "Hello, world."


def test_activities_stay_here(session: Session) -> None:
    session.session.messages.append(
        ActivityMessage(id="a", activity_type="PLAN", content={"steps": []})
    )
    session.say("hello")
    assert session.text == "Hello, world."
    assert [message["role"] for message in session.sent[-1]["messages"]] == ["user"]
    session.say("what did I say")
    assert session.text == "You said: hello"

"""What other servers say, as a plain client hears it: the facts that the page about
interoperability lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.contracts.frameworks.player import Player, Wire
from tests.contracts.frameworks.servers.scenario import LOCATION_TOOL, RECIPE


def _resume(player: Player) -> None:
    player.resume(status="resolved", payload={"approved": True})


def _tool_message(player: Player) -> None:
    [call] = player.of("TOOL_CALL_START")
    player.answer(call["toolCallId"], '{"accepted": true}')


def _command(player: Player) -> None:
    player.run(forwardedProps={"command": {"resume": {"decisions": [{"type": "approve"}]}}})


@dataclass(frozen=True)
class Facts:
    """In what a server differs from AG-UI 1.0; the defaults are those of a server that does not."""

    version: str | None = "1.0"
    """`protocolVersion` of `RUN_STARTED`."""
    pending: bool = True
    """Whether `RUN_FINISHED` names the client's open calls."""
    usage: bool = True
    approve: Callable[[Player], None] = _resume
    asks: bool = True
    """Whether a pause is an interrupt."""
    restreams: bool = False
    """Whether an approved call is announced again."""
    ordered: bool = True
    """Whether a result stays behind its call in what the client holds."""
    remembers_thoughts: bool = True
    beside: frozenset[str] = field(default_factory=frozenset)
    """What else than `recipe` is in the state at the end of a run."""
    leaks: bool = False
    """Whether a failure tells what the exception said."""


FACTS = {
    "ours": Facts(),
    "pydantic_ai": Facts(leaks=True),
    "ag_ui_langgraph": Facts(
        version=None,
        pending=False,
        approve=_command,
        asks=False,
        restreams=True,
        ordered=False,
        beside=frozenset({"messages"}),
        leaks=True,
    ),
    "agno": Facts(
        version=None,
        pending=False,
        usage=False,
        approve=_tool_message,
        asks=False,
        restreams=True,
        leaks=True,
    ),
    "microsoft": Facts(version=None, pending=False, usage=False, remembers_thoughts=False),
}


@pytest.fixture(scope="session")
def facts(peer: str) -> Facts:
    return FACTS[peer]


@pytest.fixture
def player(url: str) -> Player:
    return Player(url)


def _result(player: Player) -> Wire:
    [result] = player.of("TOOL_CALL_RESULT")
    return result


def test_words(player: Player, facts: Facts) -> None:
    player.say("hello")
    assert player.content_type == "text/event-stream; charset=utf-8"
    deltas = [event["delta"] for event in player.of("TEXT_MESSAGE_CONTENT")]
    assert "".join(deltas) == "Hello, world."
    assert player.of("RUN_STARTED")[0].get("protocolVersion") == facts.version
    assert bool(player.last.get("usage")) == facts.usage
    player.say("what did I say")
    assert player.text == "You said: hello"
    assert player.roles == ["user", "assistant"] * 2


def test_backend_tool(player: Player, facts: Facts) -> None:
    player.say("weather")
    assert "sunny in Rome" in _result(player)["content"]
    assert player.text == "The weather: sunny in Rome"
    calls = [role for role in player.roles if role != "user"]
    # Whoever renames a result in the snapshot has it moved to the end: that is how the reference
    # client applies one.
    assert (calls.index("tool") < len(calls) - 1) == facts.ordered
    player.say("what did I say")
    assert player.text == "You said: weather"


def test_frontend_tool(player: Player, facts: Facts) -> None:
    player.say("where am I")
    [call] = player.of("TOOL_CALL_START")
    assert call["toolCallName"] == LOCATION_TOOL
    assert not player.of("TOOL_CALL_RESULT")
    named = (player.last.get("outcome") or {}).get("pendingToolCallIds")
    assert named == ([call["toolCallId"]] if facts.pending else None)
    player.answer(call["toolCallId"], "Rome")
    assert player.text == "You are in Rome"


def test_reasoning(player: Player, facts: Facts) -> None:
    player.say("think")
    assert "Let me think." in "".join(
        event["delta"] for event in player.of("REASONING_MESSAGE_CONTENT")
    )
    assert player.text == "I thought of it."
    player.say("what did you think")
    assert player.text == "I thought: " + (
        "Let me think." if facts.remembers_thoughts else "nothing"
    )


def test_state(player: Player, facts: Facts) -> None:
    player.say("recipe")
    assert player.state["recipe"] == RECIPE
    assert player.state.keys() - {"recipe"} == facts.beside


def test_approval(player: Player, facts: Facts) -> None:
    player.say("transfer")
    assert bool(player.interrupts) == facts.asks
    assert not player.of("TOOL_CALL_RESULT")
    facts.approve(player)
    assert "sent 100 to Ada" in _result(player)["content"]
    assert player.text == "The transfer: sent 100 to Ada"
    assert bool(player.of("TOOL_CALL_START")) == facts.restreams


def test_failure(player: Player, facts: Facts) -> None:
    player.say("fail")
    assert player.text == "So far"
    assert player.last["type"] == "RUN_ERROR"
    assert ("secret-7" in player.last["message"]) == facts.leaks
    player.say("hello")
    assert player.text == "Hello, world."

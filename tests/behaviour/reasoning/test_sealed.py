"""Sealed values that come back changed, foreign, too long or not at all: the run goes on with text
and calls."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ag_ui.core import Message
from pydantic import TypeAdapter

from langgraph_agui import ReasoningOptions, ReasoningSeal
from tests.behaviour.reasoning.two_turns import agent_with
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, turn
from tests.kit.run.agents import dumped, record_run, run_input

OLD, NEW = b"o" * 32, b"n" * 32
OPEN, SEALED, OTHER_KEY, ROTATED = (
    ReasoningOptions(seal=ReasoningSeal(keys) if keys else None)
    for keys in ([], [OLD], [NEW], [NEW, OLD])
)
THOUGHTS = ["The weather first.", "Light clothes."]
SIGNATURES = ["c2lnMQ==", "c2lnMg=="]
PARIS = Call("get_weather", {"city": "Paris"}, id="call_paris")
MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
Held = list[dict[str, Any]]


class Talk:
    """Two turns with Claude; between them the client, or time, does something to the history."""

    def __init__(self, server: ProviderServer, caplog: pytest.LogCaptureFixture) -> None:
        self._server = server
        self._caplog = caplog
        caplog.set_level(logging.WARNING, "langgraph_agui")

    async def first(self, options: ReasoningOptions = SEALED, signature: str = "c2lnMQ==") -> Held:
        weather, sunny = (
            Reasoning(THOUGHTS[0], signature=signature),
            Reasoning(THOUGHTS[1], signature=SIGNATURES[1]),
        )
        answer, more = turn(sunny, Text("A jacket.")), turn(Text("And an umbrella."))
        self._server.script("anthropic", turn(weather, PARIS), answer, more)
        return await self._turn(options, "t", "What should I wear?")

    async def second(self, held: Held, options: Any = SEALED, thread: str = "t") -> Held:
        """Ask again with this history."""
        self._caplog.clear()
        return await self._turn(options, thread, *MESSAGES.validate_python(held), "Anything else?")

    async def _turn(self, options: ReasoningOptions, thread: str, *messages: Any) -> Held:
        agent = agent_with("anthropic", self._server, options, [get_weather])
        recorded = await record_run(agent, run_input(*messages, thread=thread))
        assert recorded.last.type.value == "RUN_FINISHED", recorded.last
        recorded.check_snapshot()
        return json.loads(json.dumps(dumped(recorded.messages)))

    @property
    def warnings(self) -> list[str]:
        return [one.getMessage() for one in self._caplog.records if "langgraph_agui" in one.name]

    def check_sent(self, *left: str) -> None:
        """Text and calls are sent; of the reasoning nothing but what is `left`."""
        body = json.dumps(self._server.bodies[-1])
        for thought, signature in zip(THOUGHTS, SIGNATURES, strict=True):
            assert (thought in body) == (thought in left)
            assert (signature in body) == (thought in left) or len(left) == 1
        for said in ("A jacket.", "get_weather", "Sunny in Paris"):
            assert said in body


def by_role(history: Held, role: str) -> Iterator[dict[str, Any]]:
    return (message for message in history if message["role"] == role)


@pytest.fixture
def talk(provider_server: ProviderServer, caplog: pytest.LogCaptureFixture) -> Talk:
    return Talk(provider_server, caplog)


async def test_what_is_untouched_comes_back_whole(talk: Talk) -> None:
    await talk.second(await talk.first())
    assert talk.warnings == []
    talk.check_sent(*THOUGHTS)


def swap(history: Held) -> None:
    one, other = by_role(history, "reasoning")
    one["encryptedValue"], other["encryptedValue"] = other["encryptedValue"], one["encryptedValue"]


def forge(history: Held) -> None:
    for message in [*by_role(history, "reasoning"), *by_role(history, "assistant")]:
        message["encryptedValue"] = "c2lnMQ=="


def strip(history: Held) -> None:
    for message in by_role(history, "reasoning"):
        del message["encryptedValue"]


def drop(history: Held) -> None:
    history[:] = [message for message in history if message["role"] != "reasoning"]


def reword(history: Held) -> None:
    for message in by_role(history, "reasoning"):
        message["content"] += " Obey."


def nothing(history: Held) -> None:
    """The history is as it was."""


@pytest.mark.parametrize(
    ("change", "then", "now", "thread", "warned"),
    [
        pytest.param(swap, SEALED, SEALED, "t", "", id="values swapped"),
        pytest.param(forge, SEALED, SEALED, "t", "", id="values of others"),
        pytest.param(reword, SEALED, SEALED, "t", "", id="reworded"),
        pytest.param(reword, OPEN, OPEN, "t", "", id="reworded without a seal"),
        pytest.param(strip, SEALED, SEALED, "t", None, id="a client that keeps no values"),
        pytest.param(drop, SEALED, SEALED, "t", None, id="a client that keeps no reasoning"),
        pytest.param(nothing, SEALED, SEALED, "u", "", id="of another thread"),
        pytest.param(nothing, OPEN, SEALED, "t", "", id="sealed now"),
        pytest.param(nothing, SEALED, OPEN, "t", "", id="no longer sealed"),
        pytest.param(nothing, SEALED, OTHER_KEY, "t", "unknown key", id="key gone"),
    ],
)
async def test_what_cannot_be_used(
    change: Callable[[Held], None], then: Any, now: Any, thread: str, warned: Any, talk: Talk
) -> None:
    history = await talk.first(then)
    change(history)
    await talk.second(history, now, thread)
    assert [warned in warning for warning in talk.warnings] == ([] if warned is None else [True])
    talk.check_sent()


async def test_an_answer_that_was_reworded(talk: Talk, provider_server: ProviderServer) -> None:
    """Its words are the client's to change, what was signed with them is not."""
    history = await talk.first()
    *_, last = by_role(history, "assistant")
    last["content"] = "A coat."
    await talk.second(history)
    assert len(talk.warnings) == 1
    sent = json.dumps(provider_server.bodies[-1])
    assert [said in sent for said in ("A coat.", *THOUGHTS)] == [True, True, False]


async def test_a_key_that_is_rotated(talk: Talk) -> None:
    """The old key still opens; what is new is sealed with the new one, and opens without the old
    one."""
    history = await talk.first()
    assert (await talk.second(history, ROTATED))[: len(history)] == history
    talk.check_sent(*THOUGHTS)
    await talk.second(await talk.first(ROTATED), OTHER_KEY)
    assert talk.warnings == []
    talk.check_sent(*THOUGHTS)


async def test_values_that_are_too_long(talk: Talk) -> None:
    """To read; to write: then the message that one belongs to travels without any."""
    history = await talk.first()
    size = max(len(message["encryptedValue"]) for message in by_role(history, "reasoning"))
    await talk.second(history, ReasoningOptions(seal=SEALED.seal, max_bytes=size - 1))
    assert len(talk.warnings) == 1
    talk.check_sent(THOUGHTS[1])
    short = ReasoningOptions(seal=SEALED.seal, max_bytes=1000)
    history = await talk.first(short, "c2ln" * 500)
    assert any("max_bytes" in warning for warning in talk.warnings)
    await talk.second(history, short)
    assert talk.warnings == []
    talk.check_sent(THOUGHTS[1])

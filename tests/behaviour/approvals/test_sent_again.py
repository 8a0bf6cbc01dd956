"""Answers that are sent again after they had their effect, with a new message: the message is
heard, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs import pauses as kinds
from tests.kit.graphs.pauses import happened, spender, spending
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, ending

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


def script(messages: list[Any]) -> Any:
    last = messages[-1]
    if isinstance(last, ToolMessage) or "/" in last.text:
        return spending(messages)
    return ["re ", last.text]


def client_of(mode: kinds.Mode) -> Client:
    return Client(LangGraphAgent(spender(mode, InMemorySaver(), model=Scripted(script=script))))


async def humans(client: Client) -> list[str]:
    return [message.text for message in await client.stored() if isinstance(message, HumanMessage)]


@MODES
@pytest.mark.parametrize("lost", [True, False], ids=["lost_the_stream", "knows_the_end"])
async def test_a_message_beside_answers_that_had_their_effect(
    mode: kinds.Mode, lost: bool, tmp_path: Path
) -> None:
    file = tmp_path / "happened"
    client = client_of(mode)
    questions = await client.ask(user(str(file), "u1"))
    answers, old = resolved(*((one.id, {"approved": True}) for one in questions)), list(client.held)
    await client.send(resume=answers)
    assert happened(file) == [1, 2]
    if lost:
        client.held = old
    recorded = await client.send(user("more", "u2"), resume=answers)
    assert ending(recorded) == "success"
    assert [message.content for message in recorded.messages].count("re more") == 1
    assert await humans(client) == [str(file), "more"]
    assert happened(file) == [1, 2]
    # The whole input once more: now the message has been heard too.
    before = await client.stored()
    assert before[-1].text == "re more"
    client.held = (
        [message for message in client.held if message.id != "u2"] if lost else client.held
    )
    again = await client.send(*([user("more", "u2")] if lost else []), resume=answers)
    assert ending(again) == "success"
    assert await humans(client) == [str(file), "more"]
    assert len(await client.stored()) == len(before)


@MODES
async def test_a_message_beside_answers_whose_run_has_failed(
    mode: kinds.Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []

    def fail(file: str, amount: int) -> None:
        attempts.append(amount)
        raise ConnectionError("the bank is closed")

    file = tmp_path / "happened"
    client = client_of(mode)
    questions = await client.ask(user(str(file), "u1"))
    answers = resolved(*((one.id, {"approved": True}) for one in questions))
    # to the end: the other tool's thread may outlive the failed run
    monkeypatch.setattr(kinds, "happen", fail)
    failed = await client.send(resume=answers)
    assert ending(failed) == "tool_error"
    recorded = await client.send(user("more", "u2"), resume=answers)
    assert ending(recorded) == "success"
    assert [message.content for message in recorded.messages].count("re more") == 1
    assert await humans(client) == [str(file), "more"]
    assert len(attempts) == len(set(attempts))  # neither call ran again


@MODES
async def test_a_message_that_came_with_the_answers_is_not_heard_again(
    mode: kinds.Mode, tmp_path: Path
) -> None:
    file = tmp_path / "happened"
    client = client_of(mode)
    questions = await client.ask(user(str(file), "u1"))
    answers, old = resolved(*((one.id, {"approved": True}) for one in questions)), list(client.held)
    first = await client.send(user("more", "u2"), resume=answers)
    assert (ending(first), first.messages[-1].content) == ("success", "re more")
    stored = await client.stored()
    client.held = old
    await client.send(user("more", "u2"), resume=answers)
    assert await humans(client) == [str(file), "more"]
    assert len(await client.stored()) == len(stored)
    assert happened(file) == [1, 2]

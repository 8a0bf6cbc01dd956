"""Answers that are sent again after they had their effect, with a new message: the message is
heard, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs import pauses
from tests.kit.graphs.pauses import Mode, happened, spender, spending
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import approvals
from tests.kit.run.thread_client import Client, ending

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


def script(messages: list[Any]) -> Any:
    last = messages[-1]
    if isinstance(last, ToolMessage) or "/" in last.text:
        return spending(messages)
    return ["re ", last.text]


def client_of(mode: Mode) -> Client:
    return Client(LangGraphAgent(spender(mode, InMemorySaver(), model=Scripted(script=script))))


@MODES
@pytest.mark.parametrize("with_the_answers", [True, False])
@pytest.mark.parametrize("lost", [True, False], ids=["lost the stream", "knows the end"])
async def test_a_message_beside_answers_is_heard_once(
    mode: Mode, lost: bool, with_the_answers: bool, tmp_path: Path
) -> None:
    file, client = tmp_path / "happened", client_of(mode)
    answers = approvals(await client.ask(user(str(file), "u1")))
    more, old = user("more", "u2"), list(client.held)
    first = await client.send(*([more] if with_the_answers else []), resume=answers)
    assert ending(first) == "success"
    for _ in range(2):
        if lost:
            client.held = old
        held = "u2" in [message.id for message in client.held]
        again = await client.send(*([] if held else [more]), resume=answers)
        assert ending(again) == "success"
        assert await client.texts("human") == [str(file), "more"]
        assert (await client.texts()).count("re more") == 1
    assert [message.content for message in again.messages].count("re more") == 1
    assert happened(file) == [1, 2]


@MODES
async def test_a_message_beside_answers_whose_run_has_failed(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []

    def fail(file: str, amount: int) -> None:
        attempts.append(amount)
        raise ConnectionError("the bank is closed")

    file, client = tmp_path / "happened", client_of(mode)
    answers = approvals(await client.ask(user(str(file), "u1")))
    # to the end: the other tool's thread may outlive the failed run
    monkeypatch.setattr(pauses, "happen", fail)
    assert ending(await client.send(resume=answers)) == "tool_error"
    recorded = await client.send(user("more", "u2"), resume=answers)
    assert ending(recorded) == "success"
    assert [message.content for message in recorded.messages].count("re more") == 1
    assert await client.texts("human") == [str(file), "more"]
    assert len(attempts) == len(set(attempts))  # neither call ran again

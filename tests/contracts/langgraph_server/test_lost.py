"""Threads that a LangGraph server does not have, or has without a state: they go on from the
client's history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
from langgraph_sdk.client import get_client

from langgraph_agui import TrustOptions
from tests.contracts.langgraph_server.conftest import Clients, kept
from tests.kit.deep import deep
from tests.kit.run.agents import dumped
from tests.kit.run.dialogues import answering
from tests.kit.run.thread_client import Client, asked, ending

pytestmark = pytest.mark.xdist_group("remote")


async def unknown(client: Client, server: str) -> str:
    return f"a thread of the client's {uuid4()}"


async def never_run(client: Client, server: str) -> str:
    return str((await get_client(url=server).threads.create())["thread_id"])


async def deleted(client: Client, server: str) -> str:
    await Client(client.agent, thread := str(uuid4())).send("old")
    await get_client(url=server).threads.delete(thread)
    return thread


Lose = Callable[[Client, str], Awaitable[str]]
losses = pytest.mark.parametrize(
    "lose", [unknown, *(pytest.param(one, marks=deep) for one in (never_run, deleted))]
)


@losses
async def test_the_history_is_imported_once(lose: Lose, client_of: Clients, server: str) -> None:
    client = client_of("text")
    first = await client.send("one")
    client.thread = await lose(client, server)
    assert (shown := await client.connect()).messages == []
    assert shown.state == {}
    second = await client.send("two")
    answer = "I heard human:one / ai:I heard human:one / human:two"
    assert second.messages[-1].content == answer
    assert dumped(second.messages[:2]) == dumped(first.messages)
    third = await client.send("three")
    assert third.messages[-1].content == f"{answer} / ai:{answer} / human:three"
    assert [one.type for one in await kept(client)] == ["human", "ai"] * 3


@losses
async def test_it_can_be_ignored(lose: Lose, client_of: Clients, server: str) -> None:
    client = client_of("text", trust=TrustOptions(history="ignore"))
    await client.send("one")
    client.thread = await lose(client, server)
    assert (await client.send("two")).messages[-1].content == "I heard human:one / human:two"


@losses
async def test_an_answer_is_refused(lose: Lose, client_of: Clients, server: str) -> None:
    client = client_of("asking")
    questions = asked(await client.send("go"))
    client.thread = await lose(client, server)
    refused = await client.send(resume=answering(questions, "blue"))
    assert ending(refused) == "interrupt_unknown"

"""Threads over HTTP: connecting, joining, and coming while another run goes on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode, encode, fold
from tests.behaviour.threads.test_join import slow
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import Served, serving, wait_for
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import agent_of


def app_of(agent: LangGraphAgent) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    return app


GO: dict[str, Any] = {"id": "u1", "role": "user", "content": "go"}


def open_run(served: Served, hung: asyncio.Event) -> Connection:
    """A run that has stopped in the middle of its answer."""
    connection = Connection(served.port)
    connection.send("POST", "/agent", body_of(run_input(user("go", "u1"), thread="t", run="live")))
    assert connection.head()[0] == 200
    wait_for(hung.is_set, "the model speaks")
    return connection


def test_the_reference_client_connects(node_client: NodeClient) -> None:
    with serving(app_of(agent_of(InMemorySaver()))) as served:
        live = node_client.run(url=served.url("/agent"), threadId="t", messages=[GO])
        fresh = node_client.run(url=served.url("/agent/connect"), threadId="t", messages=[])
        assert fresh.error is None
        assert fresh.warnings == []
        assert fresh.outcome == "success"
        assert fresh.state == live.state == {"mood": "fine"}
        by_id = {message["id"]: message for message in live.messages}
        assert {message["id"]: message for message in fresh.messages} == by_id
        empty = node_client.run(url=served.url("/agent/connect"), threadId="nobody's", messages=[])
        assert (empty.error, empty.warnings, empty.messages) == (None, [], [])


def test_the_reference_client_joins(node_client: NodeClient) -> None:
    """Twice at once: with nothing, and with a part of the answer."""
    model, gate = slow()
    with serving(app_of(agent_of(InMemorySaver(), model))) as served, ThreadPoolExecutor(2) as pool:
        live = open_run(served, model.hung)
        received, pieces = list[bytes](), live.pieces()
        for piece in pieces:
            received.append(piece)
            if b"Well" in piece:
                break
        part = fold(decode(received), run_input(user("go", "u1")).messages).messages
        holding = [[], [message.model_dump(by_alias=True, exclude_none=True) for message in part]]
        clients = [NodeClient(), node_client]
        joined = [
            pool.submit(client.run, url=served.url("/agent/connect"), threadId="t", messages=held)
            for client, held in zip(clients, holding, strict=True)
        ]
        wait_for(lambda: len(served_readers(served)) == 3, "both have joined")
        served.loop.call_soon_threadsafe(gate.set)
        received += pieces
        truth = fold(decode(received), run_input(user("go", "u1")).messages).messages
        for done in joined:
            run = done.result(20)
            assert run.error is None
            assert run.warnings == []
            assert run.outcome == "success"
            assert [message["content"] for message in run.messages] == ["go", "Hm.", "Well, yes."]
            assert [message["id"] for message in run.messages] == [message.id for message in truth]
        clients[0].close()


def served_readers(served: Served) -> list[str]:
    return [task for task in served.tasks() if "_send" in task]


def test_a_second_run_is_a_conflict() -> None:
    model, gate = slow()
    with serving(app_of(agent_of(InMemorySaver(), model))) as served:
        live = open_run(served, model.hung)
        answer = ask(served.port, "POST", "/agent", body_of(run_input("more", thread="t")))
        assert answer.status == 409
        assert answer.json == {
            "detail": "Another run is active in this thread.",
            "code": "thread_busy",
        }
        with Connection(served.port) as other:
            other.send("POST", "/agent", body_of(run_input("go", thread="another")))
            assert other.head()[0] == 200
        served.loop.call_soon_threadsafe(gate.set)
        assert b"RUN_FINISHED" in b"".join(live.pieces())


def test_the_next_input_may_follow_the_end_at_once() -> None:
    with serving(app_of(agent_of(InMemorySaver()))) as served:
        for number in range(50):
            connection = Connection(served.port)
            connection.send("POST", "/agent", body_of(run_input(f"{number}", thread="t")))
            assert connection.head()[0] == 200, number
            for piece in connection.pieces():
                if b"RUN_FINISHED" in piece:
                    break
            connection.leave()


def test_connect_is_the_same_in_bytes() -> None:
    agent = agent_of(InMemorySaver())
    with serving(app_of(agent)) as served:
        ask(served.port, "POST", "/agent", body_of(run_input(user("go", "u1"), thread="t")))
        given = run_input(thread="t")
        answer = ask(served.port, "POST", "/agent/connect", body_of(given))
        assert answer.headers["content-type"].startswith("text/event-stream")
        recorded = RecordedRun(list(decode([answer.body])), given)

        async def connect() -> list[Any]:
            return [event async for event in agent.connect(given)]

        events = served.call(connect())
        assert dumped(recorded.messages) == dumped(RecordedRun(events, given).messages)
        assert answer.body == b"".join(encode(event) for event in events)

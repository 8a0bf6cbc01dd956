"""Threads over HTTP: connecting, joining, and coming while another run goes on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode, encode, fold
from tests.behaviour.threads.test_join import SAID, slow
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import Served, serving, wait_for
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import agent_of


def app_of(agent: LangGraphAgent) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    return app


def served_readers(served: Served) -> list[str]:
    return [task for task in served.tasks() if "_send" in task]


def open_run(served: Served, hung: asyncio.Event) -> Connection:
    """A run that has stopped in the middle of its answer."""
    connection = Connection(served.port)
    connection.send("POST", "/agent", body_of(run_input(user("go", "u1"), thread="t", run="live")))
    assert connection.head()[0] == 200
    wait_for(hung.is_set, "the model speaks")
    return connection


def test_connect(node_client: NodeClient) -> None:
    """The reference client ends with what the live one has, and the bytes are those of events."""
    agent = agent_of(InMemorySaver())
    with serving(app_of(agent)) as served:
        go: Any = {"id": "u1", "role": "user", "content": "go"}
        live = node_client.run(url=served.url("/agent"), threadId="t", messages=[go])
        url, given = served.url("/agent/connect"), run_input(thread="t")
        fresh = node_client.run(url=url, threadId="t", messages=[])
        assert (fresh.error, fresh.warnings, fresh.outcome) == (None, [], "success")
        assert fresh.state == live.state == {"mood": "fine"}
        assert by_id(fresh.messages) == by_id(live.messages)
        empty = node_client.run(url=url, threadId="nobody's", messages=[])
        assert (empty.error, empty.warnings, empty.messages) == (None, [], [])
        answer = ask(served.port, "POST", "/agent/connect", body_of(given))
        assert answer.headers["content-type"].startswith("text/event-stream")

        async def connect() -> list[Any]:
            return [event async for event in agent.connect(given)]

        events = served.call(connect())
        assert answer.body == b"".join(encode(event) for event in events)
        assert (
            by_id(dumped(RecordedRun(events, given).messages)).keys() == by_id(live.messages).keys()
        )


def by_id(messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {message["id"]: message for message in messages}


def test_others_come_while_a_run_goes_on(node_client: NodeClient) -> None:
    """Two reference clients join: with nothing, and with a part of the answer. A second run is a
    conflict."""
    model, gate = slow()
    with serving(app_of(agent_of(InMemorySaver(), model))) as served, ThreadPoolExecutor(2) as pool:
        live = open_run(served, model.hung)
        received, pieces = list[bytes](), live.pieces()
        while b"Well" not in b"".join(received):
            received.append(next(pieces))
        part = fold(decode(received), run_input(user("go", "u1")).messages).messages
        holding = [[], [message.model_dump(by_alias=True, exclude_none=True) for message in part]]
        clients, url = [NodeClient(), node_client], served.url("/agent/connect")
        joined = [
            pool.submit(client.run, url=url, threadId="t", messages=held)
            for client, held in zip(clients, holding, strict=True)
        ]
        wait_for(lambda: len(served_readers(served)) == 3, "both have joined")
        answer = ask(served.port, "POST", "/agent", body_of(run_input("more", thread="t")))
        busy = {"detail": "Another run is active in this thread.", "code": "thread_busy"}
        assert (answer.status, answer.json) == (409, busy)
        with Connection(served.port) as other:
            other.send("POST", "/agent", body_of(run_input("go", thread="another")))
            assert other.head()[0] == 200
        served.loop.call_soon_threadsafe(gate.set)
        received += pieces
        assert b"RUN_FINISHED" in received[-1]
        truth = fold(decode(received), run_input(user("go", "u1")).messages).messages
        for done in joined:
            run = done.result(20)
            assert (run.error, run.warnings, run.outcome) == (None, [], "success")
            assert [message["content"] for message in run.messages] == SAID
            assert [message["id"] for message in run.messages] == [message.id for message in truth]
        clients[0].close()


def test_the_next_input_may_follow_the_end_at_once() -> None:
    with serving(app_of(agent_of(InMemorySaver()))) as served:
        for number in range(20):
            connection = Connection(served.port)
            connection.send("POST", "/agent", body_of(run_input(f"{number}", thread="t")))
            assert connection.head()[0] == 200, number
            for piece in connection.pieces():
                if b"RUN_FINISHED" in piece:
                    break
            connection.leave()

"""Threads over HTTP: connecting, joining, and coming while another run goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import agui_router
from langgraph_agui.protocol import decode, encode, fold
from tests.behaviour.threads.test_join import SAID, slow
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import collect, run_input, user
from tests.kit.run.joining import agent_of
from tests.kit.waiting import PATIENCE, wait_for


def served_readers(served: Served) -> list[str]:
    return [task for task in served.tasks() if "_send" in task]


def test_others_come_while_a_run_goes_on(node_client: NodeClient) -> None:
    """The reference client joins with a part of the answer. A second run is a conflict. Who connects
    then gets the same, in the bytes of events."""
    model, gate = slow()
    app, agent = FastAPI(), agent_of(InMemorySaver(), model)
    app.include_router(agui_router(agent, "/agent"))
    with serving(app) as served, ThreadPoolExecutor(1) as pool:
        live = Connection(served.port)
        given = run_input(user("go", "u1"), thread="t", run="live")
        live.send("POST", "/agent", body_of(given))
        assert live.head()[0] == 200
        received, pieces = list[bytes](), live.pieces()
        while b"Well" not in b"".join(received):
            received.append(next(pieces))
        busy = {"detail": "Another run is active in this thread.", "code": "thread_busy"}
        answer = ask(served.port, "POST", "/agent", body_of(run_input("more", thread="t")))
        assert (answer.status, answer.json) == (409, busy)

        part: Any = [
            message.model_dump(by_alias=True, exclude_none=True)
            for message in fold(decode(received), given.messages).messages
        ]
        url = served.url("/agent/connect")
        joining = pool.submit(node_client.run, url=url, threadId="t", messages=part)
        wait_for(lambda: len(served_readers(served)) == 2, "the other one has joined")
        served.loop.call_soon_threadsafe(gate.set)
        run = joining.result(PATIENCE)
        received += pieces
        live.leave()
        assert b"RUN_FINISHED" in received[-1]
        truth = fold(decode(received), given.messages).messages
        fresh = node_client.run(url=url, threadId="t", messages=[])
        empty = node_client.run(url=url, threadId="nobody's", messages=[])
        for one, said in ((run, SAID), (fresh, SAID), (empty, [])):
            assert (one.error, one.warnings, one.outcome) == (None, [], "success")
            assert [message["content"] for message in one.messages] == said
        assert [one["id"] for one in run.messages] == [message.id for message in truth]
        other = run_input(thread="t")
        answer = ask(served.port, "POST", "/agent/connect", body_of(other))
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = served.call(collect(agent.connect(other)))
        assert answer.body == b"".join(encode(event) for event in events)

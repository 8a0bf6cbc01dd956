"""Servers that stop while runs go on, and clients that stop runs."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, RunLimits, add_langgraph_fastapi_endpoint, agui_router
from langgraph_agui.protocol import decode
from tests.kit.graphs.failing_checkpointers import Troubled
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import PATIENCE, wait_for

STOPPED = ("RUN_ERROR", "server_stopping")


def end_of(connection: Connection, given: Any) -> tuple[str, str | None]:
    """The terminal event of a stream that the server ends as HTTP prescribes."""
    recorded = RecordedRun(list(decode(connection.pieces())), given)
    return recorded.last.type.value, getattr(recorded.last, "code", None)


def begin(served: Served, connection: Connection, thread: str = "t") -> Any:
    given = run_input("go", thread=thread)
    connection.send("POST", "/agent", body_of(given))
    assert connection.head()[0] == 200
    return given


def mounted(agent: LangGraphAgent) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent"))
    return app


def made_in_the_lifespan(agent: LangGraphAgent) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        add_langgraph_fastapi_endpoint(app, agent, "/agent")
        async with agent.serving():
            yield

    return FastAPI(lifespan=lifespan)


@pytest.mark.parametrize(
    ("app_of", "mode"), [(mounted, "cancel"), (made_in_the_lifespan, "continue")]
)
def test_a_server_that_stops_ends_its_streams(app_of: Any, mode: Any) -> None:
    """It may start again."""
    model = Talker(words=1, silent=True)
    app = app_of(LangGraphAgent(flat(model, InMemorySaver()), on_disconnect=mode))
    for _ in range(2):
        model.meter.begun.clear()
        with serving(app) as served, Connection(served.port) as connection:
            given = begin(served, connection)
            assert model.meter.begun.wait(PATIENCE)
            served.end()
            assert end_of(connection, given) == STOPPED
        assert model.meter.ended.is_set()


def test_an_agent_that_drains_takes_no_runs_and_ends_those_it_has() -> None:
    agent = LangGraphAgent(flat(Talker(words=1, silent=True), InMemorySaver()))
    with serving(mounted(agent)) as served, Connection(served.port) as connection:
        given = begin(served, connection)
        assert ask(served.port, "GET", "/agent/ready").json == {"status": "ready"}
        served.call(agent.drain())
        assert end_of(connection, given) == STOPPED
        refused = ask(served.port, "POST", "/agent", body_of(run_input("go")))
        assert (refused.status, refused.json["code"]) == (503, "server_stopping")
        pages = ("ready", "health")
        assert [ask(served.port, "GET", f"/agent/{one}").status for one in pages] == [503, 200]


def test_an_agent_of_two_applications_serves_until_both_have_ended() -> None:
    agent = LangGraphAgent(flat(Talker(words=1)))
    with serving(mounted(agent)) as one:
        with serving(mounted(agent)) as other:
            assert ask(other.port, "GET", "/agent/ready").status == 200
        assert ask(one.port, "POST", "/agent", body_of(run_input("go"))).status == 200


def test_what_is_shown_while_the_store_hangs_is_bounded_and_ends() -> None:
    agent = LangGraphAgent(flat(Talker(), saver := Troubled()), limits=RunLimits(runs=2))
    saver.at, saver.hangs = 1, True
    with serving(mounted(agent)) as served, Connection(served.port) as connection:
        given = run_input(thread="t")
        connection.send("POST", "/agent/connect", body_of(given))
        assert connection.head()[0] == 200
        wait_for(saver.met.is_set, "the store hangs")
        saver.at = 2
        with Connection(served.port) as second:
            second.send("POST", "/agent/connect", body_of(given))
            assert second.head()[0] == 200
            refused = ask(served.port, "POST", "/agent/connect", body_of(given))
            assert (refused.status, refused.json["code"]) == (429, "too_many_runs")
        served.call(agent.drain())
        assert end_of(connection, given) == STOPPED


def test_runs_may_end_by_themselves_while_the_agent_drains() -> None:
    """More than it may have are answered with 429."""
    graph = flat(Talker(words=25, pause=0.02), InMemorySaver())
    agent = LangGraphAgent(graph, limits=RunLimits(runs=1, readers=1))
    with serving(mounted(agent)) as served, Connection(served.port) as connection:
        given = begin(served, connection)
        for path, code in (("/agent", "too_many_runs"), ("/agent/connect", "too_many_readers")):
            refused = ask(served.port, "POST", path, body_of(given))
            assert (refused.status, refused.json["code"]) == (429, code)
        served.call(agent.drain(grace=PATIENCE))
        assert end_of(connection, given) == ("RUN_FINISHED", None)


def test_a_server_whose_store_does_not_answer_is_not_ready() -> None:
    agent = LangGraphAgent(flat(Talker(), saver := Troubled()))
    with serving(mounted(agent)) as served:
        assert ask(served.port, "GET", "/agent/ready").status == 200
        saver.at = len(saver.calls) + 1
        answer = ask(served.port, "GET", "/agent/ready")
        assert (answer.status, answer.json) == (503, {"status": "not ready"})
        assert ask(served.port, "GET", "/agent/health").status == 200


def test_work_that_hangs_in_threads_stops_no_other_run() -> None:
    """Aborted runs leave their synchronous nodes behind; other runs' nodes need threads too."""
    release, hanging = threading.Event(), []

    def node(state: MessagesState) -> Any:
        if state["messages"][-1].content == "hang":
            hanging.append(1)
            release.wait(PATIENCE)
        return {}

    graph = StateGraph(MessagesState).add_node(node).add_edge(START, "node").compile()
    try:
        with serving(mounted(LangGraphAgent(graph))) as served:
            for number in range(40):
                with Connection(served.port) as connection:
                    connection.send("POST", "/agent", body_of(run_input("hang")))
                    wait_for(lambda number=number: len(hanging) > number, "the node runs")
            given = run_input("go")
            answer = ask(served.port, "POST", "/agent", body_of(given))
            assert RecordedRun(list(decode([answer.body])), given).types[-1] == "RUN_FINISHED"
            release.set()
    finally:
        release.set()


ADA = {**JSON, "x-user": "ada"}


def signed_in(x_user: Annotated[str, Header()] = "") -> None:
    if not x_user:
        raise HTTPException(401, "Sign in first.")


def owns(request: Request, thread_id: str) -> bool:
    return thread_id.startswith(request.headers["x-user"])


def test_only_who_may_use_the_thread_stops_its_run() -> None:
    """Also when its client has left."""
    for leaves in (False, True):
        model, given, app = Talker(), run_input("go", thread="ada-1"), FastAPI()
        agent, guard = LangGraphAgent(flat(model), on_disconnect="continue"), [Depends(signed_in)]
        app.include_router(agui_router(agent, "/a", dependencies=guard, authorize_thread=owns))
        ids = {"threadId": given.thread_id, "runId": given.run_id}

        def cancel(body: object, headers: dict[str, str] = ADA) -> Answer:
            return ask(served.port, "POST", "/a/cancel", json.dumps(body).encode(), headers)

        with serving(app) as served, Connection(served.port) as connection:
            connection.send("POST", "/a", body_of(given), ADA)
            assert connection.head()[0] == 200
            assert model.meter.begun.wait(PATIENCE)
            assert cancel(ids, JSON).status == 401
            assert cancel(ids, {**JSON, "x-user": "eve"}).status == 403
            assert cancel(ids, {"x-user": "ada"}).status == 415
            assert cancel({"threadId": given.thread_id}).status == 422
            detail = "No such run is active here. It may have ended."
            for wrong in ({**ids, "runId": "other"}, {**ids, "threadId": "ada-2"}):
                refused = cancel(wrong)
                assert (refused.status, refused.json["code"]) == (404, "run_unknown")
                assert refused.json["detail"] == detail
            assert not model.meter.ended.is_set()
            if leaves:
                connection.leave()
            assert cancel(ids).status == 204
            if not leaves:
                recorded = RecordedRun(list(decode(connection.pieces())), given)
                assert recorded.last.outcome.type == "cancelled"
            assert model.meter.ended.wait(PATIENCE)
            served.wait_idle()
            assert cancel(ids).json["code"] == "run_unknown"

"""`POST path/cancel` stops a run that outlives its client, for those who may use its thread."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import PATIENCE

ADA = {**JSON, "x-user": "ada"}


def signed_in(x_user: Annotated[str, Header()] = "") -> None:
    if not x_user:
        raise HTTPException(401, "Sign in first.")


def owns(request: Request, thread_id: str) -> bool:
    return thread_id.startswith(request.headers["x-user"])


def app_of(model: Talker) -> FastAPI:
    app = FastAPI()
    agent = LangGraphAgent(flat(model), on_disconnect="continue")
    app.include_router(
        agui_router(agent, "/agent", dependencies=[Depends(signed_in)], authorize_thread=owns)
    )
    return app


def cancel(served: Served, body: object, headers: dict[str, str] = ADA) -> Answer:
    return ask(served.port, "POST", "/agent/cancel", json.dumps(body).encode(), headers)


def test_only_who_may_use_the_thread_stops_its_run() -> None:
    model, given = Talker(), run_input("go", thread="ada-1")
    ids = {"threadId": given.thread_id, "runId": given.run_id}
    with serving(app_of(model)) as served, Connection(served.port) as connection:
        connection.send("POST", "/agent", body_of(given), ADA)
        assert connection.head()[0] == 200
        assert model.meter.begun.wait(PATIENCE)
        for headers, status in (
            (JSON, 401),
            ({**JSON, "x-user": "eve"}, 403),
            ({"x-user": "ada"}, 415),
        ):
            assert cancel(served, ids, headers).status == status
        assert cancel(served, {"threadId": given.thread_id}).status == 422
        for wrong in ({**ids, "runId": "other"}, {**ids, "threadId": "ada-2"}):
            refused = cancel(served, wrong)
            assert (refused.status, refused.json["code"]) == (404, "run_unknown")
            assert refused.json["detail"] == "No such run is active here. It may have ended."
        assert not model.meter.ended.is_set()
        assert cancel(served, ids).status == 204
        recorded = RecordedRun(list(decode(connection.pieces())), given)
        assert recorded.last.outcome.type == "cancelled"
        assert model.meter.ended.wait(PATIENCE)
        served.wait_idle()
        assert cancel(served, ids).json["code"] == "run_unknown"


def test_a_run_without_a_client_is_stopped() -> None:
    model, given = Talker(), run_input("go", thread="ada-1")
    with serving(app_of(model)) as served:
        with Connection(served.port) as connection:
            connection.send("POST", "/agent", body_of(given), ADA)
            assert connection.head()[0] == 200
            assert model.meter.begun.wait(PATIENCE)
        assert cancel(served, {"threadId": given.thread_id, "runId": given.run_id}).status == 204
        assert model.meter.ended.wait(PATIENCE)
        served.wait_idle()


def test_openapi_describes_it() -> None:
    graph = StateGraph(MessagesState).add_node("answer", lambda _: {}).add_edge(START, "answer")
    app = FastAPI()
    app.include_router(
        agui_router(LangGraphAgent(graph.compile(checkpointer=InMemorySaver())), "/agent")
    )
    operation = app.openapi()["paths"]["/agent/cancel"]["post"]
    assert operation["responses"].keys() == {"204", "400", "404", "413", "415", "422", "503"}
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["threadId", "runId"]

"""`POST path/cancel` stops a run that outlives its client, for those who may use its thread."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import Depends, FastAPI, Header, HTTPException, Request

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.protocol import decode
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import PATIENCE

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

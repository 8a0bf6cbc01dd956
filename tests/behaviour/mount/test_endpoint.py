"""What an endpoint answers with: headers, framing, silence, and the places it can be mounted at."""

from __future__ import annotations

import re
import time
import warnings
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities, RunAgentInput
from fastapi import APIRouter, FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint, agui_router
from langgraph_agui.protocol import compact, decode
from langgraph_agui.protocol.sse import encode
from tests.kit.deep import deep
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Answer, Connection, ask, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, run_input

COMMENT = b": keep-alive\n\n"


def talking(**options: Any) -> LangGraphAgent:
    graph = flat(Talker(**{"words": 3, "pause": 0, "said_as": "answer", **options}))
    return LangGraphAgent(graph=graph)


def app_of(agent: LangGraphAgent, **options: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent", **options))
    return app


def recorded_by(body: bytes, given: RunAgentInput) -> RecordedRun:
    recorded = RecordedRun(list(decode([body])), given)
    recorded.check_snapshot()
    return recorded


def answered(body: bytes, given: RunAgentInput) -> str:
    """The answer that a client holds after a complete stream."""
    recorded = recorded_by(body, given)
    assert recorded.last.type.value == "RUN_FINISHED"
    return str(recorded.messages[-1].content)


class TestStream:
    def test_headers_say_that_this_is_a_stream(self) -> None:
        with serving(app_of(talking())) as served:
            answer = ask(served.port, "POST", "/agent", body_of(run_input("go")))
        assert answer.status == 200
        assert answer.headers["content-type"].partition(";")[0] == "text/event-stream"
        assert {"no-cache", "no-transform"} <= set(answer.headers["cache-control"].split(", "))
        assert answer.headers["x-accel-buffering"] == "no"
        assert "content-length" not in answer.headers
        assert "content-encoding" not in answer.headers

    def test_bytes_are_those_of_the_agent_in_frames_of_one_event(self) -> None:
        agent, given = talking(words=50), run_input("Grüße 🏛")

        async def directly() -> bytes:
            return b"".join([piece async for piece in agent.stream_sse(given)])

        with serving(app_of(agent)) as served:
            answer = ask(served.port, "POST", "/agent", body_of(given))
            sent, told = (compact(decode([one])) for one in (answer.body, served.call(directly())))
        assert sent == told  # which fragments leave together is a matter of time
        assert answer.body == b"".join(map(encode, decode([answer.body])))
        assert b"\r" not in answer.body
        assert answer.body.endswith(b"\n\n")
        for frame in answer.body.removesuffix(b"\n\n").split(b"\n\n"):
            assert re.fullmatch(rb"data: \{.*\}", frame)
        assert answered(answer.body, given).endswith("word49 ")

    def test_the_first_event_does_not_wait_for_the_model(self) -> None:
        with (
            serving(app_of(talking(words=0, silent=True))) as served,
            Connection(served.port) as connection,
        ):
            connection.send("POST", "/agent", body_of(run_input("go")))
            assert connection.head()[0] == 200
            assert b'"RUN_STARTED"' in next(connection.pieces())

    def test_a_connection_serves_one_run_after_the_other(self) -> None:
        with serving(app_of(talking())) as served, Connection(served.port) as connection:
            for _ in range(3):
                given = run_input("go")
                connection.send("POST", "/agent", body_of(given))
                assert answered(connection.answer().body, given)
            served.wait_idle()

    def test_many_runs_at_once_do_not_mix(self) -> None:
        with serving(app_of(talking(words=20, pause=0.002))) as served:
            connections = [
                (Connection(served.port), run_input(f"go {number}")) for number in range(20)
            ]
            for connection, given in connections:
                connection.send("POST", "/agent", body_of(given))
            for connection, given in connections:
                with connection:
                    recorded = recorded_by(connection.answer().body, given)
                assert recorded.messages[0] == given.messages[0]
                assert recorded.last.run_id == given.run_id


class TestSilence:
    def test_a_comment_breaks_the_silence_and_only_that(self) -> None:
        given = run_input("go")
        with serving(app_of(talking(pause=0.2), keep_alive=0.05)) as served:
            begun = time.monotonic()
            answer = ask(served.port, "POST", "/agent", body_of(given))
        lasted = time.monotonic() - begun
        frames = answer.body.split(b"\n\n")
        comments = [frame for frame in frames if frame.startswith(b":")]
        assert 3 <= len(comments) <= lasted / 0.05
        assert frames[0].startswith(b"data: ")
        assert answered(answer.body, given) == "word0 word1 word2 "
        assert answered(answer.body.replace(COMMENT, b""), given) == "word0 word1 word2 "

    @pytest.mark.parametrize(
        "keep_alive", [3.0, pytest.param(None, marks=deep)], ids=["busy", "off"]
    )
    def test_no_comment_otherwise(self, keep_alive: float | None) -> None:
        given = run_input("go")
        with serving(app_of(talking(words=40, pause=0.08), keep_alive=keep_alive)) as served:
            begun = time.monotonic()
            answer = ask(served.port, "POST", "/agent", body_of(given))
        assert time.monotonic() - begun > 3.0, (
            "the stream was meant to last longer than the allowed silence"
        )
        assert COMMENT not in answer.body
        assert answered(answer.body, given).endswith("word39 ")

    def test_comments_come_while_nothing_else_does(self) -> None:
        with serving(app_of(talking(words=0, silent=True), keep_alive=0.05)) as served:
            with Connection(served.port) as connection:
                connection.send("POST", "/agent", body_of(run_input("go")))
                connection.head()
                comments = 0
                for piece in connection.pieces():
                    comments += piece == COMMENT
                    if comments == 5:
                        break
            served.wait_idle()

    def test_the_reference_client_does_not_mind(self, node_client: NodeClient) -> None:
        with serving(app_of(talking(pause=0.15), keep_alive=0.02)) as served:
            run = node_client.run(
                url=served.url("/agent"), add=[{"id": "1", "role": "user", "content": "go"}]
            )
        assert (run.error, run.warnings) == (None, [])
        assert run.messages[-1]["content"] == "word0 word1 word2 "


class TestSlowReader:
    def test_gets_everything_and_holds_up_nobody(self) -> None:
        given = run_input("go")
        with (
            serving(app_of(talking(words=8000))) as served,
            Connection(served.port, receive_buffer=4096) as slow,
        ):
            slow.send("POST", "/agent", body_of(given))
            assert slow.head()[0] == 200
            body = bytearray()
            for number, piece in enumerate(slow.pieces()):
                body += piece
                if number == 2:  # now it stops reading for as long as another client takes
                    other = run_input("go")
                    answer = ask(served.port, "POST", "/agent", body_of(other))
                    assert answered(answer.body, other).endswith("word7999 ")
                elif number < 20:
                    time.sleep(0.01)
            assert answered(bytes(body), given).endswith("word7999 ")
            served.wait_idle()

    def test_may_leave_while_the_server_waits_for_it(self) -> None:
        model = Talker(pause=0)
        app = app_of(LangGraphAgent(graph=flat(model)))
        with serving(app) as served, Connection(served.port, receive_buffer=4096) as slow:
            slow.send("POST", "/agent", body_of(run_input("go")))
            assert slow.head()[0] == 200
            while model.meter.produced < 20_000:  # megabytes more than the sockets hold
                assert not model.meter.ended.wait(0.01)
            slow.leave()
            assert model.meter.ended.wait(1)
            served.wait_idle()


class TestDescription:
    @pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
    def test_capabilities(self, saver: InMemorySaver | None) -> None:
        agent = LangGraphAgent(graph=flat(Talker(), saver), name="talker")
        with serving(app_of(agent)) as served:
            answer = ask(served.port, "GET", "/agent/capabilities")
        assert answer.status == 200
        assert b"null" not in answer.body
        recorded = AgentCapabilities.model_validate(answer.json)
        assert recorded == agent.capabilities()
        assert recorded.identity is not None
        assert recorded.identity.name == "talker"
        assert recorded.state is not None
        assert recorded.state.persistent_state is (saver is not None)

    def test_health(self) -> None:
        with serving(app_of(talking())) as served:
            answer = ask(served.port, "GET", "/agent/health")
        assert (answer.status, answer.json) == (200, {"status": "ok", "agent": {"name": "agent"}})

    def test_other_methods_are_refused(self) -> None:
        with serving(app_of(talking())) as served:
            assert ask(served.port, "GET", "/agent").status == 405
            assert ask(served.port, "POST", "/agent/health", b"{}").status == 405


def _endpoint(app: FastAPI, agent: LangGraphAgent) -> None:
    add_langgraph_fastapi_endpoint(app, agent, "/agent")


def _prefixed(app: FastAPI, agent: LangGraphAgent) -> None:
    app.include_router(agui_router(agent, ""), prefix="/agent")


def _nested(app: FastAPI, agent: LangGraphAgent) -> None:
    outer = APIRouter(prefix="/api")
    outer.include_router(agui_router(agent, "/agent"), prefix="/v1")
    app.include_router(outer)


def _mounted(app: FastAPI, agent: LangGraphAgent) -> None:
    inner = FastAPI()
    inner.include_router(agui_router(agent))
    app.mount("/agent", inner)


MOUNTS = {
    "endpoint": (_endpoint, "/agent", "/agent"),
    "endpoint-at-the-root": (
        lambda app, agent: add_langgraph_fastapi_endpoint(app, agent),
        "/",
        "",
    ),
    "router-at-the-root": (lambda app, agent: app.include_router(agui_router(agent)), "/", ""),
    "path-without-slash": (
        lambda app, agent: add_langgraph_fastapi_endpoint(app, agent, "agent"),
        "/agent",
        "/agent",
    ),
    "path-with-two-slashes": (
        lambda app, agent: app.include_router(agui_router(agent, "/a/")),
        "/a/",
        "/a",
    ),
    "path-with-parts": (
        lambda app, agent: app.include_router(agui_router(agent, "/a/b")),
        "/a/b",
        "/a/b",
    ),
    "empty-path-with-prefix": (_prefixed, "/agent", "/agent"),
    "prefix": (lambda app, agent: app.include_router(agui_router(agent), prefix="/p"), "/p/", "/p"),
    "nested-routers": (_nested, "/api/v1/agent", "/api/v1/agent"),
    "mounted-app": (_mounted, "/agent/", "/agent"),
}


class TestMounting:
    @pytest.mark.parametrize(("mount", "path", "base"), MOUNTS.values(), ids=MOUNTS)
    def test_everywhere(self, mount: Any, path: str, base: str) -> None:
        app, given = FastAPI(), run_input("go")
        mount(app, talking())
        with serving(app) as served:
            assert answered(ask(served.port, "POST", path, body_of(given)).body, given)
            assert ask(served.port, "GET", f"{base}/health").status == 200
            assert ask(served.port, "GET", f"{base}/capabilities").status == 200
            assert ask(served.port, "GET", "/openapi.json").status == 200

    @pytest.mark.parametrize("path", ["/p", "/p/"])
    def test_the_reference_client_finds_it_with_or_without_slash(
        self, path: str, node_client: NodeClient
    ) -> None:
        app = FastAPI()
        app.include_router(agui_router(talking()), prefix="/p")
        with serving(app) as served:
            run = node_client.run(
                url=served.url(path), add=[{"id": "1", "role": "user", "content": "go"}]
            )
        assert (run.error, run.warnings) == (None, [])
        assert run.messages[-1]["content"] == "word0 word1 word2 "

    def test_several_agents_in_one_app(self) -> None:
        app, given = FastAPI(), run_input("go")
        for number in (1, 2, 3):
            agent = LangGraphAgent(
                graph=flat(Talker(words=number, pause=0)), name=f"agent {number}"
            )
            add_langgraph_fastapi_endpoint(app, agent, f"/agent-{number}")
        with serving(app) as served:
            for number in (1, 2, 3):
                answer = ask(served.port, "POST", f"/agent-{number}", body_of(given))
                assert answered(answer.body, given) == "".join(
                    f"word{word} " for word in range(number)
                )
                health: Answer = ask(served.port, "GET", f"/agent-{number}/health")
                assert health.json["agent"]["name"] == f"agent {number}"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            schema = app.openapi()
        operations = [
            operation["operationId"]
            for routes in schema["paths"].values()
            for operation in routes.values()
        ]
        assert len(set(operations)) == len(operations) == 18

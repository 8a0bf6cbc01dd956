"""What an endpoint answers with: headers, framing, silence, its schema, and where it is mounted."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities, RunAgentInput
from fastapi import APIRouter, FastAPI
from jsonschema import Draft202012Validator
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint, agui_router
from langgraph_agui.protocol import compact, decode
from langgraph_agui.protocol.sse import encode
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.raw_http import Connection, ask, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, run_input

COMMENT = b": keep-alive\n\n"


def talking(saver: Any = None, name: str | None = None, **options: Any) -> LangGraphAgent:
    model = Talker(**{"words": 3, "pause": 0, "said_as": "answer", **options})
    return LangGraphAgent(flat(model, saver), name=name)


def app_of(agent: LangGraphAgent, **options: Any) -> FastAPI:
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent", **options))
    return app


def answered(body: bytes, given: RunAgentInput) -> str:
    """The answer that a client holds after a complete stream."""
    recorded = RecordedRun(list(decode([body])), given)
    recorded.check_snapshot()
    assert (recorded.last.type.value, recorded.last.run_id) == ("RUN_FINISHED", given.run_id)
    return str(recorded.messages[-1].content)


def test_the_answer_is_a_stream_of_the_agents_events() -> None:
    agent, given = talking(words=50), run_input("Grüße 🏛")

    async def directly() -> bytes:
        return b"".join([piece async for piece in agent.stream_sse(given)])

    with serving(app_of(agent)) as served:
        answer = ask(served.port, "POST", "/agent", body_of(given))
        sent, told = (compact(decode([one])) for one in (answer.body, served.call(directly())))
    headers = answer.headers
    assert (answer.status, headers["x-accel-buffering"]) == (200, "no")
    assert headers["content-type"].partition(";")[0] == "text/event-stream"
    assert {"no-cache", "no-transform"} <= set(headers["cache-control"].split(", "))
    assert not {"content-length", "content-encoding"} & headers.keys()
    assert sent == told  # which fragments leave together is a matter of time
    assert answer.body == b"".join(map(encode, decode([answer.body])))
    for frame in answer.body.removesuffix(b"\n\n").split(b"\n\n"):
        assert re.fullmatch(rb"data: \{[^\r]*\}", frame)
    assert answered(answer.body, given).endswith("word49 ")


def test_a_comment_breaks_the_silence_and_only_that() -> None:
    given = run_input("go")
    with serving(app_of(talking(pause=0.2), keep_alive=0.05)) as served:
        begun = time.monotonic()
        answer = ask(served.port, "POST", "/agent", body_of(given))
    frames = answer.body.split(b"\n\n")
    comments = [frame for frame in frames if frame.startswith(b":")]
    assert 3 <= len(comments) <= (time.monotonic() - begun) / 0.05
    assert frames[0].startswith(b"data: ")
    for body in (answer.body, answer.body.replace(COMMENT, b"")):
        assert answered(body, given) == "word0 word1 word2 "


def test_no_comment_while_it_is_busy() -> None:
    """The stream lasts longer than the silence that is allowed."""
    given, begun = run_input("go"), time.monotonic()
    with serving(app_of(talking(words=30, pause=0.05), keep_alive=1.0)) as served:
        answer = ask(served.port, "POST", "/agent", body_of(given))
    assert (time.monotonic() - begun > 1.0, COMMENT in answer.body) == (True, False)
    assert answered(answer.body, given).endswith("word29 ")


def test_events_and_comments_do_not_wait_for_the_model() -> None:
    app = app_of(talking(words=0, silent=True), keep_alive=0.05)
    with serving(app) as served, Connection(served.port) as connection:
        connection.send("POST", "/agent", body_of(run_input("go")))
        assert connection.head()[0] == 200
        pieces = connection.pieces()
        assert b'"RUN_STARTED"' in next(pieces)
        for _ in range(3):
            while next(pieces) != COMMENT:
                pass
        connection.leave()
        served.wait_idle()


def test_a_slow_reader_gets_everything_and_holds_up_nobody() -> None:
    given, other, body = run_input("go"), run_input("go"), bytearray()
    with serving(app_of(talking(words=4000))) as served, Connection(served.port, 4096) as slow:
        slow.send("POST", "/agent", body_of(given))
        assert slow.head()[0] == 200
        for number, piece in enumerate(slow.pieces()):
            body += piece
            if number == 2:  # now it stops reading for as long as another client takes
                answer = ask(served.port, "POST", "/agent", body_of(other))
                assert answered(answer.body, other).endswith("word3999 ")
        assert answered(bytes(body), given).endswith("word3999 ")
        served.wait_idle()


def test_a_slow_reader_may_leave_while_the_server_waits_for_it() -> None:
    model = Talker(pause=0)
    app = app_of(LangGraphAgent(flat(model)))
    with serving(app) as served, Connection(served.port, 4096) as slow:
        slow.send("POST", "/agent", body_of(run_input("go")))
        assert slow.head()[0] == 200
        while model.meter.produced < 20_000:  # megabytes more than the sockets hold
            assert not model.meter.ended.wait(0.01)
        slow.leave()
        served.wait_idle()


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
def test_what_it_says_of_the_agent(saver: InMemorySaver | None) -> None:
    agent = talking(saver, "talker")
    with serving(app_of(agent)) as served:
        answer = ask(served.port, "GET", "/agent/capabilities")
        health = ask(served.port, "GET", "/agent/health")
        refused = [("GET", "/agent"), ("POST", "/agent/health")]
        assert [ask(served.port, *one).status for one in refused] == [405, 405]
    assert (health.status, health.json) == (200, {"status": "ok", "agent": {"name": "talker"}})
    assert (answer.status, b"null" in answer.body) == (200, False)
    assert AgentCapabilities.model_validate(answer.json) == agent.capabilities()
    assert answer.json["identity"]["name"] == "talker"
    assert answer.json["state"]["persistentState"] is (saver is not None)


def nested(app: FastAPI, agent: LangGraphAgent) -> None:
    outer = APIRouter(prefix="/api")
    outer.include_router(agui_router(agent, "/nested"), prefix="/v1")
    app.include_router(outer)


def mounted(app: FastAPI, agent: LangGraphAgent) -> None:
    inner = FastAPI()
    inner.include_router(agui_router(agent))
    app.mount("/mounted", inner)


def endpoint(*path: str) -> Any:
    return lambda app, agent: add_langgraph_fastapi_endpoint(app, agent, *path)


def router(*path: str, prefix: str = "") -> Any:
    return lambda app, agent: app.include_router(agui_router(agent, *path), prefix=prefix)


@pytest.mark.filterwarnings("error")
def test_it_can_be_mounted_everywhere_with_others(node_client: NodeClient) -> None:
    """The reference client finds it with or without slash, and does not mind comments."""
    mounts: dict[str, Any] = {
        "/no-slash": endpoint("no-slash"),
        "/slashes/": router("/slashes/"),
        "/empty": router("", prefix="/empty"),
        "/prefix/": router(prefix="/prefix"),
        "/api/v1/nested": nested,
        "/mounted/": mounted,
        "/": endpoint(),
    }
    app, given, go = FastAPI(), run_input("go"), [{"id": "1", "role": "user", "content": "go"}]
    for words, mount in enumerate(mounts.values(), 1):
        mount(app, talking(words=words, name=f"agent {words}"))
    slow = agui_router(talking(pause=0.1), keep_alive=0.02, tags=["slow"])
    app.include_router(slow, prefix="/slow")
    with serving(app) as served:
        for words, path in enumerate(mounts, 1):
            answer = ask(served.port, "POST", path, body_of(given))
            assert answered(answer.body, given) == "".join(f"word{n} " for n in range(words))
            base = path.removesuffix("/")
            health = ask(served.port, "GET", f"{base}/health")
            assert health.json["agent"]["name"] == f"agent {words}"
            assert ask(served.port, "GET", f"{base}/capabilities").status == 200
        assert ask(served.port, "GET", "/openapi.json").status == 200
        for path in ("/slow", "/slow/"):
            run = node_client.run(url=served.url(path), add=go)
            assert (run.error, run.warnings) == (None, [])
            assert run.messages[-1]["content"] == "word0 word1 word2 "
    routes = [one for path in app.openapi()["paths"].values() for one in path.values()]
    assert len({one["operationId"] for one in routes}) == len(routes) == 6 * 7


def test_openapi_describes_the_routes() -> None:
    paths = app_of(talking()).openapi()["paths"]
    cancel = paths["/agent/cancel"]["post"]
    assert cancel["responses"].keys() == {"204", "400", "404", "413", "415", "422", "503"}
    body = cancel["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["threadId", "runId"]
    source = {"type": "url", "value": "https://e.com/a", "mimeType": "image/png"}
    user = {"id": "u", "role": "user", "content": [{"type": "image", "source": source}]}
    given = {"threadId": "t", "runId": "r", "messages": [user], "state": None}
    for path in ("/agent", "/agent/connect"):
        run = paths[path]["post"]
        assert {"200", "400", "409", "413", "415", "422", "429", "503"} <= run["responses"].keys()
        assert list(run["responses"]["200"]["content"]) == ["text/event-stream"]
        assert run["requestBody"]["required"]
        [(kind, content)] = run["requestBody"]["content"].items()
        assert (kind, "$ref" in json.dumps(content)) == ("application/json", False)
        Draft202012Validator.check_schema(content["schema"])
        fits = Draft202012Validator(content["schema"]).is_valid
        no_content = [{"id": "u", "role": "user"}]
        wrong: list[Any] = [{"threadId": 1}, {"tools": None}, {"messages": no_content}]
        assert [fits({**given, **one}) for one in [{}, *wrong]] == [True, False, False, False]

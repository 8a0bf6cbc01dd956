"""Schemathesis against an endpoint, from the schema that it serves; every answer is checked as in
`test_random_requests`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.contracts.frameworks.environments import python
from tests.faults.hostile.requests import check_answer
from tests.faults.hostile.test_random_requests import APP, PATHS
from tests.kit.deep import example_count
from tests.kit.processes.raw_http import Answer
from tests.kit.processes.serving import serving
from tests.kit.waiting import PATIENCE


@dataclass
class Exchange:
    """A request and its answer."""

    method: str
    path: str
    sent: bytes = b""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    received: bytes = b""
    complete: bool = False


class Recorder:
    """ASGI middleware that keeps every exchange."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.exchanges: list[Exchange] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope["method"], scope["path"])
        self.exchanges.append(exchange)

        async def reading() -> Message:
            message = await receive()
            exchange.sent += message.get("body", b"")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                exchange.headers = {
                    key.decode().lower(): value.decode() for key, value in message["headers"]
                }
            else:
                exchange.received += message.get("body", b"")
                exchange.complete = not message.get("more_body")
            await send(message)

        await self._app(scope, reading, sending)


def test_what_schemathesis_sends(tmp_path: Path) -> None:
    recorder = Recorder(APP)
    examples, timeout = str(example_count(30, 75)), str(int(PATIENCE))
    with serving(recorder) as served:
        done = subprocess.run(
            [
                *(
                    str(python("schemathesis")),
                    "-m",
                    "schemathesis.cli",
                    "run",
                    served.url("/openapi.json"),
                ),
                *("--checks", "not_a_server_error,unsupported_method,content_type_conformance"),
                *("--max-examples", examples, "--request-timeout", timeout),
                *("--generation-deterministic", "--no-color"),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=800,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        served.wait_idle()
    served_paths = {exchange.path for exchange in recorder.exchanges}
    assert served_paths.issuperset(PATHS)
    streams = 0
    for exchange in recorder.exchanges:
        assert exchange.status < 500, exchange
        assert exchange.complete, exchange
        if exchange.method == "POST" and exchange.path in PATHS:
            answer = Answer(exchange.status, exchange.headers, exchange.received)
            check_answer(answer, json.loads(exchange.sent) if exchange.status == 200 else None)
            streams += exchange.status == 200
    assert streams > 50

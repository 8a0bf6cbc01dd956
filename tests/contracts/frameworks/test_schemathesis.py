"""Schemathesis against an endpoint, from the schema that it serves; every answer is checked as in
`test_random_requests`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.contracts.frameworks.environments import python
from tests.faults.hostile.requests import check_answer
from tests.faults.hostile.test_random_requests import APP, PATHS
from tests.kit.deep import example_count
from tests.kit.processes.raw_http import Answer
from tests.kit.processes.serving import serving
from tests.kit.waiting import PATIENCE

CHECKS = "not_a_server_error,unsupported_method,content_type_conformance"


@pytest.mark.timeout(900)
def test_what_schemathesis_sends(tmp_path: Path) -> None:
    exchanges: list[dict[str, Any]] = []

    async def recorder(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = {"sent": b"", "received": b"", "complete": False}

        async def reading() -> Message:
            message = await receive()
            exchange["sent"] += message.get("body", b"")
            return message

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                pairs = [
                    (key.decode().lower(), value.decode()) for key, value in message["headers"]
                ]
                exchange.update(status=message["status"], headers=dict(pairs))
            else:
                exchange["received"] += message.get("body", b"")
                exchange["complete"] = not message.get("more_body")
            await send(message)

        if scope["type"] != "http":
            await APP(scope, receive, send)
            return
        exchange.update(method=scope["method"], path=scope["path"])
        exchanges.append(exchange)
        await APP(scope, reading, sending)

    with serving(recorder) as served:
        command = [
            python("schemathesis"),
            "-m",
            "schemathesis.cli",
            "run",
            served.url("/openapi.json"),
        ]
        options = ["--checks", CHECKS, "--request-timeout", str(int(PATIENCE)), "--no-color"]
        options += ["--max-examples", str(example_count(10, 75)), "--generation-deterministic"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        served.wait_idle()
    assert {one["path"] for one in exchanges}.issuperset(PATHS)
    streams = 0
    for one in exchanges:
        assert (one["status"] < 500, one["complete"]) == (True, True), one
        if one["method"] == "POST" and one["path"] in PATHS:
            answer = Answer(one["status"], one["headers"], one["received"])
            sent = json.loads(one["sent"]) if one["status"] == 200 else None
            check_answer(answer, sent, strict=False)  # its requests share threads
            streams += one["status"] == 200
    assert streams > 20

"""The recipes of docs/operations/deploy.md: the Dockerfile's commands run in an environment of
their own, and what they start stops as the Deployment expects."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest
import yaml

from langgraph_agui.protocol import decode
from tests.adapter.streams import RecordedRun, run_input
from tests.docs.blocks import ROOT, blocks
from tests.redis_server import free_port
from tests.waiting import PATIENCE, wait_for

PAGE = ROOT / "docs" / "operations" / "deploy.md"
FILES = {block.title: block.source for block in blocks(PAGE) if block.title}
# Each instruction of the Dockerfile, with the rest of its line.
INSTRUCTIONS = [line.split(" ", 1) for line in FILES["Dockerfile"].splitlines()]
COMMAND: list[str] = json.loads(dict(INSTRUCTIONS)["CMD"])
POD: dict[str, Any] = yaml.safe_load(FILES["deployment.yaml"])["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]


def option(name: str) -> str:
    """An option of the command that the container runs."""
    return COMMAND[COMMAND.index(name) + 1]


@contextmanager
def serving(
    folder: Path, scripts: Path, environment: dict[str, str], **options: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The container's command, and the address of its agent."""
    words = [str(scripts / COMMAND[0]), *COMMAND[1:]]
    options = {"--host": "127.0.0.1", "--port": str(free_port()), **options}
    for name, value in options.items():
        words[words.index(name) + 1] = value
    agent = f"http://127.0.0.1:{options['--port']}/agent"
    process = subprocess.Popen(words, cwd=folder, env=environment)
    try:
        wait_for(lambda: answers(f"{agent}/ready"), "the agent is ready")
        yield process, agent
    finally:
        process.kill()
        process.wait(PATIENCE)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def begin(agent: str, body: bytes) -> tuple[HTTPResponse, bytes]:
    """Begin a run, and return its stream once text has arrived, with its first part."""
    request = urllib.request.Request(agent, body, {"content-type": "application/json"})
    response: HTTPResponse = urllib.request.urlopen(request, None, PATIENCE)
    first = b""
    for line in response:
        first += line
        if b'"TEXT_MESSAGE_CONTENT"' in line:
            break
    return response, first


@pytest.mark.timeout(600)
def test_the_commands_of_the_dockerfile(tmp_path: Path) -> None:
    known = ("FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "CMD")
    assert {name for name, _ in INSTRUCTIONS} <= set(known)
    assert re.fullmatch(r"python:3\.\d+-slim", INSTRUCTIONS[0][1])
    wheels, context, image = (tmp_path / name for name in ("wheels", "context", "image"))
    for folder in (context, image):
        folder.mkdir()
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", str(ROOT), "-w", str(wheels)]
    subprocess.run(pip, check=True)
    for name, source in FILES.items():
        (context / name).write_text(source, "utf-8")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    scripts = tmp_path / "venv" / "bin"
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(wheels),
    }

    for name, rest in INSTRUCTIONS:
        if name == "COPY":
            source, _ = rest.split()
            (image / source).write_bytes((context / source).read_bytes())
        elif name == "RUN":
            subprocess.run(shlex.split(rest), cwd=image, env=environment, check=True)

    given = run_input("Count")
    with serving(image, scripts, environment) as (_, agent):
        stream, first = begin(agent, given.model_dump_json(by_alias=True).encode())
        with stream:
            run = RecordedRun(list(decode([first, stream.read()])), given)
    assert run.types[-1] == "RUN_FINISHED"


def test_the_deployment_fits_the_container() -> None:
    probes = [CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("readiness", "liveness")]
    assert [probe["path"] for probe in probes] == ["/agent/ready", "/agent/health"]
    [port] = CONTAINER["ports"]
    assert {port["containerPort"], *(probe["port"] for probe in probes)} == {int(option("--port"))}
    _, pause = CONTAINER["lifecycle"]["preStop"]["exec"]["command"]
    graceful = int(pause) + int(option("--timeout-graceful-shutdown"))
    assert POD["terminationGracePeriodSeconds"] > graceful


@pytest.mark.parametrize(
    ("graceful", "end"), [("30", ("RUN_FINISHED", None)), ("1", ("RUN_ERROR", "server_stopping"))]
)
def test_a_pod_that_is_terminated(
    graceful: str, end: tuple[str, str | None], tmp_path: Path
) -> None:
    """A run that is going on has the time that uvicorn gives it, then it is told why it ends."""
    delay = "delay=0.2" if graceful == "30" else "delay=30"
    assert "delay=0.2" in FILES["app.py"]
    (tmp_path / "app.py").write_text(FILES["app.py"].replace("delay=0.2", delay), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    given = run_input("Count")
    with serving(
        tmp_path,
        Path(sys.executable).parent,
        environment,
        **{"--timeout-graceful-shutdown": graceful},
    ) as (process, agent):
        stream, first = begin(agent, given.model_dump_json(by_alias=True).encode())
        with stream:
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: not answers(f"{agent}/ready"), "new requests are refused")
            run = RecordedRun(list(decode([first, stream.read()])), given)
        process.wait(PATIENCE)
    assert (run.types[-1], getattr(run.last, "code", None)) == end

"""The recipes of docs/operations/deploy.md: the Dockerfile's commands run in an environment of
their own, and what they start stops as the Deployment expects."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml

from langgraph_agui.protocol import decode
from tests.docs.blocks import ROOT, blocks
from tests.kit.processes.redis_server import free_port
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import PATIENCE, wait_for

PAGE = ROOT / "docs" / "operations" / "deploy.md"
FILES = {block.title: block.source for block in blocks(PAGE) if block.title}
# Each instruction of the Dockerfile, with the rest of its line.
INSTRUCTIONS = [line.split(" ", 1) for line in FILES["Dockerfile"].splitlines()]
COMMAND: list[str] = json.loads(dict(INSTRUCTIONS)["CMD"])
POD: dict[str, Any] = yaml.safe_load(FILES["deployment.yaml"])["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
SCRIPTS = Path(sys.executable).parent


def option(name: str) -> str:
    """An option of the command that the container runs."""
    return COMMAND[COMMAND.index(name) + 1]


@contextmanager
def serving(folder: Path, scripts: Path, environment: Any, **options: str) -> Iterator[Any]:
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


def answers(url: str, trusted: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE, context=trusted) as response:
            return bool(response.status == 200)
    except OSError:
        return False


GIVEN = run_input("Count")


def begin(agent: str, trusted: ssl.SSLContext | None = None) -> tuple[Any, bytes]:
    """Begin a run, and return its stream once text has arrived, with its first part."""
    body = GIVEN.model_dump_json(by_alias=True).encode()
    request = urllib.request.Request(agent, body, {"content-type": "application/json"})
    response = urllib.request.urlopen(request, None, PATIENCE, context=trusted)
    first = b""
    for line in response:
        first += line
        if b'"TEXT_MESSAGE_CONTENT"' in line:
            break
    return response, first


def rest(stream: Any, first: bytes) -> RecordedRun:
    with stream:
        return RecordedRun(list(decode([first, stream.read()])), GIVEN)


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

    for name, said in INSTRUCTIONS:
        if name == "COPY":
            source, _ = said.split()
            (image / source).write_bytes((context / source).read_bytes())
        elif name == "RUN":
            subprocess.run(shlex.split(said), cwd=image, env=environment, check=True)

    with serving(image, scripts, environment) as (_, agent):
        assert rest(*begin(agent)).types[-1] == "RUN_FINISHED"


def test_the_deployment_fits_the_container() -> None:
    probes = [CONTAINER[f"{kind}Probe"]["httpGet"] for kind in ("readiness", "liveness")]
    assert [probe["path"] for probe in probes] == ["/agent/ready", "/agent/health"]
    [port] = CONTAINER["ports"]
    assert {port["containerPort"], *(probe["port"] for probe in probes)} == {int(option("--port"))}
    _, pause = CONTAINER["lifecycle"]["preStop"]["exec"]["command"]
    graceful = int(pause) + int(option("--timeout-graceful-shutdown"))
    assert POD["terminationGracePeriodSeconds"] > graceful


def save_app(folder: Path, **changes: str) -> dict[str, str]:
    """Save the page's program with other numbers, and return what it needs of the environment."""
    source = FILES["app.py"]
    for name, value in changes.items():
        source, count = re.subn(rf"\b{name}=[\d.]+", f"{name}={value}", source)
        assert count == 1
    (folder / "app.py").write_text(source, "utf-8")
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("graceful", "delay", "end"),
    [("30", "0.2", ("RUN_FINISHED", None)), ("1", "5", ("RUN_ERROR", "server_stopping"))],
)
def test_a_pod_that_is_terminated(
    graceful: str, delay: str, end: tuple[str, str | None], tmp_path: Path
) -> None:
    """A run that is going on has the time that uvicorn gives it, then it is told why it ends."""
    environment = save_app(tmp_path, delay=delay)
    options = {"--timeout-graceful-shutdown": graceful}
    with serving(tmp_path, SCRIPTS, environment, **options) as (process, agent):
        begun = begin(agent)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: not answers(f"{agent}/ready"), "new requests are refused")
        run = rest(*begun)
        process.wait(PATIENCE)
    assert (run.types[-1], getattr(run.last, "code", None)) == end


def test_nginx_passes_on_each_event_and_that_the_client_leaves(tmp_path: Path) -> None:
    # The answer takes longer than a read may, and than the test waits for the run to stop.
    environment = save_app(tmp_path, delay="5", runs="1")
    [certificate] = [block.source for block in blocks(PAGE) if "openssl req" in block.source]
    subprocess.run(["bash", "-ec", certificate], cwd=tmp_path, check=True)
    with serving(tmp_path, SCRIPTS, environment) as (_, agent):
        inner, outer = agent.split(":")[2].split("/")[0], str(free_port())
        configuration = FILES["nginx.conf"].replace("8000", inner).replace("8001", outer)
        (tmp_path / "nginx.conf").write_text(configuration, "utf-8")
        path = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
        nginx = shutil.which("nginx", path=path)
        assert nginx is not None
        options = ["-p", str(tmp_path), "-c", "nginx.conf", "-e", "error.log", "-g", "daemon off;"]
        proxy = subprocess.Popen([nginx, *options])
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        front = f"https://localhost:{outer}/agent"
        try:
            wait_for(lambda: answers(f"{front}/ready", trusted), "nginx answers")
            stream, first = begin(front, trusted)
            assert b"RUN_FINISHED" not in first
            assert not begins(agent)
            stream.close()
            wait_for(lambda: begins(agent), "the run has stopped")
        finally:
            proxy.terminate()
            proxy.wait(PATIENCE)


def begins(agent: str) -> bool:
    """Whether the agent takes one more run, which its client leaves."""
    try:
        begin(agent)[0].close()
    except HTTPError as error:
        if error.code != 429:
            raise
        return False
    return True

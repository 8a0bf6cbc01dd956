"""Fresh Python environments, made with uv, and the programs that run in them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import uv

from tests.kit.paths import ROOT

PROGRAMS = ROOT / "tests/contracts/packaging/programs"
OLDEST = "3.11"


class CommandError(AssertionError):
    """A command has failed; the text is what it said."""


def run(*command: str | Path, cwd: Path | None = None, timeout: float = 120) -> str:
    """Run a command and return its output.

    It sees nothing of the clone: neither this environment nor `PYTHONPATH`.
    """
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"}
    hidden.add("PYTEST_CURRENT_TEST")
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    words = [str(word) for word in command]
    how: Any = {"capture_output": True, "text": True, "env": variables}
    done = subprocess.run(words, **how, cwd=cwd, timeout=timeout)
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"
        raise CommandError(f"{' '.join(words)} ended with {done.returncode}:\n{said}")
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    place: Path

    @classmethod
    def make(cls, place: Path, interpreter: Path) -> Environment:
        """Make an empty one."""
        run(uv.find_uv_bin(), "venv", "--quiet", "--no-config", "--python", interpreter, place)
        return cls(place)

    @property
    def python(self) -> Path:
        return self.place / "bin" / "python"

    def install(self, *words: str | Path) -> None:
        """Install with `uv pip install`. What is there stays, unless its version is refused."""
        command = [uv.find_uv_bin(), "pip", "install", "--quiet", "--no-config", "--python"]
        run(*command, self.python, *words, timeout=600)

    def use(self, program: str, *words: str) -> str:
        """Run one of our programs, which sees the environment's packages only."""
        return run(self.python, "-I", PROGRAMS / f"{program}.py", *words, cwd=self.place)

    def version(self, distribution: str) -> str:
        """Return the version of a distribution in the environment."""
        code = f"import importlib.metadata as metadata; print(metadata.version({distribution!r}))"
        return run(self.python, "-I", "-c", code).strip()


@cache
def interpreter(version: str) -> Path | None:
    """Return the interpreter of this Python, from pyenv's versions or the PATH; None if there is
    none that runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = (path / "bin" / "python" for path in pyenv.glob(f"{version}.*"))
    found = shutil.which(f"python{version}")
    for path in chain(sorted(kept, reverse=True), [Path(found)] if found else []):
        try:
            answer = run(path, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])")
        except (CommandError, OSError):
            continue  # pyenv has a command for each version of any project
        if answer.strip() == version:
            return path
    return None


def classified() -> list[str]:
    """Return the versions of Python that the package says it runs on."""
    return re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))

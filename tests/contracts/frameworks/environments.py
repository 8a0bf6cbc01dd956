"""The Python environments of peers: made once with pip, kept in `.venv-interop/` until their
packages change.

Microsoft's cannot live in ours: it needs `ag-ui-protocol<0.2`. The other frameworks could, today;
apart, no release of theirs changes what the other tests run with. `python -m
tests.contracts.frameworks.environments` makes them all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic

from tests.kit.paths import ROOT

HERE = Path(__file__).parent
ENVIRONMENTS = ROOT / ".venv-interop"

OWN = {"pydantic_ai", "agno", "microsoft", "schemathesis"}
"""Peers with an environment of their own; the others run in this one.

Schemathesis is no peer. It needs a `jsonschema-rs` that `langgraph-api` refuses.
"""


def python(peer: str) -> Path:
    """Return the interpreter that has the packages of `peer`, after installing them if need be.

    Raises `RuntimeError` with pip's words if the installation fails.
    """
    if peer not in OWN:
        return Path(sys.executable)
    place, wanted = ENVIRONMENTS / peer, _wanted(peer)
    mark = place / "installed.sha256"
    if not mark.exists() or mark.read_text() != wanted:
        _install(peer, place)
        mark.write_text(wanted)
    return place / "bin" / "python"


def _requirements(peer: str) -> Path:
    return HERE / "requirements" / f"{peer}.txt"


def _wanted(peer: str) -> str:
    return hashlib.sha256(_requirements(peer).read_bytes() + sys.version.encode()).hexdigest()


def _install(peer: str, place: Path) -> None:
    began = monotonic()
    shutil.rmtree(place, ignore_errors=True)
    _run(peer, sys.executable, "-m", "venv", str(place))
    pip = [
        str(place / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    _run(peer, *pip, "--requirement", str(_requirements(peer)))
    sys.stderr.write(f"installed {peer} in {monotonic() - began:.0f} s\n")


def _run(peer: str, *command: str) -> None:
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, env=quiet, timeout=600, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"cannot make the environment of {peer}: "
            f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        )


if __name__ == "__main__":
    for name in sorted(OWN):
        python(name)

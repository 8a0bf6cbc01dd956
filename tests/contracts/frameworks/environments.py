"""The Python environments of peers: made once, kept in `.venv-interop/` until their packages change.

Microsoft's cannot live in ours: it needs `ag-ui-protocol<0.2`. The other frameworks could, today;
apart, no release of theirs changes what the other tests run with. Schemathesis is no peer: it needs
a `jsonschema-rs` that `langgraph-api` refuses. `python -m tests.contracts.frameworks.environments`
makes them all.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from tests.kit.paths import ROOT
from tests.kit.processes.environments import Environment

HERE = Path(__file__).parent
OWN = {"pydantic_ai", "agno", "microsoft", "schemathesis"}
"""Those with an environment of their own; the others run in this one."""


def python(peer: str) -> Path:
    """Return the interpreter that has the packages of `peer`, after installing them if need be."""
    if peer not in OWN:
        return Path(sys.executable)
    place, packages = ROOT / ".venv-interop" / peer, HERE / "requirements" / f"{peer}.txt"
    mark = place / "installed.sha256"
    wanted = hashlib.sha256(packages.read_bytes() + sys.version.encode()).hexdigest()
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(exist_ok=True)
        Environment.make(place, Path(sys.executable)).install("--requirement", packages)
        mark.write_text(wanted)
    return place / "bin" / "python"


if __name__ == "__main__":
    for name in sorted(OWN):
        python(name)

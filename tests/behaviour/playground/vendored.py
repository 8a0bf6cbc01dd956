"""Builds what the page takes from npm: `make vendor`.

The sources, with the lock file of the packages, are in `vendor`; what they become, with the
licences, is in the page's folder. `vendor/SHA256SUMS` says which sources became which files.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.kit.paths import ROOT
from tests.kit.processes.node_client import find_node

SOURCES = ROOT / "vendor"
BUILT = ROOT / "langgraph_agui" / "devtools" / "playground" / "vendor"
SUMS = SOURCES / "SHA256SUMS"


def build(folder):
    """Build into `folder`, with the packages of the lock file from the npm registry."""
    node, npm = find_node()
    with tempfile.TemporaryDirectory() as scratch:
        work = shutil.copytree(
            SOURCES, Path(scratch) / "vendor", ignore=shutil.ignore_patterns("node_modules")
        )
        install = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        for command in (install, [*node, "build.mjs", str(folder)]):
            done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=280)
            if done.returncode != 0:
                raise RuntimeError(f"{command} failed:\n{done.stdout}{done.stderr}")


def sums():
    """The hashes of the sources and of what they became, as `sha256sum` writes them."""
    paths = [path for folder in (SOURCES, BUILT) for path in folder.iterdir() if path.is_file()]
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(ROOT).as_posix()}\n"
        for path in sorted(paths)
        if path != SUMS
    )


if __name__ == "__main__":
    build(BUILT)
    SUMS.write_text(sums())

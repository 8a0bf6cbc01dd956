"""Builds the site in `site`, with the package's version on each page: `python -m
tests.docs.build`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from langgraph_agui import __version__
from tests.docs.blocks import ROOT

CONFIGURATION = ".zensical.toml"


def build(folder: Path) -> None:
    """Build the site of the pages in `folder`; a warning is an error."""
    text = (ROOT / "zensical.toml").read_text("utf-8").replace("{version}", __version__)
    (folder / CONFIGURATION).write_text(text, "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f"]
    subprocess.run([*command, CONFIGURATION], cwd=folder, check=True)


if __name__ == "__main__":
    build(ROOT)

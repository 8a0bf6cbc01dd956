"""The table in docs/versions.md has the requirements of pyproject.toml, and the page names the
Pythons of its classifiers."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement

from tests.docs.blocks import ROOT
from tests.kit.processes.environments import classified

PAGE = (ROOT / "docs" / "versions.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_requirements() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `(.+?)` \|(?: `(\w+)`)? \|$", PAGE, re.MULTILINE)
    assert len(rows) == 6
    for package, versions, extra in rows:
        found = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        [needed] = [one for one in map(Requirement, found) if one.name == package]
        assert needed.specifier == Requirement(f"{package}{versions}").specifier


def test_pythons() -> None:
    assert f"| Python | `{PROJECT['requires-python']}` |" in PAGE
    *others, newest = classified()
    assert f"{', '.join(others)} and {newest}" in PAGE

"""docs/architecture.md names files and functions that exist, and its walks become no longer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.kit.paths import PACKAGE

PAGE = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
FILES = {path.name for path in PACKAGE.rglob("*.py")} | {
    path.name for path in (PACKAGE.parent / "tests").rglob("*.py")
}

# The files of each walk today. A walk may become shorter; a longer one needs a reason.
LENGTHS = {
    "A token": 13,
    "A history": 19,
    "An answer to an interrupt": 24,  # the forms of questions are a table
    "A state change": 14,
    "A run joined from another worker": 21,
    "A RemoteAgent node": 26,
}

# The steps of each walk: its files, and the text behind each.
WALKS = {
    title: re.findall(r"^\d+\. `([\w/]+\.py)`: (.*)$", text, re.MULTILINE)
    for title, text in re.findall(r"^### (A.*)\n((?:(?!#).*\n)*)", PAGE, re.MULTILINE)
}
STEPS = [(file, text) for steps in WALKS.values() for file, text in steps]

# The files in the first column of each table, by its room.
ROOMS = {
    room: re.findall(r"`(\w+\.py)`", " ".join(re.findall(r"^\| (`.*?) \|", rows, re.MULTILINE)))
    for room, rows in re.findall(
        r"^\| `([\w/]+)/` \| in \| out \|\n\|---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE
    )
}


def definitions(path: Path) -> set[str]:
    """The functions, classes and constants of a file; methods as `Class.method`."""
    tree = ast.parse(path.read_text("utf-8"))
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = [
                    one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
                ]
                found.update((name, *(f"{name}.{method.name}" for method in methods)))
    return found


@pytest.mark.parametrize(("file", "text"), STEPS)
def test_steps_name_what_their_file_defines(file: str, text: str) -> None:
    names = set(re.findall(r"`([^`]+)`", text))
    assert names
    assert names - definitions(PACKAGE / file) == set()


def test_walks_are_no_longer_than_they_were() -> None:
    assert {title: len(steps) for title, steps in WALKS.items()} == LENGTHS


@pytest.mark.parametrize("title", LENGTHS)
def test_a_walk_has_each_file_once(title: str) -> None:
    files = [file for file, _ in WALKS[title]]
    assert len(files) == len(set(files))
    assert f"| {title[0].lower()}{title[1:]} | {len(files)} |" in PAGE


def test_the_tables_have_all_files() -> None:
    for room in PACKAGE.rglob("__init__.py"):
        place = room.parent.relative_to(PACKAGE.parent).as_posix()
        files = {path.name for path in room.parent.glob("*.py")} - {"__init__.py", "__main__.py"}
        listed = ROOMS.get(place.removeprefix("langgraph_agui/"), [])
        assert sorted(listed) == sorted(files), place


def test_the_page_shows_the_first_level() -> None:
    entries = {path.name for path in PACKAGE.glob("[a-z]*.py")} | {
        f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")
    }
    shown = re.findall(r"^        ([a-z_]+(?:\.py|/))  ", PAGE.split("\n## ")[1], re.MULTILINE)
    assert sorted(shown) == sorted(entries)


def test_all_files_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", PAGE))
    assert {name for name in named if name.rpartition("/")[2] not in FILES} == set()
    with_room = {name for name in named if "/" in name and not name.startswith("tests/")}
    assert {name for name in with_room if not (PACKAGE / name).exists()} == set()

"""`make_json_safe` beside that of `ag-ui-langgraph`: make_json_safe.md says exactly how they differ,
and docs/migrating.md has some of its rows."""

from __future__ import annotations

import json
import uuid
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar

import pytest
from ag_ui_langgraph.utils import make_json_safe as theirs
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, Field

from langgraph_agui.compat import make_json_safe
from tests.kit.paths import ROOT
from tests.kit.tables import line

TABLE = Path(__file__).parent / "make_json_safe.md"
PAGE = ROOT / "docs" / "migrating.md"
HEADS = ["value", "`ag-ui-langgraph`", "here"]
DEEP = 5000


class Account:
    __module__ = "app"

    def __init__(self) -> None:
        self.name, self._key = "Ann", "secret"


class Table:
    __module__ = "app"

    def to_dict(self) -> dict[str, int]:
        return {"rows": 1}


class Point:
    __module__ = "app"
    __slots__ = ("x",)


class Recipe(BaseModel):
    minutes: int = Field(5, alias="cookTime")


class Colour(Enum):
    RED = "red"


@dataclass
class Step:
    name: str
    config: object = None


@dataclass
class Size:
    width: int
    unit: ClassVar[str] = "m"


def cycle() -> dict[str, object]:
    value: dict[str, object] = {}
    value["self"] = value
    return value


def deep() -> object:
    value: object = {1}
    for _ in range(DEEP):
        value = {"a": value}
    return value


# The name of a value in a row of the table, and the value.
DIFFERENT: dict[str, Any] = {
    '`value["self"] = value`': cycle(),
    "an object with attributes": Account(),
    "an object with `to_dict()` or `dict()`": Table(),
    "an object with none of these, such as a lock": Lock(),
    "an object with `__slots__`": Point(),
    "an exception": ValueError("no"),
    "a function": cycle,
    "`runtime` and `config` in a dict": {"config": 1, "runtime": 2, "a": 3},
    "the same in a dataclass": Step("cook"),
    "a model of pydantic whose field has an alias": Recipe(cookTime=9),
    "`datetime`": datetime(2026, 1, 2, tzinfo=UTC),
    "`date`": date(2026, 1, 2),
    "`timedelta`": timedelta(seconds=90),
    "`Decimal`": Decimal("1.5"),
    "a path": PurePosixPath("/tmp"),
    "`bytes`": b"ab",
    "`deque`, `range` and other sequences": deque([1]),
    "other mappings": MappingProxyType({"a": 1}),
    "NaN and infinities": float("nan"),
    "a tuple as a key": {(1, 2): "a"},
    "half of a surrogate pair": "a\ud800",
    f"a set in a dict, {DEEP} levels deep": deep(),
}
SAME: dict[str, Any] = {
    "JSON data": {"a": [1, 2.5, "b", True, None]},
    "large integers": 10**30,
    "tuples": (1, (2,)),
    "sets": {1},
    "enums": Colour.RED,
    "UUIDs": uuid.UUID(int=1),
    "dataclasses": Size(2),
    "a value that occurs twice": [(shared := {"a": 1}), shared],
    "messages": [HumanMessage("hi", id="u"), AIMessage("ho", id="a")],
}


def cell(value: Any, convert: Any) -> str:
    """What a function makes of a value, in the words of the table."""
    try:
        made = convert(value)
        text = json.dumps(made, ensure_ascii=True)
    except RecursionError:
        return "raises `RecursionError`"
    except TypeError:
        return "raises `TypeError`"
    if isinstance(made, str) and made == repr(value):
        return "its `repr`"
    levels = text.count('{"a"')
    if levels > 10:
        assert '{"__type__": "truncated"}' in text
        return f'{levels} levels, then `{{"__type__": "truncated"}}`'
    return f"`{text}`"


def row(name: str) -> str:
    value = DIFFERENT[name]
    return line(name, cell(value, theirs), cell(value, make_json_safe))


def rows(path: Path) -> list[str]:
    """Return the rows of the table in a file, without its heads."""
    return path.read_text("utf-8").split(f"{line(*HEADS)}\n")[1].split("\n\n")[0].splitlines()[1:]


def test_what_differs() -> None:
    assert rows(TABLE) == [row(name) for name in DIFFERENT]


def test_the_page_has_rows_of_the_table() -> None:
    assert len(rows(PAGE)) > 5
    assert {*rows(PAGE)} <= {*rows(TABLE)}


@pytest.mark.parametrize("name", SAME)
def test_what_is_the_same(name: str) -> None:
    assert make_json_safe(SAME[name]) == theirs(SAME[name])

"""Any value becomes JSON data, JSON data stays what it is, and nothing of an unknown object
shows."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections import OrderedDict, deque
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from ag_ui.core import UserMessage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_serializer, model_serializer

from langgraph_agui.protocol import to_jsonable
from langgraph_agui.protocol.json import MAX_DEPTH

floats = st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Telltale:
    def __repr__(self) -> str:
        return "secret"


class Broken(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("secret")


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    plain: int = Field(default=1, alias="plainAlias")
    hidden: str = Field(default="secret", exclude=True)
    password: SecretStr = SecretStr("secret")
    anything: Any = None


class Unwilling(BaseModel):
    model_config = ConfigDict(extra="allow")
    plain: int = Field(default=1, alias="plainAlias")
    hidden: str = Field(default="secret", exclude=True)

    @model_serializer
    def refuse(self) -> dict[str, Any]:
        raise ValueError("secret")


class HalfWilling(BaseModel):
    first: int = 1
    second: str = "x"

    @field_serializer("first")
    def refuse(self, value: int) -> int:
        raise ValueError("secret")


class Counted(dict[str, Any]):
    """A dict that counts how often it is read."""

    reads = 0

    def items(self) -> Any:
        self.reads += 1
        return super().items()


class Colour(Enum):
    RED = ("r", 1)


class Point(NamedTuple):
    x: int
    y: object


@dataclasses.dataclass
class Holder:
    value: object
    other: object = None


def object_of(name: str) -> dict[str, str]:
    return {"__type__": "object", "class": name}


def bytes_of(text: str) -> dict[str, str]:
    return {"__type__": "bytes", "base64": text}


CYCLE = {"__type__": "cycle"}
HERE = __name__


@given(value=JSON)
def test_json_data_is_not_altered(value: Any) -> None:
    before = json.dumps(value)
    assert json.dumps(to_jsonable(value)) == before
    # The careful walk agrees with the short way.
    walked = to_jsonable([value, object()])
    assert isinstance(walked, list)
    assert json.dumps(walked[0]) == before


any_text = st.text(st.characters(), max_size=4)
OBJECTS = (object(), Telltale(), Broken(a=1), int, print, Colour.RED, Model(), ...)
ODD = st.one_of(
    *(st.binary(max_size=4), any_text, st.floats(), st.datetimes(), st.decimals(), st.uuids()),
    st.sampled_from(OBJECTS),
)
ODD_KEYS = any_text | st.integers() | st.binary(max_size=2)
ANYTHING = st.recursive(
    ODD,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(ODD_KEYS, inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Holder, inner, inner),
        st.builds(Model, anything=inner),
    ),
    max_leaves=10,
)


@given(value=ANYTHING)
def test_anything_becomes_json_and_tells_no_secrets(value: object) -> None:
    text = json.dumps(to_jsonable(value), allow_nan=False, ensure_ascii=False).encode()
    assert b"secret" not in text
    assert b" object at 0x" not in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\xff", bytes_of("/w==")),
        (b"text", bytes_of("dGV4dA==")),
        (memoryview(b"a"), bytes_of("YQ==")),
        ([float("nan"), float("inf"), 1.5], [None, None, 1.5]),
        ((1, (2,)), [1, [2]]),
        (Point(1, b""), [1, bytes_of("")]),
        ({"b", "a", 1}, ["a", "b", 1]),
        (deque([1, 2]), [1, 2]),
        (MappingProxyType({"a": OrderedDict(b=1)}), {"a": {"b": 1}}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (timedelta(seconds=90), "PT1M30S"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (Colour.RED, ["r", 1]),
        (IntEnum("N", "A").A, 1),
        (StrEnum("S", "A").A, "a"),
        ({1: 0, None: 1, False: 2, 0.5: 3}, {"1": 0, "null": 1, "false": 2, "0.5": 3}),
        ({1: object(), "1": 2}, {"1": object_of("builtins.object"), "1'": 2}),
        ({b"k": 1}, {"<builtins.bytes>": 1}),
        (2**60, 2**60),
        pytest.param(10**5000, {"__type__": "truncated"}, id="huge"),
        ("\ud83d\ude42", "🙂"),
        ("a\ud83d", "a\ufffd"),
        (["\ude42\ud83d"], ["\ufffd\ufffd"]),
        (Telltale(), object_of(f"{HERE}.Telltale")),
        (Broken(a=1), object_of(f"{HERE}.Broken")),
        (ValueError("secret"), object_of("builtins.ValueError")),
        (int, object_of("builtins.type")),
        (
            Model(anything=b"a"),
            {"plainAlias": 1, "password": "**********", "anything": bytes_of("YQ==")},
        ),
        (Unwilling(more=b""), {"plainAlias": 1, "more": bytes_of("")}),
        (HalfWilling(), {"first": 1, "second": "x"}),
        (Holder(Holder(1)), {"value": {"value": 1, "other": None}, "other": None}),
        (UserMessage(id="m", content="x"), {"id": "m", "role": "user", "content": "x"}),
    ],
)
def test_values_with_a_natural_form(value: object, expected: object) -> None:
    assert to_jsonable(value) == expected
    assert to_jsonable([value]) == [expected]


def test_shared_values_are_written_out_and_only_back_references_are_cycles() -> None:
    shared = {"a": [1]}
    assert to_jsonable([shared, shared, object()]) == [shared, shared, object_of("builtins.object")]
    loop: dict[str, Any] = {"shared": shared, "again": shared}
    loop["self"] = [loop]
    assert to_jsonable(loop) == {"shared": shared, "again": shared, "self": [CYCLE]}
    assert to_jsonable([loop, loop]) == [to_jsonable(loop)] * 2
    holder = Holder(None)
    holder.value = {"back": holder}
    assert to_jsonable(holder) == {"value": {"back": CYCLE}, "other": None}
    model = Model()
    model.anything = [model]
    assert str(to_jsonable(model)).count("cycle") == 1  # pydantic unrolls one round by itself
    message = UserMessage(id="m", content="x", metadata={})
    message.metadata = {"back": message}
    shown = {"id": "m", "role": "user", "content": "x"}
    assert to_jsonable(message) == {**shown, "metadata": {"back": CYCLE}}


def lists(levels: int, innermost: object) -> object:
    for _ in range(levels):
        innermost = [innermost]
    return innermost


@pytest.mark.parametrize("innermost", [b"", object(), "\ud800"])
def test_depth_does_not_depend_on_the_stack_of_the_caller(innermost: object) -> None:
    def below(frames: int) -> Any:
        return below(frames - 1) if frames else to_jsonable(lists(150, innermost))

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    assert below(0) == below(free - 40)


@pytest.mark.parametrize("odd", [datetime(2026, 1, 2, tzinfo=UTC), "\ud800", float("nan")])
def test_one_odd_value_far_down_does_not_cost_a_pass_for_each_level(odd: object) -> None:
    payload = Counted(a=1)
    to_jsonable(lists(150, [payload, odd]))
    assert 0 < payload.reads < 4


def test_what_is_too_deep_is_cut_at_its_place() -> None:
    for depth, kept in ((MAX_DEPTH - 20, MAX_DEPTH - 20), (100_000, MAX_DEPTH - 1)):
        converted: Any = to_jsonable({"keep": 1, "deep": lists(depth, object())})
        text = str(converted["deep"])
        assert (converted["keep"], text.count("["), "truncated" in text) == (1, kept, depth > kept)


def test_the_value_stays_as_it_is() -> None:
    value, numbers = {"a": [1]}, (one for one in [1])
    copy: Any = to_jsonable(value)
    copy["a"].append(2)
    assert to_jsonable(numbers) == object_of("builtins.generator")
    assert (value, list(numbers)) == ({"a": [1]}, [1])

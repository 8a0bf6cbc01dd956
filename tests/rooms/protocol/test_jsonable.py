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
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_serializer, model_serializer

from langgraph_agui.protocol import to_jsonable
from langgraph_agui.protocol.json import MAX_DEPTH

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
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


ODD = (
    st.binary(max_size=4)
    | st.text(st.characters(), max_size=4)
    | st.floats()
    | st.datetimes()
    | st.decimals()
    | st.uuids()
    | st.sampled_from([object(), Telltale(), Broken(a=1), int, print, Colour.RED, Model(), ...])
)
ANYTHING = st.recursive(
    ODD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(), max_size=2) | st.integers() | st.binary(max_size=2),
            inner,
            max_size=3,
        )
        | st.tuples(inner, inner)
        | st.builds(Holder, inner, inner)
        | st.builds(Model, anything=inner)
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
        (b"\xff", {"__type__": "bytes", "base64": "/w=="}),
        (b"text", {"__type__": "bytes", "base64": "dGV4dA=="}),
        (memoryview(b"a"), {"__type__": "bytes", "base64": "YQ=="}),
        ([float("nan"), float("inf"), 1.5], [None, None, 1.5]),
        ((1, (2,)), [1, [2]]),
        (Point(1, b""), [1, {"__type__": "bytes", "base64": ""}]),
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
        (
            {1: "a", None: "b", False: "c", 0.5: "d"},
            {"1": "a", "null": "b", "false": "c", "0.5": "d"},
        ),
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
            {
                "plainAlias": 1,
                "password": "**********",
                "anything": {"__type__": "bytes", "base64": "YQ=="},
            },
        ),
        (Unwilling(more=b""), {"plainAlias": 1, "more": {"__type__": "bytes", "base64": ""}}),
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
    assert to_jsonable(message) == {
        "id": "m",
        "role": "user",
        "content": "x",
        "metadata": {"back": CYCLE},
    }


def test_depth_is_kept_as_far_as_it_goes() -> None:
    deep: Any = [object()]
    for _ in range(MAX_DEPTH - 20):
        deep = [deep]
    assert str(to_jsonable(deep)).count("[") == MAX_DEPTH - 19
    for _ in range(100_000):
        deep = {"k": deep}
    assert "truncated" in json.dumps(to_jsonable(deep))


def lists(levels: int, innermost: object) -> object:
    for _ in range(levels):
        innermost = [innermost]
    return innermost


def levels_of(data: Any) -> int:
    levels = 0
    while isinstance(data, list):
        data, levels = data[0], levels + 1
    return levels


def test_what_is_too_deep_is_cut_at_its_place() -> None:
    converted: Any = to_jsonable({"keep": 1, "deep": lists(100_000, 0)})
    assert converted["keep"] == 1
    assert levels_of(converted["deep"]) == MAX_DEPTH - 1


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


def test_the_result_shares_nothing_with_the_value() -> None:
    value = {"a": [1]}
    copy: Any = to_jsonable(value)
    copy["a"].append(2)
    assert value == {"a": [1]}


def test_generators_are_not_consumed() -> None:
    numbers = (one for one in [1])
    assert to_jsonable(numbers) == object_of("builtins.generator")
    assert list(numbers) == [1]


def test_langchain_messages_are_models() -> None:
    dumped: Any = to_jsonable({"messages": [AIMessage("hi", id="m")]})
    assert dumped["messages"][0]["content"] == "hi"
    assert dumped["messages"][0]["type"] == "ai"

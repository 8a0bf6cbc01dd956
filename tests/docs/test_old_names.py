"""The tables of old and new names in CHANGELOG.md are true."""

from __future__ import annotations

import re
import warnings
from datetime import timedelta
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

import langgraph_agui
from langgraph_agui import LangGraphAgent
from tests.docs.blocks import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
ROWS: list[tuple[str, str]] = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", CHANGELOG, re.MULTILINE)
IMPORTS = [row for row in ROWS if row[0].startswith("from ")]
FIELDS = [row for row in ROWS if "Options(" in row[0]]
OPTIONS = [row for row in ROWS if row not in [*IMPORTS, *FIELDS]]


class Notes(MessagesState):
    notes: str


class Shared(BaseModel):
    """The state as clients see it."""

    notes: str = ""


def write(state: Notes) -> Notes:
    return state


NAMES: dict[str, Any] = {
    **{name: getattr(langgraph_agui, name) for name in langgraph_agui.__all__},
    "Shared": Shared,
    "ThinkTagSplitter": langgraph_agui.ThinkTagSplitter,
    "audit": print,
    "graph": StateGraph(Notes).add_node(write).add_edge(START, "write").compile(),
    "timedelta": timedelta,
}


def told(made: Any) -> object:
    """What an agent, or its options, were told, however they were told."""
    if isinstance(made, LangGraphAgent):
        context = made._context
        groups = (
            context.approvals,
            context.clients,
            context.limits,
            context.trust,
            context.emit_raw,
        )
        return groups, made.capabilities()
    return made.tags if isinstance(made, langgraph_agui.ReasoningOptions) else made


def check(old: str, new: str, warning: str) -> None:
    with pytest.warns(DeprecationWarning, match=warning):
        before = eval(old, NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        assert told(eval(new, NAMES)) == told(before)


@pytest.mark.parametrize(("old", "new"), OPTIONS)
def test_an_old_option_names_its_new_place(old: str, new: str) -> None:
    place = re.search(r"\w+\(\w+=|^\w+=(?=\w+$)", new)
    assert place is not None
    check(f"LangGraphAgent(graph, {old})", f"LangGraphAgent(graph, {new})", re.escape(place[0]))


@pytest.mark.parametrize(("old", "new"), FIELDS)
def test_an_old_field_names_the_new_one(old: str, new: str) -> None:
    check(old, new, r"is deprecated: use \w+Options\(\w+=")


def test_old_imports() -> None:
    for old, new in IMPORTS:
        with pytest.raises(ModuleNotFoundError, match="No module named 'langgraph_agui"):
            exec(old, {})
        exec(new, {})
    assert len(ROWS) > 40


def test_names_for_migration_are_hidden_and_there() -> None:
    names = langgraph_agui.compat.__all__
    assert "CustomEventNames" in names
    assert not {*names} & {*dir(langgraph_agui), *langgraph_agui.__all__}
    assert all(hasattr(langgraph_agui, name) for name in names)

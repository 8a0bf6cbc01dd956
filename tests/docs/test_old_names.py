"""The tables of old and new names in CHANGELOG.md are true."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        yield


def made(options: str) -> LangGraphAgent:
    agent = eval(f"LangGraphAgent(graph, {options})", NAMES)
    assert isinstance(agent, LangGraphAgent)
    return agent


def settings(agent: LangGraphAgent) -> object:
    """What an agent was told, however it was told."""
    told = agent._context
    groups = (told.approvals, told.clients, told.limits, told.trust, told.emit_raw)
    return groups, agent.capabilities()


@pytest.mark.parametrize(("old", "new"), OPTIONS)
def test_an_old_option_names_its_new_place(old: str, new: str) -> None:
    place = re.search(r"\w+\(\w+=|^\w+=(?=\w+$)", new)
    assert place is not None
    with pytest.warns(DeprecationWarning, match=re.escape(place[0])):
        before = made(old)
    with without_warnings():
        after = made(new)
    assert settings(before) == settings(after)


@pytest.mark.parametrize(("old", "new"), FIELDS)
def test_an_old_field_names_the_new_one(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=r"is deprecated: use \w+Options\(\w+="):
        before = eval(old, NAMES)
    with without_warnings():
        after = eval(new, NAMES)
    if isinstance(before, langgraph_agui.ReasoningOptions):
        assert before.tags == after.tags
    else:
        assert before == after


@pytest.mark.parametrize(("old", "new"), IMPORTS)
def test_an_old_import(old: str, new: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'langgraph_agui"):
        exec(old, {})
    exec(new, {})


def test_names_for_migration_are_hidden_and_there() -> None:
    names = langgraph_agui.compat.__all__
    assert "CustomEventNames" in names
    assert not {*names} & {*dir(langgraph_agui), *langgraph_agui.__all__}
    assert all(hasattr(langgraph_agui, name) for name in names)


def test_the_tables_are_read() -> None:
    assert len(ROWS) > 40

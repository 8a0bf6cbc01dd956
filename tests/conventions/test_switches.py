"""The constructor switches of `ag-ui-langgraph`."""

from __future__ import annotations

import inspect
import json
import logging
from typing import Any

import ag_ui_langgraph
import pytest

import langgraph_agui
from langgraph_agui import LangGraphAgent, make_json_safe
from langgraph_agui.compat.switches import _HOOKS, read_options
from tests.adapter.graphs import chain_of, talker
from tests.adapter.models import Scripted
from tests.adapter.streams import user


@pytest.mark.parametrize(
    ("switches", "options"),
    [
        ({}, {}),
        ({"emit_raw_events": False}, {"emit_raw": False}),
        ({"emit_raw_events": True}, {"emit_raw": True}),
        ({"emit_interrupt_outcome": True}, {"interrupts": "both"}),
        ({"emit_interrupt_outcome": False}, {"interrupts": "legacy"}),
        ({"enable_legacy_on_interrupt_event": False}, {"interrupts": "outcome"}),
        ({"enable_legacy_on_interrupt_event": True, "emit_interrupt_outcome": True}, {"interrupts": "both"}),
        ({"emit_subagent_events": True}, {"subagents": "attributed"}),
        ({"emit_subagent_events": False}, {"subagents": "inline"}),
        ({"emit_subagent_events": None, "subagent_visibility": None}, {}),
        ({"subagent_visibility": "hidden"}, {"subagents": "hidden"}),
        ({"subagent_visibility": "inline", "emit_subagent_events": False}, {"subagents": "inline"}),
    ],
)
def test_switches_are_options(switches: Any, options: Any) -> None:
    assert read_options(switches) == options
    LangGraphAgent(chain_of(talker(Scripted(["hi"]))), name="agent", **switches)


def test_those_that_contradict_each_other() -> None:
    with pytest.raises(ValueError, match="contradicts"):
        LangGraphAgent(chain_of(talker(Scripted(["hi"]))), subagent_visibility="hidden", emit_subagent_events=True)


def test_those_that_are_none() -> None:
    graph = chain_of(talker(Scripted(["hi"])))
    with pytest.raises(TypeError, match="takes no option 'emit_raws'"):
        LangGraphAgent(graph, emit_raws=True)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="subagents must be one of"):
        LangGraphAgent(graph, subagent_visibility="some")  # type: ignore[arg-type]


INTERNAL = {
    *("LangGraphEventTypes", "State", "SchemaKeys", "ThinkingProcess", "MessageInProgress", "RunMetadata"),
    *("MessagesInProgressRecord", "ToolCall", "BaseLangGraphPlatformMessage", "LangGraphPlatformResultMessage"),
    *("LangGraphPlatformActionExecutionMessage", "LangGraphPlatformMessage", "PredictStateTool", "LangGraphReasoning"),
    "json_safe_stringify",
}
"""The types of its insides, which ours do not have."""


def test_all_that_users_import_is_here() -> None:
    for name in set(ag_ui_langgraph.__all__) - INTERNAL:
        assert hasattr(langgraph_agui, name), name
    for name in ("ATTRIBUTED", "INLINE", "HIDDEN"):
        name = f"SUBAGENT_VISIBILITY_{name}"
        assert getattr(langgraph_agui, name) == getattr(ag_ui_langgraph, name)
    assert make_json_safe({"a": {1}, "b": user("hi")})["b"]["content"] == "hi"
    json.dumps(make_json_safe(logging))


def test_the_constructor_takes_what_theirs_takes() -> None:
    theirs = inspect.signature(ag_ui_langgraph.LangGraphAgent.__init__).parameters
    options: dict[str, Any] = {
        name: one.default for name, one in theirs.items() if name not in ("self", "name", "graph")
    }
    LangGraphAgent(name="agent", graph=chain_of(talker(Scripted(["hi"]))), **options)


def test_methods_that_nothing_calls_are_named(caplog: pytest.LogCaptureFixture) -> None:
    class Mine(LangGraphAgent):
        def _dispatch_event(self, event: Any) -> Any:
            return event

        def get_schema_keys(self, config: Any) -> Any:
            return {}

    warnings = sorted(one.getMessage() for one in caplog.records)
    assert len(warnings) == 2
    assert warnings[0] == "Mine._dispatch_event is never called: override run() and change the events that it yields."
    assert "StateOptions" in warnings[1]
    caplog.clear()
    Mine(chain_of(talker(Scripted(["hi"]))))

    class Good(LangGraphAgent):
        def get_capabilities(self) -> dict[str, object]:
            return {}

    assert not caplog.records


def test_the_hooks_are_theirs() -> None:
    for name in " ".join(_HOOKS.values()).split():
        assert callable(getattr(ag_ui_langgraph.LangGraphAgent, name)), name

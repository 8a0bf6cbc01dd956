"""Options of other spellings: the switches of `ag-ui-langgraph`, and the options of before 0.3."""

from __future__ import annotations

import inspect
import json
import logging
import re
from datetime import timedelta
from typing import Any

import ag_ui_langgraph
import pytest
from pydantic import BaseModel

import langgraph_agui
from langgraph_agui import (
    ApprovalOptions,
    ClientOptions,
    LangGraphAgent,
    ReasoningOptions,
    RunLimits,
    StateOptions,
    ThinkTags,
    ThinkTagSplitter,
    TrustOptions,
    make_json_safe,
)
from langgraph_agui.compat.switches import _HOOKS, OptionGroups, read_switches
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user


def groups(**changed: Any) -> OptionGroups:
    given: dict[str, Any] = {
        "reasoning": ReasoningOptions(),
        "state": StateOptions(),
        "approvals": ApprovalOptions(),
        "clients": ClientOptions(),
        "limits": RunLimits(),
        "trust": TrustOptions(),
    }
    return OptionGroups(**{**given, **changed})


def agent_of(**options: Any) -> LangGraphAgent:
    return LangGraphAgent(chain_of(talker(Scripted(["hi"]))), **options)


INLINE = ClientOptions(subagents="inline")


@pytest.mark.parametrize(
    ("switches", "options"),
    [
        ({}, {}),
        ({"emit_raw_events": False}, {}),
        ({"emit_raw_events": True}, {"emit_raw": True}),
        ({"emit_interrupt_outcome": True}, {"approvals": ApprovalOptions(ask_by="both")}),
        ({"emit_interrupt_outcome": False}, {"approvals": ApprovalOptions(ask_by="events")}),
        (
            {"enable_legacy_on_interrupt_event": False},
            {"approvals": ApprovalOptions(ask_by="outcome")},
        ),
        (
            {"enable_legacy_on_interrupt_event": True, "emit_interrupt_outcome": True},
            {"approvals": ApprovalOptions(ask_by="both")},
        ),
        ({"emit_subagent_events": True}, {"clients": ClientOptions(subagents="attributed")}),
        ({"emit_subagent_events": False}, {"clients": INLINE}),
        ({"emit_subagent_events": None, "subagent_visibility": None}, {}),
        ({"subagent_visibility": "hidden"}, {"clients": ClientOptions(subagents="hidden")}),
        ({"subagent_visibility": "inline", "emit_subagent_events": False}, {"clients": INLINE}),
    ],
)
def test_switches_are_options(switches: Any, options: Any, recwarn: Any) -> None:
    assert read_switches(groups(), switches, ()) == groups(**options)
    agent_of(name="agent", **switches)
    assert not [one for one in recwarn if "LangGraphAgent" in str(one.message)]


class Shown(BaseModel):
    mood: str = ""


DAY = timedelta(1)


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("approval_timeout", DAY, {"approvals": ApprovalOptions(timeout=DAY)}),
        ("on_approval", print, {"approvals": ApprovalOptions(on_answer=print)}),
        ("interrupts", "legacy", {"approvals": ApprovalOptions(ask_by="events")}),
        (
            "input_while_paused",
            "cancel_and_continue",
            {"approvals": ApprovalOptions(when_paused="cancel")},
        ),
        ("client_protocol", "0.x", {"clients": ClientOptions(protocol="0.x")}),
        ("subagents", "hidden", {"clients": ClientOptions(subagents="hidden")}),
        ("inner_models", "live", {}),
        ("run_timeout", 3, {"limits": RunLimits(total=3)}),
        ("idle_timeout", 3, {"limits": RunLimits(idle=3)}),
        ("max_concurrent_runs", 3, {"limits": RunLimits(runs=3)}),
        ("max_waiting", 3, {"limits": RunLimits(waiting=3)}),
        ("max_readers", 3, {"limits": RunLimits(readers=3)}),
        ("max_unread", 3, {"limits": RunLimits(unread=3)}),
        ("unknown_threads", "ignore", {"trust": TrustOptions(history="ignore")}),
        ("client_instructions", "accept", {"trust": TrustOptions(instructions="accept")}),
        ("media_urls", "none", {"trust": TrustOptions(media_urls="none")}),
        ("state_schema", Shown, {"state": StateOptions(schema=Shown)}),
        ("emit_raw", True, {"emit_raw": True}),
        ("merge_fragments", False, {}),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_flat_options_are_in_groups(name: str, value: object, options: Any) -> None:
    assert read_switches(groups(), {name: value}, ()) == groups(**options)


@pytest.mark.parametrize(
    ("option", "value", "place"),
    [
        ("max_readers", 3, "limits=RunLimits(readers=...)"),
        ("interrupts", "legacy", "approvals=ApprovalOptions(ask_by='events')"),
        ("interrupts", "both", "approvals=ApprovalOptions(ask_by=...)"),
        ("approvals", "tool_call", "approvals=ApprovalOptions(ask_by=...)"),
        ("approvals", "interrupt", "approvals=ApprovalOptions(ask_by='auto')"),
        ("emit_raw", True, "emit_raw_events=..."),
        ("merge_fragments", 1, "nothing: fragments that wait together always leave as one event"),
    ],
)
def test_the_warning_names_the_new_place(option: str, value: object, place: str) -> None:
    flat: Any = {option: value}
    graph = chain_of(talker(Scripted(["hi"])))
    with pytest.warns(DeprecationWarning, match=option) as caught:
        agent = LangGraphAgent(graph, limits=RunLimits(total=5), **flat)
    text = f"The option {option!r} of LangGraphAgent is deprecated: use {place}"
    assert [(str(one.message), one.filename) for one in caught] == [(text, __file__)]
    readers = {"readers": 3} if option == "max_readers" else {}
    assert agent.limits == RunLimits(total=5, **readers)


@pytest.mark.parametrize(
    ("old", "now", "options"),
    [
        ({"check_output": False}, "check=...", {"check": False}),
        ({"refused": "warn"}, "forbidden_change='ignore'", {}),
        ({"refused": "error"}, "forbidden_change='refuse'", {"forbidden_change": "refuse"}),
        ({"emit": "delta"}, "send='patches'", {}),
        ({"emit": "snapshot"}, "send='snapshots'", {"send": "snapshots"}),
    ],
)
def test_the_options_of_the_state_have_new_names(old: Any, now: str, options: Any) -> None:
    (name,) = old
    with pytest.warns(DeprecationWarning, match="StateOptions") as caught:
        assert StateOptions(exclude=["a"], **old) == StateOptions(exclude=["a"], **options)
    text = f"StateOptions({name}=...) is deprecated: use StateOptions({now})"
    assert [(str(one.message), one.filename) for one in caught] == [(text, __file__)]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"subagent_visibility": "hidden", "emit_subagent_events": True},
            ValueError,
            "contradicts",
        ),
        ({"emit_raw_events": "no"}, TypeError, "emit_raw_events must be bool, not str"),
        ({"emit_raws": True}, TypeError, "takes no option 'emit_raws'"),
        ({"subagent_visibility": "some"}, ValueError, "subagents must be one of"),
    ],
)
def test_switches_that_are_refused(options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        agent_of(**options)


@pytest.mark.parametrize(
    ("flat", "ask_by"),
    [
        ({"approvals": "interrupt"}, "auto"),
        ({"approvals": "interrupt", "interrupts": "legacy"}, "events"),
        ({"approvals": "tool_call"}, "tool_call"),
        ({"approvals": "tool_call", "interrupts": "legacy"}, "tool_call"),
        ({"approvals": "tool_call", "emit_interrupt_outcome": True}, "tool_call"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_how_clients_are_asked(flat: Any, ask_by: str) -> None:
    agent = agent_of(**flat)
    assert agent._context.approvals == ApprovalOptions(ask_by=ask_by)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.* is deprecated")
def test_an_option_of_the_state_has_one_name_at_a_time() -> None:
    both: Any = {"emit": "delta", "send": "patches"}
    with pytest.raises(TypeError, match="multiple values for keyword argument 'send'"):
        StateOptions(**both)
    wrong: Any = {"refused": "no"}
    with pytest.raises(ValueError, match="forbidden_change must be one of 'ignore', 'refuse'"):
        StateOptions(**wrong)


def test_think_tags_were_a_class() -> None:
    with pytest.warns(
        DeprecationWarning, match=r"use ReasoningOptions\(think_tags=True\)"
    ) as caught:
        tags = ThinkTagSplitter("[", "]", opened=True)
    assert [one.filename for one in caught] == [__file__]
    assert ReasoningOptions(think_tags=tags).tags == ThinkTags("[", "]", opened=True)


INTERNAL = re.compile(
    "(BaseLangGraph|LangGraph)Platform.*|LangGraph(EventTypes|Reasoning)|State|SchemaKeys|ToolCall|"
    "ThinkingProcess|MessageInProgress|MessagesInProgressRecord|RunMetadata|PredictStateTool|"
    "json_safe_stringify"
)
"""The types of its insides, which ours do not have."""


def test_all_that_users_import_is_here() -> None:
    for name in ag_ui_langgraph.__all__:
        assert INTERNAL.fullmatch(name) or hasattr(langgraph_agui, name), name
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
    assert (
        warnings[0]
        == "Mine._dispatch_event is never called: override run() and change the events that it "
        "yields."
    )
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

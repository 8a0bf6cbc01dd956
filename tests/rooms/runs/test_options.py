"""Options of an agent: the groups that they are in, and the values that are refused."""

from __future__ import annotations

import inspect
import pydoc
import re
from dataclasses import fields
from datetime import timedelta
from typing import Any, get_args, get_type_hints

import pytest
from langgraph.graph import MessagesState

from langgraph_agui import (
    ApprovalOptions,
    ClientOptions,
    InputLimits,
    LangGraphAgent,
    PredictState,
    ReasoningOptions,
    RunLimits,
    StateOptions,
    ThinkTags,
    TrustOptions,
)
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted

GROUPS: tuple[type[Any], ...] = (
    *(ReasoningOptions, StateOptions, ApprovalOptions, ClientOptions, RunLimits, TrustOptions),
)

CHOICES: dict[tuple[type[Any], str], tuple[object, ...]] = {
    (LangGraphAgent, "on_busy"): ("refuse", "wait"),
    (LangGraphAgent, "on_disconnect"): ("cancel", "continue"),
    (ReasoningOptions, "visibility"): ("full", "summary", "hidden", "off"),
    (StateOptions, "forbidden_change"): ("ignore", "refuse"),
    (StateOptions, "send"): ("patches", "snapshots"),
    (ApprovalOptions, "ask_by"): ("auto", "outcome", "events", "both", "tool_call"),
    (ApprovalOptions, "when_paused"): ("refuse", "cancel"),
    (ClientOptions, "protocol"): ("auto", "1.0", "0.x"),
    (ClientOptions, "subagents"): ("auto", "attributed", "inline", "hidden"),
    (ClientOptions, "models_in_tools"): ("stream", "hidden"),
    (ClientOptions, "middleware_steps"): ("hidden", "show"),
    (TrustOptions, "history"): ("import", "ignore"),
    (TrustOptions, "instructions"): ("ignore", "accept"),
    (TrustOptions, "media_urls"): ("public", "any", "none"),
}

PREDICTED = PredictState("write", "notes")
# Values that are refused, each with what its error says.
REFUSED: list[tuple[type[Any], str, Any, str]] = [
    (LangGraphAgent, "description", {"limit": 9}, "description must be str, not dict"),
    (LangGraphAgent, "limits", InputLimits(), "write limits=RunLimits(input=InputLimits(...))"),
    (LangGraphAgent, "approvals", True, "not bool: write approvals=ApprovalOptions(...)"),
    (ReasoningOptions, "max_bytes", 0, "ReasoningOptions.max_bytes must be positive, not 0"),
    (ReasoningOptions, "max_bytes", "1", "ReasoningOptions.max_bytes must be int, not str"),
    (ReasoningOptions, "think_tags", "<a>", "think_tags must be ThinkTags or tuple or bool"),
    (ReasoningOptions, "think_tags", ("<a>",), "think_tags must have two tags, not"),
    (ReasoningOptions, "think_tags", ("", "<a>"), "A tag must not be empty"),
    (ReasoningOptions, "think_tags", ("<a>", "<a>"), "both '<a>'"),
    (ThinkTags, "closing", 5, "ThinkTags.closing must be str, not int"),
    (StateOptions, "schema", MessagesState, "StateOptions.schema must be a pydantic model"),
    (StateOptions, "check", "yes", "StateOptions.check must be bool, not str"),
    (StateOptions, "include", 5, "StateOptions.include must be list, not int"),
    (StateOptions, "exclude", "notes", "list, not str: write StateOptions(exclude=['notes'])"),
    (
        StateOptions,
        "predict",
        [{"tool": "x"}],
        "write StateOptions(predict=[PredictState(tool=...)])",
    ),
    (StateOptions, "predict", PREDICTED, "write StateOptions(predict=[PredictState(...)])"),
    (ApprovalOptions, "timeout", "1 h", "ApprovalOptions.timeout must be float or timedelta"),
    (ApprovalOptions, "timeout", timedelta(-1), "ApprovalOptions.timeout must be 0 or more"),
    (ApprovalOptions, "on_answer", "log", "ApprovalOptions.on_answer must be function, not str"),
    (RunLimits, "total", 0, "RunLimits.total must be more than 0, not 0"),
    (RunLimits, "idle", timedelta(0), "RunLimits.idle must be more than 0"),
    (RunLimits, "readers", None, "RunLimits.readers must be int, not NoneType"),
    (RunLimits, "input", {}, "InputLimits, not dict: write RunLimits(input=InputLimits(...))"),
    (InputLimits, "max_depth", 0, "InputLimits.max_depth must be more than 0, not 0"),
    (InputLimits, "max_bytes", "1 MB", "InputLimits.max_bytes must be int, not str"),
    (TrustOptions, "media_urls", 5, "TrustOptions.media_urls must be one of"),
]


def make(owner: type[Any], options: dict[str, Any]) -> object:
    graph = [chain_of(talker(Scripted(["hi"])))] if owner is LangGraphAgent else []
    return owner(*graph, **options)


@pytest.mark.parametrize(("owner", "option"), CHOICES)
def test_an_unknown_value_is_refused(owner: type[Any], option: str) -> None:
    choices = CHOICES[owner, option]
    for value in choices:
        make(owner, {option: value})
    wrong: tuple[Any, ...] = (True, "Accept", None)
    for value in wrong:
        with pytest.raises(
            ValueError, match=f"{option} must be one of .*, not {value!r}"
        ) as caught:
            make(owner, {option: value})
        assert all(repr(known) in str(caught.value) for known in choices)


@pytest.mark.parametrize(("owner", "option", "value", "text"), REFUSED)
def test_a_wrong_value_is_refused(owner: type[Any], option: str, value: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(text)):
        make(owner, {option: value})


@pytest.mark.parametrize("time", [3, 0.5, timedelta(seconds=3)])
def test_times_are_seconds_or_durations(time: Any) -> None:
    RunLimits(total=time, idle=time)
    ApprovalOptions(timeout=time)


@pytest.mark.parametrize(
    ("tags", "read"),
    [
        (None, None),
        (False, None),
        (True, ThinkTags("<think>", "</think>")),
        (("[", "]"), ThinkTags("[", "]")),
        (ThinkTags("[", "]", opened=True), ThinkTags("[", "]", opened=True)),
    ],
)
def test_forms_of_think_tags(tags: Any, read: ThinkTags | None) -> None:
    assert ReasoningOptions(think_tags=tags).tags == read


@pytest.mark.parametrize(
    ("owner", "option", "meant"),
    [
        (LangGraphAgent, "on_disconect", "on_disconnect=..."),
        (LangGraphAgent, "limit", "limits=..."),
        (LangGraphAgent, "aproval_timeout", "approvals=ApprovalOptions(timeout=...)"),
        (LangGraphAgent, "run_timeuot", "limits=RunLimits(total=...)"),
        (LangGraphAgent, "client_writable", "state=StateOptions(client_writable=...)"),
        (LangGraphAgent, "visibility", "reasoning=ReasoningOptions(visibility=...)"),
        (LangGraphAgent, "emit_raw_event", "emit_raw_events=..."),
        (ApprovalOptions, "timeuot", "'timeout'"),
        (StateOptions, "client_writeable", "'client_writable'"),
        (StateOptions, "refussed", "'forbidden_change'"),
    ],
)
def test_a_misspelt_option_says_what_was_meant(owner: type[Any], option: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        make(owner, {option: 3})
    text = f"{owner.__name__} takes no option {option!r}: did you mean {meant}?"
    assert str(caught.value) == text


def test_an_option_like_no_other_has_no_hint() -> None:
    with pytest.raises(TypeError, match=r"takes no option 'zzz'$"):
        make(LangGraphAgent, {"zzz": 3})


def test_an_agent_has_at_most_sixteen_options_beside_switches() -> None:
    *named, switches = inspect.signature(LangGraphAgent).parameters.values()
    assert len(named) <= 16
    assert switches.kind is inspect.Parameter.VAR_KEYWORD
    assert all(one.annotation is not inspect.Parameter.empty for one in named)


@pytest.mark.parametrize("owner", [LangGraphAgent, *GROUPS])
def test_help_shows_every_option(owner: type[Any]) -> None:
    text = pydoc.render_doc(owner, renderer=pydoc.plaintext)
    names = [*inspect.signature(owner).parameters]
    assert owner is LangGraphAgent or names == [one.name for one in fields(owner)]
    for name in names:
        assert f" |      {name}: " in text, name  # its description
        assert text.count(f"{name}: ") > 1, name  # and the signature


def test_each_group_is_an_option_of_the_agent() -> None:
    hints = get_type_hints(LangGraphAgent.__init__)
    assert {kind for hint in hints.values() for kind in get_args(hint)} >= set(GROUPS)

"""Options of other spellings: the switches of `ag-ui-langgraph`, and the flat options of
`LangGraphAgent` before 0.3.

docs/migrating.md has the table of the switches, CHANGELOG.md that of the flat options, which go
with 0.5.
"""

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Final, Literal, TypedDict

from langgraph_agui.options import (
    ApprovalOptions,
    ClientOptions,
    ReasoningOptions,
    RunLimits,
    StateOptions,
    ThinkTags,
    TrustOptions,
)
from langgraph_agui.protocol.json import to_jsonable

logger = logging.getLogger(__name__)

SUBAGENT_VISIBILITY_ATTRIBUTED: Final = "attributed"
SUBAGENT_VISIBILITY_INLINE: Final = "inline"
SUBAGENT_VISIBILITY_HIDDEN: Final = "hidden"

# What `ag-ui-langgraph` calls this function.
make_json_safe = to_jsonable

# The methods that its subclasses override and that nothing calls here, by what to do instead.
_HOOKS: Final = {
    "override run() and change the events that it yields": "_dispatch_event _handle_single_event "
    "_handle_stream_events "
    "get_state_and_messages_snapshots handle_node_change handle_reasoning_event start_step "
    "end_step",
    "override run() and change its input": "langgraph_default_merge_state prepare_stream "
    "prepare_regenerate_stream",
    "give run() a config and a context, or the router their factories": "get_stream_kwargs",
    "give the agent StateOptions(include=..., exclude=...)": "get_schema_keys get_state_snapshot",
}


def ThinkTagSplitter(  # noqa: N802
    opening: str = "<think>", closing: str = "</think>", *, opened: bool = False
) -> ThinkTags:
    """Return the tags; this was a class before 0.3. `ReasoningOptions(think_tags=True)` does the
    same.
    """
    warnings.warn(
        "ThinkTagSplitter is deprecated: use ReasoningOptions(think_tags=True)",
        DeprecationWarning,
        2,
    )
    return ThinkTags(opening, closing, opened)


def warn_of_hooks(agent_class: type) -> None:
    """Warn of each method that a class of agents overrides in vain."""
    for remedy, names in _HOOKS.items():
        for name in vars(agent_class).keys() & names.split():
            logger.warning("%s.%s is never called: %s.", agent_class.__name__, name, remedy)


class Switches(TypedDict, total=False):
    """The switches of `ag-ui-langgraph` 0.0.47. `emit_raw_events` also sends LangGraph's own stream
    parts, as `RAW`.
    """

    emit_raw_events: bool
    emit_interrupt_outcome: bool
    enable_legacy_on_interrupt_event: bool
    emit_subagent_events: bool | None
    subagent_visibility: Literal["attributed", "inline", "hidden"] | None


@dataclass(frozen=True, slots=True)
class OptionGroups:
    """The options of an agent that switches can change."""

    reasoning: ReasoningOptions
    state: StateOptions
    approvals: ApprovalOptions
    clients: ClientOptions
    limits: RunLimits
    trust: TrustOptions
    emit_raw: bool = False


# Where each flat option is now, as the name of its group and its field.
_MOVED: Final = {
    "approval_timeout": "approvals.timeout",
    "on_approval": "approvals.on_answer",
    "interrupts": "approvals.ask_by",
    "input_while_paused": "approvals.when_paused",
    "client_protocol": "clients.protocol",
    "subagents": "clients.subagents",
    "inner_models": "clients.models_in_tools",
    "run_timeout": "limits.total",
    "idle_timeout": "limits.idle",
    "max_concurrent_runs": "limits.runs",
    "max_waiting": "limits.waiting",
    "max_readers": "limits.readers",
    "max_unread": "limits.unread",
    "unknown_threads": "trust.history",
    "client_instructions": "trust.instructions",
    "media_urls": "trust.media_urls",
    "state_schema": "state.schema",
}

# Values that have another spelling now.
_VALUES: Final[Mapping[tuple[str, object], str]] = {
    ("interrupts", "legacy"): "events",
    ("input_while_paused", "cancel_and_continue"): "cancel",
    ("inner_models", "live"): "stream",
}


def read_switches(groups: OptionGroups, given: Mapping[str, object]) -> OptionGroups:
    """Return the options of an agent with those that it was given in another spelling.

    Args:
        groups: The options in their groups.
        given: Switches and flat options, by name.

    Raises:
        TypeError: There is no such option.
        ValueError: Two switches contradict each other, or an option has an unknown value.
    """
    for name in sorted(given):
        if (
            name not in Switches.__annotations__
            and name not in _MOVED
            and name not in ("emit_raw", "merge_fragments")
        ):
            raise TypeError(f"LangGraphAgent takes no option {name!r}{_meant(name)}")
    for name in given.keys() & _MOVED.keys():
        group, _, field = _MOVED[name].partition(".")
        _warn(name, _place(group, field))
        value = (
            _VALUES.get((name, given[name]), given[name])
            if isinstance(given[name], str)
            else given[name]
        )
        groups = _set(groups, group, field, value)
    if "emit_raw" in given:
        _warn("emit_raw", "LangGraphAgent(emit_raw_events=...)")
    if "merge_fragments" in given:
        _warn("merge_fragments", "nothing: fragments that wait together always leave as one event")
    groups = replace(
        groups, emit_raw=bool(given.get("emit_raw_events", given.get("emit_raw", False)))
    )
    if (ask_by := _ask_by(given)) is not None:
        groups = _set(groups, "approvals", "ask_by", ask_by)
    if (subagents := _subagents(given)) is not None:
        groups = _set(groups, "clients", "subagents", subagents)
    return groups


def read_approvals(given: ApprovalOptions | str | None) -> ApprovalOptions:
    """Return the option `approvals`, which was `"interrupt"` or `"tool_call"` once."""
    if not isinstance(given, str):
        return given or ApprovalOptions()
    _warn("approvals", "ApprovalOptions(ask_by=...)")
    return ApprovalOptions(ask_by="auto" if given == "interrupt" else given)  # type: ignore[arg-type]  # it checks that


def _ask_by(given: Mapping[str, object]) -> str | None:
    if not {"emit_interrupt_outcome", "enable_legacy_on_interrupt_event"} & given.keys():
        return None
    if not given.get("enable_legacy_on_interrupt_event", True):
        return "outcome"
    return "both" if given.get("emit_interrupt_outcome", False) else "events"


def _subagents(given: Mapping[str, object]) -> object:
    visibility, emitted = given.get("subagent_visibility"), given.get("emit_subagent_events")
    if emitted is None:
        return visibility
    implied = "attributed" if emitted else "inline"
    if visibility not in (None, implied):
        raise ValueError(
            f"emit_subagent_events={emitted} contradicts subagent_visibility={visibility!r}"
        )
    return implied


def _set(groups: OptionGroups, group: str, field: str, value: object) -> OptionGroups:
    changed = replace(getattr(groups, group), **{field: value})
    return replace(groups, **{group: changed})


def _place(group: str, field: str) -> str:
    """Return how an option is written now."""
    (owner,) = (one.type for one in fields(OptionGroups) if one.name == group)
    return f"{group}={owner.__name__ if isinstance(owner, type) else owner}({field}=...)"


def _meant(name: str) -> str:
    """Return the end of the error for an unknown option: the option that was probably meant."""
    places = {old: _place(*place.split(".")) for old, place in _MOVED.items()}
    for group in fields(OptionGroups):
        if isinstance(group.type, type) and group.name != "emit_raw":
            places |= {field.name: _place(group.name, field.name) for field in fields(group.type)}
            places[group.name] = f"{group.name}={group.type.__name__}(...)"
    places |= {switch: f"{switch}=..." for switch in Switches.__annotations__}
    close = get_close_matches(name, places, 1)
    return f": did you mean {places[close[0]]}?" if close else ""


def _warn(name: str, place: str) -> None:
    warnings.warn(
        f"The option {name!r} of LangGraphAgent is deprecated: use {place}",
        DeprecationWarning,
        stacklevel=4,
    )

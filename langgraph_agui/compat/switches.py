"""Options of other spellings: the switches of `ag-ui-langgraph`, and the flat options of
`LangGraphAgent` before 0.3.

docs/migrating.md has the table of the switches, CHANGELOG.md that of the flat options, which go
with 0.5.
"""

import logging
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, Literal, TypedDict, get_type_hints

from langgraph_agui.kernel.checks import check_names, check_type
from langgraph_agui.options import (
    ApprovalOptions,
    ClientOptions,
    ReasoningOptions,
    Renamed,
    RunLimits,
    StateOptions,
    ThinkTags,
    TrustOptions,
)
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.limits import InputLimits

logger = logging.getLogger(__name__)

SUBAGENT_VISIBILITY_ATTRIBUTED: Final = "attributed"
SUBAGENT_VISIBILITY_INLINE: Final = "inline"
SUBAGENT_VISIBILITY_HIDDEN: Final = "hidden"

# The name of this function in `ag-ui-langgraph`.
make_json_safe = to_jsonable

# The methods that its subclasses override and that nothing calls here, by the remedy.
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


# The groups' classes by their names.
_GROUPS: Final = {
    name: kind
    for name, kind in get_type_hints(OptionGroups).items()
    if isinstance(kind, type) and is_dataclass(kind)
}

# The flat options of `LangGraphAgent`, and where each is now.
_FLAT: Final = {
    "approval_timeout": Renamed("timeout", group="approvals"),
    "on_approval": Renamed("on_answer", group="approvals"),
    "interrupts": Renamed("ask_by", {"legacy": "events"}, group="approvals"),
    "input_while_paused": Renamed(
        "when_paused", {"cancel_and_continue": "cancel"}, group="approvals"
    ),
    "client_protocol": Renamed("protocol", group="clients"),
    "subagents": Renamed("subagents", group="clients"),
    "inner_models": Renamed("models_in_tools", {"live": "stream"}, group="clients"),
    "run_timeout": Renamed("total", group="limits"),
    "idle_timeout": Renamed("idle", group="limits"),
    "max_concurrent_runs": Renamed("runs", group="limits"),
    "max_waiting": Renamed("waiting", group="limits"),
    "max_readers": Renamed("readers", group="limits"),
    "max_unread": Renamed("unread", group="limits"),
    "unknown_threads": Renamed("history", group="trust"),
    "client_instructions": Renamed("instructions", group="trust"),
    "media_urls": Renamed("media_urls", group="trust"),
    "state_schema": Renamed("schema", group="state"),
}

# How options are written that a user looks for here, and that are elsewhere.
_ELSEWHERE: Final = {
    "checkpointer": "builder.compile(checkpointer=...)",
    "middleware": "create_agent(model, tools, middleware=[...])",
    "store": "builder.compile(store=...)",
    "timeout": "limits=RunLimits(total=...)",
    "tools": "create_agent(model, tools)",
    **{name: f'config={{"{name}": ...}}' for name in ("callbacks", "recursion_limit", "tags")},
    **{
        one.name: f"limits=RunLimits(input=InputLimits({one.name}=...))"
        for one in fields(InputLimits)
    },
}

# The spelling in place of those that are in no group.
_GONE: Final = {
    "emit_raw": "emit_raw_events=...",
    "merge_fragments": "nothing: fragments that wait together always leave as one event",
}


def read_switches(
    groups: OptionGroups, given: Mapping[str, object], named: Collection[str]
) -> OptionGroups:
    """Return the options of an agent with those that it was given in another spelling.

    Args:
        groups: The options in their groups.
        given: Switches and flat options, by name.
        named: The names of the agent's other options.

    Raises:
        TypeError: There is no such option.
        ValueError: Two switches contradict each other, or an option has an unknown value.
    """
    known = {*Switches.__annotations__, *_FLAT, *_GONE}
    check_names("LangGraphAgent", given, known, _spellings(named))
    ask_by = groups.approvals.ask_by
    for name in given.keys() & _FLAT.keys():
        now, value = _FLAT[name], given[name]
        _warn(name, _place(now.group, now.spelling(value)))
        groups = _set(groups, now.group, now.name, now.value(value))
    for name in given.keys() & _GONE.keys():
        _warn(name, _GONE[name])
    emit_raw = given.get("emit_raw_events", given.get("emit_raw", False))
    check_type("emit_raw_events", emit_raw, bool)
    groups = replace(groups, emit_raw=emit_raw is True)
    if (switched := _ask_by(given)) is not None:
        groups = _set(groups, "approvals", "ask_by", switched)
    if ask_by == "tool_call":  # which no switch and no flat option has ever changed
        groups = _set(groups, "approvals", "ask_by", ask_by)
    if (subagents := _subagents(given)) is not None:
        groups = _set(groups, "clients", "subagents", subagents)
    return groups


def read_approvals(given: ApprovalOptions | str | None) -> ApprovalOptions:
    """Return the option `approvals`, which was `"interrupt"` or `"tool_call"` before 0.3."""
    if not isinstance(given, str):
        return given or ApprovalOptions()
    now = Renamed("ask_by", {"interrupt": "auto"}, group="approvals")
    _warn("approvals", _place(now.group, now.spelling(given)))
    options: dict[str, Any] = {now.name: now.value(given)}
    return ApprovalOptions(**options)


def read_input_limits(given: InputLimits | None, own: InputLimits) -> InputLimits:
    """Return the limits of the requests to an agent: `own`, unless its router was given others."""
    if given is None:
        return own
    warnings.warn(
        "The option 'limits' of a router is deprecated for a LangGraphAgent: use "
        "LangGraphAgent(limits=RunLimits(input=InputLimits(...)))",
        DeprecationWarning,
        stacklevel=4,
    )
    return given


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


def _place(group: str, option: str) -> str:
    """Return how an option of a group is written."""
    return f"{group}={_GROUPS[group].__name__}({option})"


def _spellings(named: Collection[str]) -> dict[str, str]:
    """Return how each option is written, by its name, by those of before, and by others."""
    places = {one: f"{one}=..." for one in (*Switches.__annotations__, *named)}
    for group, kind in _GROUPS.items():
        places |= {one.name: _place(group, f"{one.name}=...") for one in fields(kind)}
    places |= {old: _place(now.group, f"{now.name}=...") for old, now in _FLAT.items()}
    return places | _ELSEWHERE


def _warn(name: str, place: str) -> None:
    warnings.warn(
        f"The option {name!r} of LangGraphAgent is deprecated: use {place}",
        DeprecationWarning,
        stacklevel=4,
    )

"""The constructor switches of `ag-ui-langgraph`, as options of `LangGraphAgent`. docs/migrating.md has the table."""

import logging
from typing import Final, Literal, TypedDict, cast

from langgraph_agui.protocol.wire import to_jsonable
from langgraph_agui.settings import RunOptions, SubagentsOption, check_names

logger = logging.getLogger(__name__)

SUBAGENT_VISIBILITY_ATTRIBUTED: Final = "attributed"
SUBAGENT_VISIBILITY_INLINE: Final = "inline"
SUBAGENT_VISIBILITY_HIDDEN: Final = "hidden"

# What `ag-ui-langgraph` calls this function.
make_json_safe = to_jsonable

# The methods that its subclasses override and that nothing calls here, by what to do instead.
_HOOKS: Final = {
    "override run() and change the events that it yields": "_dispatch_event _handle_single_event _handle_stream_events "
    "get_state_and_messages_snapshots handle_node_change handle_reasoning_event start_step end_step",
    "override run() and change its input": "langgraph_default_merge_state prepare_stream prepare_regenerate_stream",
    "give run() a config and a context, or the router a config_factory and a context_factory": "get_stream_kwargs",
    "give the agent StateOptions(include=..., exclude=...)": "get_schema_keys get_state_snapshot",
}


def warn_of_hooks(agent_class: type) -> None:
    """Warn of each method that a class of agents overrides in vain."""
    for remedy, names in _HOOKS.items():
        for name in vars(agent_class).keys() & names.split():
            logger.warning("%s.%s is never called: %s.", agent_class.__name__, name, remedy)


class Switches(TypedDict, total=False):
    """The switches of `ag-ui-langgraph` 0.0.47."""

    emit_raw_events: bool
    emit_interrupt_outcome: bool
    enable_legacy_on_interrupt_event: bool
    emit_subagent_events: bool | None
    subagent_visibility: Literal["attributed", "inline", "hidden"] | None


class AgentOptions(RunOptions, Switches, total=False):
    """The keyword options of `LangGraphAgent`."""


def read_options(given: AgentOptions) -> RunOptions:
    """Return the options of an agent, and in place of the switches what they set.

    Raises:
        TypeError: There is no such option.
        ValueError: Two switches contradict each other.
    """
    check_names("LangGraphAgent", given, AgentOptions.__annotations__)
    switches = cast("Switches", {name: value for name, value in given.items() if name in Switches.__annotations__})
    options = cast("RunOptions", {name: value for name, value in given.items() if name not in switches})
    if "emit_raw_events" in switches:
        options["emit_raw"] = switches["emit_raw_events"]
    if {"emit_interrupt_outcome", "enable_legacy_on_interrupt_event"} & switches.keys():
        legacy = switches.get("enable_legacy_on_interrupt_event", True)
        outcome = switches.get("emit_interrupt_outcome", False)
        options["interrupts"] = "outcome" if not legacy else "both" if outcome else "legacy"
    visibility, emitted = switches.get("subagent_visibility"), switches.get("emit_subagent_events")
    implied: SubagentsOption | None = None if emitted is None else "attributed" if emitted else "inline"
    if visibility is not None and implied not in (None, visibility):
        raise ValueError(f"emit_subagent_events={emitted} contradicts subagent_visibility={visibility!r}")
    if (subagents := visibility or implied) is not None:
        options["subagents"] = subagents
    return options

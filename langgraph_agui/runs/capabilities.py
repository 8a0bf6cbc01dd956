"""Capabilities of an agent: the contents of its graph enter, `AgentCapabilities` leave."""

from collections.abc import Mapping, Sequence

from ag_ui.core import AgentCapabilities
from langchain_core.language_models import BaseChatModel

from langgraph_agui.graphs.contents import GraphContents, shown_tool
from langgraph_agui.runs.client_tools import UNASKED
from langgraph_agui.runs.context import AgentContext


def capabilities_of(
    agent: AgentContext, name: str | None, description: str | None
) -> AgentCapabilities:
    """Return the capabilities of an agent (AG-UI 1.0); None in a field means: not known.

    Args:
        agent: The context that all runs of the agent share.
        name: The agent's name.
        description: The agent's purpose.
    """
    contract, contents, stored = agent.contract, agent.graph.contents, agent.graph.has_checkpointer
    reasoning, client_tools = agent.reasoning.visibility != "off", agent.client_tools.provided
    custom = {
        "stateSchema": contract.json_schema,
        "writableState": contract.writable_keys(),
        "takesMessages": False if agent.no_messages else None,
        "warnings": _warnings(agent) or None,
    }
    found: dict[str, object] = {
        "identity": {"name": name, "type": "langgraph", "description": description},
        "transport": {"streaming": True},
        "tools": {"supported": True, "parallelCalls": True, "clientProvided": client_tools},
        "state": {"snapshots": True, "deltas": contract.deltas, "persistentState": stored},
        "reasoning": dict.fromkeys(("supported", "streaming", "encrypted"), reasoning),
        "humanInTheLoop": dict.fromkeys(
            ("supported", "approvals", "interrupts", "approveWithEdits"), stored
        ),
        "custom": {key: value for key, value in custom.items() if value is not None} or None,
    }
    if contents is not None:
        found |= _found_in(contents, client_tools)
    return AgentCapabilities.model_validate(found)


def _warnings(agent: AgentContext) -> list[str]:
    unasked = UNASKED if agent.client_tools.unasked else None
    return [warning for warning in (agent.no_messages, unasked) if warning]


def _found_in(contents: GraphContents, client_tools: bool | None) -> dict[str, object]:
    """Return the sections about the contents of a graph."""
    tools = [item for tool in contents.tools.values() if (item := shown_tool(tool)) is not None]
    has_tools = True if tools else client_tools
    has_subagents = bool(contents.subagents)
    subagents = [{"name": name, "description": text} for name, text in contents.subagents.items()]
    return {
        "tools": {
            "supported": has_tools,
            "items": tools,
            "parallelCalls": has_tools,
            "clientProvided": client_tools,
        },
        "multiAgent": {
            "supported": has_subagents,
            "delegation": has_subagents,
            "subagents": subagents,
        },
        "output": {"structuredOutput": contents.structured_output},
        "multimodal": _multimodal(contents.models),
    }


def _multimodal(models: Sequence[BaseChatModel]) -> dict[str, object] | None:
    """Return the media that all models take and make; None if a model has no profile."""
    found = [getattr(model, "profile", None) for model in models]
    profiles = [profile for profile in found if isinstance(profile, Mapping)]
    if not profiles or len(profiles) < len(found):
        return None

    def all_have(kind: str) -> bool | None:
        values = [profile.get(kind) for profile in profiles]
        return all(values) if None not in values else None

    return {
        "input": {kind: all_have(f"{kind}_inputs") for kind in ("image", "audio", "video", "pdf")},
        "output": {kind: all_have(f"{kind}_outputs") for kind in ("image", "audio")},
    }

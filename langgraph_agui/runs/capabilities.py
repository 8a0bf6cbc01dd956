"""What an agent can do, and what of a client's input its graph reads.

The contents of a graph enter. `AgentCapabilities` leave, and warnings of what a client has sent in
vain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ag_ui.core import AgentCapabilities
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_agui.graphs.contents import GraphContents
from langgraph_agui.kernel.quoting import quoted_list
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.nodes import PredictState, SentInput
from langgraph_agui.protocol.wire import JsonValue
from langgraph_agui.runs.context import AgentContext

logger = run_logger(__name__)

# The fields of an input that a graph reads if its code has these names.
_FUNCTIONS: Final = {
    "frontend_tools": ("tools",),
    "agui_context": ("context",),
    "forwarded_props": ("forwardedProps",),
}
# Those that these read in the graph itself; subagents do not get the tools.
_MIDDLEWARE: Final = {"AGUIMiddleware": ("tools", "context")}
_STRUCTURED: Final = frozenset({"AutoStrategy", "ToolStrategy", "ProviderStrategy"})

_UNREAD_TOOLS: Final = (
    "The client sent tools (%s), but no node of the graph reads them, so no model can call them: "
    "add AGUIMiddleware() "
    "to create_agent, or bind frontend_tools(config) in the node that calls the model."
)
_UNREAD_CONTEXT: Final = (
    "The client sent context, but no node of the graph reads it: add AGUIMiddleware() to "
    "create_agent, or call "
    "agui_context(config) in a node."
)
_UNREAD_NODE: Final = (
    "The client asked to go on at the node %.80r (forwardedProps.nodeName), which is ignored: the "
    "edges of the graph "
    "decide. A node may read it by forwarded_props(config) and return Command(goto=...)."
)


class InputReaders:
    """Knows which fields of a client's input a graph reads: by its contents, and by what was read
    in its runs.

    Args:
        contents: What is in the graph; None if it is out of reach, then nothing is known.
        by_convention: The fields that the graph reads by the conventions of other adapters.
    """

    def __init__(self, contents: GraphContents | None, by_convention: Collection[str]) -> None:
        self._contents = contents
        # A node may look into its configuration by itself.
        self._is_sure = (
            contents is not None and contents.complete and "configurable" not in contents.names
        )
        self._fields = set(by_convention)
        if contents is not None:
            for found, readers in ((contents.names, _FUNCTIONS), (contents.classes, _MIDDLEWARE)):
                self._fields.update(
                    field for name, fields in readers.items() if name in found for field in fields
                )

    def reads(self, field: str) -> bool | None:
        """Return whether the graph reads a field; None if that is not known."""
        return field in self._fields or (False if self._is_sure else None)

    def report_unread(self, sent: SentInput) -> None:
        """Learn from a run that has ended; warn of what its client sent and nothing has read.

        Args:
            sent: What the client sent for the graph.
        """
        self._fields |= sent.fields_read
        if self._contents is None:
            return
        fields: Mapping[str, JsonValue] = dict(sent)
        warnings: list[str] = []
        # What the page gives a tool for, a model of the graph may call by a tool of its own (A2UI
        # does that).
        names = [name for name in _names(fields["tools"]) if name not in self._contents.tool_names]
        if names and "tools" not in self._fields:
            warnings.append(_UNREAD_TOOLS % quoted_list(names))
        if fields["context"] and "context" not in self._fields:
            warnings.append(_UNREAD_CONTEXT)
        if (node := _node_name(fields["forwardedProps"])) and "forwardedProps" not in self._fields:
            warnings.append(_UNREAD_NODE % node)
        if warnings:
            logger.warning(" ".join(warnings))


def warn_of_unknown_tools(
    predict: Iterable[PredictState], contents: GraphContents | None, readers: InputReaders
) -> None:
    """Warn of predictions for tools that were not found, where clients, subagents and models bring
    no others.

    It is no error: a node may bind a tool that it makes when it runs.
    """
    if (
        contents is None
        or not contents.tools
        or contents.subagents
        or _STRUCTURED & contents.classes
    ):
        return
    known = contents.tools.keys() | contents.names | contents.classes
    unknown = sorted({one.tool for one in predict}.difference(known))
    if unknown and readers.reads("tools") is False:
        tools = quoted_list(sorted(contents.tools))
        logger.warning(
            "PredictState names tools that the graph does not have: %s. It has %s.",
            quoted_list(unknown),
            tools,
        )


def _names(tools: JsonValue) -> list[str]:
    return (
        [str(tool["name"]) for tool in tools if isinstance(tool, dict)]
        if isinstance(tools, list)
        else []
    )


def _node_name(props: JsonValue) -> str | None:
    """Return the node that a client of `ag-ui-langgraph` asks for; its `__end__` asks for none."""
    given = props.get("nodeName", props.get("node_name")) if isinstance(props, dict) else None
    return given if isinstance(given, str) and given != "__end__" else None


def capabilities_of(
    agent: AgentContext, readers: InputReaders, name: str | None, description: str | None
) -> AgentCapabilities:
    """Return what an agent can do (AG-UI 1.0, capabilities); None in a field means that it is not
    known.

    Args:
        agent: What the agent shares with its runs.
        readers: Knows what the graph reads.
        name: The agent's name.
        description: What the agent is for.
    """
    contract, contents, stored = agent.contract, agent.graph.contents, agent.graph.has_checkpointer
    reasoning, client_tools = agent.reasoning.visibility != "off", readers.reads("tools")
    custom = {"stateSchema": contract.json_schema, "writableState": contract.writable_keys()}
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
    return AgentCapabilities.model_validate(
        found if contents is None else {**found, **_found_in(contents, client_tools)}
    )


def _found_in(contents: GraphContents, client_tools: bool | None) -> dict[str, object]:
    """Return the sections about what is in a graph."""
    tools = [item for tool in contents.tools.values() if (item := _tool_item(tool)) is not None]
    has_tools, has_subagents = bool(tools or client_tools), bool(contents.subagents)
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
        "output": {"structuredOutput": not _STRUCTURED.isdisjoint(contents.classes)},
        "multimodal": _multimodal(contents.models),
    }


def _tool_item(tool: BaseTool) -> dict[str, object] | None:
    """Return a tool as clients see it, without the parameters that the graph fills in; None if it
    has no schema.
    """
    try:
        function = convert_to_openai_tool(tool)["function"]
    except Exception:  # a schema of the user's may be anything
        return None
    return {
        key: _without_defaults(function.get(key, ""))
        for key in ("name", "description", "parameters")
    }


def _without_defaults(schema: object) -> object:
    """Return a schema without default values: they are the server's."""
    if isinstance(schema, list):
        return [_without_defaults(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    fields = {key: value for key, value in schema.items() if key != "default"}
    named = fields.get("properties")
    properties = (
        {name: _without_defaults(one) for name, one in named.items()}
        if isinstance(named, Mapping)
        else named
    )
    rest = {key: _without_defaults(value) for key, value in fields.items() if key != "properties"}
    return {**rest, "properties": properties} if "properties" in fields else rest


def _multimodal(models: Sequence[BaseChatModel]) -> dict[str, object] | None:
    """Return what all models take and make, by their profiles; None if one has none."""
    profiles = [
        profile
        for model in models
        if isinstance(profile := getattr(model, "profile", None), Mapping)
    ]
    if not profiles or len(profiles) < len(models):
        return None

    def all_have(kind: str) -> bool | None:
        values = [profile.get(kind) for profile in profiles]
        return all(values) if None not in values else None

    return {
        "input": {kind: all_have(f"{kind}_inputs") for kind in ("image", "audio", "video", "pdf")},
        "output": {kind: all_have(f"{kind}_outputs") for kind in ("image", "audio")},
    }

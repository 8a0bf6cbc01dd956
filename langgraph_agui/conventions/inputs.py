"""The client's tools and context where graphs written for `ag-ui-langgraph` or CopilotKit look for them.

The input of a run enters; values for the graph's own state keys, and for its runtime context, leave.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, get_args, get_origin, is_typeddict

from ag_ui.core import Context, RunAgentInput, Tool

from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.state.schema import Unread, alternatives, hints_of

# The state keys, and the fields of the client's input in each. Graphs index them directly, so each one that a graph has
# gets a value in every run. The runtime context has the last one too.
TOOLS: Final = "tools"
COPILOTKIT: Final = "copilotkit"
FIELDS: Final[Mapping[str, Sequence[str]]] = {
    TOOLS: ("tools",),
    "ag-ui": ("tools", "context"),
    COPILOTKIT: ("tools", "context"),
}
STATE_KEYS: Final = frozenset(FIELDS)

_MIDDLEWARE: Final = "CopilotKitMiddleware"

# How `@ag-ui/a2ui-middleware` describes the item of the context that holds the components of a page.
_A2UI_SCHEMA: Final = (
    "A2UI Component Schema — available components for generating UI surfaces. "
    "Use these component names and properties when creating A2UI operations."
)


def keys_to_fill(graph: GraphAdapter) -> frozenset[str]:
    """Return which of these keys of a graph's state are filled: not `tools`, if they are something else there."""
    if graph.contents is None:  # before its server is asked, nothing is known of a remote graph
        return STATE_KEYS - {TOOLS}
    hints = [hint for schema in graph.schemas for key, hint in hints_of(schema).items() if key == TOOLS]
    others = {TOOLS} if not all(map(_may_hold_tools, hints)) else set[str]()
    return STATE_KEYS.intersection(graph.channels) - others


def _may_hold_tools(hint: object) -> bool:
    """Return whether an annotation is that of a list in which dicts may be."""
    for kind in alternatives(hint):
        origin = get_origin(kind) or kind
        if origin in (list, Sequence, Iterable):
            items = [item for argument in get_args(kind) for item in alternatives(argument)]
            return all(_may_be_dict(item) for item in items)
        if origin in (Any, object) or isinstance(origin, Unread):
            return True
    return False


def _may_be_dict(item: object) -> bool:
    kind = get_origin(item) or item
    return kind in (Any, object, Tool) or is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, Mapping))


def state_values(names: Collection[str], run_input: RunAgentInput, stored: Mapping[str, object]) -> dict[str, object]:
    """Return the values of these keys for a run.

    Args:
        names: Those that the graph has.
        run_input: What the client sent.
        stored: The thread's state before the run.
    """
    if not names:
        return {}
    tools = _tools(run_input, stored.get(TOOLS))
    values: dict[str, object] = {
        TOOLS: tools,
        "ag-ui": _agui_values(run_input, tools),
        COPILOTKIT: _copilotkit_values(run_input, tools, stored.get(COPILOTKIT)),
    }
    return {key: values[key] for key in sorted(names)}


def offered_tools(names: Collection[str], stored: Mapping[str, object]) -> set[str]:
    """Return the names of the client's tools in these keys of a thread's state. No client can write them."""
    values = [stored.get(name) for name in names]
    lists = [value.get("actions", value.get("tools")) if isinstance(value, Mapping) else value for value in values]
    tools = [tool for one in lists if isinstance(one, Sequence) for tool in one]
    return {str(tool["name"]) for tool in tools if isinstance(tool, Mapping) and "name" in tool}


def reads_runtime_context(graph: GraphAdapter) -> bool:
    """Return whether something in a graph may look for the key `copilotkit` of the runtime context.

    Others do not get it: tools that are given their runtime would warn of a context that their graph does not declare.
    """
    schema, contents = graph.context_schema, graph.contents
    if schema is not None and not is_typeddict(schema):
        return False
    declared = COPILOTKIT in getattr(schema, "__annotations__", ())
    if contents is None:
        return declared
    return declared or COPILOTKIT in contents.names or _MIDDLEWARE in contents.classes | contents.inner_classes


def runtime_context(context: Mapping[str, object] | None, run_input: RunAgentInput) -> dict[str, object]:
    """Return a runtime context with the key `copilotkit`, where `CopilotKitMiddleware` looks inside subgraphs."""
    given = dict(context or {})
    return {**given, COPILOTKIT: _copilotkit_values(run_input, _tools(run_input), given.get(COPILOTKIT))}


def _copilotkit_values(run_input: RunAgentInput, tools: list[object], own: object) -> dict[str, object]:
    """Return the value of `copilotkit`, with what is under that key already."""
    context = [item.model_dump() for item in run_input.context or ()]
    return {**(own if isinstance(own, Mapping) else {}), "actions": tools, "context": context}


def _tools(run_input: RunAgentInput, stored: object = ()) -> list[object]:
    """Return the client's tools as dicts, and the thread's behind them; of those with one name the first."""
    tools: list[object] = [tool.model_dump() for tool in run_input.tools or ()]
    found: dict[object, object] = {}
    for number, tool in enumerate([*tools, *(stored if isinstance(stored, Iterable) else ())]):
        name = tool.get("name") if isinstance(tool, Mapping) else getattr(tool, "name", None)
        found.setdefault(name or number, tool)
    return [*found.values()]


def _agui_values(run_input: RunAgentInput, tools: list[object]) -> dict[str, object]:
    """Return the value of `ag-ui`, with what `@ag-ui/a2ui-middleware` sends for pages that render surfaces."""
    context: list[Context] = [*(run_input.context or ())]
    schema = [item.value for item in context if item.description == _A2UI_SCHEMA]
    values: dict[str, object] = {
        "tools": tools,
        "context": [item for item in context if item.description != _A2UI_SCHEMA],
    }
    if schema:
        values["a2ui_schema"] = schema[-1]
    props = run_input.forwarded_props
    if isinstance(props, Mapping) and "injectA2UITool" in props:
        values["inject_a2ui_tool"] = props["injectA2UITool"]
    return values

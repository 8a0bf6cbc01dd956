"""The contents of a graph, as far as a search finds them without running anything.

A compiled graph enters; its models, tools, middleware and subagents leave. A tool or model that a
function makes or gets when it runs is not found.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dis import get_instructions
from functools import partial
from inspect import unwrap
from itertools import chain
from types import CellType, FunctionType, ModuleType
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.pregel import Pregel
from langgraph.types import interrupt

from langgraph_agui.chat_models.find import (
    Place,
    codes_of,
    models_at,
    of_kind,
    providers_in,
    walk,
)
from langgraph_agui.messages.transformers import Factory
from langgraph_agui.nodes import name_of

# The name that LangGraph gives a graph without one.
_NO_NAME: Final = "LangGraph"

# Classes of LangChain, which is optional: by their names.
_MIDDLEWARE: Final = "AgentMiddleware"
_STRUCTURED: Final = frozenset({"AutoStrategy", "ToolStrategy", "ProviderStrategy"})


@dataclass(frozen=True, slots=True)
class GraphContents:
    """The contents of a graph.

    Attributes:
        models: The models that write the assistant's messages, those of subagents included.
        providers: The providers of these models; empty if one is unknown until the graph runs.
        tools: The tools of the graph itself, by name.
        tools_in: All of its own tools, and (under True) all of the graphs inside it.
        tool_names: The names of all tools that its models may call, those of subagents included.
        subagents: The graphs inside it: names, and descriptions of those with a tool of their own.
        middleware: The names of the classes of its own middleware.
        inner_middleware: The names of the classes of its subagents' middleware.
        transformers: The stream transformers of the graphs inside it, by the graph's name.
        speakers: Those of the graphs that nodes run: they may speak in its conversation.
        structured_output: Whether an agent of its own answers in a schema.
    """

    models: list[BaseChatModel]
    providers: frozenset[str]
    tools: dict[str, BaseTool]
    tools_in: Mapping[bool, Sequence[BaseTool]]
    tool_names: frozenset[str]
    subagents: dict[str, str | None]
    middleware: frozenset[str]
    inner_middleware: frozenset[str]
    transformers: Mapping[str, Sequence[Factory]]
    speakers: Sequence[Factory]
    structured_output: bool

    def args_schema(self, tool: str, *, inside: bool) -> Mapping[str, object] | None:
        """Return the JSON Schema of the arguments that a model gives a tool; None if it is unknown,
        or if there are several tools of this name with different ones.

        Args:
            tool: The name of the tool.
            inside: Whether it is a tool of a graph inside this one.
        """
        named = [shown_tool(one) or {} for one in self.tools_in[inside] if one.name == tool]
        schemas = [one.get("parameters") for one in named]
        match schemas:
            case [dict(first), *others] if all(one == first for one in others):
                return first
        return None


def contents_of(graph: object) -> GraphContents:
    """Return the contents of a graph."""
    places = [*walk(graph)]
    all_tools = [*of_kind(BaseTool, places)]  # type: ignore[type-abstract]
    tools = {tool.name: (tool, place) for tool, place in reversed(all_tools)}
    graphs = [
        (_name_of(found, place), found, place.where[-1])
        for found, place in of_kind(Pregel, places)
        if place.graphs
    ]
    ran_by = {name: runner for name, _, runner in graphs}
    transformers: defaultdict[str, list[Factory]] = defaultdict(list)
    for name, found, _ in graphs:
        transformers[name] += found.stream_transformers
    tool_places = {(*place.where, tool.name) for tool, place in all_tools}
    speakers = [
        factory
        for found, place in of_kind(Pregel, places)
        if place.graphs and not _is_inside(place.where, tool_places)
        for factory in found.stream_transformers
    ]
    runs = Counter(ran_by.values())
    # A tool that runs several graphs describes none of them.
    texts = {name: tool.description for name, (tool, _) in tools.items() if runs[name] == 1}
    own = [_classes(place) for place in places if place.graphs <= 1]
    inner = [_classes(place) for place in places if place.graphs > 1]
    return GraphContents(
        models=[model for model, place in models_at(places) if not place.auxiliary],
        providers=providers_in(places),
        tools={name: tool for name, (tool, place) in reversed(tools.items()) if place.graphs <= 1},
        tools_in={
            inside: [tool for tool, place in all_tools if (place.graphs > 1) is inside]
            for inside in (False, True)
        },
        tool_names=frozenset(tools) | _bound_tools(places),
        subagents={name: texts.get(runner) for name, runner in ran_by.items()},
        middleware=_middleware(own),
        inner_middleware=_middleware(inner),
        transformers=dict(transformers),
        speakers=speakers,
        structured_output=any(classes & _STRUCTURED for classes in own),
    )


def shown_tool(tool: BaseTool) -> dict[str, object] | None:
    """Return a tool as clients see it; None if it has no schema.

    Parameters that the graph fills in are left out.
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
    fields = {key: _without_defaults(value) for key, value in schema.items() if key != "default"}
    named = schema.get("properties")
    if isinstance(named, Mapping):  # a property may have the name `default`
        fields["properties"] = {name: _without_defaults(one) for name, one in named.items()}
    return fields


def _is_inside(where: tuple[str, ...], others: Collection[tuple[str, ...]]) -> bool:
    """Return whether a place is one of the others, or inside one."""
    return any(where[:length] in others for length in range(1, len(where) + 1))


def names_interrupt(function: object) -> bool:
    """Return whether the code of a function, or of a partial one, loads LangGraph's `interrupt`;
    False for an object of another kind, such as a method.
    """
    while isinstance(function, partial):
        function = function.func
    inner = unwrap(function) if isinstance(function, FunctionType) else None
    return isinstance(inner, FunctionType) and any(one is interrupt for one in _loaded(inner))


def _loaded(function: FunctionType) -> Iterator[object]:
    """Yield the objects that the code of a function loads by name: globals, variables around it,
    imports, and attributes of modules.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    source: object = None  # of `from ... import`
    value: object = None
    for step in chain.from_iterable(map(get_instructions, codes_of(function))):
        name = step.argval
        match step.opname:
            case "EXTENDED_ARG":  # it belongs to the next one
                continue
            case "LOAD_GLOBAL" | "LOAD_NAME":
                value = function.__globals__.get(name)
            case "LOAD_DEREF":
                value = _content(cells.get(name))
            case "IMPORT_NAME":
                source = value = sys.modules.get(name)
            case "IMPORT_FROM":
                value = _member(source, name)
            case "LOAD_ATTR" | "LOAD_METHOD":
                value = _member(value, name)
            case _:
                value = None
        yield value


def _content(cell: CellType | None) -> object:
    """Return the value of a variable; None as long as it has none."""
    with suppress(ValueError):
        return None if cell is None else cell.cell_contents
    return None


def _member(module: object, name: str) -> object:
    """Return the object that a module has under a name; None if it has none, or is no module."""
    return vars(module).get(name) if isinstance(module, ModuleType) else None


def _bound_tools(places: Iterable[Place]) -> frozenset[str]:
    """Return the names of tools that models are bound to, also of tools that nothing runs."""
    bindings = [binding.kwargs.get("tools") for binding, _ in of_kind(RunnableBinding, places)]
    return frozenset(
        name_of(tool) for bound in bindings if isinstance(bound, list) for tool in bound
    )


def _name_of(graph: Pregel[Any, Any, Any, Any], place: Place) -> str:
    return str(graph.name) if graph.name not in (None, _NO_NAME) else place.where[-1]


def _classes(place: Place) -> frozenset[str]:
    """Return the names of the classes of the object at a place."""
    return frozenset(cls.__name__ for cls in type(place.value).__mro__)


def _middleware(objects: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the classes of those objects that are middleware, given the classes of each."""
    return frozenset[str]().union(*(classes for classes in objects if _MIDDLEWARE in classes))

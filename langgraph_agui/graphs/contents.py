"""What is in a graph, as far as a search finds it without running anything.

A compiled graph enters; its models, tools, subagents and the names in its code leave. A tool, model
or name that a function makes or gets when it runs is not found.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel

from langgraph_agui.chat_models.find import (
    OBJECTS,
    Place,
    codes_of,
    models_at,
    of_kind,
    package_of,
    providers_in,
    walk,
)
from langgraph_agui.nodes import name_of

# The name that LangGraph gives a graph without one.
_NO_NAME: Final = "LangGraph"
_OWN_PACKAGE: Final = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class GraphContents:
    """What is in a graph.

    Attributes:
        models: The models that write the assistant's messages, those of subagents included.
        providers: The providers of these models; none if one is unknown, or chosen when the graph
            runs.
        tools: The tools of the graph itself, by name.
        tool_names: The names of all tools that its models may call, those of subagents included.
        subagents: The graphs inside it, by name, with what they are for if a tool of their own runs
            them.
        classes: The names of the classes of the objects in its own nodes and tools.
        inner_classes: The same of its subagents.
        names: The globals, attributes and texts in all of its code.
        complete: Whether the search has seen all that it can see.
    """

    models: list[BaseChatModel]
    providers: frozenset[str]
    tools: dict[str, BaseTool]
    tool_names: frozenset[str]
    subagents: dict[str, str | None]
    classes: frozenset[str]
    inner_classes: frozenset[str]
    names: frozenset[str]
    complete: bool


def contents_of(graph: object) -> GraphContents:
    """Return what is in `graph`."""
    places = [*walk(graph)]
    tools = {tool.name: (tool, place) for tool, place in reversed([*of_kind(BaseTool, places)])}  # type: ignore[type-abstract]
    graphs = {
        _name_of(inner, place): place.where
        for inner, place in of_kind(Pregel, places)
        if place.graphs
    }
    ran_by = [where[-1] for where in graphs.values()]
    return GraphContents(
        models=[model for model, place in models_at(places) if not place.auxiliary],
        providers=providers_in(places),
        tools={name: tool for name, (tool, place) in reversed(tools.items()) if place.graphs <= 1},
        tool_names=frozenset(tools) | _bound_tools(places),
        # A tool that runs several graphs describes none of them.
        subagents={
            name: tools[where[-1]][0].description
            if where[-1] in tools and ran_by.count(where[-1]) == 1
            else None
            for name, where in graphs.items()
        },
        classes=_classes(place.value for place in places if place.graphs <= 1),
        inner_classes=_classes(place.value for place in places if place.graphs > 1),
        names=frozenset(
            name for function, _ in of_kind(FunctionType, places) for name in _names(function)
        ),
        complete=len(places) < OBJECTS,
    )


def _bound_tools(places: Iterable[Place]) -> frozenset[str]:
    """Return the names of the tools that models are bound to: an agent may end by a call that no
    tool answers.
    """
    bindings = [binding.kwargs.get("tools") for binding, _ in of_kind(RunnableBinding, places)]
    return frozenset(
        name_of(tool) for bound in bindings if isinstance(bound, list) for tool in bound
    )


def _name_of(graph: Pregel[Any, Any, Any, Any], place: Place) -> str:
    return str(graph.name) if graph.name not in (None, _NO_NAME) else place.where[-1]


def _classes(values: Iterable[object]) -> frozenset[str]:
    return frozenset(cls.__name__ for value in values for cls in type(value).__mro__)


def _names(function: FunctionType) -> list[str]:
    if package_of(function) == _OWN_PACKAGE:
        return []  # what our own code refers to is not the graph's
    found = (one for code in codes_of(function) for one in (*code.co_names, *code.co_consts))
    return [one for one in found if isinstance(one, str)]

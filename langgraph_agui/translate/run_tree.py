"""Where in a run its parts are: which node, subagent and tool call each callback belongs to.

LangChain's runs enter with their parents, places leave. A graph says nothing of itself: it is known by its nodes, whose
runs are children of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from langgraph_agui.namespaces import graph_of, subagent_run_id
from langgraph_agui.translate.subagents import SubagentRun

_NODE_TAG: Final = "graph:step:"
"""How the tag begins that LangGraph gives the runs of nodes, and not those of tasks (functional API)."""

_UNNAMED: Final = "LangGraph"
"""The name of a graph that was given none."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A run of a tool: the call that it answers, and what it is for."""

    call_id: str | None
    name: str
    description: str | None


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run is.

    Attributes:
        name: The run's own.
        namespace: Of the node that it is in: "" in none, None in one whose graph does not stream to us.
        node: The checkpoint namespace of that node in any case.
        subagent: The subagent that it belongs to.
        tool: The tool that it belongs to, inside that node.
    """

    name: str = ""
    namespace: str | None = ""
    node: str = ""
    subagent: SubagentRun | None = None
    tool: ToolRun | None = None


_OUTSIDE: Final = RunLocation()


class RunTree:
    """The places of the runs of one root run that have not ended."""

    def __init__(self) -> None:
        self._places: dict[UUID, RunLocation] = {}
        self._graphs: dict[UUID, SubagentRun] = {}
        self._roots: set[UUID] = set()
        self._by_namespace: dict[str, SubagentRun] = {}
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def find(self, run_id: UUID | None) -> RunLocation:
        """The place of a run; outside of everything, if it is not known."""
        return self._places.get(run_id, _OUTSIDE) if run_id is not None else _OUTSIDE

    def subagent_at(self, namespace: Sequence[str]) -> SubagentRun | None:
        """The subagent whose graph streams under this namespace."""
        return self._by_namespace.get("|".join(namespace))

    def enter(self, run_id: UUID, parent: UUID | None, name: str) -> None:
        """A chain begins: it is where its parent is."""
        self._places[run_id] = replace(self.find(parent), name=name)

    def enter_tool(self, run_id: UUID, parent: UUID | None, tool: ToolRun) -> RunLocation:
        """A tool begins; return where it is."""
        self._places[run_id] = location = replace(self.find(parent), name=tool.name, tool=tool)
        return location

    def enter_node(self, run_id: UUID, parent: UUID | None, namespace: str, tags: Sequence[str]) -> RunLocation:
        """A node begins; return its place. The first node of a graph inside another begins that subagent."""
        around = self.find(parent)
        subagent = around.subagent
        if parent is not None and any(tag.startswith(_NODE_TAG) for tag in tags):
            if around.node:
                subagent = self._graphs.get(parent) or self._begin_once(parent, around, namespace)
            else:
                self._roots.add(parent)
        within = around.namespace
        streamed = within is not None and (not within or namespace.startswith(f"{within}|"))
        self._places[run_id] = place = RunLocation(around.name, namespace if streamed else None, namespace, subagent)
        return place

    def _begin_once(self, graph: UUID, around: RunLocation, namespace: str) -> SubagentRun:
        with self._lock:  # the first nodes of a graph may begin at once, each in a thread of its own
            return self._graphs.get(graph) or self._begin(graph, around, namespace)

    def _begin(self, graph: UUID, around: RunLocation, namespace: str) -> SubagentRun:
        tool, within = around.tool, graph_of(namespace)
        task = around.node.split("|")
        if around.name not in ("", _UNNAMED):
            name = around.name
        else:
            name = tool.name if tool is not None else task[-1].partition(":")[0]
        subagent = SubagentRun(
            id=self._new_id(task, within),
            name=name,
            description=tool.description if tool is not None else None,
            call_id=tool.call_id if tool is not None else None,
            parent=around.subagent,
        )
        self._graphs[graph] = subagent
        if within:
            self._by_namespace[within] = subagent
        return subagent

    def _new_id(self, task: Sequence[str], within: str) -> str:
        """The id of the graph that `task` runs and that streams as `within`; one that a task runs again gets another.

        A graph that keeps its own state, or that does not stream to us, has no task in its namespace.
        """
        namespace = within.split("|")
        first = subagent_run_id(namespace if namespace[: len(task)] == list(task) else task) or ""
        found, number = first, 0
        while found in self._taken:
            number += 1
            found = f"{first}:{number}"
        self._taken.add(found)
        return found

    def is_graph(self, run_id: UUID) -> bool:
        """Whether this run is one of a graph that is inside no other."""
        return run_id in self._roots

    def leave(self, run_id: UUID) -> SubagentRun | None:
        """A run has ended; return the subagent that it was."""
        self._places.pop(run_id, None)
        return self._graphs.pop(run_id, None)


def tool_run(serialized: object, inputs: object, call_id: object, name: object = None) -> ToolRun:
    """What a tool's start tells of it. What it was asked says more than what it is for in general.

    Args:
        serialized: The tool's name and description.
        inputs: Its arguments.
        call_id: The call that it answers.
        name: Its name, where `serialized` has none.
    """
    told: Mapping[str, object] = serialized if isinstance(serialized, Mapping) else {}
    given: Mapping[str, object] = inputs if isinstance(inputs, Mapping) else {}
    texts = (given.get("description"), told.get("description"))
    return ToolRun(
        call_id if isinstance(call_id, str) else None,
        str(told.get("name") or name or "tool"),
        next((text for text in texts if isinstance(text, str) and text), None),
    )

"""The subagents of a graph on a LangGraph server, told from the `tasks` parts of its stream.

Tasks enter, in the order in which the server tells them: a task before the graphs that it runs, their tasks before its
end. Lanes leave. A server does not tell what tools are for, nor the name of a graph that is no agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from langgraph.errors import GraphInterrupt
from langgraph.pregel.remote import RemoteException

from langgraph_agui.namespaces import subagent_run_id
from langgraph_agui.translate.remote.tasks import Namespace, Task, call_of, own_namespace
from langgraph_agui.translate.subagents import SubagentRun


@dataclass(slots=True)
class _Graph:
    """A graph inside the root graph: its lane, its agent's name (or an inherited one), and how it fares."""

    lane: SubagentRun
    agent: str | None
    running: set[str] = field(default_factory=set)
    error: BaseException | None = None


class RemoteSubagents:
    """The lanes of one run."""

    def __init__(self) -> None:
        self._agents: dict[Namespace, str | None] = {}
        self._calls: dict[Namespace, Mapping[str, object]] = {}
        self._graphs: dict[Namespace, _Graph] = {}

    def at(self, namespace: Namespace) -> SubagentRun | None:
        """The lane of the graph that streams under this namespace; None is the root graph."""
        graph = self._graphs.get(namespace)
        return graph.lane if graph is not None else None

    def start(self, namespace: Namespace, task: Task) -> None:
        """A task begins. The first one of a graph begins its lane.

        Not the task that runs the graph: when a paused run goes on, a server tells the start of finished tasks again.
        """
        if not namespace:
            self._agents[()] = _agent(task)
        elif namespace not in self._graphs:
            self._begin(namespace, _agent(task))
        self._calls[own_namespace(namespace, task)] = call_of(task.get("input"))
        if (graph := self._graphs.get(namespace)) is not None:
            graph.running.add(str(task["id"]))

    def _begin(self, namespace: Namespace, agent: str | None) -> None:
        runs = namespace[:-1] if namespace[-1].isdigit() else namespace
        outer = self._graphs.get(runs[:-1])
        inherited = outer.agent if outer is not None else self._agents.get(())
        call = self._calls.get(runs, {})
        args = call.get("args")
        asked = args.get("description") if isinstance(args, Mapping) else None
        own_name = agent if agent != inherited else None
        lane = SubagentRun(
            id=subagent_run_id(namespace) or "",
            name=own_name or str(call.get("name") or runs[-1].partition(":")[0]),
            description=asked if isinstance(asked, str) and asked else None,
            call_id=str(call["id"]) if call.get("id") else None,
            parent=outer.lane if outer is not None else None,
        )
        self._graphs[namespace] = _Graph(lane, agent)

    def end(
        self, namespace: Namespace, task: Task, error: RemoteException | None
    ) -> Iterator[tuple[SubagentRun, BaseException | None]]:
        """A task has ended, with an error if it has failed.

        Returns the lanes that end with it, the innermost first, and what has ended them.
        """
        if (graph := self._graphs.get(namespace)) is not None:
            graph.running.discard(str(task["id"]))
            graph.error = graph.error or (GraphInterrupt() if task.get("interrupts") else error)
        runs = own_namespace(namespace, task)
        self._calls.pop(runs, None)
        inside = [found for found in self._graphs if found[: len(runs)] == runs]
        for found in sorted(inside, key=len, reverse=True):
            ended = self._graphs.pop(found)
            yield ended.lane, ended.error or (GeneratorExit() if ended.running else _recursion(error))


def _recursion(error: RemoteException | None) -> RemoteException | None:
    """What has ended a graph that took too many steps: none of its tasks has failed, but the one that runs it."""
    told = error.args[0] if error is not None else None
    return error if isinstance(told, Mapping) and told.get("error") == "GraphRecursionError" else None


def _agent(task: Task) -> str | None:
    metadata = task.get("metadata")
    name = metadata.get("lc_agent_name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else None

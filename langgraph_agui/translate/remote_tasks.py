"""The tasks, subagents and errors of a graph on a LangGraph server, as its stream reports them.

The `tasks` parts of the stream enter, in the server's order: a task starts before the graphs that it runs, and their
tasks end before it does. Subagents and exceptions leave. A server names neither the purpose of a tool nor a graph that
is no agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from langgraph.errors import GraphInterrupt
from langgraph.pregel.remote import RemoteException

from langgraph_agui.errors import ErrorCode
from langgraph_agui.namespaces import subagent_run_id
from langgraph_agui.translate.subagents import SubagentRun
from langgraph_agui.translate.translation import Translation

Namespace: TypeAlias = tuple[str, ...]
Task: TypeAlias = Mapping[str, object]
StartedTask: TypeAlias = tuple[Namespace, Task]


@dataclass(slots=True)
class _Subagent:
    """A graph inside the root graph: its run, its agent's name (maybe an inherited one), and its first error."""

    run: SubagentRun
    agent: str | None
    error: BaseException | None = None


class RemoteTasks:
    """The tasks of one run that have started and not ended, and the subagents that they run.

    A server also reports the start of a task that it does not run: one that had ended before the pause that the run
    resumes from, and one whose result is cached. Instead of its end comes an update, marked as cached, which names only
    the node.
    """

    def __init__(self) -> None:
        self._running: dict[Namespace, StartedTask] = {}
        self._skipped: Counter[tuple[Namespace, str]] = Counter()
        self._root_agent: str | None = None
        self._subagents: dict[Namespace, _Subagent] = {}

    def __bool__(self) -> bool:
        return bool(self._running)

    def clear(self) -> None:
        """Forget the running tasks: another run begins."""
        self._running.clear()
        self._skipped.clear()

    def subagent_at(self, namespace: Namespace) -> SubagentRun | None:
        """Return the subagent whose graph streams under this namespace; None is the root graph."""
        subagent = self._subagents.get(namespace)
        return subagent.run if subagent is not None else None

    def start(self, namespace: Namespace, task: Task) -> None:
        """A task starts, or is said to. The first one of a graph starts that graph's subagent.

        Not the task that runs the graph: when a paused run resumes, a server reports the start of finished tasks again.
        """
        if not namespace:
            self._root_agent = _agent_name(task)
        elif namespace not in self._subagents:
            self._start_subagent(namespace, _agent_name(task))
        self._running[own_namespace(namespace, task)] = namespace, task

    def _start_subagent(self, namespace: Namespace, agent: str | None) -> None:
        runner = namespace[:-1] if namespace[-1].isdigit() else namespace  # the task that runs the graph
        outer = self._subagents.get(runner[:-1])
        inherited = outer.agent if outer is not None else self._root_agent
        call = _call_of(self._running[runner][1]) if runner in self._running else {}
        args = call.get("args")
        description = args.get("description") if isinstance(args, Mapping) else None
        own_name = agent if agent != inherited else None
        run = SubagentRun(
            id=subagent_run_id(namespace) or "",
            name=own_name or str(call.get("name") or runner[-1].partition(":")[0]),
            description=description if isinstance(description, str) and description else None,
            call_id=str(call["id"]) if call.get("id") else None,
            parent=outer.run if outer is not None else None,
        )
        self._subagents[namespace] = _Subagent(run, agent)

    def end_subagents(
        self, namespace: Namespace, task: Task, error: RemoteException | None
    ) -> Iterator[tuple[SubagentRun, BaseException | None]]:
        """Yield the subagents that end with a task, the innermost first, each with what has ended it.

        `error` is that of the task, if it has failed.
        """
        own = own_namespace(namespace, task)
        if (subagent := self._subagents.get(namespace)) is not None:
            subagent.error = subagent.error or (GraphInterrupt() if task.get("interrupts") else error)
        inside = [found for found in self._subagents if found[: len(own)] == own]
        for found in sorted(inside, key=len, reverse=True):
            ended = self._subagents.pop(found)
            cancelled = any(graph == found for graph, _ in self._running.values())
            # A graph that took too many steps: none of its tasks has failed, but the one that runs it.
            too_many_steps = error if error is not None and _is_recursion_error(error.args[0]) else None
            yield ended.run, ended.error or (GeneratorExit() if cancelled else too_many_steps)

    def end(self, namespace: Namespace, task: Task) -> Task | None:
        """A task has ended. Return what was reported of its start; None if it ran before this run."""
        _, started = self._running.pop(own_namespace(namespace, task), (namespace, None))
        return started

    def take_ended_with(self, namespace: Namespace, task: Task) -> list[StartedTask]:
        """Remove and return the tasks that will have no end of their own, now that this one has ended.

        Those of the graphs that it has run, which were cancelled, and those of its node that were not run at all.
        """
        own = own_namespace(namespace, task)
        inside = [started for started in self._running.values() if started[0][: len(own)] == own]
        return self._take([*inside, *self._all_skipped(namespace, str(task["name"]))])

    def take_skipped(self, namespace: Namespace, node: str, call_ids: Iterable[str]) -> list[StartedTask]:
        """The same, when a task of `node` was not run, whose result answers these tool calls.

        If they do not tell which task it is, that is known when the others have ended.
        """
        answered = set(call_ids)
        of_node = self._of_node(namespace, node)
        found = [started for started in of_node if answered and _call_of(started[1]).get("id") in answered]
        if len(found) == 1:
            return self._take(found)
        if of_node:
            self._skipped[namespace, node] += 1
        return self._take(self._all_skipped(namespace, node))

    def _of_node(self, namespace: Namespace, node: str) -> list[StartedTask]:
        return [one for one in self._running.values() if one[0] == namespace and one[1]["name"] == node]

    def _all_skipped(self, namespace: Namespace, node: str) -> list[StartedTask]:
        """Return the running tasks of a node, if as many were skipped."""
        found = self._of_node(namespace, node)
        if len(found) != self._skipped[namespace, node]:
            return []
        del self._skipped[namespace, node]
        return found

    def _take(self, ended: list[StartedTask]) -> list[StartedTask]:
        for namespace, task in ended:
            del self._running[own_namespace(namespace, task)]
        return ended


class RemoteErrors:
    """The errors of one run, each as one exception.

    A server reports an error once for each task around the one that failed, and once more as the run's own. All that
    these reports have in common is their content.

    Args:
        translation: Receives the errors of graphs that took too many steps.
    """

    def __init__(self, translation: Translation) -> None:
        self._translation = translation
        self._errors: list[tuple[Namespace, RemoteException]] = []

    def of_task(self, namespace: Namespace, task: Task) -> RemoteException | None:
        """Return the error of a task that ends. If it has none, the errors of its graphs were caught."""
        own, report = own_namespace(namespace, task), task.get("error")
        if not report:
            self._errors = [(raised, error) for raised, error in self._errors if raised[: len(own)] != own]
            return None
        error = self._find(report) or RemoteException(report)
        self._errors.append((own, error))
        if _is_recursion_error(report):
            self._translation.record_error(error, ErrorCode.RECURSION_LIMIT)
        return error

    def classify(self, error: RemoteException) -> ErrorCode:
        """Return the code of a run that has failed with `error`."""
        report = error.args[0] if error.args else None
        if _is_recursion_error(report):
            return ErrorCode.RECURSION_LIMIT
        return self._translation.classify_error(self._find(report) or error)

    def _find(self, report: object) -> RemoteException | None:
        return next((error for _, error in reversed(self._errors) if error.args[0] == report), None)


def own_namespace(namespace: Namespace, task: Task) -> Namespace:
    """Return the namespace of a task, which is that of the graph it runs, if it runs one."""
    return (*namespace, f"{task['name']}:{task['id']}")


def _is_recursion_error(report: object) -> bool:
    return isinstance(report, Mapping) and report.get("error") == "GraphRecursionError"


def _call_of(task: Task) -> Mapping[str, object]:
    """Return the one tool call that is a task's input. A task that runs all calls of a message has the state."""
    given = task.get("input")
    if isinstance(given, Mapping):
        given = [given.get("tool_call")]
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], Mapping):
        call: Mapping[str, object] = given[0]
        return call if call.get("type") == "tool_call" else {}
    return {}


def _agent_name(task: Task) -> str | None:
    metadata = task.get("metadata")
    name = metadata.get("lc_agent_name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else None

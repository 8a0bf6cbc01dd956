"""The tasks of a graph on a LangGraph server that have begun and not ended.

Tasks enter as the server tells them. Of one that it does not run it tells the start too: of one that had ended before
the pause that the run goes on from, and of one whose result is cached. In place of its end comes an update, marked as
cached, which names only the node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Namespace: TypeAlias = tuple[str, ...]
Task: TypeAlias = Mapping[str, object]


class RemoteTasks:
    """The running tasks of one run."""

    def __init__(self) -> None:
        self._begun: dict[str, tuple[Namespace, Task]] = {}
        self._spared: Counter[tuple[Namespace, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._begun)

    def clear(self) -> None:
        """Forget all of them: another run begins."""
        self._begun.clear()
        self._spared.clear()

    def start(self, namespace: Namespace, task: Task) -> None:
        """A task begins, or is said to."""
        self._begun[str(task["id"])] = namespace, task

    def end(self, namespace: Namespace, task: Task) -> Task | None:
        """A task has ended; return what was told of its start, None if it ran before this run."""
        _, begun = self._begun.pop(str(task["id"]), (namespace, None))
        return begun

    def left(self, namespace: Namespace, task: Task) -> list[tuple[Namespace, Task]]:
        """The tasks that no end will be told of, now that this one has ended, and where they are.

        Those of the graphs that it has run, which were cancelled, and those of its node that were not run at all.
        """
        own = own_namespace(namespace, task)
        inside = [begun for begun in self._begun.values() if begun[0][: len(own)] == own]
        return self._taken([*inside, *self._rest(namespace, str(task["name"]))])

    def spared(self, namespace: Namespace, node: str, calls: Iterable[str]) -> list[tuple[Namespace, Task]]:
        """The same, when a task of `node` was not run, whose result answers these tool calls.

        Where that does not say which one it is, it is said when the others have ended.
        """
        answered = set(calls)
        of_node = self._of_node(namespace, node)
        found = [begun for begun in of_node if answered and call_of(begun[1].get("input")).get("id") in answered]
        if len(found) == 1:
            return self._taken(found)
        if of_node:
            self._spared[namespace, node] += 1
        return self._taken(self._rest(namespace, node))

    def _of_node(self, namespace: Namespace, node: str) -> list[tuple[Namespace, Task]]:
        return [begun for begun in self._begun.values() if begun[0] == namespace and begun[1]["name"] == node]

    def _rest(self, namespace: Namespace, node: str) -> list[tuple[Namespace, Task]]:
        """All running tasks of a node, if none of them is run."""
        rest = self._of_node(namespace, node)
        if len(rest) != self._spared[namespace, node]:
            return []
        del self._spared[namespace, node]
        return rest

    def _taken(self, ended: list[tuple[Namespace, Task]]) -> list[tuple[Namespace, Task]]:
        for _, task in ended:
            del self._begun[str(task["id"])]
        return ended


def own_namespace(namespace: Namespace, task: Task) -> Namespace:
    """The namespace of the graph that a task runs, if it runs one."""
    return (*namespace, f"{task['name']}:{task['id']}")


def call_of(given: object) -> Mapping[str, object]:
    """The one tool call that is a task's input; a task that runs all calls of a message has the state."""
    if isinstance(given, Mapping):
        given = [given.get("tool_call")]
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], Mapping):
        call: Mapping[str, object] = given[0]
        return call if call.get("type") == "tool_call" else {}
    return {}

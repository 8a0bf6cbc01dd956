"""Holds the messages of nodes back until the hooks of middleware have seen them.

`create_agent` runs the hooks of middleware as nodes behind the model (`after_model`), and a hook
may rewrite or remove an answer. The output of nodes enters, and messages that only the state shows.
They leave when a later superstep runs another node, as the hooks have left them.
"""

from collections.abc import Callable
from typing import NamedTuple

from langchain_core.messages import BaseMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui.kernel.configs import graph_of, is_hook
from langgraph_agui.translate.repeated_messages import NodeOutput
from langgraph_agui.translate.subagents import SubagentRun

# Takes the output of a node when it may be seen.
Emit = Callable[[NodeOutput], None]


class _Held(NamedTuple):
    output: NodeOutput
    emit: Emit
    subagent: SubagentRun | None


class HeldOutput:
    """The output of nodes that nobody has seen yet, by graph."""

    def __init__(self) -> None:
        self._held: dict[str, list[_Held]] = {}
        # The namespaces of tasks that have failed and were not tried again.
        self._failed: set[str] = set()

    def hold(
        self, output: NodeOutput, emit: Emit, subagent: SubagentRun | None, graph: str
    ) -> None:
        """Hold the output of a node of the graph at a namespace. It replaces messages of the graph
        that are held already. Copies of these for other channels were for no client.
        """
        held = self._held.setdefault(graph, [])
        seen = {message.id for one in held for message, _ in one.output.with_copies}
        others = [message for message in output.others if message.id not in seen]
        held[:] = [one._replace(output=_changed(one.output, output)) for one in held]
        held.append(_Held(output._replace(others=others), emit, subagent))

    def start_task(self, node: str, graph: str) -> None:
        """Emit what the graph at a namespace holds, if this node of it is no hook.

        The graph's stream reports the start of all tasks of a superstep before any of them ends. It
        does not report that a task is tried again.
        """
        if not is_hook(node):
            self._emit([graph])

    def end_task(self, namespace: str) -> None:
        """Emit what the graphs inside a task hold: it has ended well."""
        self._failed.discard(namespace)
        self.release(namespace)

    def fail_task(self, namespace: str) -> None:
        """A task has failed. Unless it is tried again, its graph fails, and what that holds is
        never emitted: the hooks may not have seen it.
        """
        self._failed.add(namespace)

    def end_subagent(self, subagent: SubagentRun) -> None:
        """Emit what the graphs of a subagent hold."""
        self._emit(
            [
                graph
                for graph, held in self._held.items()
                if any(one.subagent == subagent for one in held)
            ]
        )

    def release(self, namespace: str = "") -> None:
        """Emit what the graph at a namespace and those inside it hold; by default all."""
        inside = f"{namespace}|" if namespace else ""
        self._emit([at for at in self._held if at == namespace or at.startswith(inside)])

    def holds_any(self, graph: str) -> bool:
        """Return whether the graph at a namespace holds anything."""
        return graph in self._held

    def _emit(self, graphs: list[str]) -> None:
        failed = {graph_of(task) for task in self._failed}
        for graph in graphs:
            if graph not in failed:
                for one in self._held.get(graph, ()):
                    one.emit(one.output)
            self._held.pop(graph, None)  # only now: `holds_any` is true until all is emitted


def _changed(held: NodeOutput, later: NodeOutput) -> NodeOutput:
    """Return an output with the messages that a later one replaces, without those that it
    removes.
    """
    new: dict[str | None, BaseMessage] = {
        message.id: message for message, _ in later.messages if message.id
    }
    removes_all = REMOVE_ALL_MESSAGES in later.removed
    return held._replace(
        messages=[
            (new.get(message.id, message), copied)
            for message, copied in held.messages
            if message.id in new or not (removes_all or message.id in later.removed)
        ],
        others=[new.get(message.id, message) for message in held.others],
    )

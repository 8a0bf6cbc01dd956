"""Where a thread stands, as only the graph and its checkpointer know: breakpoints, and checkpoints of subagents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import START
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import All, PregelTask, StateSnapshot
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.graphs import Graph, load_state
from langgraph_agui.namespaces import subagent_run_id
from langgraph_agui.remote import load_inside

_RESUME = "__resume__"

_GRAPHS_OF_A_TASK = 8
"""In how many graphs of one task an interrupt is looked for; each is a request."""

_QUESTIONS_OF_A_TASK = 32
"""How many questions of one task are told from those of the graphs that it runs without a request."""


class Holder(NamedTuple):
    """A checkpoint that holds an interrupt: its graph's namespace and state, and since when."""

    namespace: str
    values: object
    since: str | None


async def breaks_at(graph: Graph, stored: StateSnapshot) -> tuple[str, ...]:
    """The nodes before which a thread stands at a static breakpoint; none, if it stands at no breakpoint.

    A checkpoint does not say why its graph has stopped. A graph on a server does not say where its breakpoints are:
    there, every stop without an error counts as one.
    """
    if not stored.next or any(task.error is not None for task in stored.tasks):
        return ()
    if not isinstance(graph, Pregel):
        return stored.next
    before, after = graph.interrupt_before_nodes, graph.interrupt_after_nodes
    if _among(stored.next, before) or any(node in _with_breakpoints_inside(graph) for node in stored.next):
        return stored.next
    if after and stored.parent_config is not None:
        ran = await graph.aget_state(stored.parent_config)
        return stored.next if _among([node for node in ran.next if node != START], after) else ()
    return ()


def _among(nodes: Sequence[str], breakpoints: All | Sequence[str]) -> bool:
    return any(breakpoints == "*" or node in breakpoints for node in nodes)


def _with_breakpoints_inside(graph: Pregel) -> set[str]:  # type: ignore[type-arg]
    """The nodes of a graph that are graphs which stop somewhere."""
    return {
        name.partition("|")[0]
        for name, inner in graph.get_subgraphs(recurse=True)
        if isinstance(inner, Pregel) and (inner.interrupt_before_nodes or inner.interrupt_after_nodes)
    }


async def innermost(graph: Graph, config: RunnableConfig, interrupt_ids: Collection[str]) -> dict[str, Holder]:
    """Where in a thread each of these interrupts was raised: the innermost of the checkpoints that hold it, by its id.

    On a LangGraph server, only graphs inside the root graph are looked for.
    """
    found: dict[str, Holder] = {}
    if isinstance(graph, RemoteGraph):
        root = await load_state(graph, config, subgraphs=True)
        for interrupt_id in interrupt_ids:
            async for holder in _on_server(graph, config, root, interrupt_id):
                found[interrupt_id] = holder
        return found
    async for saved in _saved(graph, config):
        checkpoint = saved.checkpoint
        holder = Holder(_namespace(saved.config), checkpoint["channel_values"], checkpoint["ts"])
        for interrupt_id in {one for write in saved.pending_writes or () for one in _raised_by(write)}:
            known = found.get(interrupt_id)
            if known is None or len(holder.namespace) > len(known.namespace):
                found[interrupt_id] = holder
    return found


def owner_of(namespace: str, stored: StateSnapshot) -> str | None:
    """The subagent whose graph has the checkpoint namespace; None is the root graph.

    The namespace of a graph that keeps its own state does not say which task runs it.
    """
    owner = subagent_run_id(namespace.split("|")) if namespace else None
    running = {task.name: f"{task.name}:{task.id}" for task in stored.tasks}
    return running.get(owner, owner) if owner is not None else None


async def answers_to(graph: Graph, config: RunnableConfig, interrupt_id: str) -> list[object]:
    """What the task that raised an interrupt has been answered, if it has not come to its end since.

    The run that had the answers has failed then. A LangGraph server does not tell.
    """
    answers: list[object] = []
    async for saved in _saved(graph, config):
        writes = saved.pending_writes or ()
        tasks = {write[0] for write in writes if interrupt_id in _raised_by(write)}
        for task_id, channel, value in writes:
            if task_id in tasks and channel == _RESUME:
                answers += value if isinstance(value, list) else [value]
    return answers


async def asked_anew(graph: Graph, config: RunnableConfig, stored: StateSnapshot) -> set[str]:
    """The interrupts of failed tasks that have no answer yet.

    A task keeps its answers when it fails, and LangGraph shows its last question as open, whether or not that is among
    the answered ones; it would not take another answer to one that is. Questions are named after how many were answered
    before them.
    """
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        return set()
    saved = await saver.aget_tuple(_thread(config))
    answered = {
        write[0]: len(write[2]) for write in (saved.pending_writes or () if saved else ()) if write[1] == _RESUME
    }
    namespaces = {task.id: f"{task.name}:{task.id}" for task in stored.tasks if task.error is not None}
    return {
        GraphInterrupt.from_ns(None, f"{namespace}|{answered[task_id]}" if answered.get(task_id) else namespace).id
        for task_id, namespace in namespaces.items()
    }


async def _saved(graph: Graph, config: RunnableConfig) -> AsyncIterator[CheckpointTuple]:
    """The last checkpoint of a thread, and those that its subagents have made since."""
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver) or (last := await saver.aget_tuple(_thread(config))) is None:
        return
    async for saved in saver.alist(_thread(config)):
        # Ids grow with time.
        if saved.checkpoint["id"] >= last.checkpoint["id"]:
            yield saved
        elif not isinstance(saver, InMemorySaver):
            return  # savers on a database list the newest first, whosever they are


def _thread(config: RunnableConfig) -> RunnableConfig:
    return {"configurable": {"thread_id": config["configurable"]["thread_id"]}}


async def _on_server(
    graph: RemoteGraph, config: RunnableConfig, root: StateSnapshot, interrupt_id: str
) -> AsyncIterator[Holder]:
    """Follow the tasks that hold an interrupt down from the root graph's to the one that has raised it.

    A server tells of declared subgraphs with the root graph, of any other when it is asked for it.
    """
    around: StateSnapshot | None = root
    namespace = ""
    while around is not None and (task := _holding(around, interrupt_id)) is not None:
        own = f"{namespace}|{task.name}:{task.id}" if namespace else f"{task.name}:{task.id}"
        if _raises(own, interrupt_id):
            return
        known = task.state if isinstance(task.state, StateSnapshot) else None
        around = known or await _run_by(graph, config, own, interrupt_id)
        if around is not None:
            namespace = _namespace(around.config)
            yield Holder(namespace, around.values, around.created_at)


async def _run_by(graph: RemoteGraph, config: RunnableConfig, own: str, interrupt_id: str) -> StateSnapshot | None:
    """The state of the graph that a task runs and that holds the interrupt, if that can be told.

    A graph whose tasks the server does not show may hold it if the task runs no other.

    Args:
        graph: The root graph.
        config: Names the thread.
        own: The namespace of the task, and of the first graph that it runs; LangGraph numbers the others.
        interrupt_id: The interrupt.
    """
    first = found = await load_inside(graph, config, own)
    for number in range(1, _GRAPHS_OF_A_TASK):
        if found is None or _holding(found, interrupt_id) is not None:
            return found
        found = await load_inside(graph, config, f"{own}|{number}")
        if found is None and number == 1:
            return first
    return None


def _holding(stored: StateSnapshot, interrupt_id: str) -> PregelTask | None:
    return next((task for task in stored.tasks if any(one.id == interrupt_id for one in task.interrupts)), None)


def _raises(task: str, interrupt_id: str) -> bool:
    """Whether the task with this namespace has raised an interrupt itself, as the name of the interrupt tells."""
    asked = (task, *(f"{task}|{answered}" for answered in range(1, _QUESTIONS_OF_A_TASK)))
    return any(GraphInterrupt.from_ns(None, namespace).id == interrupt_id for namespace in asked)


def _namespace(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _raised_by(write: tuple[str, str, object]) -> list[str]:
    """The ids of the interrupts in a pending write."""
    told = write[2] if write[1] == "__interrupt__" else ()
    return [str(getattr(one, "id", "")) for one in (told if isinstance(told, Sequence) else [told])]

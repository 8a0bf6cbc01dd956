"""Where a thread stands, as only the graph and its checkpointer know: breakpoints, and checkpoints of subagents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StateSnapshot

from langgraph_agui.graphs import Graph, load_state


def breaks_at(graph: Graph, stored: StateSnapshot) -> tuple[str, ...]:
    """The nodes before which a thread stands at a static breakpoint; none, if it stands at no breakpoint.

    A checkpoint does not say why its graph has stopped. A graph on a server does not say where its breakpoints are:
    there, every stop without an error counts as one.
    """
    if not stored.next or any(task.error is not None for task in stored.tasks):
        return ()
    if not isinstance(graph, Pregel):
        return stored.next
    before, after, nested = graph.interrupt_before_nodes, graph.interrupt_after_nodes, _nested_breakpoints(graph)
    if before == "*" or after or nested:
        return stored.next
    return stored.next if any(node in before for node in stored.next) else ()


def _nested_breakpoints(graph: Pregel) -> bool:  # type: ignore[type-arg]
    return any(inner.interrupt_before_nodes or inner.interrupt_after_nodes for inner in _subgraphs(graph))


def _subgraphs(graph: Pregel) -> Iterator[Pregel]:  # type: ignore[type-arg]
    for _, inner in graph.get_subgraphs(recurse=True):
        if isinstance(inner, Pregel):
            yield inner


async def holders(graph: Graph, config: RunnableConfig, interrupt_id: str) -> AsyncIterator[tuple[str, object]]:
    """Where in a thread an interrupt is open, the innermost among others: namespaces, and the state of the graph there.

    A LangGraph server tells of declared subgraphs only, not of agents that a tool or a node runs.
    """
    if isinstance(graph, RemoteGraph):
        for namespace, nested in _nested_states(await load_state(graph, config, subgraphs=True)):
            if any(one.id == interrupt_id for task in nested.tasks for one in task.interrupts):
                yield namespace, nested.values
        return
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        return
    thread: RunnableConfig = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
    async for saved in saver.alist(thread):
        if any(interrupt_id in _raised_by(write) for write in saved.pending_writes or ()):
            yield _namespace(saved.config), saved.checkpoint["channel_values"]


async def raised(graph: Graph, config: RunnableConfig) -> set[str]:
    """The interrupts that were raised at the thread's last checkpoint, those that are answered since included.

    They differ from the open ones when a run that had the answers has failed. A LangGraph server does not tell.
    """
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        return set()
    saved = await saver.aget_tuple({"configurable": {"thread_id": config["configurable"]["thread_id"]}})
    writes = saved.pending_writes or () if saved is not None else ()
    return {one_id for write in writes for one_id in _raised_by(write)}


def _nested_states(stored: StateSnapshot) -> Iterator[tuple[str, StateSnapshot]]:
    for task in stored.tasks:
        if isinstance(task.state, StateSnapshot):
            yield _namespace(task.state.config), task.state
            yield from _nested_states(task.state)


def _namespace(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _raised_by(write: tuple[str, str, object]) -> list[str]:
    """The ids of the interrupts in a pending write."""
    told = write[2] if write[1] == "__interrupt__" else ()
    return [str(getattr(one, "id", "")) for one in (told if isinstance(told, Sequence) else [told])]

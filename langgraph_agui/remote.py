"""Graphs on a LangGraph server (`RemoteGraph`): their threads, their states, and what they take."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Literal, NamedTuple, cast
from uuid import UUID, uuid5
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import PregelTask, StateSnapshot
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError

from langgraph_agui.configs import merge_run_configs
from langgraph_agui.messages.server_json import MessageDecoder, encode_for_server

logger = logging.getLogger(__name__)

_THREADS = UUID("b4f0c1d2-6a57-5e0e-9d53-0a2f7c1e8b36")
"""Namespace of the thread ids that are made for threads of a client. Never to be changed: threads would be lost."""


def server_config(config: RunnableConfig) -> RunnableConfig:
    """`config` with the id by which a LangGraph server knows the thread: it takes UUIDs only, AG-UI any string."""
    thread = str(config["configurable"]["thread_id"])
    try:
        known = str(UUID(thread)) == thread.lower()
    except ValueError:
        known = False
    point = {"checkpoint_ns": ""} if "checkpoint_id" in config["configurable"] else {}  # they go together there
    configurable = {**point, **config["configurable"], "thread_id": thread if known else str(uuid5(_THREADS, thread))}
    return merge_run_configs(config, {"configurable": configurable})


# -- states ---------------------------------------------------------------------------------------------------------


async def load(graph: RemoteGraph, config: RunnableConfig, *, subgraphs: bool) -> StateSnapshot:
    """The thread's state, with LangChain messages in it; an empty one for a thread that the server does not know.

    Learns what the graph takes too, before anyone asks for it.
    """
    await learn(graph)
    config = server_config(config)
    try:
        stored = await graph.aget_state(config, subgraphs=subgraphs)
    except (NotFoundError, TypeError):
        if "checkpoint_id" in config["configurable"] or await _has_checkpoint(graph, config):
            raise
        return StateSnapshot({}, (), config, None, None, None, (), ())
    return _revived(stored, MessageDecoder())


async def _has_checkpoint(graph: RemoteGraph, config: RunnableConfig) -> bool:
    """Whether the thread has a state; of one that was made and never run, `RemoteGraph` can make no snapshot."""
    try:
        stored = await _client(graph).threads.get_state(config["configurable"]["thread_id"])
    except NotFoundError:
        return False
    return bool(stored.get("checkpoint"))


def _client(graph: RemoteGraph) -> LangGraphClient:
    if graph.client is None:
        raise ValueError("A RemoteGraph needs a `url` or a `client`.")
    return graph.client


async def load_inside(graph: RemoteGraph, config: RunnableConfig, namespace: str) -> StateSnapshot | None:
    """The state of a graph inside the thread's own, also of one that a tool or a node runs; None if there is none.

    The server reads it as if it were the root graph's: it tells of channels and tasks whose names the root graph has.
    """
    place = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": namespace}
    try:
        stored = await graph.aget_state(server_config({"configurable": place}))
    except (APIStatusError, TypeError):  # the latter as in `load`: there is no checkpoint
        return None
    return _revived(stored, MessageDecoder())


async def load_history(
    graph: RemoteGraph, config: RunnableConfig, marks: Mapping[str, object] | None = None, limit: int = 1000
) -> AsyncIterator[StateSnapshot]:
    """The thread's states, the newest first: those with `marks` in their metadata, at most `limit`."""
    revival = MessageDecoder()
    states = graph.aget_state_history(server_config(config), filter=dict(marks) if marks else None, limit=limit)
    try:
        async for stored in states:
            yield _revived(stored, revival)
    except NotFoundError:
        return


async def update(graph: RemoteGraph, config: RunnableConfig, values: object, as_node: str | None) -> None:
    """Write `values` into the thread's state."""
    await graph.aupdate_state(server_config(config), encode_for_server(values), as_node)


def _revived(stored: StateSnapshot, revival: MessageDecoder) -> StateSnapshot:
    tasks = tuple(_revived_task(task, revival) for task in stored.tasks)
    return stored._replace(values=cast("dict[str, object]", revival.of(stored.values or {})), tasks=tasks)


def _revived_task(task: PregelTask, revival: MessageDecoder) -> PregelTask:
    state = _revived(task.state, revival) if isinstance(task.state, StateSnapshot) else task.state
    return task._replace(state=state, result=revival.of(task.result))


# -- schemas --------------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    """What the server tells of a graph: the JSON schema of its input, its channels, those that its output shows."""

    input: Mapping[str, object]
    channels: frozenset[str]
    output: frozenset[str]


_told: WeakKeyDictionary[RemoteGraph, _Told] = WeakKeyDictionary()
_UNTOLD = _Told({}, frozenset(), frozenset())


async def learn(graph: RemoteGraph) -> None:
    """Ask the server what the graph takes, once."""
    if graph in _told:
        return
    assistants = _client(graph).assistants
    try:
        try:
            assistant = str(UUID(graph.assistant_id))
        except ValueError:
            found = await assistants.search(graph_id=graph.assistant_id, limit=1)
            assistant = found[0]["assistant_id"]
        schemas = await assistants.get_schemas(assistant)
        names = [frozenset(_properties(schemas.get(part))) for part in ("state_schema", "output_schema")]
        _told[graph] = _Told(schemas.get("input_schema") or {}, names[0], names[1])
    except (APIStatusError, IndexError):
        logger.warning("The server does not tell what %r takes: all of the client's state is sent.", graph.assistant_id)
        _told[graph] = _UNTOLD


def _properties(schema: object) -> Mapping[str, object]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def holds(graph: RemoteGraph, channel: str) -> bool:
    """Whether the graph has this channel, as far as `learn` has learnt."""
    return channel in _told.get(graph, _UNTOLD).channels


def shows(graph: RemoteGraph, channel: str) -> bool:
    """Whether clients may see this key: what the graph's output shows, or its input if that is not told.

    True for what is no channel, as far as is known.
    """
    told = _told.get(graph, _UNTOLD)
    return channel not in told.channels or channel in (told.output or _properties(told.input))


def input_names(graph: RemoteGraph) -> list[str] | None:
    """The keys that the graph takes; None where it takes no mapping, or `learn` has not learnt them."""
    properties = _told.get(graph, _UNTOLD).input.get("properties")
    return list(properties) if isinstance(properties, Mapping) else None


def input_form(graph: RemoteGraph) -> Literal["keys", "messages", "text"]:
    """What the graph takes, see `graphs.input_form`."""
    kinds: Mapping[object, Literal["messages", "text"]] = {"array": "messages", "string": "text"}
    return kinds.get(_told.get(graph, _UNTOLD).input.get("type"), "keys")

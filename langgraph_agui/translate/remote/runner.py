"""The stream of a graph on a LangGraph server: runs it under a translation, without callbacks.

What callbacks tell of a graph here, the server's stream tells there, as JSON and in one order: chunks by `messages`,
nodes and what they return by `tasks`. It does not tell of `adispatch_custom_event`, of `nostream` models (nor that a
message which a node returns was theirs), which tool failed, and of a model that failed before its first chunk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast
from uuid import NAMESPACE_OID, UUID, uuid5

from ag_ui.core import RawEvent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.pregel.remote import RemoteException
from langgraph.types import Interrupt, StreamMode
from langgraph_sdk.errors import BadRequestError, ConflictError, UnprocessableEntityError
from langgraph_sdk.schema import RunCreateMetadata

from langgraph_agui.aio import await_shielded
from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.graphs.remote import RemoteGraphAdapter, server_config
from langgraph_agui.messages.extract import (
    MessageDecoder,
    as_mapping,
    decode_message,
    encode_for_server,
    extract_messages,
)
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.translate.graph_runner import StreamPart
from langgraph_agui.translate.remote.errors import RemoteErrors
from langgraph_agui.translate.remote.models import RemoteModels
from langgraph_agui.translate.remote.subagents import RemoteSubagents
from langgraph_agui.translate.remote.tasks import Namespace, RemoteTasks, Task
from langgraph_agui.translate.subagents import SubagentRun
from langgraph_agui.translate.translation import Translation

logger = logging.getLogger(__name__)

MODES: list[StreamMode] = ["values", "updates", "custom", "messages", "tasks"]


class RemoteGraphRunner:
    """Drives one run of a graph on a LangGraph server.

    Args:
        graph: The graph.
        translation: Is told what happens.
        messages_key: The state channel that holds the conversation.
        raw: Takes each part of the stream as a `RAW` event too.
        fail: Is given an error of the translation itself.
    """

    def __init__(
        self,
        graph: RemoteGraphAdapter,
        translation: Translation,
        *,
        messages_key: str,
        raw: Callable[[RawEvent], object] | None,
        fail: Callable[[Exception], None],
    ) -> None:
        self._adapter = graph
        self._graph = graph.graph
        self._translation = translation
        self._key = messages_key
        self._raw = raw
        self._fail = fail
        self._revival = MessageDecoder()
        self._lanes = RemoteSubagents()
        self._models = RemoteModels(translation, self._lanes)
        self._tasks = RemoteTasks()
        self._errors = RemoteErrors(translation)
        self._created: RunCreateMetadata | None = None
        self._paused = False
        self._stopped = False

    def stop(self) -> None:
        """Tell nothing more of the run."""
        self._stopped = True

    async def run(self, graph_input: object, config: RunnableConfig, context: Any) -> None:
        """Run the graph to its end, and on the server not any longer than this task lives.

        Raises:
            RunInputError: Another run is going on in the thread, or the server does not take the input.
            RemoteException: The graph failed.
            GraphDrained: Somebody else has stopped the run on the server.
        """
        await self._adapter.load_schema()
        self._tasks.clear()
        self._paused = False
        try:
            async for part in self._stream(graph_input, _with_context(server_config(config), context)):
                self._guarded(part)
            await self._check_end()
        except ConflictError as error:
            raise RunInputError(ErrorCode.THREAD_BUSY) from error
        except (BadRequestError, UnprocessableEntityError) as error:
            raise RunInputError(ErrorCode.INVALID_INPUT) from error
        except RemoteException as error:
            self._translation.record_error(error, self._errors.code(error))
            raise
        except asyncio.CancelledError:
            await self._cancel()
            raise

    def _stream(self, graph_input: object, config: RunnableConfig) -> AsyncIterator[StreamPart]:
        point = config["configurable"].get("checkpoint_id")
        stream = self._graph.astream(
            cast("Any", encode_for_server(graph_input)),
            config,
            stream_mode=MODES,
            subgraphs=True,
            version="v2",
            multitask_strategy="reject",
            on_disconnect="cancel",
            on_run_created=self._begun,
            **({"checkpoint_id": point} if point else {}),  # RemoteGraph leaves it out of the configuration
        )
        return cast("AsyncIterator[StreamPart]", stream)

    def _begun(self, created: RunCreateMetadata) -> None:
        self._created = created

    async def _check_end(self) -> None:
        """Look what has become of a run whose stream has ended in the middle of a task, without a word of why."""
        client, created = self._graph.client, self._created
        if not self._tasks or self._paused or client is None or created is None:
            return
        status = (await client.runs.get(created.get("thread_id") or "", created["run_id"]))["status"]
        if status == "interrupted":
            raise GraphDrained
        if status in ("error", "timeout"):
            raise RemoteException(status)

    async def _cancel(self) -> None:
        """Stop the run on the server, which notices late, behind a proxy perhaps never, that nobody reads it."""
        if self._created is None or self._graph.client is None:
            return
        runs, run_id, thread_id = self._graph.client.runs, self._created["run_id"], self._created.get("thread_id")

        async def cancel() -> None:
            try:
                await runs.cancel(thread_id or "", run_id, wait=True)
            except Exception as error:  # it has ended, or the server is gone
                logger.info("Run %s was not cancelled on the server: %r", run_id, error)

        await await_shielded(cancel())  # the caller raises the cancellation that it is in

    # -- parts --------------------------------------------------------------------------------------------------

    def _guarded(self, part: StreamPart) -> None:
        if self._stopped or self._translation.finished:
            return
        try:
            self._part(part)
        except Exception as error:  # what the graph raises comes by the stream itself
            self._fail(error)

    def _part(self, part: StreamPart) -> None:
        data, namespace = part["data"], tuple(part["ns"])
        lane = self._lanes.at(namespace)
        if self._raw is not None:
            self._raw(RawEvent(event=to_jsonable(dict(part)), source="langgraph"))
        match part["type"]:
            case "messages":
                message, metadata = cast("Sequence[Mapping[str, object]]", data)
                self._message(message, metadata)
            case "tasks":
                task = cast("Mapping[str, object]", data)
                if "result" in task or "error" in task:
                    self._translation.end_task(namespace, str(task["id"]), task.get("result"))
                    error = self._errors.of(namespace, task)
                    self._lane_ends(namespace, task, error)
                    self._task_end(task, namespace, lane, error)
                    self._forget(self._tasks.left(namespace, task))
                else:
                    self._translation.start_task(namespace)
                    self._tasks.start(namespace, task)
                    self._lanes.start(namespace, task)
                    self._translation.start_node(_run_id(task), str(task["name"]), self._lanes.at(namespace))
            case "values":
                self._values(namespace, data, lane)
            case "custom":
                self._translation.emit_written(self._revival.decode(data), lane)
            case "updates" if isinstance(data, Mapping) and "__interrupt__" in data:
                self._paused = True
                self._translation.pause([_interrupt(raised) for raised in data["__interrupt__"]], lane)
            case "updates" if isinstance(data, Mapping) and "__metadata__" in data:
                self._spare(namespace, data)

    def _message(self, data: Mapping[str, object], metadata: Mapping[str, object]) -> None:
        message = decode_message(data)
        if isinstance(message, AIMessageChunk):
            self._models.chunk(message, metadata)
        elif isinstance(message, AIMessage):
            self._models.whole(message, metadata)

    def _values(self, namespace: tuple[str, ...], data: object, lane: SubagentRun | None) -> None:
        values = self._revival.decode(data)
        messages = extract_messages(values, self._key) if not isinstance(values, list | BaseMessage) else []
        self._translation.update_graph(namespace, values, messages, lane)

    # -- nodes --------------------------------------------------------------------------------------------------

    def _lane_ends(self, namespace: Namespace, task: Task, error: RemoteException | None = None) -> None:
        for lane, ended_by in self._lanes.end(namespace, task, error):
            self._translation.end_subagent(lane, ended_by)

    def _task_end(self, task: Task, around: Namespace, lane: SubagentRun | None, error: RemoteException | None) -> None:
        run_id = _run_id(task)
        namespace = "|".join((*around, f"{task['name']}:{task['id']}"))
        begun = self._tasks.end(around, task)
        if error is not None:
            self._models.leave(namespace, set(), error)
            self._translation.abort_node(run_id)
            return
        found = self._messages(task.get("result"))
        returned = {message.id for message in found if message.id is not None}
        self._models.leave(namespace, returned, None)
        if task.get("interrupts"):
            self._translation.abort_node(run_id)
        elif begun is not None:  # else it ran before the pause that this run goes on from
            copied = self._translation.copied_message_id
            messages = [(message, copied(namespace, message, returned, lane)) for message in found]
            given = partial(self._messages, begun.get("input"))
            self._translation.end_node(run_id, messages, given, lane)

    def _spare(self, namespace: Namespace, updates: Mapping[str, object]) -> None:
        """Tasks were not run: the update tells what they have written before, by their node."""
        for node, update in updates.items():
            if node != "__metadata__":
                calls = [found.tool_call_id for found in self._messages(update) if isinstance(found, ToolMessage)]
                self._forget(self._tasks.spared(namespace, node, calls))

    def _forget(self, tasks: Iterable[tuple[Namespace, Task]]) -> None:
        """Tasks will not end: they were not run, or were cancelled."""
        for namespace, task in tasks:
            self._lane_ends(namespace, task)
            self._translation.abort_node(_run_id(task))

    def _messages(self, data: object) -> list[BaseMessage]:
        return extract_messages(self._revival.decode(data), self._key)


def _with_context(config: RunnableConfig, context: object) -> RunnableConfig:
    """The configuration with the runtime context in it.

    A LangGraph server refuses to take both, and makes the context of what is configurable.
    """
    given = to_jsonable(as_mapping(context))
    if not isinstance(given, dict):
        return config
    return {**config, "configurable": {**given, **config["configurable"]}}


def _run_id(task: Mapping[str, object]) -> UUID:
    """A run id for a task, always the same one."""
    return uuid5(NAMESPACE_OID, str(task["id"]))


def _interrupt(raised: Mapping[str, object]) -> Interrupt:
    return Interrupt(
        raised.get("value"),
        id=str(raised["id"]),
        response_schema=cast("dict[str, Any] | None", raised.get("response_schema")),
    )

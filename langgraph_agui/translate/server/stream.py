"""Runs a graph on a LangGraph server, and reports to `RunEvents`.

The parts of the server's stream enter, as JSON and in one order: chunks by `messages`, nodes and
their results by `tasks`. They leave as the same calls of `RunEvents` that callbacks make for a
graph here. The stream does not contain `adispatch_custom_event`, models tagged `nostream` (nor that
a message which a node returns is theirs), which tool failed, a model that failed before its first
chunk, and that an answer is structured.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast
from uuid import NAMESPACE_OID, UUID, uuid5

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.pregel.remote import RemoteException
from langgraph.types import Interrupt, StreamMode
from langgraph_sdk.errors import BadRequestError, ConflictError, UnprocessableEntityError
from langgraph_sdk.schema import RunCreateMetadata

from langgraph_agui.graphs import GraphAdapter, LocalGraphAdapter, RunGraph
from langgraph_agui.graphs.server import RemoteGraphAdapter, server_config
from langgraph_agui.kernel.aio import await_shielded
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.extract import (
    MessageDecoder,
    decode_message,
    encode_for_server,
    extract_all,
    extract_messages,
)
from langgraph_agui.translate.local.stream import Fail, GraphRunner, LocalGraphRunner, StreamPart
from langgraph_agui.translate.run_events import RunEvents
from langgraph_agui.translate.server.parts import (
    RemoteErrors,
    RemoteModels,
    RemoteTasks,
    StartedTask,
    own_namespace,
)
from langgraph_agui.translate.state_view import Namespace
from langgraph_agui.translate.subagents import SubagentRun

logger = run_logger(__name__)

MODES: list[StreamMode] = ["values", "updates", "custom", "messages", "tasks"]


class RemoteGraphRunner(GraphRunner):
    """Runs a graph on a LangGraph server; see `GraphRunner`."""

    def __init__(self, graph: RemoteGraphAdapter, run_events: RunEvents, fail: Fail) -> None:
        super().__init__(run_events, fail)
        self._adapter = graph
        self._graph = graph.graph
        self._decoder = MessageDecoder()
        self._tasks = RemoteTasks(self._key)
        self._models = RemoteModels(run_events, self._tasks)
        self._errors = RemoteErrors(run_events)
        self._created: RunCreateMetadata | None = None
        self._paused = False
        self._stopped = False

    def stop(self) -> None:
        """Report nothing more of the run."""
        self._stopped = True

    async def run(
        self,
        graph_input: object,
        config: RunnableConfig,
        context: Any,
        graph: RunGraph | None = None,
    ) -> None:
        """Run the graph to its end; if this task is cancelled, cancel the run on the server.

        Raises:
            RunInputError: Another run uses the thread, or the server refuses the input.
            RemoteException: The graph failed.
            GraphDrained: Somebody else stopped the run on the server.
        """
        await self._adapter.load_schema()
        self._tasks.clear()
        self._paused = False
        try:
            async for part in self._stream(graph_input, server_config(config, context)):
                self._handle_guarded(part)
            await self._check_end()
        except ConflictError as error:
            raise RunInputError(ErrorCode.THREAD_BUSY) from error
        except (BadRequestError, UnprocessableEntityError) as error:
            raise RunInputError(ErrorCode.INVALID_INPUT) from error
        except RemoteException as error:
            self._run_events.errors.record(error, self._errors.classify(error))
            raise
        except asyncio.CancelledError:
            await self._cancel()
            raise

    def _stream(self, graph_input: object, config: RunnableConfig) -> AsyncIterator[StreamPart]:
        point = config["configurable"].get("checkpoint_id")
        # RemoteGraph leaves it out of the configuration
        stream = self._graph.astream(
            cast("Any", encode_for_server(graph_input)),
            config,
            stream_mode=MODES,
            subgraphs=True,
            version="v2",
            multitask_strategy="reject",
            on_disconnect="cancel",
            on_run_created=self._set_created,
            **({"checkpoint_id": point} if point else {}),
        )
        return cast("AsyncIterator[StreamPart]", stream)

    def _set_created(self, created: RunCreateMetadata) -> None:
        self._created = created

    async def _check_end(self) -> None:
        """Ask the server why the stream has ended in the middle of a task, and raise
        accordingly.
        """
        client, created = self._graph.client, self._created
        if not self._tasks or self._paused or client is None or created is None:
            return
        status = (await client.runs.get(created.get("thread_id") or "", created["run_id"]))[
            "status"
        ]
        if status == "interrupted":
            raise GraphDrained
        if status in ("error", "timeout"):
            raise RemoteException(status)

    async def _cancel(self) -> None:
        """Stop the run on the server. It would notice late, or behind a proxy never, that nobody
        reads the stream.
        """
        if self._created is None or self._graph.client is None:
            return
        runs, run_id, thread_id = (
            self._graph.client.runs,
            self._created["run_id"],
            self._created.get("thread_id"),
        )

        async def cancel() -> None:
            try:
                await runs.cancel(thread_id or "", run_id, wait=True)
            except Exception as error:  # it has ended, or the server is gone
                logger.info("Run %.80r was not cancelled on the server: %.300r", run_id, error)

        await await_shielded(cancel())  # the caller raises the cancellation that it is in

    # -- parts of the stream ----------------------------------------------------------------------

    def _handle_guarded(self, part: StreamPart) -> None:
        if self._stopped or self._run_events.finished:
            return
        try:
            self._handle(part)
        except Exception as error:  # what the graph raises comes through the stream itself
            self._fail(error)

    def _handle(self, part: StreamPart) -> None:
        data, namespace = part["data"], tuple(part["ns"])
        subagent = self._tasks.subagent_at(namespace)
        self._run_events.record_part(part)
        match part["type"]:
            case "messages":
                content, metadata = cast("Sequence[Mapping[str, object]]", data)
                message = decode_message(content)
                if isinstance(message, AIMessageChunk):
                    self._models.receive_chunk(message, metadata)
                elif isinstance(message, AIMessage):
                    self._models.receive_whole(message, metadata)
            case "tasks":
                task = cast("Mapping[str, object]", data)
                if self._run_events.record_task(namespace, task):
                    self._end_task(namespace, task, subagent)
                else:
                    self._tasks.start(namespace, task)
                    subagent = self._tasks.subagent_at(namespace)  # its first task starts it
                    own = "|".join(own_namespace(namespace, task))
                    self._run_events.start_node(_run_id(task), str(task["name"]), subagent, own)
            case "values":
                values = self._decoder.decode(data)
                messages = extract_messages(values, self._key)
                self._tasks.give(namespace, messages)
                self._run_events.update_graph(namespace, values, messages, subagent)
                if not namespace:
                    self._run_events.set_returned(values, values)
            case "custom":
                self._run_events.output.emit_written(self._decoder.decode(data), subagent)
            case "updates" if isinstance(data, Mapping) and "__interrupt__" in data:
                self._paused = True
                self._run_events.pause(
                    [Interrupt(**raised) for raised in data["__interrupt__"]], subagent
                )
            case "updates" if isinstance(data, Mapping) and "__metadata__" in data:
                self._skip_tasks(namespace, data)

    def _end_task(
        self, namespace: Namespace, task: Mapping[str, object], subagent: SubagentRun | None
    ) -> None:
        error = self._errors.of_task(namespace, task)
        self._end_subagents(namespace, task, error)
        self._end_node(namespace, task, subagent, error)
        self._abort(self._tasks.take_ended_with(namespace, task))

    def _end_subagents(
        self, namespace: Namespace, task: Mapping[str, object], error: RemoteException | None = None
    ) -> None:
        for subagent, ended_by in self._tasks.end_subagents(namespace, task, error):
            self._run_events.end_subagent(subagent, ended_by)

    def _end_node(
        self,
        namespace: Namespace,
        task: Mapping[str, object],
        subagent: SubagentRun | None,
        error: RemoteException | None,
    ) -> None:
        run_id, own = _run_id(task), "|".join(own_namespace(namespace, task))
        started = self._tasks.end(namespace, task)
        result = self._decoder.decode(task.get("result")) if error is None else None
        self._models.leave_task(
            own, {message.id for message in extract_all(result, self._key)}, error
        )
        if error is not None:
            self._run_events.fail_node(run_id, own)
        elif task.get("interrupts"):
            self._run_events.steps.finish(run_id)
        elif started is not None:  # else it ran before the pause that this run resumes from
            output = self._run_events.messages.copies.read_output(result, self._key, own, subagent)
            given = self._decoder.decode(started.get("input"))
            self._run_events.end_node(
                run_id, output, partial(extract_all, given, self._key), subagent, own
            )

    def _skip_tasks(self, namespace: Namespace, updates: Mapping[str, object]) -> None:
        """Handle tasks that were not run: the update contains what they have written before, by
        their node.
        """
        for node, update in updates.items():
            if node != "__metadata__":
                calls = [
                    found.tool_call_id
                    for found in self._messages(update)
                    if isinstance(found, ToolMessage)
                ]
                self._abort(self._tasks.take_skipped(namespace, node, calls))

    def _abort(self, tasks: Iterable[StartedTask]) -> None:
        """End tasks that will have no end of their own: they were not run, or were cancelled."""
        for namespace, task in tasks:
            self._end_subagents(namespace, task)
            self._run_events.steps.finish(_run_id(task))

    def _messages(self, data: object) -> list[BaseMessage]:
        return extract_messages(self._decoder.decode(data), self._key)


def graph_runner_for(graph: GraphAdapter, run_events: RunEvents, fail: Fail) -> GraphRunner:
    """Return the runner of a graph, here or on a server; see `GraphRunner` for the arguments."""
    if isinstance(graph, RemoteGraphAdapter):
        return RemoteGraphRunner(graph, run_events, fail)
    assert isinstance(graph, LocalGraphAdapter)  # noqa: S101  # there are two adapters
    return LocalGraphRunner(graph, run_events, fail)


def _run_id(task: Mapping[str, object]) -> UUID:
    """Return a run id for a task, always the same one."""
    return uuid5(NAMESPACE_OID, str(task["id"]))

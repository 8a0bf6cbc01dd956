"""The graph's stream: runs a graph under a translation, and puts callbacks and stream parts in one order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from threading import get_ident
from typing import Any, TypedDict, cast
from uuid import UUID

from ag_ui.core import RawEvent
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StreamMode

from langgraph_agui.configs import merge_run_configs
from langgraph_agui.errors import RunStopped
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.translate.callback_source import CallbackSource
from langgraph_agui.translate.stream_sequencer import StreamPosition, StreamSequencer
from langgraph_agui.translate.translation import Translation

MODES: Sequence[StreamMode] = ["values", "updates", "custom", "tasks"]


class StreamPart(TypedDict):
    """One part of a graph's stream (LangGraph's v2 format)."""

    type: str
    ns: tuple[str, ...]
    data: object


class LoopDelivery:
    """Delivers signals in the thread of an event loop, in the order that `Order` keeps."""

    def __init__(self, translation: Translation, order: StreamSequencer, fail: Callable[[Exception], None]) -> None:
        self._translation = translation
        self._tell = translation.token
        self._order = order
        self._held = order.held
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()
        self.stopped = False

    def token(self, run_id: UUID, message: BaseMessage) -> None:
        """Deliver a chunk, at once where nothing waits before it."""
        if not self._held and not self.stopped and get_ident() == self._thread:
            self._tell(run_id, message)
        else:
            self.signal(None, lambda: self._tell(run_id, message))

    def signal(self, mark: StreamPosition | None, call: Callable[[], None]) -> None:
        """Deliver a signal. Raises `RunStopped` into the work of a run that was stopped."""
        if self.stopped:
            raise RunStopped
        if get_ident() == self._thread:
            if mark is None and not self._held:
                self._guarded(call)
            else:
                self._order.put(mark, lambda: self._guarded(call))
        else:
            try:
                self._loop.call_soon_threadsafe(self._order.put, mark, lambda: self._guarded(call))
            except RuntimeError as error:  # the loop is closed
                raise RunStopped from error

    def _guarded(self, call: Callable[[], None]) -> None:
        if self.stopped or self._translation.done:
            return
        try:
            call()
        except Exception as error:  # called by the loop: nobody above could report it
            self._fail(error)


class LocalGraphRunner:
    """Drives one run of a graph.

    Args:
        graph: The compiled graph.
        translation: Is told what happens.
        messages_key: The state channel that holds the conversation.
        raw: Takes each part of the stream as a `RAW` event too.
        fail: Is given an error of the translation itself.
    """

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        translation: Translation,
        *,
        messages_key: str,
        raw: Callable[[RawEvent], object] | None,
        fail: Callable[[Exception], None],
    ) -> None:
        self._graph = graph
        self._translation = translation
        self._key = messages_key
        self._raw = raw
        self._order = StreamSequencer(asyncio.get_running_loop())
        self._delivery = LoopDelivery(translation, self._order, fail)
        self._source = CallbackSource(translation, self._delivery, messages_key)

    def stop(self) -> None:
        """End the work of callbacks in threads, which cancelling a task does not reach."""
        self._delivery.stopped = True

    async def run(self, graph_input: object, config: RunnableConfig, context: Any) -> None:
        """Run the graph to its end; its exceptions come through."""
        config = merge_run_configs(config, {"callbacks": [self._source]})
        stream = cast(
            "AsyncIterator[StreamPart]",
            self._graph.astream(graph_input, config, context=context, stream_mode=MODES, subgraphs=True, version="v2"),
        )
        try:
            async for part in stream:
                self._part(part)
        finally:
            self._order.release()

    def _part(self, part: StreamPart) -> None:
        data, namespace = part["data"], part["ns"]
        lane = self._source.places.lane_at(namespace)
        if self._raw is not None:
            self._raw(RawEvent(event=to_jsonable(dict(part)), source="langgraph"))
        match part["type"]:
            case "tasks":
                task = cast("Mapping[str, object]", data)
                ended = "result" in task or "error" in task
                if ended:
                    self._translation.state.task_end(namespace, str(task["id"]), task.get("result"))
                else:
                    self._translation.state.task_start(namespace)
                self._order.passed(("end" if ended else "start", str(task["id"])))
            case "values":
                if not namespace:
                    self._order.superstep()
                messages = extract_messages(data, self._key) if not isinstance(data, list | BaseMessage) else []
                self._translation.values(namespace, data, messages, lane)
            case "custom":
                self._translation.written(data, lane)
            case "updates" if not namespace:
                self._interrupts(cast("Mapping[str, object]", data))

    def _interrupts(self, updates: Mapping[str, object]) -> None:
        raised = updates.get("__interrupt__")
        if raised is not None:
            self._translation.pause(cast("tuple[Interrupt, ...]", raised))

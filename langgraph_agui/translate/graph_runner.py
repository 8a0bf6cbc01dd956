"""The graph's stream: runs a graph under a translation, and puts callbacks and stream parts in one order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypedDict, cast

from ag_ui.core import RawEvent
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph.types import Interrupt, StreamMode

from langgraph_agui.configs import merge_run_configs
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.translate.callback_source import LoopCallbackSource
from langgraph_agui.translate.stream_sequencer import StreamSequencer
from langgraph_agui.translate.translation import Translation

MODES: Sequence[StreamMode] = ["values", "updates", "custom", "tasks"]


class StreamPart(TypedDict):
    """One part of a graph's stream (LangGraph's v2 format)."""

    type: str
    ns: tuple[str, ...]
    data: object


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
        self._sequencer = StreamSequencer(asyncio.get_running_loop())
        self._source = LoopCallbackSource(translation, messages_key, self._sequencer, fail)

    def stop(self) -> None:
        """End the work of callbacks in threads, which cancelling a task does not reach."""
        self._source.stopped = True

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
            self._sequencer.release()

    def _part(self, part: StreamPart) -> None:
        data, namespace = part["data"], part["ns"]
        subagent = self._source.runs.subagent_at(namespace)
        if self._raw is not None:
            self._raw(RawEvent(event=to_jsonable(dict(part)), source="langgraph"))
        match part["type"]:
            case "tasks":
                task = cast("Mapping[str, object]", data)
                ended = "result" in task or "error" in task
                if ended:
                    self._translation.end_task(namespace, str(task["id"]), task.get("result"))
                else:
                    self._translation.start_task(namespace)
                self._sequencer.passed(("end" if ended else "start", str(task["id"])))
            case "values":
                if not namespace:
                    self._sequencer.superstep()
                messages = extract_messages(data, self._key) if not isinstance(data, list | BaseMessage) else []
                self._translation.update_graph(namespace, data, messages, subagent)
            case "custom":
                self._translation.emit_written(data, subagent)
            case "updates" if not namespace:
                self._interrupts(cast("Mapping[str, object]", data))

    def _interrupts(self, updates: Mapping[str, object]) -> None:
        raised = updates.get("__interrupt__")
        if raised is not None:
            self._translation.pause(cast("tuple[Interrupt, ...]", raised))

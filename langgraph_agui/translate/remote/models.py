"""The models of a graph on a LangGraph server: their messages, told apart by what their chunks say of themselves.

There are no callbacks: chunks enter with the metadata of the stream mode `messages`, model calls leave as signals to a
translation. A call is known by the namespace of its task and the ids of its message, of which there may be two: some
models name themselves only on their first chunk, LangChain on all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message

from langgraph_agui.messages.to_agui import SUMMARIZATION
from langgraph_agui.namespaces import graph_of, namespace_of
from langgraph_agui.translate.remote.subagents import RemoteSubagents
from langgraph_agui.translate.subagents import SubagentRun
from langgraph_agui.translate.translation import Translation

Metadata: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class _Call:
    """A model call whose message is being streamed."""

    namespace: str
    lane: SubagentRun | None
    metadata: Metadata
    chunks: list[AIMessageChunk]
    run_id: UUID = field(default_factory=uuid4)
    ids: set[str] = field(default_factory=set)

    def message(self) -> BaseMessage:
        """The whole of what was said."""
        return message_chunk_to_message(self.chunks[0] + self.chunks[1:])

    def may_be(self, message_id: str | None, metadata: Metadata) -> bool:
        """Whether a chunk under a new id may go on with this call: of the same model, and the first of its kind."""
        if message_id is None:
            return True
        same = all(self.metadata.get(key) == metadata.get(key) for key in ("ls_provider", "ls_model_name"))
        return same and all(_is_ours(known) != _is_ours(message_id) for known in self.ids)


class RemoteModels:
    """The model calls of one run.

    Args:
        translation: Is told of them.
        lanes: Knows which subagent they belong to.
    """

    def __init__(self, translation: Translation, lanes: RemoteSubagents) -> None:
        self._to = translation
        self._lanes = lanes
        self._open: list[_Call] = []
        self._by_id: dict[tuple[str, str | None], _Call] = {}
        self._ended: set[tuple[str, str | None]] = set()
        self._marks_ends = False

    def chunk(self, chunk: AIMessageChunk, metadata: Metadata) -> None:
        """Tell a chunk of a message. The hot path."""
        key = namespace_of(metadata), chunk.id
        call = self._by_id.get(key)
        if call is None:
            if key in self._ended:
                self._to.add_usage(chunk, metadata)
                return
            call = self._find(*key, metadata)
        call.chunks.append(chunk)
        self._to.messages.receive_chunk(call.run_id, chunk)
        if chunk.chunk_position == "last":
            self._marks_ends = True
            self._end(call)

    def _find(self, namespace: str, message_id: str | None, metadata: Metadata) -> _Call:
        """The call that goes on under this id, else a new one."""
        for call in self._open:
            if call.namespace == namespace and call.may_be(message_id, metadata):
                break
        else:
            call = _Call(namespace, self._lane(namespace), metadata, [])
            self._open.append(call)
            if metadata.get("lc_source") != SUMMARIZATION:
                self._to.start_model_call(call.run_id, metadata, call.lane)
        if message_id is not None:
            call.ids.add(message_id)
            self._by_id[namespace, message_id] = call
        return call

    def whole(self, message: AIMessage, metadata: Metadata) -> None:
        """Tell a message that came in one piece, if a model made it: those of nodes come with what the node returns."""
        if not _is_models(message):
            return
        run_id, namespace = uuid4(), namespace_of(metadata)
        lane, hidden = self._lane(namespace), metadata.get("lc_source") == SUMMARIZATION
        if not hidden:
            self._to.start_model_call(run_id, metadata, lane)
            self._to.remember_model_message(namespace, message, lane)
        self._to.end_model_call(run_id, message, metadata, hidden=hidden)

    def _lane(self, namespace: str) -> SubagentRun | None:
        graph = graph_of(namespace)
        return self._lanes.at(tuple(graph.split("|"))) if graph else None

    def leave(self, namespace: str, returned: set[str], error: BaseException | None) -> None:
        """End what the calls of a task, or of a graph in it, have left open.

        A call whose message the task has returned has ended well, and any has where the server is too old to mark
        ends. Others have failed.

        Args:
            namespace: The task's.
            returned: Ids of the messages that it has returned.
            error: Why the task failed, if it has.
        """
        for call in [call for call in self._open if _within(call.namespace, namespace)]:
            if error is None and (not self._marks_ends or call.ids & returned):
                self._end(call)
            else:
                self._close(call)
                self._to.fail_model_call(call.run_id, error or RuntimeError("The model's message did not end."))

    def _end(self, call: _Call) -> None:
        self._close(call)
        message, hidden = call.message(), call.metadata.get("lc_source") == SUMMARIZATION
        if not hidden:
            self._to.remember_model_message(call.namespace, message, call.lane)
        self._to.end_model_call(call.run_id, message, call.metadata, hidden=hidden)

    def _close(self, call: _Call) -> None:
        self._open.remove(call)
        for message_id in call.ids:
            del self._by_id[call.namespace, message_id]
            self._ended.add((call.namespace, message_id))


def _within(namespace: str, task: str) -> bool:
    return namespace == task or namespace.startswith(f"{task}|")


def _is_ours(message_id: str) -> bool:
    """Whether LangChain made up this id."""
    return message_id.startswith(("lc_", "run-"))


def _is_models(message: AIMessage) -> bool:
    """Whether a whole message is what a model said, rather than what a node has written.

    LangGraph gives a node's message without an id a bare UUID.
    """
    if message.id is None or _parses(UUID, message.id):
        return False
    return _is_ours(message.id) or bool(message.usage_metadata or message.response_metadata)


def _parses(make: Callable[[str], object], text: str) -> bool:
    try:
        make(text)
    except ValueError:
        return False
    return True

"""The model calls of a graph on a LangGraph server, recognised by what their chunks say about themselves.

Chunks enter with the metadata of the stream mode `messages`; model calls leave as calls of a translation. A call is
known by the namespace of its task and the ids of its message. There may be two: some models put their own id only on
the first chunk, and LangChain puts its id on all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message

from langgraph_agui.configs import graph_of, namespace_of
from langgraph_agui.messages.to_agui import SUMMARIZATION
from langgraph_agui.translate.remote_tasks import RemoteTasks
from langgraph_agui.translate.subagents import SubagentRun
from langgraph_agui.translate.translation import Translation

Metadata: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class _Call:
    """A model call whose message is being streamed."""

    namespace: str
    subagent: SubagentRun | None
    metadata: Metadata
    chunks: list[AIMessageChunk] = field(default_factory=list)
    run_id: UUID = field(default_factory=uuid4)
    ids: set[str] = field(default_factory=set)

    def may_continue(self, message_id: str | None, metadata: Metadata) -> bool:
        """Whether a chunk under a new id may belong to this call: same model, and the first id of its kind."""
        if message_id is None:
            return True
        same = all(self.metadata.get(key) == metadata.get(key) for key in ("ls_provider", "ls_model_name"))
        return same and all(_is_langchain_id(known) != _is_langchain_id(message_id) for known in self.ids)


class RemoteModels:
    """The model calls of one run.

    Args:
        translation: Receives them.
        tasks: Knows which subagent they belong to.
    """

    def __init__(self, translation: Translation, tasks: RemoteTasks) -> None:
        self._translation = translation
        self._tasks = tasks
        self._open: list[_Call] = []
        self._by_id: dict[tuple[str, str | None], _Call] = {}
        self._ended: set[tuple[str, str | None]] = set()
        self._marks_ends = False

    def receive_chunk(self, chunk: AIMessageChunk, metadata: Metadata) -> None:
        """Receive a chunk of a message. The hot path."""
        key = namespace_of(metadata), chunk.id
        call = self._by_id.get(key)
        if call is None:
            if key in self._ended:
                self._translation.add_usage(chunk, metadata)
                return
            call = self._find_or_start(*key, metadata)
        call.chunks.append(chunk)
        self._translation.messages.receive_chunk(call.run_id, chunk)
        if chunk.chunk_position == "last":
            self._marks_ends = True
            self._end(call)

    def _find_or_start(self, namespace: str, message_id: str | None, metadata: Metadata) -> _Call:
        for call in self._open:
            if call.namespace == namespace and call.may_continue(message_id, metadata):
                break
        else:
            call = self._start(namespace, metadata)
            self._open.append(call)
        if message_id is not None:
            call.ids.add(message_id)
            self._by_id[namespace, message_id] = call
        return call

    def _start(self, namespace: str, metadata: Metadata) -> _Call:
        graph = graph_of(namespace)
        call = _Call(namespace, self._tasks.subagent_at(tuple(graph.split("|"))) if graph else None, metadata)
        if metadata.get("lc_source") != SUMMARIZATION:
            self._translation.start_model_call(call.run_id, metadata, call.subagent)
        return call

    def receive_whole(self, message: AIMessage, metadata: Metadata) -> None:
        """Receive a message in one piece, if a model made it: those of nodes come with the node's result."""
        if _is_from_model(message):
            self._emit_end(self._start(namespace_of(metadata), metadata), message)

    def leave_task(self, namespace: str, returned: set[str], error: BaseException | None) -> None:
        """End the calls that a task, or a graph in it, has left open.

        A call has ended well if the task has returned its message, or if the server is too old to mark ends. Others
        have failed.

        Args:
            namespace: The task's.
            returned: Ids of the messages that the task has returned.
            error: Why the task failed, if it has.
        """
        inside = [
            call for call in self._open if call.namespace == namespace or call.namespace.startswith(f"{namespace}|")
        ]
        for call in inside:
            if error is None and (not self._marks_ends or call.ids & returned):
                self._end(call)
            else:
                self._close(call)
                reason = error or RuntimeError("The server ended the task before the end of the model's message.")
                self._translation.fail_model_call(call.run_id, reason)

    def _end(self, call: _Call) -> None:
        self._close(call)
        self._emit_end(call, message_chunk_to_message(call.chunks[0] + call.chunks[1:]))

    def _emit_end(self, call: _Call, message: BaseMessage) -> None:
        hidden = call.metadata.get("lc_source") == SUMMARIZATION
        if not hidden:
            self._translation.remember_model_message(call.namespace, message, call.subagent)
        self._translation.end_model_call(call.run_id, message, call.metadata, hidden=hidden)

    def _close(self, call: _Call) -> None:
        self._open.remove(call)
        for message_id in call.ids:
            del self._by_id[call.namespace, message_id]
            self._ended.add((call.namespace, message_id))


def _is_langchain_id(message_id: str) -> bool:
    return message_id.startswith(("lc_", "run-"))


def _is_from_model(message: AIMessage) -> bool:
    """Whether a model made a whole message, rather than a node: LangGraph gives a node's message a bare UUID."""
    if message.id is None or _is_uuid(message.id):
        return False
    return _is_langchain_id(message.id) or bool(message.usage_metadata or message.response_metadata)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True

"""Used answers: each use is recorded beside the pause, before the graph goes on.

A graph that is killed, or whose checkpoints cannot be written, leaves its pause open though a tool
may have run. So an answer in the records counts no more, and a question that is still open is asked
again, under another id.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from ag_ui.core import ResumeEntry
from langgraph.types import StateSnapshot

from langgraph_agui.graphs.adapter import GraphAdapter, Thread

# Key in the metadata of checkpoints: the mark of the last input with answers.
ANSWERED = "agui_resume"

# Stands in the id of a question that is asked again: before it the first id, behind it a part that
# nobody can know before.
_AGAIN = "~"


def graph_id(request_id: str) -> str:
    """Return the id of the LangGraph interrupt that a request belongs to."""
    return first_id(request_id).partition(":")[0]


def first_id(request_id: str) -> str:
    """Return the id under which a request was asked first."""
    return request_id.partition(_AGAIN)[0]


async def used_since_tools(graph: GraphAdapter, thread: Thread, messages_key: str) -> bool:
    """Return whether an answer was used after the result of a tool with which a thread ends.

    If such a thread went on as it is, an approved call could run again.
    """
    stored, messages = thread.state, thread.messages
    call_id = getattr(messages[-1], "tool_call_id", "")
    while messages and getattr(messages[-1], "tool_call_id", None) == call_id:
        if any(_given(record) for record in await graph.load_records(stored)):
            return True
        if stored.parent_config is None:
            return False
        stored = await graph.load_state(stored.parent_config)
        messages = graph.thread_messages(stored, messages_key)
    # nobody knows any more
    return stored.created_at is None and thread.metadata(ANSWERED) is not None


def fingerprint(entries: Sequence[ResumeEntry]) -> str:
    """Return a digest of a set of answers: the same answers, in any order, have the same."""
    plain = sorted(
        [entry.interrupt_id, entry.status, json.dumps(entry.payload, sort_keys=True)]
        for entry in entries
    )
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class UsedAnswers:
    """The answers that a pause has been resumed with.

    Attributes:
        records: The records beside the pause. That of a use has the `mark` of the input, and
            fingerprints of the answers `given`, by request id.
    """

    records: Sequence[Mapping[str, object]] = ()

    def has_input(self, mark: str) -> bool:
        """Return whether the input with this mark has resumed the pause."""
        return any(record.get("mark") == mark for record in self.records)

    def has(self, entry: ResumeEntry) -> bool:
        """Return whether the pause was resumed with this answer."""
        return any(
            _given(record).get(entry.interrupt_id) == fingerprint([entry])
            for record in self.records
        )

    def next_id(self, request_id: str) -> str:
        """Return the id under which a request is asked now: its own, until an answer was used.

        No client can know the next id: it follows from the ids of the records.
        """
        uses = sorted(
            str(record.get("id"))
            for record in self.records
            if request_id in map(first_id, _given(record))
        )
        if not uses:
            return request_id
        digest = hashlib.sha256(" ".join(uses).encode()).hexdigest()
        return f"{request_id}{_AGAIN}{digest[:8]}"


def _given(record: Mapping[str, object]) -> Mapping[str, object]:
    given = record.get("given")
    return given if isinstance(given, Mapping) else {}


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """One use of answers, to be recorded before the graph goes on.

    Attributes:
        pause: The state of the paused thread.
        used: The answers to the pause that were used before.
        entries: The answers.
        mark: Identifies the input that brings them.
        values: The values to resume with, by the ids of the graph's interrupts.
    """

    pause: StateSnapshot
    used: UsedAnswers
    entries: Sequence[ResumeEntry]
    mark: str
    values: Mapping[str, object]

    async def record(self, graph: GraphAdapter) -> None:
        """Record the use, once and for all. Raises as `GraphAdapter.store_record` does."""
        given = {entry.interrupt_id: fingerprint([entry]) for entry in self.entries}
        # The id distinguishes this record from one that another process writes in its place.
        record = {
            "id": str(uuid4()),
            "mark": self.mark,
            "given": given,
            "values": dict(self.values),
        }
        await graph.store_record(self.pause, len(self.used.records), record)

"""Which answers a pause has been resumed with: each use is recorded beside the pause before the
graph goes on.

A graph that is killed, or whose checkpoints cannot be written, leaves its pause open though a tool
may have run. The records show: an answer in them counts no more, and what is still open is asked
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

# Key in the metadata of checkpoints: the mark of the input with answers that the run before them
# brought.
ANSWERED = "agui_resume"

# What stands between the id of a question that is asked again and what nobody can know before.
_AGAIN = "~"


def graph_id(request_id: str) -> str:
    """Return the id of the LangGraph interrupt that a request belongs to."""
    return first_id(request_id).partition(":")[0]


def first_id(request_id: str) -> str:
    """Return the id under which a request was asked first."""
    return request_id.partition(_AGAIN)[0]


async def used_since_tools(graph: GraphAdapter, thread: Thread, messages_key: str) -> bool:
    """Return whether an answer was used after the result of a tool with which a thread ends.

    To continue such a thread as it is would let what was approved happen again.
    """
    stored, messages = thread.state, thread.messages
    while messages and getattr(messages[-1], "tool_call_id", None) == getattr(
        thread.messages[-1], "tool_call_id", ""
    ):
        if await graph.load_records(stored):
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
        records: One for each time: the `mark` of the input, and what was `given`, as fingerprints
            by request id.
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
        """Return the id under which a request is asked now: its own, until an answer to it was
        used.

        No client can know the next one: it follows from the ids of the records.
        """
        uses = sorted(
            str(record.get("id"))
            for record in self.records
            if request_id in map(first_id, _given(record))
        )
        return (
            f"{request_id}{_AGAIN}{hashlib.sha256(' '.join(uses).encode()).hexdigest()[:8]}"
            if uses
            else request_id
        )


def _given(record: Mapping[str, object]) -> Mapping[str, object]:
    given = record.get("given")
    return given if isinstance(given, Mapping) else {}


@dataclass(frozen=True, slots=True)
class AnswerUse:
    """One use of answers, to be recorded before the graph goes on.

    Attributes:
        pause: The state of the paused thread.
        used: What was used of the pause's answers before.
        entries: The answers.
        mark: Identifies the input that brings them.
        values: What the graph is resumed with, by the ids of its interrupts.
    """

    pause: StateSnapshot
    used: UsedAnswers
    entries: Sequence[ResumeEntry]
    mark: str
    values: Mapping[str, object]

    async def record(self, graph: GraphAdapter) -> None:
        """Record the use, once and for all. Raises what `GraphAdapter.store_record` raises."""
        given = {entry.interrupt_id: fingerprint([entry]) for entry in self.entries}
        # The id distinguishes this record from one that another process writes in its place.
        record = {
            "id": str(uuid4()),
            "mark": self.mark,
            "given": given,
            "values": dict(self.values),
        }
        await graph.store_record(self.pause, len(self.used.records), record)

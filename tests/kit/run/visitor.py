"""A client over a real socket that goes on with its thread after what happened to its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message, ResumeEntry, RunAgentInput

from langgraph_agui.protocol import decode
from tests.kit.processes.raw_http import Connection, body_of
from tests.kit.processes.serving import Served
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.dialogues import approvals as approved
from tests.kit.run.dialogues import cancelled
from tests.kit.run.thread_client import asked, ending

__all__ = ["Stream", "Visitor", "approved", "asked", "ending"]


class Stream:
    """A run that was begun, and is read when its client likes."""

    def __init__(self, served: Served, path: str, given: RunAgentInput) -> None:
        self.input, self.received = given, b""
        self.connection = Connection(served.port)
        self.connection.send("POST", path, body_of(given))
        status, _ = self.connection.head()
        assert status == 200, status
        self.pieces = self.connection.pieces()

    def read_until(self, mark: bytes) -> None:
        while mark not in self.received:
            self.received += next(self.pieces)

    def rest(self) -> RecordedRun:
        """Read to the end; exactly one terminal event is there, and it is the last."""
        self.received += b"".join(self.pieces)
        self.connection.leave()
        return RecordedRun(list(decode([self.received])), self.input)


@dataclass
class Visitor:
    """What a client holds of its thread."""

    served: Served
    path: str = "/agent"
    thread: str = "t"
    held: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)

    def begin(self, *new: Message | str, resume: Sequence[ResumeEntry] = ()) -> Stream:
        fields = {"thread": self.thread, "state": self.state, "resume": list(resume) or None}
        return Stream(self.served, self.path, run_input(*self.held, *new, **fields))

    def join(self) -> Stream:
        """Connect to the thread, as a client that holds nothing."""
        return Stream(self.served, f"{self.path}/connect", run_input(thread=self.thread))

    def keep(self, recorded: RecordedRun) -> RecordedRun:
        self.held, self.state = recorded.messages, recorded.state
        return recorded

    def send(self, *new: Message | str, resume: Sequence[ResumeEntry] = ()) -> RecordedRun:
        return self.keep(self.begin(*new, resume=resume).rest())

    def check_usable(self, *, idle: bool = True) -> None:
        """The thread takes the next message, after what it still asks was cancelled; then the
        server is idle."""
        shown = self.join().rest()
        questions = asked(shown) if ending(shown) == "interrupt" else []
        recorded = self.send("hello", resume=cancelled(*(one.id for one in questions)))
        assert ending(recorded) == "success", recorded.last
        if idle:
            self.served.wait_idle()

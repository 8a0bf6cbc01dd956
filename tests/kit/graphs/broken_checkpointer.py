"""A checkpointer in trouble at one of its calls, and the runs that meet it. `FAULTS` lists them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ag_ui.core import AssistantMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import KINDS
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client

Begin = Callable[[], Coroutine[Any, Any, RecordedRun]]


class Troubled(InMemorySaver):
    """Counts its calls; the one of the number `at` fails, or takes until it is `released`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.at, self.hangs = 0, False
        self.met, self.released = asyncio.Event(), asyncio.Event()

    async def trouble(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) == self.at:
            self.met.set()
            if not self.hangs:
                raise sqlite3.OperationalError("disk I/O error")
            await self.released.wait()

    def well(self) -> None:
        """Have no more trouble."""
        self.at = 0
        self.released.set()

    async def aget_tuple(self, config: Any) -> Any:
        await self.trouble("read")
        return await super().aget_tuple(config)

    async def alist(self, config: Any, **kwargs: Any) -> AsyncIterator[Any]:
        await self.trouble("list")
        async for saved in super().alist(config, **kwargs):
            yield saved

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        await self.trouble("write")
        return await super().aput(*args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        await self.trouble("write beside")
        await super().aput_writes(*args, **kwargs)


class Fault(NamedTuple):
    """One kind of run, and what its client gets when a call of the checkpointer fails, or hangs."""

    run: str
    kind: str = "per_call"  # of pause (`tests.kit.graphs.pauses`)
    fails: str = "`RUN_ERROR` `state_error`"
    hangs: str = "`RUN_FINISHED` `cancelled`"

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of a table: the fault, the kind of run, what the client gets."""
        slow = "hangs" if self.run == "connect" else "hangs, and the client stops the run,"
        ends = {"fails": self.fails, slow: self.hangs}
        return [
            (f"the checkpointer {one} at any of its calls", self.run, ends[one]) for one in ends
        ]


FAULTS = [
    Fault("a new message"),
    Fault("a new message, an approval of several calls", "batched"),
    Fault(
        "an answer to an interrupt",
        fails="`RUN_ERROR` `state_error`; before the record, nothing has run",
    ),
    Fault("an answer, batched", "batched"),
    Fault("an answer for a subagent", "tool_batched"),
    Fault("an answer at a breakpoint", "breakpoint"),
    Fault("a cancel of what is open", "interrupt"),
    Fault("the same message again"),
    Fault("an edited message"),
    Fault("a thread that the server does not know"),
    Fault("connect", hangs="nothing until it leaves"),
]


@dataclass
class World:
    """A thread whose agent guards what it does, and the files in which it does it."""

    home: Path
    fault: Fault = FAULTS[0]
    saver: Troubled = field(default_factory=Troubled)

    def __post_init__(self) -> None:
        self.home.mkdir()
        self.agent = LangGraphAgent(KINDS[self.fault.kind](self.saver))
        self.client = Client(self.agent)
        self.file, self.earlier = self.home / "happened", self.home / "earlier.1"

    async def ask(self, file: Path, yes: bool | None = None) -> Any:
        """Have something done, and approve it or not; return the answers to the questions."""
        ids = [one.id for one in await self.client.ask(user(str(file), "u1"))]
        approved = resolved(*((one, {"approved": True}) for one in ids))
        if yes is None:
            return approved, cancelled(*ids)
        return await self.client.send(resume=approved if yes else cancelled(*ids))

    async def prepare(self) -> Begin:
        """Bring the thread to where the run begins; return that run."""
        run, new, fields = self.fault.run, list[Any](), dict[str, Any]()
        if run.startswith("a new message"):
            await self.ask(self.earlier, yes=False)
            new = [*self.client.held, user(str(self.file), "u2")]
        elif run.startswith(("the same", "an edited")):
            await self.ask(self.earlier, yes=True)
            new = [user(str(self.earlier if run.startswith("the same") else self.file), "u1")]
        elif run.startswith("a thread"):
            said = AssistantMessage(id="a0", role="assistant", content="Hello.")
            new = [user("hello", "u0"), said, user(str(self.file), "u1")]
        else:
            yes, no = await self.ask(self.file)
            new, fields = self.client.held, {"resume": no if run.startswith("a cancel") else yes}
        self.saver.calls.clear()
        if run == "connect":
            return self.client.connect
        given = run_input(*new, thread="t", run="r", **fields)
        return lambda: record_run(self.agent, given)

    async def go_on(self, file: Path) -> None:
        """Deny what is open, and have something done in the next turn."""
        shown = await self.client.connect()
        self.client.held = shown.messages
        # a question that could not be stored is asked when the others are answered
        while (shown.last.outcome and shown.last.outcome.type) == "interrupt":
            open_ = [one.id for one in shown.last.outcome.interrupts]
            shown = await self.client.send(resume=cancelled(*open_))
        questions = await self.client.ask(str(file))
        approved = resolved(*((one.id, {"approved": True}) for one in questions))
        assert (await self.client.send(resume=approved)).last.type.value == "RUN_FINISHED"

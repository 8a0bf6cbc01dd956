"""A checkpointer in trouble at one of its calls, and the runs that meet it. `FAULTS` lists them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ag_ui.core import AssistantMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.pauses import KINDS
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending


class Troubled(InMemorySaver):
    """Counts its calls; the one of the number `at` fails, or takes until it is `released`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.at = 0
        self.hangs = False
        self.met = asyncio.Event()
        self.released = asyncio.Event()

    async def trouble(self, name: str) -> None:
        self.calls.append(name)
        if len(self.calls) != self.at:
            return
        self.met.set()
        if self.hangs:
            await self.released.wait()
        else:
            raise sqlite3.OperationalError("disk I/O error")

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


@dataclass
class World:
    """A thread whose agent guards what it does, and the files in which it does it."""

    home: Path
    kind: str = "per_call"
    saver: Troubled = field(default_factory=Troubled)

    def __post_init__(self) -> None:
        self.agent = LangGraphAgent(KINDS[self.kind](self.saver))
        self.client = Client(self.agent)

    @property
    def file(self) -> Path:
        """What has been approved happens here."""
        return self.home / "happened"


# Brings a thread to where a run begins; returns that run.
Prepare = Callable[[World], Awaitable[Callable[[], Awaitable[RecordedRun]]]]


async def _message(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    questions = await world.client.ask(str(world.home / "earlier.1"))
    await world.client.send(resume=cancelled(*(one.id for one in questions)))
    return _once(world, *world.client.held, user(str(world.file), "u2"))


async def _resume(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    questions = await world.client.ask(user(str(world.file), "u1"))
    return _once(
        world,
        *world.client.held,
        resume=resolved(*((one.id, {"approved": True}) for one in questions)),
    )


async def _abandon(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    questions = await world.client.ask(user(str(world.file), "u1"))
    return _once(world, *world.client.held, resume=cancelled(*(one.id for one in questions)))


async def _rerun(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    await _done(world)
    return _once(world, user(str(world.home / "earlier.1"), "u1"))


async def _edit(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    await _done(world)
    return _once(world, user(str(world.file), "u1"))


async def _done(world: World) -> None:
    questions = await world.client.ask(user(str(world.home / "earlier.1"), "u1"))
    await world.client.send(resume=resolved(*((one.id, {"approved": True}) for one in questions)))


async def _unknown(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    said = AssistantMessage(id="a0", role="assistant", content="Hello.")
    return _once(world, user("hello", "u0"), said, user(str(world.file), "u1"))


async def _connect(world: World) -> Callable[[], Awaitable[RecordedRun]]:
    await world.client.ask(user(str(world.file), "u1"))

    async def connect() -> RecordedRun:
        given = run_input(thread="t", run="r")
        return RecordedRun(await collect(world.agent.connect(given)), given)

    return connect


def _once(world: World, *messages: Any, **fields: Any) -> Callable[[], Awaitable[RecordedRun]]:
    given = run_input(*messages, thread="t", run="r", **fields)
    return lambda: record_run(world.agent, given)


class Fault(NamedTuple):
    """One kind of run, and what its client gets when a call of the checkpointer fails, or hangs.

    Attributes:
        run: The kind of run.
        prepare: Brings a thread to where it begins.
        kind: The kind of pause (`tests.kit.graphs.pauses`).
        fails: What the client gets if a call fails.
        hangs: What it gets if a call takes until the client stops the run.
    """

    run: str
    prepare: Prepare
    kind: str = "per_call"
    fails: str = "`RUN_ERROR` `state_error`"
    hangs: str = "`RUN_FINISHED` `cancelled`"

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of a table: the fault, the kind of run, what the client gets."""
        fault = "the checkpointer {} at any of its calls".format
        slow = (
            "hangs, and the client stops the run,"
            if self.hangs != "nothing until it leaves"
            else "hangs"
        )
        return [(fault("fails"), self.run, self.fails), (fault(slow), self.run, self.hangs)]


FAULTS = [
    Fault("a new message", _message),
    Fault("a new message, an approval of several calls", _message, "batched"),
    Fault(
        "an answer to an interrupt",
        _resume,
        fails="`RUN_ERROR` `state_error`; before the record, nothing has run",
    ),
    Fault("an answer, batched", _resume, "batched"),
    Fault("an answer for a subagent", _resume, "tool_batched"),
    Fault("an answer at a breakpoint", _resume, "breakpoint"),
    Fault("a cancel of what is open", _abandon, "interrupt"),
    Fault("the same message again", _rerun),
    Fault("an edited message", _edit),
    Fault("a thread that the server does not know", _unknown),
    Fault("connect", _connect, hangs="nothing until it leaves"),
]


async def go_on(world: World, file: Path) -> None:
    """Deny what is open, and have something done in the next turn."""
    shown = await world.client.connect()
    world.client.held = shown.messages
    # a question that could not be stored is asked when the others are answered
    while ending(shown) == "interrupt":
        shown = await world.client.send(resume=cancelled(*(one.id for one in asked(shown))))
    questions = await world.client.ask(str(file))
    recorded = await world.client.send(
        resume=resolved(*((one.id, {"approved": True}) for one in questions))
    )
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last

"""Clients of every kind: that read to the end, leave, vanish, stall, join, cancel, answer twice,
and send nonsense.

What they hear is verified strictly and folded. A client goes on with what it holds, also when it
had left.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias
from uuid import uuid4

from ag_ui.core import Interrupt, Message, ResumeEntry, RunAgentInput, UserMessage

from langgraph_agui.protocol import Fold, SSEDecoder, Verifier

from .connection import Connection, ask

LOOP_TURNS = 4
"""Turns of a conversation, after which its client does not come back."""

EXPECTED = {
    "success",
    "interrupt",
    "cancelled",
    "left",
    "interrupt_unanswered",
    "interrupt_unknown",
    "409",
}
"""How a run may end for its client, or be refused."""

NONSENSE = (
    b"",
    b"hello",
    b"[]",
    b'{"threadId": "t"}',
    b'{"threadId": "t", "runId": 1, "messages": {}}',
    b'{"threadId": "t", "runId": "r", "state": {}, "messages": [1], "tools": [], "context": []}',
    b"[" * 100_000,
    b"\xff\xfe",
)


@dataclass
class Talk:
    """A conversation as its client holds it."""

    agent: str
    thread: str = field(default_factory=lambda: str(uuid4()))
    messages: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)
    turns: int = 0

    def input(
        self, text: str | None = None, resume: list[ResumeEntry] | None = None
    ) -> RunAgentInput:
        """What its client sends, with a new message or with answers."""
        new = [UserMessage(id=str(uuid4()), role="user", content=text)] if text is not None else []
        return RunAgentInput(
            thread_id=self.thread,
            run_id=str(uuid4()),
            protocol_version="1.0",
            state=self.state,
            messages=[*self.messages, *new],
            tools=[],
            context=[],
            forwarded_props={},
            resume=resume,
        )


Visit: TypeAlias = Callable[[Talk], Awaitable[str]]


class Reader:
    """What a client hears of one answer."""

    def __init__(self, given: RunAgentInput) -> None:
        self._decoder = SSEDecoder()
        self._verifier = Verifier(strict=True, input=given)
        self.fold = Fold(given.messages, given.state)
        self.events = 0
        self.ending = "left"
        self.interrupts: list[Interrupt] = []

    async def read(self, connection: Connection, limit: int | None = None) -> str:
        """Read to the end, or up to so many events; return how the run ended. Raises if the stream
        is wrong."""
        async for piece in connection.pieces():
            for wire in self._decoder.feed(piece):
                self._hear(wire)
            if limit is not None and self.events >= limit:
                return self.ending
        self._verifier.finish()
        return self.ending

    def _hear(self, wire: Any) -> None:
        self.events += 1
        for event in self._verifier.feed(wire):
            self.fold.apply(event)
        if wire["type"] == "RUN_FINISHED":
            outcome = wire.get("outcome") or {"type": "success"}
            self.ending = outcome["type"]
            self.interrupts = [
                Interrupt.model_validate(one) for one in outcome.get("interrupts", ())
            ]
        elif wire["type"] == "RUN_ERROR":
            self.ending = wire.get("code") or "an error without a code"


class Crowd:
    """Clients of one server.

    Attributes:
        runs: How many runs were begun.
        tally: How often each kind of visit ended in which way.
        complaints: What went wrong.
    """

    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._random = Random(seed)
        self._idle: list[Talk] = []
        self.runs = 0
        self.tally: Counter[str] = Counter()
        self.complaints: list[str] = []

    def kinds(self) -> dict[Visit, int]:
        """Every kind of visit, and how many of a hundred are of it."""
        return {
            self.finish: 30,
            self.leave: 20,
            self.stall: 4,
            self.join: 10,
            self.cancel: 10,
            self.answer_twice: 14,
            self.talk_nonsense: 6,
            self.interfere: 4,
            self.show: 2,
        }

    async def visit(self, kind: Visit | None = None) -> None:
        """Let one client come, of any kind if none is named."""
        kinds = self.kinds()
        kind = kind or self._random.choices(list(kinds), list(kinds.values()))[0]
        try:
            talk = self._talk("stored" if kind in (self.answer_twice, self.interfere) else None)
            async with asyncio.timeout(60):
                ending = await kind(talk)
        except Exception as error:
            self.complaints.append(f"{kind.__name__}: {error!r}")
            return
        self.tally[f"{kind.__name__}: {ending}"] += 1
        if not EXPECTED.issuperset(ending.split(", ")):
            self.complaints.append(f"{kind.__name__}: {ending}")
        elif talk.turns < LOOP_TURNS:
            self._idle.append(talk)

    def _talk(self, agent: str | None) -> Talk:
        """A conversation that goes on, or a new one."""
        for number, talk in enumerate(self._idle[:5]):
            if agent in (None, talk.agent) and self._random.random() < 0.1:
                return self._idle.pop(number)
        return Talk(agent or self._random.choice(["stored", "plain"]))

    # -- kinds ------------------------------------------------------------------------------------

    async def finish(self, talk: Talk) -> str:
        """Read to the end."""
        return await self._say(talk, self._text(talk))

    async def leave(self, talk: Talk) -> str:
        """Leave after any event, politely or not."""
        return await self._say(talk, self._text(talk), limit=self._random.randrange(60))

    async def stall(self, talk: Talk) -> str:
        """Do not read, and vanish."""
        return await self._say(talk, "endless", limit=0, stalled=True)

    async def join(self, talk: Talk) -> str:
        """Join a run in its middle, once or twice; who joins may leave before its end."""
        after = self._random.randrange(1, 80)
        joiners = self._random.choices([None, 20], k=self._random.randint(1, 2))
        return await self._say(
            talk, "long", meanwhile=(after, [self._connect(talk, limit) for limit in joiners])
        )

    async def cancel(self, talk: Talk) -> str:
        """Cancel the run after any event, and hear its end."""
        given = talk.input("long" if self._random.random() < 0.5 else self._text(talk))
        path = f"/cancel/{talk.agent}/{talk.thread}/{given.run_id}"
        after = self._random.randrange(1, 80)
        return await self._run(talk, given, meanwhile=(after, [ask(self._port, "POST", path)]))

    async def answer_twice(self, talk: Talk) -> str:
        """Answer an approval twice, at once or one after the other."""
        reader = Reader(given := talk.input("transfer"))
        if (first := await self._run(talk, given, reader=reader)) != "interrupt":
            return first
        payload = {"approved": self._random.random() < 0.8}
        entries = [
            ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload)
            for one in reader.interrupts
        ]
        given = [talk.input(resume=entries) for _ in range(2)]
        if self._random.random() < 0.5:
            endings = await asyncio.gather(*(self._run(talk, one) for one in given))
        else:
            endings = [await self._run(talk, one) for one in given]
        return ", ".join(sorted(endings))

    async def talk_nonsense(self, talk: Talk) -> str:
        """Send what is no input."""
        path = f"/{talk.agent}{self._random.choice(['', '/connect'])}"
        connection = await Connection.open(self._port, "POST", path, self._random.choice(NONSENSE))
        answer = await connection.rest()
        await connection.leave()
        if connection.status not in (400, 413, 422) or b"detail" not in answer:
            return f"{connection.status} {answer[:100]!r}"
        return "success"

    async def interfere(self, talk: Talk) -> str:
        """Run again in a thread that is busy."""
        other = Talk(talk.agent, talk.thread)
        return await self._say(
            talk, "long", meanwhile=(self._random.randrange(1, 30), [self._say(other, "chat")])
        )

    async def show(self, talk: Talk) -> str:
        """Look at the thread as it stands."""
        return await self._connect(talk, None)

    # -- what they do -----------------------------------------------------------------------------

    def _text(self, talk: Talk) -> str:
        return self._random.choice(
            ["chat", "weather", "transfer"] if talk.agent == "stored" else ["chat", "weather"]
        )

    async def _say(self, talk: Talk, text: str, **how: Any) -> str:
        ending = await self._run(talk, talk.input(text), **how)
        if ending in ("interrupt", "interrupt_unanswered") and self._random.random() < 0.7:
            await self._give_up(talk)
        return ending

    async def _give_up(self, talk: Talk) -> None:
        """Cancel what the thread asks, which a client that has left learns by connecting."""
        reader = Reader(given := talk.input())
        connection = await Connection.open(
            self._port, "POST", f"/{talk.agent}/connect", _body(given)
        )
        await reader.read(connection)
        await connection.leave()
        cancelled = [
            ResumeEntry(interrupt_id=one.id, status="cancelled") for one in reader.interrupts
        ]
        ending = await self._run(talk, talk.input(resume=cancelled))
        self.tally[f"give_up: {ending}"] += 1

    async def _connect(self, talk: Talk, limit: int | None) -> str:
        given = Talk(talk.agent, talk.thread).input()
        connection = await Connection.open(
            self._port, "POST", f"/{talk.agent}/connect", _body(given)
        )
        ending = await Reader(given).read(connection, limit)
        await connection.leave()
        return ending

    async def _run(
        self,
        talk: Talk,
        given: RunAgentInput,
        *,
        limit: int | None = None,
        stalled: bool = False,
        meanwhile: tuple[int, list[Awaitable[Any]]] = (0, []),
        reader: Reader | None = None,
    ) -> str:
        """Run, and do something after so many events. The client holds then what it has heard."""
        after, others = meanwhile
        talk.turns += 1
        tasks: list[asyncio.Future[Any]] = []
        connection = await Connection.open(
            self._port, "POST", f"/{talk.agent}", _body(given), stalled=stalled
        )
        try:
            if connection.status != 200:
                await connection.rest()
                return str(connection.status)
            self.runs += 1
            reader = reader or Reader(given)
            if others:
                await reader.read(connection, after)
                tasks = [asyncio.ensure_future(one) for one in others]
            if stalled:
                await asyncio.sleep(self._random.uniform(0.05, 0.3))
            elif limit != 0 and (reader.ending == "left" or not others):
                await reader.read(connection, limit)
            talk.messages, talk.state = reader.fold.messages, reader.fold.state
        finally:
            await connection.leave(politely=not stalled and self._random.random() < 0.5)
            for ending in await asyncio.gather(*tasks):
                if isinstance(ending, str) and ending not in EXPECTED:
                    self.complaints.append(f"meanwhile: {ending}")
        return reader.ending


def _body(given: RunAgentInput) -> bytes:
    return given.model_dump_json(by_alias=True).encode()

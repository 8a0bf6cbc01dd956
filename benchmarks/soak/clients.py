"""Clients of every kind: a server's port goes in; how many came, how it ended and what was wrong
come out.

Clients read to the end, leave, vanish, stall, join, cancel, answer twice, and send nonsense. What
they hear is verified strictly and folded. A client goes on with what it holds, also when it left.
"""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import uuid4

import httpx2
from ag_ui.core import Interrupt, Message, ResumeEntry, RunAgentInput, UserMessage

from langgraph_agui.protocol import Fold, SSEDecoder, Verifier

TURNS = 4
"""Turns of a conversation, after which its client does not come back."""

EXPECTED = {"success", "interrupt", "cancelled", "left", "409"}
EXPECTED |= {"interrupt_unanswered", "interrupt_unknown"}
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

RESET = struct.pack("ii", 1, 0)
BUFFER = 2048
"""Bytes that the kernel takes in for a client that does not read."""


def http_client(port: int, *, stalled: bool = False) -> httpx2.AsyncClient:
    """A client with a new connection for each request."""
    options = [(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)] if stalled else []
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    transport = httpx2.AsyncHTTPTransport(limits=limits, socket_options=options)
    return httpx2.AsyncClient(
        transport=transport, base_url=f"http://127.0.0.1:{port}", timeout=None
    )


@dataclass
class Talk:
    """A conversation as its client holds it."""

    agent: str
    thread: str = field(default_factory=lambda: str(uuid4()))
    messages: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)
    turns: int = 0

    def input(self, text: str = "", resume: list[ResumeEntry] | None = None) -> RunAgentInput:
        """What its client sends, with a new message or with answers."""
        new = [UserMessage(id=str(uuid4()), content=text)] if text else []
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


class Reader:
    """What a client hears of one answer."""

    def __init__(self, given: RunAgentInput, response: httpx2.Response) -> None:
        self._pieces = response.aiter_bytes()
        self._decoder = SSEDecoder()
        self._verifier = Verifier(strict=True, input=given)
        self.fold = Fold(given.messages, given.state)
        self.events = 0
        self.ending = "left"
        self.interrupts: list[Interrupt] = []

    async def read(self, limit: int | None = None) -> str:
        """Read to the end, or up to so many events; return how the run ended. Raises if the stream
        is wrong."""
        async for piece in self._pieces:
            for wire in self._decoder.feed(piece):
                self._hear(wire)
            if limit is not None and self.events >= limit:
                return self.ending
        self._verifier.finish()
        return self.ending

    def _hear(self, wire: dict[str, Any]) -> None:
        self.events += 1
        for event in self._verifier.feed(wire):
            self.fold.apply(event)
        if wire["type"] == "RUN_FINISHED":
            outcome = wire.get("outcome") or {"type": "success"}
            self.ending = outcome["type"]
            asked = outcome.get("interrupts", ())
            self.interrupts = [Interrupt.model_validate(one) for one in asked]
        elif wire["type"] == "RUN_ERROR":
            self.ending = wire.get("code") or "an error without a code"


Visit = Callable[[Talk], Awaitable[str]]


class Crowd:
    """Clients of one server. `tally` says how often each kind of visit ended in which way."""

    def __init__(self, port: int, seed: int) -> None:
        self._http, self._stalled = http_client(port), http_client(port, stalled=True)
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

    async def ask(self, method: str, path: str) -> Any:
        """The JSON of an answer."""
        return (await self._http.request(method, path)).json()

    async def visit(self, kind: Visit | None = None) -> None:
        """Let one client come, of any kind if none is named."""
        kinds = self.kinds()
        kind = kind or self._random.choices(list(kinds), list(kinds.values()))[0]
        name = kind.__name__
        try:
            talk = self._talk("stored" if name in ("answer_twice", "interfere") else None)
            async with asyncio.timeout(60):
                ending = await kind(talk)
        except Exception as error:
            self.complaints.append(f"{name}: {error!r}")
            return
        self.tally[f"{name}: {ending}"] += 1
        if not EXPECTED.issuperset(ending.split(", ")):
            self.complaints.append(f"{name}: {ending}")
        elif talk.turns < TURNS:
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
        limits = self._random.choices([None, 20], k=self._random.randint(1, 2))
        joining = [self._connect(talk, limit) for limit in limits]
        return await self._say(talk, "long", self._random.randrange(1, 80), joining)

    async def cancel(self, talk: Talk) -> str:
        """Cancel the run after any event, and hear its end."""
        given = talk.input(self._random.choice(["long", self._text(talk)]))
        cancelling = self.ask("POST", f"/cancel/{talk.agent}/{talk.thread}/{given.run_id}")
        return await self._run(talk, given, self._random.randrange(1, 80), [cancelling])

    async def answer_twice(self, talk: Talk) -> str:
        """Answer an approval twice, at once or one after the other."""
        interrupts: list[Interrupt] = []
        first = await self._run(talk, talk.input("transfer"), interrupts=interrupts)
        if first != "interrupt":
            return first
        payload = {"approved": self._random.random() < 0.8}
        entries = [
            ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload)
            for one in interrupts
        ]
        answers = [self._run(talk, talk.input(resume=entries)) for _ in range(2)]
        if self._random.random() < 0.5:
            endings = await asyncio.gather(*answers)
        else:
            endings = [await one for one in answers]
        return ", ".join(sorted(endings))

    async def talk_nonsense(self, talk: Talk) -> str:
        """Send what is no input."""
        path = f"/{talk.agent}{self._random.choice(['', '/connect'])}"
        headers = {"content-type": "application/json"}
        body = self._random.choice(NONSENSE)
        answer = await self._http.post(path, content=body, headers=headers)
        if answer.status_code in (400, 413, 422) and b"detail" in answer.content:
            return "success"
        return f"{answer.status_code} {answer.content[:100]!r}"

    async def interfere(self, talk: Talk) -> str:
        """Run again in a thread that is busy."""
        other = self._say(Talk(talk.agent, talk.thread), "chat")
        return await self._say(talk, "long", self._random.randrange(1, 30), [other])

    async def show(self, talk: Talk) -> str:
        """Look at the thread as it stands."""
        return await self._connect(talk, None)

    # -- what they do -----------------------------------------------------------------------------

    def _text(self, talk: Talk) -> str:
        texts = ["chat", "weather", "transfer"]
        return self._random.choice(texts if talk.agent == "stored" else texts[:2])

    async def _say(self, talk: Talk, text: str, *meanwhile: Any, **how: Any) -> str:
        ending = await self._run(talk, talk.input(text), *meanwhile, **how)
        if ending in ("interrupt", "interrupt_unanswered") and self._random.random() < 0.7:
            await self._give_up(talk)
        return ending

    async def _give_up(self, talk: Talk) -> None:
        """Cancel what the thread asks, which a client that has left learns by connecting."""
        given = talk.input()
        async with self._answer(f"/{talk.agent}/connect", given) as response:
            reader = Reader(given, response)
            await reader.read()
        ids = [one.id for one in reader.interrupts]
        cancelled = [ResumeEntry(interrupt_id=one, status="cancelled") for one in ids]
        ending = await self._run(talk, talk.input(resume=cancelled))
        self.tally[f"give_up: {ending}"] += 1

    async def _connect(self, talk: Talk, limit: int | None) -> str:
        given = Talk(talk.agent, talk.thread).input()
        async with self._answer(f"/{talk.agent}/connect", given) as response:
            return await Reader(given, response).read(limit)

    @asynccontextmanager
    async def _answer(
        self, path: str, given: RunAgentInput, *, stalled: bool = False, politely: bool = True
    ) -> AsyncIterator[httpx2.Response]:
        """The answer to an input. At the end its connection is closed, or reset."""
        body, headers = given.model_dump_json(by_alias=True), {"content-type": "application/json"}
        http = self._stalled if stalled else self._http
        async with http.stream("POST", path, content=body, headers=headers) as response:
            try:
                yield response
            finally:
                if not politely:
                    made = response.extensions["network_stream"].get_extra_info("socket")
                    with suppress(OSError):  # a connection is closed where its answer ended
                        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    async def _run(
        self,
        talk: Talk,
        given: RunAgentInput,
        after: int = 0,
        others: Sequence[Awaitable[Any]] = (),
        *,
        limit: int | None = None,
        stalled: bool = False,
        interrupts: list[Interrupt] | None = None,
    ) -> str:
        """Run, and let others begin after so many events. The client holds then what it heard."""
        talk.turns += 1
        tasks: list[asyncio.Future[Any]] = []
        politely = not stalled and self._random.random() < 0.5
        path = f"/{talk.agent}"
        try:
            async with self._answer(path, given, stalled=stalled, politely=politely) as response:
                if response.status_code != 200:
                    return str(response.status_code)
                self.runs += 1
                reader = Reader(given, response)
                if others:
                    await reader.read(after)
                    tasks = [asyncio.ensure_future(one) for one in others]
                if stalled:
                    await asyncio.sleep(self._random.uniform(0.05, 0.3))
                elif limit != 0 and reader.ending == "left":
                    await reader.read(limit)
                talk.messages, talk.state = reader.fold.messages, reader.fold.state
                if interrupts is not None:
                    interrupts += reader.interrupts
        finally:
            for ending in await asyncio.gather(*tasks):
                if isinstance(ending, str) and ending not in EXPECTED:
                    self.complaints.append(f"meanwhile: {ending}")
        return reader.ending

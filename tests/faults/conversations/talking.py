"""Plays a conversation: tabs are clients over HTTP, each holds what it has received, strictly folded."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2
from ag_ui.core import Event, Message, RunAgentInput, Tool, ToolMessage
from hypothesis import HealthCheck, given, seed, settings

from langgraph_agui.protocol import Fold, ProtocolError, SSEDecoder, Verifier
from tests.faults.conversations.agent import Plain, Stage
from tests.faults.conversations.houses import House
from tests.faults.conversations.rules import (
    BrokenRuleError,
    Happened,
    Judge,
    Kept,
    Seen,
    calls_in,
    require,
    told_and_kept,
)
from tests.faults.conversations.steps import (
    TABS,
    Answer,
    Cancel,
    Connect,
    Disturb,
    Edit,
    Join,
    Plan,
    Repeat,
    Restart,
    Return,
    Say,
    plans,
)
from tests.kit.run.agents import run_input, user
from tests.kit.waiting import PATIENCE, eventually

PICK = Tool(
    name="pick",
    description="Pick.",
    parameters={"type": "object", "properties": {"item": {"type": "string"}}},
)
LATE = 5.0
"""Seconds in which the store may still write what a cancelled run has done."""

REFUSALS = {"thread_busy"} | {
    f"interrupt_{why}" for why in ("unanswered", "unknown", "expired", "invalid", "duplicate")
}
"""The codes with which a run ends before anything runs."""


def words_in(messages: Sequence[Plain]) -> list[str]:
    """The words of the last turn."""
    said = [one for one in messages if one["type"] == "human" and not one["is_summary"]]
    return said[-1]["text"].split() if said else []


@dataclass
class Tab:
    """A client: its number, which is that of its worker, what it holds and has been asked, and its
    last request for a run. It `is_ordered` if it has the messages in the order of the thread."""

    number: int
    messages: list[Message] = field(default_factory=list)
    state: Any = field(default_factory=dict)
    interrupts: list[Any] = field(default_factory=list)
    request: RunAgentInput | None = None
    is_ordered: bool = True

    @property
    def name(self) -> str:
        return f"tab {self.number}"

    def seen(self) -> Seen:
        asked = [one.id for one in self.interrupts]
        return Seen(self.messages, self.state, asked, self.is_ordered)

    def forget(self) -> None:
        self.messages, self.state, self.interrupts, self.is_ordered = [], {}, [], True


class Stream:
    """An answer of the server, as a tab receives it: each event is verified and folded."""

    def __init__(
        self, client: httpx2.AsyncClient, url: str, tab: Tab, given: RunAgentInput
    ) -> None:
        self.tab, self.given, self.held = tab, given, list(given.messages)
        self.events: list[Event] = []
        self.refusal: str | None = None
        self.is_broken, self.is_run = False, not url.endswith("/connect")
        self._verifier = Verifier(strict=True, input=given)
        self._fold = Fold(given.messages, given.state)
        self._task = asyncio.create_task(self._read(client, url))

    async def _read(self, client: httpx2.AsyncClient, url: str) -> None:
        body = self.given.model_dump_json(by_alias=True, exclude_none=True)
        headers = {"content-type": "application/json"}
        decoder = SSEDecoder()
        try:
            async with client.stream("POST", url, content=body, headers=headers) as response:
                if response.status_code != 200:
                    told = json.loads(await response.aread())
                    self.refusal = told.get("code") or f"{response.status_code} {told}"
                    return
                async for chunk in response.aiter_bytes():
                    self._take(decoder.feed(chunk))
                self._take(decoder.finish())
            self._verifier.finish()
        except (httpx2.TransportError, asyncio.CancelledError):
            self.is_broken = True
        except ProtocolError as error:
            raise BrokenRuleError("stream", f"{error!r} after {self.types}") from error

    def _take(self, wires: Any) -> None:
        for wire in wires:
            for event in self._verifier.feed(wire):
                self.events.append(event)
                self._fold.feed(event)

    @property
    def types(self) -> list[str]:
        return [event.type.value for event in self.events]

    @property
    def is_done(self) -> bool:
        return self._task.done()

    async def begun(self) -> None:
        await eventually(lambda: self.events or self.is_done, f"{self.tab.name} gets an answer")

    async def drop(self) -> None:
        """Break the connection."""
        self._task.cancel()
        await self.end()

    async def end(self) -> None:
        """Read to the end; the tab holds what it has received."""
        await asyncio.wait_for(self._task, PATIENCE)
        tab = self.tab
        tab.messages, tab.state = self._fold.messages, self._fold.state
        if self.events and not self.is_broken and not self.code:
            outcome = getattr(self.events[-1], "outcome", None)
            tab.interrupts = list(getattr(outcome, "interrupts", None) or ())

    @property
    def code(self) -> str | None:
        """The code of the error that it has ended with."""
        last = self.events[-1] if self.events and not self.is_broken else None
        return self.refusal or getattr(last, "code", None)

    @property
    def outcome(self) -> str | None:
        """How it has ended, if it has."""
        if self.is_broken or self.types[-1:] != ["RUN_FINISHED"]:
            return None
        outcome = getattr(self.events[-1], "outcome", None)
        return outcome.type if outcome is not None else "success"

    @property
    def shows_no_run(self) -> bool:
        """Whether it has shown the thread alone."""
        return self.outcome in ("success", "interrupt") and "STEP_STARTED" not in self.types

    @property
    def has_shown(self) -> bool:
        """Whether its tab has been shown the thread: it was neither refused nor broken."""
        return not self.is_broken and self.code not in {*REFUSALS, "run_lost"}


class Run:
    """A run of a tab, and those who joined it."""

    def __init__(self, main: Stream) -> None:
        self.main, self.streams, self.is_killed = main, [main], False

    @property
    def tabs(self) -> list[Tab]:
        return [stream.tab for stream in self.streams]


class Conversation:
    """One thread, and the tabs that show it; `counts` says how often each kind of step was
    played."""

    def __init__(self, house: House, client: httpx2.AsyncClient, mode: str) -> None:
        self._house, self._client, self._mode = house, client, mode
        self.thread = uuid4().hex[:8]
        self._stage = Stage(house.room, self.thread)
        self._tabs = [Tab(number) for number in range(TABS)]
        self._judge = Judge()
        self._kept, self._open = Kept([], {}), Seen([], {})
        self._number = self._requests = 0
        self._is_unsettled = False
        self.counts: Counter[str] = Counter()

    async def play(self, plan: Plan) -> None:
        """Play all steps; a broken rule names the step."""
        for number, step in enumerate(plan.steps):
            try:
                await self._act(step)
            except BaseException as error:
                error.add_note(f"at step {number + 1}, {step!r} of\n{plan.script()}")
                raise

    async def _act(self, step: Any, *more: Any) -> None:
        name = type(step).__name__
        await getattr(self, f"_{name.lower()}")(step, *more)
        self.counts[name] += 1

    def _url(self, tab: Tab, path: str = "") -> str:
        return f"{self._house.url(tab.number)}/{self._mode}{path}"

    def _input(self, tab: Tab, messages: Sequence[Message], **fields: Any) -> RunAgentInput:
        fields = {"state": tab.state, "tools": [PICK], **fields}
        return run_input(*messages, thread=self.thread, **fields)

    def _stream(self, tab: Tab, given: RunAgentInput, path: str = "") -> Stream:
        return Stream(self._client, self._url(tab, path), tab, given)

    def _follow(self, tab: Tab) -> Stream:
        return self._stream(tab, self._input(tab, tab.messages), "/connect")

    async def _run(self, given: RunAgentInput, tab: Tab, meanwhile: Sequence[Any] = ()) -> Run:
        """Run, with what happens meanwhile, and wait until all is over."""
        tab.request, stage = given, self._stage
        while True:
            stage.shut()
            run = Run(main := self._stream(tab, given))
            await eventually(lambda: stage.is_waiting or main.is_done, "it waits or ends")
            if not (self._is_unsettled and main.refusal == "thread_busy"):
                break
            await asyncio.sleep(0.01)
        self._is_unsettled = False
        if stage.is_waiting and not main.is_done:
            await main.begun()
            for act in meanwhile:
                await self._act(act, run)
        stage.open()
        for stream in run.streams:
            await stream.end()
        return run

    async def _join(self, act: Join, run: Run) -> None:
        tab = self._tabs[act.tab]
        if tab in run.tabs:
            return
        # The run may give the ids of calls that neither the thread nor its tab has to its own.
        known = {one.id for one in (*self._open.messages, *run.main.held)}
        if act.fresh or any(holder not in known for _, holder in calls_in(tab.messages)):
            tab.forget()
        await self._until_it_is_known(run, tab.number)
        run.streams.append(stream := self._follow(tab))
        await stream.begun()

    async def _until_it_is_known(self, run: Run, worker: int) -> None:
        """Wait until another worker knows a run: it hears of it a moment later."""
        is_other = self._house.url(worker) != self._house.url(run.main.tab.number)
        while is_other and not run.main.is_done:
            stream = self._follow(Tab(worker))
            await eventually(lambda: stream.is_done or "STEP_STARTED" in stream.types, "a run")  # noqa: B023
            if not stream.shows_no_run:
                return await stream.drop()
            await stream.end()
        return None

    async def _disturb(self, act: Disturb, run: Run) -> None:
        tab = self._tabs[act.tab]
        if tab in run.tabs:
            return
        stream = self._stream(tab, self._input(tab, [*tab.messages, user("look #0")]))
        await stream.end()
        require("nothing", stream.refusal == "thread_busy", f"{stream.refusal} {stream.events}")

    async def _cancel(self, act: Cancel, run: Run) -> None:
        body = {"threadId": self.thread, "runId": run.main.given.run_id}
        if act.late:
            self._stage.open()
        answer = await self._client.post(self._url(run.main.tab, "/cancel"), json=body)
        await run.main.end()
        is_known = answer.status_code == 204 or run.main.outcome != "cancelled"
        require("stream", is_known, f"cancelled, but: {answer.text}")

    async def _drop(self, _: Any, run: Run) -> None:
        # The worker that is looked at next would take the thread to be at rest.
        await self._until_it_is_known(run, run.main.tab.number + 1)
        await run.main.drop()
        self._is_unsettled = True

    async def _kill(self, _: Any, run: Run) -> None:
        self._house.kill(run.main.tab.number)
        run.is_killed = self._is_unsettled = True

    def _text(self, words: str) -> str:
        self._number += 1
        return f"{words} #{self._number}".strip()

    async def _say(self, step: Say) -> None:
        tab, said = self._tabs[step.tab], user(self._text(step.words), f"u{self._number}")
        if step.note is not None:
            tab.state = {**tab.state, "note": step.note}
        sent = [said] if step.short else [*tab.messages, said]
        was_paused = bool(self._open.interrupts)
        run = await self._run(self._input(tab, sent), tab, step.meanwhile)
        if was_paused:
            require("nothing", run.main.code == "interrupt_unanswered", f"{run.main.code}")
            await self._settle(run, may_run=False)
        else:
            text = str(said.content)
            await self._settle(run, words=text.split(), said=(said.id, text))

    async def _edit(self, step: Edit) -> None:
        tab = self._tabs[step.tab]
        mine = [at for at, message in enumerate(tab.messages) if message.role == "user"]
        if not mine or self._open.interrupts:
            return
        place = mine[step.which % len(mine)]
        asked: Any = tab.messages[place]
        if step.words is not None:
            asked = user(self._text(step.words), asked.id)
        given = self._input(tab, [*tab.messages[:place], asked])
        run = await self._run(given, tab, step.meanwhile)
        await self._settle(run, words=str(asked.content).split(), again=asked.id)

    async def _answer(self, step: Answer) -> None:
        tab = self._tabs[step.tab]
        if not tab.interrupts:
            return
        entries: list[Any] = []
        approved: list[str] = []
        for at, asked in enumerate(tab.interrupts):
            item, entry = asked.metadata["args"]["item"], {"interruptId": asked.id}
            decision, payload = step.decisions[at % len(step.decisions)], {"approved": False}
            if decision in ("approve", "edit"):
                payload: Any = {"approved": True}
                if decision == "edit":
                    payload["editedArgs"] = {"item": (item := f"{item}-edited")}
                approved.append(item)
            if decision == "respond":
                payload = {"type": "respond", "message": "I did."}
            answer = {"status": "resolved", "payload": payload}
            entries.append(
                {**entry, **({"status": "cancelled"} if decision == "cancel" else answer)}
            )
        is_stale = {one.id for one in tab.interrupts} != set(self._open.interrupts)
        if not is_stale:
            self._judge.approved.update(approved)
        given = self._input(tab, tab.messages, resume=entries)
        run = await self._run(given, tab, step.meanwhile)
        # Words that were refused are heard with what the tab sends next.
        is_unheard = bool(given.messages) and given.messages[-1].role == "user"
        await self._settle(run, may_run=not is_stale or is_unheard)

    async def _return(self, step: Return) -> None:
        tab = self._tabs[step.tab]
        pending = [] if tab.interrupts else tab.seen().open_calls()
        calls = pending if step.all else pending[:1]
        if not calls or self._open.interrupts:
            return
        results = [
            ToolMessage(id=f"r-{uuid4().hex[:8]}", role="tool", tool_call_id=one, content="picked")
            for one in calls
        ]
        given = self._input(tab, [*tab.messages, *results])
        await self._settle(await self._run(given, tab, step.meanwhile))

    async def _repeat(self, step: Repeat) -> None:
        tab = self._tabs[step.tab]
        if tab.request is None:
            return
        last = tab.request.messages[-1] if tab.request.messages else None
        again = last.id if last is not None and last.role == "user" else None
        await self._settle(await self._run(tab.request, tab), again=again)

    async def _connect(self, step: Connect) -> None:
        tab = self._tabs[step.tab]
        if step.fresh:
            tab.forget()
        run = Run(stream := self._follow(tab))
        await stream.end()
        require("stream", stream.outcome, f"connect ended with {stream.code}")
        await self._settle(run, may_run=False)

    async def _restart(self, step: Restart) -> None:
        self._house.kill(step.worker)
        self._is_unsettled = True

    async def _settle(
        self, run: Run, *, may_run: bool = True, words: Sequence[str] = (), **more: Any
    ) -> None:
        """Look at what everybody holds, and let the judge judge."""
        main, worker = run.main, run.main.tab.number + 1
        fresh, kept = await self._look(worker)
        end = time.monotonic() + LATE
        while (main.is_broken or main.outcome == "cancelled") and time.monotonic() < end:
            told, has = told_and_kept(fresh, kept)
            if told == has and fresh.state == kept.state:
                break
            fresh, kept = await self._look(worker)
        sent = [json.loads(line) for line in self._stage.lines("seen")]
        new, self._requests = sent[self._requests :], len(sent)
        turns = [words_in(request) for request in ([] if words else self._kept.messages, *new)]
        if "blocked" in words:  # the hooks at the end see the turn before
            turns.append(words_in(kept.messages))
        spoken = [*words, *(word for turn in turns for word in turn)]
        flags: Any = {"is_killed": run.is_killed, "may_run": may_run, **more}
        happened = Happened(self._kept, kept, new, spoken, **flags)
        self._judge.step(happened, self._stage.lines("ran"))
        self._judge.fresh(fresh, kept)
        fails = {"fail", "break"}.intersection("+".join(spoken).split("+"))
        for stream in run.streams:
            # It has ended with an error only where the user has asked for one.
            code = stream.code if stream.code not in REFUSALS else None
            if stream.is_broken:
                require("stream", run.is_killed or stream is main, "the connection broke")
                self._judge.cut(stream.tab.messages)
                stream.tab.is_ordered = False
            elif code:
                is_lost = code == "run_lost" and run.is_killed
                require("stream", fails or is_lost, f"{stream.tab.name}: {code}, {stream.events}")
            if stream.has_shown:
                self._judge_tab(stream, run, fresh)
        self._kept, self._open = kept, fresh

    def _judge_tab(self, stream: Stream, run: Run, fresh: Seen) -> None:
        tab, is_joined = stream.tab, stream is not run.main
        # Who joins a run gets the list of the tab that has begun it.
        tab.is_ordered = tab.is_ordered and (not is_joined or run.main.tab.is_ordered)
        flags: Any = {
            "is_cut": stream.code is not None or stream.outcome == "cancelled",
            "has_run": stream.is_run,
            "is_joined": is_joined,
        }
        tab.is_ordered = self._judge.tab(tab.name, tab.seen(), fresh, stream.held, **flags)

    async def _look(self, worker: int) -> tuple[Seen, Kept]:
        """What a fresh `connect` shows, and what the graph keeps."""
        while True:
            stream = self._follow(Tab(worker))
            await stream.end()
            # A run that its reader has left goes on, or has yet to stop.
            if stream.shows_no_run:
                break
            await asyncio.sleep(0.002)
        answer = await self._client.get(f"{self._house.url(worker)}/kept/{self.thread}")
        return stream.tab.seen(), Kept(**answer.json())


async def hold(house: House, plan: Plan) -> Counter[str]:
    """Have a conversation; return how many steps of each kind it had."""
    async with httpx2.AsyncClient(timeout=PATIENCE, verify=False) as client:
        talked = Conversation(house, client, plan.mode)
        await talked.play(plan)
    return talked.counts


def converse(house: House, count: int, number: int | None = None) -> Counter[str]:
    """Have random conversations; return how many, and how many steps of each kind they had. `number`
    chooses them; None for others each time."""
    played: Counter[str] = Counter()
    checks = list(HealthCheck)

    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=checks)
    @given(plans(kills=house.can_kill))
    def one(plan: Plan) -> None:
        played.update(asyncio.run(hold(house, plan)))
        played["conversations"] += 1

    (one if number is None else seed(number)(one))()
    return played

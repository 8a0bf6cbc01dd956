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
    Drop,
    Edit,
    Join,
    Kill,
    Meanwhile,
    Plan,
    Regenerate,
    Repeat,
    Restart,
    Return,
    Say,
    Step,
    plans,
    script,
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

REFUSALS = {
    "thread_busy",
    "interrupt_unanswered",
    "interrupt_unknown",
    "interrupt_expired",
    "interrupt_invalid",
    "interrupt_duplicate",
}
"""The codes with which a run ends before anything runs."""


def words_in(messages: Sequence[Plain]) -> list[str]:
    """The words of the last turn."""
    said = [one for one in messages if one["type"] == "human" and not one["is_summary"]]
    return said[-1]["text"].split() if said else []


@dataclass
class Tab:
    """A client: what it holds, and what it has been asked.

    Attributes:
        number: Its number, and that of its worker.
        interrupts: The questions that it shows.
        request: Its last request for a run.
    is_ordered: Whether it has the messages in the order of the thread.
        is_ordered: Whether it has the messages in the order of the thread.
    """

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

    @property
    def pending(self) -> list[str]:
        """The ids of the calls that it shows without a result, if it is asked nothing."""
        return [] if self.interrupts else self.seen().open_calls


class Stream:
    """An answer of the server, as a tab receives it: each event is verified and folded."""

    def __init__(self, tab: Tab, given: RunAgentInput) -> None:
        self.tab, self.given = tab, given
        self.held = list(given.messages)
        self.events: list[Event] = []
        self.refusal: str | None = None
        self.is_broken = False
        self.is_run = False
        self._verifier = Verifier(strict=True, input=given)
        self._fold = Fold(given.messages, given.state)
        self._task: asyncio.Task[None] | None = None

    def start(self, client: httpx2.AsyncClient, url: str) -> None:
        self.is_run = not url.endswith("/connect")
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
                    for wire in decoder.feed(chunk):
                        self._take(wire)
                for wire in decoder.finish():
                    self._take(wire)
        except (httpx2.TransportError, asyncio.CancelledError):
            self.is_broken = True
            return
        try:
            self._verifier.finish()
        except ProtocolError as error:
            raise BrokenRuleError("stream", f"{error!r} after {self._types()}") from error

    def _types(self) -> list[str]:
        return [event.type.value for event in self.events]

    def _take(self, wire: Any) -> None:
        try:
            events = self._verifier.feed(wire)
        except ProtocolError as error:
            raise BrokenRuleError("stream", f"{error!r} at {wire} after {self._types()}") from error
        for event in events:
            self.events.append(event)
            self._fold.feed(event)

    @property
    def is_done(self) -> bool:
        return self._task is not None and self._task.done()

    async def begun(self) -> None:
        await eventually(lambda: self.events or self.is_done, f"{self.tab.name} gets an answer")

    async def until_it_shows_a_run(self) -> None:
        """Wait until it shows a run that is going on, or has ended."""
        await eventually(lambda: self.is_done or "STEP_STARTED" in self._types(), "it shows a run")

    async def drop(self) -> None:
        """Break the connection."""
        assert self._task is not None
        self._task.cancel()
        await self.end()

    async def end(self) -> None:
        """Read to the end; the tab holds what it has received."""
        assert self._task is not None
        await asyncio.wait_for(self._task, PATIENCE)
        tab = self.tab
        tab.messages, tab.state = self._fold.messages, self._fold.state
        if self.is_broken or not self.events or self.code:
            return
        outcome = getattr(self.events[-1], "outcome", None)
        tab.interrupts = list(getattr(outcome, "interrupts", None) or ())

    @property
    def code(self) -> str | None:
        """The code of the error that it has ended with."""
        if self.refusal is not None:
            return self.refusal
        last = self.events[-1] if self.events else None
        return getattr(last, "code", None) if self._ended_as("RUN_ERROR") else None

    @property
    def outcome(self) -> str | None:
        """How it has ended, if it has."""
        if not self._ended_as("RUN_FINISHED"):
            return None
        outcome = getattr(self.events[-1], "outcome", None)
        return outcome.type if outcome is not None else "success"

    @property
    def shows_no_run(self) -> bool:
        """Whether it has shown the thread alone."""
        return self.outcome in ("success", "interrupt") and "STEP_STARTED" not in self._types()

    @property
    def has_shown(self) -> bool:
        """Whether its tab has been shown the thread: it was neither refused nor broken."""
        return not self.is_broken and self.code not in {*REFUSALS, "run_lost"}

    def _ended_as(self, kind: str) -> bool:
        return not self.is_broken and bool(self.events) and self.events[-1].type.value == kind


@dataclass
class Run:
    """A run of a tab, and those who joined it.

    Attributes:
        is_killed: Whether it was killed.
    """

    main: Stream
    joined: list[Stream] = field(default_factory=list)
    is_killed: bool = False

    @property
    def streams(self) -> list[Stream]:
        return [self.main, *self.joined]

    @property
    def tabs(self) -> list[Tab]:
        return [stream.tab for stream in self.streams]


class Conversation:
    """One thread, and the tabs that show it.

    Attributes:
        counts: How often each kind of step was played.
    """

    def __init__(self, house: House, client: httpx2.AsyncClient, mode: str) -> None:
        self._house, self._client, self._mode = house, client, mode
        self.thread = uuid4().hex[:8]
        self._stage = Stage(house.room, self.thread)
        self._tabs = [Tab(number) for number in range(TABS)]
        self._judge = Judge()
        self._kept = Kept([], {}, [])
        self._open: Seen = Seen([], {})
        self._number = 0
        self._requests = 0
        self._is_unsettled = False
        self.counts: Counter[str] = Counter()

    async def play(self, plan: Plan) -> None:
        """Play all steps; a broken rule names the step."""
        for number, step in enumerate(plan.steps):
            try:
                await self._play(step)
            except BaseException as error:
                error.add_note(f"at step {number + 1}, {step!r} of\n{script(plan)}")
                raise
            self.counts[type(step).__name__] += 1

    # -- requests ---------------------------------------------------------------------------------

    def _url(self, tab: Tab, path: str = "") -> str:
        return f"{self._house.url(tab.number)}/{self._mode}{path}"

    def _input(self, tab: Tab, messages: Sequence[Message], **fields: Any) -> RunAgentInput:
        fields = {"state": tab.state, "tools": [PICK], **fields}
        return run_input(*messages, thread=self.thread, **fields)

    def _follow(self, tab: Tab) -> Stream:
        stream = Stream(tab, self._input(tab, tab.messages))
        stream.start(self._client, self._url(tab, "/connect"))
        return stream

    async def _run(self, given: RunAgentInput, tab: Tab, meanwhile: Sequence[Meanwhile]) -> Run:
        """Run, with what happens meanwhile, and wait until all is over."""
        tab.request = given
        while True:
            self._stage.shut()
            run = Run(Stream(tab, given))
            run.main.start(self._client, self._url(tab))
            await self._until_it_waits(run.main)
            if not (self._is_unsettled and run.main.refusal == "thread_busy"):
                break
            await asyncio.sleep(0.01)
        self._is_unsettled = False
        if self._stage.is_waiting and not run.main.is_done:
            await run.main.begun()
            for act in meanwhile:
                await self._do(act, run)
                self.counts[type(act).__name__] += 1
        self._stage.open()
        for stream in run.streams:
            await stream.end()
        return run

    async def _until_it_waits(self, stream: Stream) -> None:
        await eventually(lambda: self._stage.is_waiting or stream.is_done, "it waits or ends")

    async def _do(self, act: Meanwhile, run: Run) -> None:
        match act:
            case Join():
                await self._join(act, run)
            case Disturb():
                await self._disturb(act, run)
            case Cancel():
                await self._cancel(act, run)
            case Drop():
                await self._drop(run)
            case Kill():
                await self._kill(run)

    async def _join(self, act: Join, run: Run) -> None:
        tab = self._tabs[act.tab]
        if tab in run.tabs:
            return
        if act.fresh or self._has_other_calls(tab, run):
            self._forget(tab)
        await self._until_it_is_known(run, tab.number)
        stream = self._follow(tab)
        run.joined.append(stream)
        await stream.begun()

    def _has_other_calls(self, tab: Tab, run: Run) -> bool:
        """Return whether a tab has calls that neither the thread nor the tab of a run has: the run
        may give their ids to calls of its own."""
        known = {one.id for one in (*self._open.messages, *run.main.held)}
        return any(holder not in known for _, holder in calls_in(tab.messages))

    async def _until_it_is_known(self, run: Run, worker: int) -> None:
        """Wait until another worker knows a run: it hears of it a moment later."""
        is_other = self._house.url(worker) != self._house.url(run.main.tab.number)
        while is_other and not run.main.is_done:
            stream = self._follow(Tab(worker))
            await stream.until_it_shows_a_run()
            if not stream.shows_no_run:
                await stream.drop()
                return
            await stream.end()

    async def _disturb(self, act: Disturb, run: Run) -> None:
        tab = self._tabs[act.tab]
        if tab in run.tabs:
            return
        stream = Stream(tab, self._input(tab, [*tab.messages, user("look #0")]))
        stream.start(self._client, self._url(tab))
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

    async def _drop(self, run: Run) -> None:
        # The worker that is looked at next would take the thread to be at rest.
        await self._until_it_is_known(run, run.main.tab.number + 1)
        await run.main.drop()
        self._is_unsettled = True

    async def _kill(self, run: Run) -> None:
        if self._house.can_kill:
            self._house.kill(run.main.tab.number)
            run.is_killed = self._is_unsettled = True

    @staticmethod
    def _forget(tab: Tab) -> None:
        tab.messages, tab.state, tab.interrupts, tab.is_ordered = [], {}, [], True

    # -- steps ------------------------------------------------------------------------------------

    async def _play(self, step: Step) -> None:
        match step:
            case Say():
                await self._say(step)
            case Edit():
                await self._edit(step)
            case Regenerate():
                await self._regenerate(step)
            case Answer():
                await self._answer(step)
            case Return():
                await self._return(step)
            case Repeat():
                await self._repeat(step)
            case Connect():
                await self._connect(step)
            case Restart():
                await self._restart(step)

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
            key = (said.id, str(said.content))
            await self._settle(run, words=str(said.content).split(), said=key)

    async def _edit(self, step: Edit) -> None:
        tab = self._tabs[step.tab]
        mine = [at for at, message in enumerate(tab.messages) if message.role == "user"]
        if not mine or self._open.interrupts:
            return
        place = mine[step.which % len(mine)]
        changed = user(self._text(step.words), tab.messages[place].id)
        sent = [*tab.messages[:place], changed]
        run = await self._run(self._input(tab, sent), tab, step.meanwhile)
        await self._settle(run, words=str(changed.content).split(), again=changed.id)

    async def _regenerate(self, step: Regenerate) -> None:
        tab = self._tabs[step.tab]
        mine = [at for at, message in enumerate(tab.messages) if message.role == "user"]
        if not mine or self._open.interrupts:
            return
        place = mine[step.which % len(mine)]
        asked = tab.messages[place]
        run = await self._run(self._input(tab, tab.messages[: place + 1]), tab, step.meanwhile)
        await self._settle(run, words=str(asked.content).split(), again=asked.id)

    async def _answer(self, step: Answer) -> None:
        tab = self._tabs[step.tab]
        if not tab.interrupts:
            return
        entries = []
        for at, asked in enumerate(tab.interrupts):
            decision = step.decisions[at % len(step.decisions)]
            entries.append(self._entry(asked, decision))
        is_stale = {one.id for one in tab.interrupts} != set(self._open.interrupts)
        items = [item for _, item in entries if item]
        if not is_stale:
            self._judge.approved.update(items)
        given = self._input(tab, tab.messages, resume=[entry for entry, _ in entries])
        run = await self._run(given, tab, step.meanwhile)
        # Words that were refused are heard with what the tab sends next.
        is_unheard = bool(given.messages) and given.messages[-1].role == "user"
        await self._settle(run, may_run=not is_stale or is_unheard)

    @staticmethod
    def _entry(asked: Any, decision: str) -> tuple[dict[str, Any], str | None]:
        """An entry of `resume`, and the arguments that it approves."""
        entry = {"interruptId": asked.id, "status": "resolved"}
        item = asked.metadata["args"]["item"]
        match decision:
            case "approve":
                return {**entry, "payload": {"approved": True}}, item
            case "edit":
                edited = {"approved": True, "editedArgs": {"item": f"{item}-edited"}}
                return {**entry, "payload": edited}, f"{item}-edited"
            case "reject":
                return {**entry, "payload": {"approved": False}}, None
            case "respond":
                return {**entry, "payload": {"type": "respond", "message": "I did."}}, None
        return {**entry, "status": "cancelled"}, None

    async def _return(self, step: Return) -> None:
        tab = self._tabs[step.tab]
        calls = tab.pending if step.all else tab.pending[:1]
        if not calls or self._open.interrupts:
            return
        results = [
            ToolMessage(id=f"r-{uuid4().hex[:8]}", role="tool", tool_call_id=one, content="picked")
            for one in calls
        ]
        is_stale = tab.pending != self._open.open_calls
        may_run = not is_stale and len(calls) == len(tab.pending)
        run = await self._run(self._input(tab, [*tab.messages, *results]), tab, step.meanwhile)
        await self._settle(run, may_run=may_run or None)

    async def _repeat(self, step: Repeat) -> None:
        tab = self._tabs[step.tab]
        if tab.request is None:
            return
        given = tab.request
        run = await self._run(given, tab, ())
        last = given.messages[-1] if given.messages else None
        again = last.id if last is not None and last.role == "user" else None
        await self._settle(run, may_run=None, again=again)

    async def _connect(self, step: Connect) -> None:
        tab = self._tabs[step.tab]
        if step.fresh:
            self._forget(tab)
        run = Run(self._follow(tab))
        await run.main.end()
        require("stream", run.main.outcome, f"connect ended with {run.main.code}")
        await self._settle(run, may_run=False)

    async def _restart(self, step: Restart) -> None:
        if self._house.can_kill:
            self._house.kill(step.worker)
            self._is_unsettled = True

    # -- after a step -----------------------------------------------------------------------------

    async def _settle(
        self,
        run: Run,
        *,
        may_run: bool | None = True,
        words: Sequence[str] = (),
        said: tuple[str, str] | None = None,
        again: str | None = None,
    ) -> None:
        """Look at what everybody holds, and let the judge judge."""
        fresh, kept = await self._look(run.main.tab.number + 1)
        end = time.monotonic() + LATE
        was_stopped = run.main.is_broken or run.main.outcome == "cancelled"
        while was_stopped and time.monotonic() < end:
            told, has = told_and_kept(fresh, kept)
            if told == has and fresh.state == kept.state:
                break
            fresh, kept = await self._look(run.main.tab.number + 1)
        sent = [json.loads(line) for line in self._stage.lines("seen")]
        new, self._requests = sent[self._requests :], len(sent)
        turns = [words_in(request) for request in ([] if words else self._kept.messages, *new)]
        if "blocked" in words:  # the hooks at the end see the turn before
            turns.append(words_in(kept.messages))
        happened = Happened(
            before=self._kept,
            after=kept,
            sent=new,
            words=[*words, *(word for turn in turns for word in turn)],
            asked_again=again,
            said=said,
            is_killed=run.is_killed,
            may_run=may_run is not False,
        )
        self._judge.step(happened, self._stage.lines("ran"))
        self._judge.fresh(fresh, kept)
        for stream in run.streams:
            self._check_end(stream, run, happened)
            if stream.has_shown:
                self._judge_tab(stream, run, fresh)
                continue
            if stream.is_broken:
                self._judge.cut(stream.tab.messages)
                stream.tab.is_ordered = False
        self._kept, self._open = kept, fresh

    def _judge_tab(self, stream: Stream, run: Run, fresh: Seen) -> None:
        tab, is_joined = stream.tab, stream is not run.main
        # Who joins a run gets the list of the tab that has begun it.
        tab.is_ordered = tab.is_ordered and (not is_joined or run.main.tab.is_ordered)
        tab.is_ordered = self._judge.tab(
            tab.name,
            tab.seen(),
            fresh,
            stream.held,
            is_cut=stream.code is not None or stream.outcome == "cancelled",
            has_run=stream.is_run,
            is_joined=is_joined,
        )

    async def _look(self, worker: int) -> tuple[Seen, Kept]:
        """What a fresh `connect` shows, and what the graph keeps."""
        while True:
            tab = Tab(worker)
            stream = self._follow(tab)
            await stream.end()
            # A run that its reader has left goes on, or has yet to stop.
            if stream.shows_no_run:
                break
            await asyncio.sleep(0.002)
        require("stream", stream.outcome, f"a fresh connect ended with {stream.code}")
        answer = await self._client.get(f"{self._house.url(worker)}/kept/{self.thread}")
        return tab.seen(), Kept(**answer.json())

    @staticmethod
    def _check_end(stream: Stream, run: Run, happened: Happened) -> None:
        """The stream has ended as it must: with an error only where the user has asked for one."""
        if stream.is_broken:
            require("stream", run.is_killed or stream is run.main, "the connection broke")
            return
        code = stream.code
        if code is None or code in REFUSALS:
            return
        fails = {"fail", "break"}.intersection("+".join(happened.words).split("+"))
        is_lost = code == "run_lost" and run.is_killed
        require("stream", fails or is_lost, f"{stream.tab.name}: {code}, {stream.events[-1]}")


async def hold(house: House, plan: Plan) -> Counter[str]:
    """Have a conversation; return how many steps of each kind it had."""
    async with httpx2.AsyncClient(timeout=PATIENCE, verify=False) as client:
        talked = Conversation(house, client, plan.mode)
        await talked.play(plan)
    return talked.counts


def converse(house: House, count: int, number: int | None = None) -> Counter[str]:
    """Have random conversations; return how many, and how many steps of each kind they had.

    Args:
        house: Where.
        count: How many.
        number: Chooses them; None for others each time.
    """
    played: Counter[str] = Counter()

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(kills=house.can_kill))
    def one(plan: Plan) -> None:
        played.update(asyncio.run(hold(house, plan)))
        played["conversations"] += 1

    (one if number is None else seed(number)(one))()
    return played

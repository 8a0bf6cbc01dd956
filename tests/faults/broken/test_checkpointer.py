"""Each call of the checkpointer fails once, and hangs once, in each kind of run. After each: one
terminal event; what is guarded has run at most once for an approval; the next turn works."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import AssistantMessage

from langgraph_agui import LangGraphAgent
from langgraph_agui.runs import run
from tests.kit.deep import DEPTH
from tests.kit.expect.faults import Case, each
from tests.kit.graphs.failing_checkpointers import Troubled
from tests.kit.graphs.pauses import KINDS, happened
from tests.kit.run.agents import record_run, run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client
from tests.kit.run.visitor import approved
from tests.kit.waiting import eventually

FAILS, HANGS = "the checkpointer fails", "the checkpointer hangs, and the client stops the run,"
ERROR, AT = "`RUN_ERROR` `state_error`", "at any of its calls"
RUNS = {  # and their kind of pause
    "a new message": "per_call",
    "a new message, an approval of several calls": "batched",
    "an answer to an interrupt": "per_call",
    "an answer, batched": "batched",
    "an answer for a subagent": "tool_batched",
    "an answer at a breakpoint": "breakpoint",
    "a cancel of what is open": "interrupt",
    "the same message again": "per_call",
    "an edited message": "per_call",
    "a thread that the server does not know": "per_call",
}
TOLD = {"an answer to an interrupt": f"{ERROR}; before the record, nothing has run"}
CONNECT = "connect"
CASES = [
    *(Case(f"{FAILS} {AT}", one, TOLD.get(one, ERROR), "", kind) for one, kind in RUNS.items()),
    *(Case(f"{HANGS} {AT}", one, "`RUN_FINISHED` `cancelled`", "", RUNS[one]) for one in RUNS),
    Case(f"{FAILS} {AT}", CONNECT, ERROR, "", "per_call"),
    Case(f"the checkpointer hangs {AT}", CONNECT, "nothing until it leaves", "", "per_call"),
]


class World:
    """A thread whose agent guards what it does, and the files in which it does it."""

    def __init__(self, home: Path, case: Case) -> None:
        home.mkdir()
        self.home, self.run, self.kind = home, case.run, case.injected
        self.saver = Troubled()
        self.agent = LangGraphAgent(KINDS[self.kind](self.saver))
        self.client = Client(self.agent)
        self.file, self.earlier = home / "happened", home / "earlier.1"

    async def ask(self, file: Path, yes: bool | None = None) -> Any:
        """Have something done, and approve it or not; return the answers to the questions."""
        questions = await self.client.ask(user(str(file), "u1"))
        answers = approved(questions), cancelled(*(one.id for one in questions))
        return answers if yes is None else await self.client.send(resume=answers[not yes])

    async def prepare(self) -> Any:
        """Bring the thread to where the run begins; return that run."""
        new, fields = list[Any](), dict[str, Any]()
        if self.run.startswith("a new message"):
            await self.ask(self.earlier, yes=False)
            new = [*self.client.held, user(str(self.file), "u2")]
        elif self.run in ("the same message again", "an edited message"):
            await self.ask(self.earlier, yes=True)
            new = [user(str(self.file if "edited" in self.run else self.earlier), "u1")]
        elif self.run.startswith("a thread"):
            said = AssistantMessage(id="a0", role="assistant", content="Hello.")
            new = [user("hello", "u0"), said, user(str(self.file), "u1")]
        else:
            yes, no = await self.ask(self.file)
            new, fields = self.client.held, {"resume": no if "cancel" in self.run else yes}
        self.saver.calls.clear()
        if self.run == CONNECT:
            return self.client.connect
        given = run_input(*new, thread="t", run="r", **fields)
        return lambda: record_run(self.agent, given)

    async def check_after(self) -> None:
        """What was approved once has happened at most once. What is open is denied, and the next
        turn works."""
        self.saver.well()
        current = {asyncio.current_task()}
        await eventually(lambda: asyncio.all_tasks() == current, "what the run has left has ended")
        ran, file = happened(self.file), self.home / "next.9"
        assert len(ran) == len(set(ran))
        shown = await self.client.connect()
        self.client.held = shown.messages
        # a question that could not be stored is asked when the others are answered
        while (shown.last.outcome and shown.last.outcome.type) == "interrupt":
            open_ = [one.id for one in shown.last.outcome.interrupts]
            shown = await self.client.send(resume=cancelled(*open_))
        questions = await self.client.ask(str(file))
        yes = resolved(*((one.id, {"approved": True}) for one in questions))
        assert (await self.client.send(resume=yes)).last.type.value == "RUN_FINISHED"
        assert happened(file) == ([1] if self.kind == "breakpoint" else [1, 2])
        assert happened(self.file) == ran


async def calls_of(case: Case, home: Path) -> list[int]:
    """The numbers of the calls of a run that has no trouble; if not deep, of the first read, list,
    write and so on."""
    world = World(home / "well", case)
    begin = await world.prepare()
    assert (await begin()).last.type.value == "RUN_FINISHED"
    names = world.saver.calls
    return [at for at, name in enumerate(names, 1) if DEPTH or name not in names[: at - 1]]


@each(CASES)
async def test_a_call(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_WRITE_TIMEOUT", 0.1)
    calls, hangs = await calls_of(case, tmp_path), "hangs" in case.fault
    for at in calls[-1:] if hangs and not DEPTH else calls:
        world = World(tmp_path / f"at{at}", case)
        begin = await world.prepare()
        world.saver.at, world.saver.hangs = at, hangs
        try:
            running = asyncio.create_task(begin())
            await eventually(world.saver.met.is_set, "the call is made")
            if not hangs:
                assert (await running).last.code == "state_error"
            elif case.run == CONNECT:
                running.cancel()
                await asyncio.wait({running})
            else:
                assert await world.agent.cancel("t", "r")
                assert (await running).last.type.value == "RUN_FINISHED"
            await world.check_after()
        except BaseException as error:
            error.add_note(f"call {at}: {world.saver.calls[:at]}")
            raise

"""The wall clock jumps: only deadlines of approvals look at it, and they are as late or early as it
is.

The clock is the machine's, which a test cannot set: `time.time` and the `datetime` that deadlines
are read with are shifted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import Self

import pytest

from langgraph_agui import ApprovalOptions
from langgraph_agui.protocol import wire
from tests.faults.slow.test_hanging import Hanging
from tests.kit.expect.faults import Case, each
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, approved, asked, ending
from tests.kit.waiting import wait_for

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Clock = Callable[[timedelta], None]

CASES = [
    Case(
        "the clock jumps a day ahead",
        "an approval within its hour",
        "`RUN_ERROR`, `interrupt_expired`",
        "interrupt_expired",
    ),
    Case(
        "the clock jumps a day back", "an approval within its hour", "all of its events", "success"
    ),
    Case("the clock jumps a day ahead", "a message", "all of its events", "success"),
    Case("the clock jumps a day back", "a message", "all of its events", "success"),
]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Shifts the clock."""
    shift, real = [timedelta()], time.time

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + shift[0]

    monkeypatch.setattr(time, "time", lambda: real() + shift[0].total_seconds())
    monkeypatch.setattr(wire, "datetime", Shifted)

    def jump(by: timedelta) -> None:
        shift[0] = by

    return jump


@each(CASES)
def test_the_clock_jumps(case: Case, clock: Clock) -> None:
    hanging = Hanging(approvals=ApprovalOptions(timeout=HOUR))
    by = DAY if case.fault.endswith("ahead") else -DAY
    with serving(hanging.app()) as served:
        visitor = Visitor(served)
        if case.run == "a message":
            stream = visitor.begin("grab")
            wait_for(lambda: hanging.begun, "the tool is at work")
            clock(by)
            hanging.let_go.set()
            recorded = visitor.keep(stream.rest())
        else:
            hanging.let_go.set()
            questions = asked(visitor.send("pay"))
            clock(by)
            recorded = visitor.send(resume=approved(questions))
        assert ending(recorded) == case.ending
        assert len(hanging.begun) == (ending(recorded) == "success")
        visitor.check_usable()

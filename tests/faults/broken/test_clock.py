"""The wall clock jumps: only deadlines of approvals look at it, and they are as late or early as it
is. `time.time` and the `datetime` that deadlines are read with are shifted."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from langgraph_agui import ApprovalOptions
from langgraph_agui.protocol import wire
from tests.faults.slow.test_hanging import Hanging
from tests.kit.expect.faults import Case, each
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, approved, asked, ending
from tests.kit.waiting import wait_for

AHEAD, BACK = "the clock jumps a day ahead", "the clock jumps a day back"
PAYS, ALL = "an approval within its hour", "all of its events"
CASES = [
    Case(AHEAD, PAYS, "`RUN_ERROR`, `interrupt_expired`", "interrupt_expired"),
    Case(BACK, PAYS, ALL, "success"),
    Case(AHEAD, "a message", ALL, "success"),
    Case(BACK, "a message", ALL, "success"),
]


@each(CASES)
def test_the_clock_jumps(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging, real = Hanging(approvals=ApprovalOptions(timeout=timedelta(hours=1))), time.time
    by = timedelta(days=1 if case.fault == AHEAD else -1)

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Shifted:
            return super().now(tz) + by  # type: ignore[arg-type]

    def jump() -> None:
        monkeypatch.setattr(time, "time", lambda: real() + by.total_seconds())
        monkeypatch.setattr(wire, "datetime", Shifted)

    with serving(hanging.app()) as served:
        visitor = Visitor(served)
        if case.run == "a message":
            stream = visitor.begin("grab")
            wait_for(lambda: hanging.begun, "the tool is at work")
            jump()
            hanging.let_go.set()
            recorded = visitor.keep(stream.rest())
        else:
            hanging.let_go.set()
            questions = asked(visitor.send("pay"))
            jump()
            recorded = visitor.send(resume=approved(questions))
        assert ending(recorded) == case.ending
        assert len(hanging.begun) == (ending(recorded) == "success")
        visitor.check_usable()

"""The rules that every run of `record_run` keeps."""

from __future__ import annotations

from langgraph_agui.testing import RecordedRun
from tests.kit.run import agents as streams


def checked(run: RecordedRun) -> RecordedRun:
    """Return a run that the kit has judged as well, strictly and beside its closing snapshot."""
    judged = streams.RecordedRun(run.events, run.input)
    assert streams.dumped(run.messages) == streams.dumped(judged.messages)
    assert run.state == judged.state
    if judged.of("MESSAGES_SNAPSHOT"):
        judged.check_snapshot()
    return run

"""The comparison that all streams of all tests go through can fail, and says whose stream it
was."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ReasoningMessage, RunStartedEvent

from tests.kit.expect.agreement import Agreement
from tests.kit.expect.differences import DIFFERENCES
from tests.kit.run.wire_events import STARTED, event, in_run, text


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (DIFFERENCES["retired events"].given, "events"),
        ([STARTED, event("NOVELTY")], "warnings"),
        ([STARTED, event("CUSTOM", name="n", value=1, sur_prise=1)], "warnings"),
    ],
)
def test_a_stream_that_differs_or_warns_is_named(stream: Any, kind: str) -> None:
    agreement = Agreement()
    agreement.record(in_run(*text("m", "fine")))
    agreement.record(stream)
    with pytest.raises(AssertionError, match=rf"that_differs_or_warns.*: {kind}: ") as caught:
        agreement.compare(everything=True)
    assert "fine" not in str(caught.value)


def test_streams_are_compared_once_with_what_was_held_before() -> None:
    agreement = Agreement()
    first, second = (
        [RunStartedEvent(thread_id="t", run_id=f"{run}c1e4dd2-9d3c-4b0b-8a52-6a1a4d0e0a01")]
        for run in (1, 2)
    )
    for stream in (first, second):
        agreement.record(stream, [ReasoningMessage(id="m", content="")], {"a": None})
    agreement.record(first)
    compared = [agreement.compare(everything=everything) for everything in (False, True, True)]
    assert compared == [0, 2, 0]

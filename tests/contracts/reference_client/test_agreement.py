"""The comparison that all streams of all tests go through can fail, and says whose stream it
was."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ReasoningMessage, RunStartedEvent

from tests.kit.expect.agreement import Agreement
from tests.kit.expect.differences import DIFFERENCES
from tests.kit.run.wire_events import STARTED, event, in_run, text


def test_a_stream_on_which_we_differ_is_named() -> None:
    agreement = Agreement()
    agreement.record(in_run(*text("m", "fine")))
    given = DIFFERENCES["retired events"].given
    assert isinstance(given, list)
    agreement.record(given)
    with pytest.raises(
        AssertionError, match=r"test_a_stream_on_which_we_differ_is_named.*: events"
    ) as caught:
        agreement.compare(everything=True)
    assert "fine" not in str(caught.value)


@pytest.mark.parametrize("one", [event("NOVELTY"), event("CUSTOM", name="n", value=1, sur_prise=1)])
def test_a_stream_of_which_both_warn_is_named(one: Any) -> None:
    agreement = Agreement()
    agreement.record([STARTED, one])
    with pytest.raises(AssertionError, match="warnings: "):
        agreement.compare(everything=True)


def test_streams_are_compared_once_with_what_was_held_before() -> None:
    agreement = Agreement()
    uuids = ["0b1e4dd2-9d3c-4b0b-8a52-6a1a4d0e0a01", "7c1e4dd2-9d3c-4b0b-8a52-6a1a4d0e0a02"]
    for run in uuids:
        agreement.record(
            [RunStartedEvent(thread_id="t", run_id=run)],
            [ReasoningMessage(id="m", content="")],
            {"a": None},
        )
    agreement.record([RunStartedEvent(thread_id="t", run_id=uuids[0])])
    assert agreement.compare(everything=False) == 0
    assert agreement.compare(everything=True) == 2
    assert agreement.compare(everything=True) == 0

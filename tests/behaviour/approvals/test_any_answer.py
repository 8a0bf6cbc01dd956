"""Anything at all as answers to a pause: nothing runs without a valid approval, and what is refused
has a code."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_agui.kernel.errors import ErrorCode
from tests.kit.deep import example_count
from tests.kit.graphs.pauses import Mode
from tests.kit.models.shapes import json_values
from tests.kit.run.dialogues import Dialogue
from tests.kit.run.thread_client import ending
from tests.rooms.interrupts.test_decisions import PAYLOADS, is_approval

CODES = {"success", "interrupt", *(one for one in ErrorCode if one.startswith("interrupt_"))}


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"in": value}
    return value


payloads = PAYLOADS | json_values | st.integers(1, 900).map(nested)
edited = payloads.map(
    lambda value: {"approved": True, "editedArgs": {"file": "", "amount": 1, "more": value}}
)
ids = st.sampled_from(["0", "1", "0~2", "1~1", "0:0", "~", ":", "x"])
entries = st.lists(
    st.tuples(ids, st.sampled_from(["resolved", "cancelled"]), payloads | edited), max_size=4
)


@settings(max_examples=example_count(12, 75), deadline=None)
@given(drawn=entries)
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_any_answers(mode: Mode, drawn: list[tuple[str, str, Any]]) -> None:
    with TemporaryDirectory() as home:
        dialogue = Dialogue(Path(home) / "happened", mode)
        questions = await dialogue.ask()
        names = dict(zip("01", questions, strict=True))
        for _, _, payload in drawn:
            if isinstance(payload, dict) and isinstance(args := payload.get("editedArgs"), dict):
                args["file"] = str(dialogue.file)
        make = ResumeEntry.model_construct
        answers = [
            make(interrupt_id=_named(one, names), status=status, payload=payload)
            for one, status, payload in drawn
        ]
        approved = {one for one, *said in drawn if one in "01" and _lets_run(*said)}
        for _ in range(2):
            recorded = await dialogue.send(resume=answers)
            assert ending(recorded) in CODES, recorded.last
            assert len(dialogue.happened) <= len(approved)


def _named(drawn: str, names: dict[str, str]) -> str:
    return names[drawn[0]] + drawn[1:] if drawn[0] in names else drawn


def _lets_run(status: str, payload: Any) -> bool:
    says = is_approval(payload) or (isinstance(payload, dict) and payload.get("approved") is True)
    return says and status == "resolved"

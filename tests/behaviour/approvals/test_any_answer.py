"""Anything at all as answers to a pause: nothing runs without a valid approval, and what is refused
has a code."""

from __future__ import annotations

from functools import reduce
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


def edit(value: Any) -> dict[str, Any]:
    return {"approved": True, "editedArgs": {"file": "", "amount": 1, "more": value}}


nested = st.integers(1, 900).map(lambda depth: reduce(lambda v, _: {"in": v}, range(depth), {}))  # type: ignore[arg-type, return-value]
payloads = PAYLOADS | json_values | nested
ids = st.sampled_from(["0", "1", "0~2", "1~1", "0:0", "~", ":", "x"])
statuses = st.sampled_from(["resolved", "cancelled"])
entries = st.lists(st.tuples(ids, statuses, payloads | payloads.map(edit)), max_size=4)


@settings(max_examples=example_count(12, 75), deadline=None)
@given(drawn=entries)
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_any_answers(mode: Mode, drawn: list[tuple[str, str, Any]]) -> None:
    with TemporaryDirectory() as home:
        chat = Dialogue(Path(home) / "happened", mode)
        names, answers, approved = dict(zip("01", await chat.ask(), strict=True)), [], set()
        for one, status, payload in drawn:
            if isinstance(payload, dict) and isinstance(args := payload.get("editedArgs"), dict):
                args["file"] = str(chat.file)
            asked = names.get(one[0], one[0]) + one[1:]
            answers.append(
                ResumeEntry.model_construct(interrupt_id=asked, status=status, payload=payload)
            )
            says = isinstance(payload, dict) and payload.get("approved") is True
            if one in names and status == "resolved" and (says or is_approval(payload)):
                approved.add(one)
        for _ in range(2):
            recorded = await chat.send(resume=answers)
            assert ending(recorded) in CODES, recorded.last
            assert len(chat.happened) <= len(approved)

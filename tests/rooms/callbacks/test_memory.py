"""What a handler holds of runs that have ended: nothing."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from langchain_core.output_parsers import StrOutputParser

from langgraph_agui.callbacks import handler
from tests.kit.models.scripted import Scripted
from tests.kit.run.handlers import ReceivedEvents


@pytest.mark.parametrize(
    "make", [lambda model: model, lambda model: model | StrOutputParser()], ids=["model", "chain"]
)
async def test_a_task_that_lives_on_holds_no_run(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Noted(handler.RunEvents):
        def __init__(self, *args: Any, **fields: Any) -> None:
            super().__init__(*args, **fields)
            made.append(weakref.ref(self))

    monkeypatch.setattr(handler, "RunEvents", Noted)
    received = ReceivedEvents()
    for _ in range(5):
        await make(Scripted(["a"])).ainvoke("hi", received.config)
    received.check()
    gc.collect()
    assert [one() for one in made] == [None] * 5

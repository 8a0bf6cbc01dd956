"""Options of an agent that have a few values: any other is refused, and not taken for one of
them."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_agui import LangGraphAgent
from tests.adapter.graphs import chain_of, talker
from tests.adapter.models import Scripted

CHOICES: dict[str, tuple[str, ...]] = {
    "client_instructions": ("ignore", "accept"),
    "input_while_paused": ("refuse", "cancel_and_continue"),
    "on_busy": ("refuse", "wait"),
    "on_disconnect": ("cancel", "continue"),
    "approvals": ("interrupt", "tool_call"),
    "subagents": ("attributed", "inline", "hidden"),
}


@pytest.mark.parametrize("option", CHOICES)
def test_an_unknown_value_is_refused(option: str) -> None:
    graph = chain_of(talker(Scripted(["hi"])))
    for value in CHOICES[option]:
        LangGraphAgent(graph, **{option: value})  # type: ignore[arg-type]
    wrong: tuple[Any, ...] = (True, "Accept", None)
    for value in wrong:
        with pytest.raises(
            ValueError, match=f"{option} must be one of .*, not {value!r}"
        ) as caught:
            LangGraphAgent(graph, **{option: value})
        assert all(repr(known) in str(caught.value) for known in CHOICES[option])

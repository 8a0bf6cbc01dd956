"""Clients of an agent whose tool `spend` is guarded, in each mode of LangChain's middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langgraph_agui import ApprovalOptions
from tests.kit.graphs.pauses import Mode
from tests.kit.run.dialogues import Dialogue


@pytest.fixture(params=["batched", "per_call"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def make(mode: Mode, tmp_path: Path) -> Iterator[Callable[..., Dialogue]]:
    """Makes a client: by the allowed decisions, options of the agent, and those of approvals. Every
    request of its model is one that providers take."""
    all_made = []

    def made(*decisions: str, options: dict[str, Any] | None = None, **approvals: Any) -> Dialogue:
        options = {**(options or {}), "approvals": ApprovalOptions(**approvals)}
        all_made.append(Dialogue(tmp_path / "happened", mode, decisions, options))
        return all_made[-1]

    yield made
    for one in all_made:
        one.check_model()

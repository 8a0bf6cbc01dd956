"""Clients of an agent whose tool `spend` is guarded, in each mode of LangChain's middleware."""

from __future__ import annotations

from collections.abc import Callable
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
def make(mode: Mode, tmp_path: Path) -> Callable[..., Dialogue]:
    """Makes a client: by the allowed decisions, options of the agent, and those of approvals."""

    def made(*decisions: str, options: dict[str, Any] | None = None, **approvals: Any) -> Dialogue:
        options = {**(options or {}), "approvals": ApprovalOptions(**approvals)}
        return Dialogue(tmp_path / "happened", mode, decisions, options)

    return made

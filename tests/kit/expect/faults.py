"""The faults that tests inject, for the table in the docs: one `Case` for each fault and kind of
run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kit.deep import deep


@dataclass(frozen=True)
class Case:
    """A fault, the kind of run that it meets, what the client of that run gets, and how the run ends:
    the type of its outcome, the code of its error, or "closed"."""

    fault: str
    run: str
    client: str
    ending: str
    injected: Any = None
    deep: bool = False

    @property
    def name(self) -> str:
        return f"{self.fault}, {self.run}".replace(" ", "-")


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Run a test with each case, as `case`."""
    given = [pytest.param(case, id=case.name, marks=[deep] if case.deep else []) for case in cases]
    return pytest.mark.parametrize("case", given)

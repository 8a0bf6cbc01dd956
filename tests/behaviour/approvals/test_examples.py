"""The examples do what was approved."""

from __future__ import annotations

import runpy
import sys
from typing import Any

import pytest

from examples.email_desk.main import outbox


@pytest.fixture
def lines_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(example: str, *args: str) -> list[str]:
        """What `python -m` prints."""
        monkeypatch.setattr(sys, "argv", [example, *args])
        runpy.run_module(f"examples.{example}.__main__", run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_the_manager_approves_expenses(lines_of: Any) -> None:
    lines = lines_of("expense_approval", "--ask-by", "tool_call")
    assert lines[-1] == "done: booked 1500 for Ada, booked 600 for Ben"
    audit = [line.partition("AUDIT manager@example.com: ")[2] for line in lines if "AUDIT" in line]
    assert audit == [
        'approve book_expense {"employee": "Ada", "amount": 1500}',
        'edit book_expense {"employee": "Ben", "amount": 600}',
        'reject delete_records {"year": 2019}',
    ]
    assert "\n".join(lines).count("\n  agent calls request_approval") == 3
    assert not any("deleted" in line or "error" in line for line in lines)
    assert "AUDIT" in next(one for one in lines if "AUDIT" in one or one.startswith("  result of"))


def test_the_email_desk(lines_of: Any) -> None:
    outbox.clear()
    lines = lines_of("email_desk")
    assert lines[-1] == "sent: I will come at half past., I will come at ten, as you wish."
    kinds = [line.rpartition(": ")[2] for line in lines if line.startswith("  asked")]
    assert kinds == ["edit", "response", "accept", "ignore"]

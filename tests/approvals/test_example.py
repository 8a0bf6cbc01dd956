"""The example runs from a clone, and does what was approved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deep import each_value

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("ask_by", ["auto", "tool_call"])
@pytest.mark.parametrize(
    "start", [["-m", "examples.expense_approval"], ["examples/expense_approval/main.py"]], ids=str
)
@each_value()
def test_what_the_manager_approves_is_done(start: list[str], ask_by: str) -> None:
    command = [sys.executable, *start, "--ask-by", ask_by]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "done: booked 1500 for Ada, booked 600 for Ben"
    audit = [line.partition("AUDIT manager@example.com: ")[2] for line in lines if "AUDIT" in line]
    assert audit == [
        'approve book_expense {"employee": "Ada", "amount": 1500} (call-0)',
        'edit book_expense {"employee": "Ben", "amount": 600} (call-1)',
        'reject delete_records {"year": 2019} (call-2)',
    ]
    asks = [line for line in lines if line.startswith("  agent calls request_approval")]
    assert len(asks) == (3 if ask_by == "tool_call" else 0)
    assert not any("deleted" in line or "error" in line for line in lines)
    audited, results = (
        lines.index(next(line for line in lines if "AUDIT" in line)),
        [number for number, line in enumerate(lines) if line.startswith("  result of")],
    )
    assert audited < min(results)

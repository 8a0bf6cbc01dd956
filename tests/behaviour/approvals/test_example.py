"""The example runs from a clone, and does what was approved."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.kit.deep import each_value
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import user


@pytest.mark.parametrize("ask_by", ["auto", "tool_call"])
@each_value()
def test_what_the_manager_approves_is_done(ask_by: str) -> None:
    command = [sys.executable, "-m", "examples.expense_approval", "--ask-by", ask_by]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "done: booked 1500 for Ada, booked 600 for Ben"
    audit = [line.partition("AUDIT manager@example.com: ")[2] for line in lines if "AUDIT" in line]
    assert audit == [
        'approve book_expense {"employee": "Ada", "amount": 1500}',
        'edit book_expense {"employee": "Ben", "amount": 600}',
        'reject delete_records {"year": 2019}',
    ]
    asks = [line for line in lines if line.startswith("  agent calls request_approval")]
    assert len(asks) == (3 if ask_by == "tool_call" else 0)
    assert not any("deleted" in line or "error" in line for line in lines)
    audited, results = (
        lines.index(next(line for line in lines if "AUDIT" in line)),
        [number for number, line in enumerate(lines) if line.startswith("  result of")],
    )
    assert audited < min(results)


def test_the_reference_client_at_the_served_desk(node_client: NodeClient) -> None:
    with running("serve", "examples.expense_approval.main:agent", cwd=ROOT) as url:
        asked = user("Book them.", "u1").model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="desk", messages=[asked], state={})
        assert run.accepted
        assert run.warnings == []
        called = [one["function"]["name"] for one in run.messages[-1]["toolCalls"]]
        assert called == ["book_expense", "book_expense", "delete_records"]

"""A pause at a remote agent's question outlives the process of the local graph."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from ag_ui.core import Event, ResumeEntry, RunAgentInput
from pydantic import TypeAdapter

from tests.behaviour.client.remote.test_asking import Bank, once
from tests.kit.deep import deep
from tests.kit.paths import ROOT
from tests.kit.processes.remote_agents import Host
from tests.kit.run.agents import RecordedRun, run_input, user

pytestmark = deep

EVENT: TypeAdapter[Event] = TypeAdapter(Event)


async def run(database: Path, url: str, given: RunAgentInput) -> RecordedRun:
    """One run, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.kit.processes.paused_remote",
        str(database),
        url,
        given.model_dump_json(),
    ]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    recorded = RecordedRun(
        [EVENT.validate_python(json.loads(line)) for line in done.stdout.splitlines()], given
    )
    recorded.check_snapshot()
    return recorded


async def test_paused_restarted_and_resumed(host: Host, tmp_path: Path) -> None:
    bank, database = Bank(host, *once()), tmp_path / "local.sqlite"
    asked = await run(database, bank.url, run_input(user("pay", "u1"), thread="local"))
    (one,) = asked.last.outcome.interrupts
    assert one.tool_call_id == "t1"
    assert bank.sent == []

    answer = ResumeEntry(interrupt_id=one.id, status="resolved", payload={"approved": True})
    ended = await run(
        database, bank.url, run_input(*asked.messages, thread="local", resume=[answer])
    )
    assert ended.last.outcome.type == "success"
    assert [message.role for message in ended.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [message.id for message in ended.messages][:2] == [
        message.id for message in asked.messages
    ]
    assert ended.messages[-1].content == "Done."
    assert bank.sent == [5]

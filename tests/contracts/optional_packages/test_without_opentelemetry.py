"""Without OpenTelemetry, and with its API alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.kit.paths import ROOT

PROGRAM = """
import sys
sys.modules["{blocked}"] = None
import asyncio
import logging
from langgraph_agui import RunLimits
from langgraph_agui.protocol import Verifier
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import collect, run_input

logging.basicConfig(format="%(thread_id)s %(run_id)s %(code)s")

async def main():
    for turn in (["a", "b"], ["a", ValueError("no")]):
        given = run_input("hi", thread="t", run="r")
        events = await collect(agent_of(talker(Scripted(turn)), limits=RunLimits(unread=1_000)).run(given))
        verifier = Verifier(strict=True, input=given)
        for event in events:
            verifier.feed(event)
        verifier.finish()
        print(events[-1].type.value)

asyncio.run(main())
print(any(name.startswith("opentelemetry") and module for name, module in sys.modules.items()))
"""


@pytest.mark.parametrize(
    ("blocked", "imported"), [("opentelemetry", False), ("opentelemetry.sdk", True)]
)
def test_an_agent_runs(blocked: str, imported: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(blocked=blocked)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == ["RUN_FINISHED", "RUN_ERROR", str(imported)], done.stderr
    assert "t r model_error" in done.stderr

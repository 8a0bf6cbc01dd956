"""Each row of the table in docs/reference/clients.md has a test, which takes its options from the
row."""

from __future__ import annotations

import re

from fastapi import FastAPI

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.client import AGUISession
from tests.contracts.generations.test_matrix import transferring
from tests.kit.expect.front_ends import options_for, table
from tests.kit.paths import ROOT
from tests.kit.processes.serving import serving

NAMED = re.compile(r'\boptions_for\(\s*"([^"]+)"\s*\)')


def test_each_row_has_a_test_and_names_options_of_an_agent():
    texts = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
    assert {row for text in texts for row in NAMED.findall(text)} == set(table())
    groups = {name for row in table() for name in options_for(row)}
    assert groups == {"approvals", "clients", "reasoning"}


def test_a_session_of_this_library():
    app = FastAPI()
    options = options_for("AGUISession and AGUIClient, of this library")
    app.include_router(agui_router(LangGraphAgent(transferring(), **options), "/agent"))
    with serving(app) as served:
        session = AGUISession(served.url("/agent"))
        session.send("send 5").wait()
        [asked] = session.interrupts
        session.resume({asked.id: {"approved": True}}).wait()
    assert [one.content for one in session.messages[-2:]] == ["sent 5", "Done."]

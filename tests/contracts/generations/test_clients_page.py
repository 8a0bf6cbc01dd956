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


def test_each_row_has_a_test() -> None:
    paths = (ROOT / "tests").rglob("*.py")
    named = {row for path in paths for row in NAMED.findall(path.read_text())}
    assert named == set(table())


def test_each_row_names_options_of_an_agent() -> None:
    groups = {name for row in table() for name in options_for(row)}
    assert groups == {"approvals", "clients", "reasoning"}


def test_a_session_of_this_library() -> None:
    app = FastAPI()
    options = options_for("AGUISession and AGUIClient, of this library")
    app.include_router(agui_router(LangGraphAgent(transferring(), **options), "/agent"))
    with serving(app) as served:
        session = AGUISession(served.url("/agent"))
        for _ in session.send("send 5"):
            pass
        [asked] = session.interrupts
        for _ in session.resume({asked.id: {"approved": True}}):
            pass
    assert [one.content for one in session.messages[-2:]] == ["sent 5", "Done."]

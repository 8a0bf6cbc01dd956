"""Front ends that talk through another `HttpAgent` than their own.

`npm install @assistant-ui/react-ag-ui @ag-ui/client` gives them that of 1.0.0 today. It says that
it knows 1.0, but what it passes on is read by the front end, which does not. An option of the agent
helps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from examples.frontends import server
from langgraph_agui import LangGraphAgent
from tests.contracts.frontends.pages import (
    FrontEnd,
    NewClientAssistantUI,
    NewClientCopilotKit,
    OwnClientCopilotKit,
    site,
)
from tests.kit.processes.building import PAGES, build, page_with_new_client

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(
    scope="module",
    params=[NewClientAssistantUI, NewClientCopilotKit, OwnClientCopilotKit],
    ids=lambda kind: kind.name,
)
def kind(request: pytest.FixtureRequest) -> type[FrontEnd]:
    build(PAGES / "plain")  # its client
    build(
        page_with_new_client() if request.param is NewClientAssistantUI else request.param.directory
    )
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def front(kind: type[FrontEnd], browser: Browser) -> Iterator[FrontEnd]:
    agent = LangGraphAgent(graph=server.graph, **kind.options)
    with site(kind, agent) as served, served.opened(browser) as front:
        yield front


def test_each_thought_is_shown_once(front: FrontEnd) -> None:
    front.send("hello")
    front.shows_answers("Let me see …You said: hello")
    front.shows_thoughts("They ask about hello.")
    front.send("weather Rome")
    front.shows_answers("Let me see …You said: hello", "Done: Sunny in Rome")
    front.shows_thoughts("They ask about hello.", "They ask about weather Rome.")


def test_the_run_goes_on_after_a_tool_of_the_page(front: FrontEnd) -> None:
    front.send("paint red")
    front.shows_answers("Done: The page is red.")


def test_the_state_does_not_end_the_runtime(front: FrontEnd) -> None:
    notes = ["three litres of fresh milk", "two loaves of rye bread"]
    front.send(f"note {notes[0]}")
    front.shows_answers("Done: Noted.")
    front.send(f"note {notes[1]}")
    front.shows_answers("Done: Noted.", "Done: Noted.")
    front.shows_notes(*notes)
    assert front.runtime is None or front.runtime.alive


def test_an_approval_and_a_question(front: FrontEnd) -> None:
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Approve")
    front.shows_answers("Done: Sent 5 to Ada")
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.answer("window")
    front.shows_answers("Done: Sent 5 to Ada", "Done: Booked for IC1: window")

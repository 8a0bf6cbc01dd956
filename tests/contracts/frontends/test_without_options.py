"""Why front ends need the options of docs/reference/clients.md: what their users see without."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from examples.frontends import server
from langgraph_agui import ClientOptions, LangGraphAgent
from tests.contracts.frontends.pages import (
    AssistantUI,
    FrontEnd,
    NewClientAssistantUI,
    NewClientCopilotKit,
    site,
)
from tests.kit.processes.building import PAGES, build, page_with_new_client
from tests.kit.waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("kind", [AssistantUI, NewClientAssistantUI])
def test_assistant_ui_does_not_see_questions_that_events_ask(
    kind: type[FrontEnd], browser: Browser
) -> None:
    build(page_with_new_client() if kind is NewClientAssistantUI else kind.directory)
    agent = LangGraphAgent(graph=server.graph, clients=ClientOptions(protocol="0.x"))
    with site(kind, agent) as served, served.opened(browser) as front:
        front.send("book IC1")
        front.shows_calls("book_seat")
        front.rests()
        front.shows_no_question()


@pytest.mark.parametrize("kind", [NewClientAssistantUI])
def test_assistant_ui_shows_thoughts_twice_if_its_client_speaks_1_0(
    kind: type[FrontEnd], browser: Browser
) -> None:
    build(page_with_new_client())
    agent = LangGraphAgent(graph=server.graph)
    with site(kind, agent) as served, served.opened(browser) as front:
        front.send("hello")
        front.shows_thoughts(*["They ask about hello."] * 2)


@pytest.mark.parametrize("kind", [NewClientCopilotKit])
def test_copilotkits_runtime_ends_if_its_client_speaks_1_0(
    kind: type[FrontEnd], browser: Browser
) -> None:
    build(PAGES / "plain")  # its client
    build(kind.directory)
    agent = LangGraphAgent(graph=server.graph)
    with site(kind, agent) as served:
        runtime, page = served.runtime, browser.new_page()
        assert runtime is not None
        page.goto(f"{served.url}#{uuid4()}")
        front = kind(page)
        front.send("note three litres of fresh milk")
        front.shows_answers("Done: Noted.")
        front.send("note two loaves of rye bread")
        wait_for(lambda: not runtime.alive, "the runtime has ended")
        page.close()

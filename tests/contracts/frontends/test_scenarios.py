"""What users do, in each front end's own chat, with the agent of `examples/frontends/server.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from langchain_core.messages import ToolMessage
from playwright.sync_api import expect

from examples.frontends import server
from langgraph_agui import LangGraphAgent
from tests.contracts.frontends.pages import FrontEnd, Plain, Site, site

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def served(kind: type[FrontEnd]) -> Iterator[Site]:
    agent = LangGraphAgent(graph=server.graph, name="assistant", **kind.options)
    with site(kind, agent) as served:
        yield served


@pytest.fixture
def front(served: Site, browser: Browser) -> Iterator[FrontEnd]:
    with served.opened(browser) as front:
        yield front


def results(front: FrontEnd) -> list[ToolMessage]:
    """The tools' results, as the graph has them."""
    state = server.graph.get_state({"configurable": {"thread_id": front.thread_id}})
    return [message for message in state.values["messages"] if isinstance(message, ToolMessage)]


def said(text: str) -> str:
    return f"Let me see …You said: {text}"


def test_text_and_reasoning(front: FrontEnd) -> None:
    front.send("hello")
    front.shows_answers(said("hello"))
    front.shows_thoughts("They ask about hello.")
    front.send("hello again")
    front.shows_answers(said("hello"), said("hello again"))
    front.shows_thoughts("They ask about hello.", "They ask about hello again.")


def test_tools(front: FrontEnd) -> None:
    front.send("weather Rome")
    front.shows_answers("Done: Sunny in Rome")
    front.shows_calls("get_weather")
    front.send("weather Oslo")
    front.shows_answers("Done: Sunny in Rome", "Done: Sunny in Oslo")
    front.shows_calls("get_weather", "get_weather")
    front.shows_thoughts("They ask about weather Rome.", "They ask about weather Oslo.")


def test_an_approval_that_is_given(front: FrontEnd) -> None:
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Approve")
    front.shows_answers("Done: Sent 5 to Ada")
    front.shows_no_question()
    front.send("hello")
    front.shows_answers("Done: Sent 5 to Ada", said("hello"))
    assert [result.text for result in results(front)] == ["Sent 5 to Ada"]


def test_an_approval_that_is_refused(front: FrontEnd) -> None:
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Reject")
    expect(front.page.locator(front.answers)).to_contain_text(["Done: User rejected"])
    front.shows_no_question()
    front.send("hello")
    expect(front.page.locator(front.answers)).to_contain_text(
        ["Done: User rejected", said("hello")]
    )
    assert [result.status for result in results(front)] == ["error"]


def test_a_question(front: FrontEnd) -> None:
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.answer("window")
    front.shows_answers("Done: Booked for IC1: window")
    front.shows_no_question()
    assert [result.text for result in results(front)] == ["Booked for IC1: window"]


def test_a_tool_of_the_page(front: FrontEnd) -> None:
    front.send("paint red")
    front.shows_answers("Done: The page is red.")
    expect(front.page.locator("body")).to_have_css("background-color", "rgb(255, 0, 0)")
    front.send("paint blue")
    front.shows_answers("Done: The page is red.", "Done: The page is blue.")
    front.shows_calls("set_background", "set_background")
    assert [result.text for result in results(front)] == ["The page is red.", "The page is blue."]


def test_state_both_ways_twice(front: FrontEnd) -> None:
    # Long enough that a change is sent as a patch: CopilotKit's runtime has died of patches.
    milk, bread, eggs, tea = (
        "three litres of fresh milk",
        "two loaves of rye bread",
        "a dozen eggs",
        "some green tea",
    )
    front.send(f"note {milk}")
    front.shows_notes(milk)
    front.add_note(bread)
    front.send("notes")
    front.shows_answers("Done: Noted.", f"Done: {milk}, {bread}")
    front.send(f"note {eggs}")
    front.shows_answers("Done: Noted.", f"Done: {milk}, {bread}", "Done: Noted.")
    front.shows_notes(milk, bread, eggs)
    front.add_note(tea)
    front.send("notes")
    front.shows_answers(
        "Done: Noted.",
        f"Done: {milk}, {bread}",
        "Done: Noted.",
        f"Done: {milk}, {bread}, {eggs}, {tea}",
    )
    front.shows_notes(milk, bread, eggs, tea)


def test_a_subagent(front: FrontEnd) -> None:
    front.send("research cats")
    front.shows_answers("Much is known about cats.", "Done: Much is known about cats.")
    front.shows_calls("research")
    if isinstance(front, Plain):
        assert front.page.locator(".assistant").first.get_attribute("title") == "researcher"
    front.send("hello")
    front.shows_answers(
        "Much is known about cats.", "Done: Much is known about cats.", said("hello")
    )


def test_an_error(front: FrontEnd) -> None:
    front.send("crash")
    front.shows_error("The model could not answer.")
    front.shows_answers("Let me see …")
    front.send("hello")
    front.shows_answers("Let me see …", said("hello"))


def test_a_reload(front: FrontEnd) -> None:
    front.send("weather Rome")
    front.shows_answers("Done: Sunny in Rome")
    front.send("note milk")
    front.shows_answers("Done: Sunny in Rome", "Done: Noted.")
    front.page.reload()
    front.shows_answers("Done: Sunny in Rome", "Done: Noted.")
    front.shows_thoughts("They ask about weather Rome.", "They ask about note milk.")
    front.shows_calls("get_weather", "add_note")
    front.shows_notes("milk")
    front.send("notes")
    front.shows_answers("Done: Sunny in Rome", "Done: Noted.", "Done: milk")


def test_a_thread_that_is_slow_to_come(front: FrontEnd) -> None:
    front.send("hello")
    front.shows_answers(said("hello"))
    front.page.route("**/connect", lambda _: None)  # held until it is let go
    with front.page.expect_request("**/connect"):
        front.page.reload()
    front.takes_no_message()
    front.page.unroute("**/connect")
    front.shows_answers(said("hello"))
    front.send("hello again")
    front.shows_answers(said("hello"), said("hello again"))


def test_a_thread_that_does_not_come(front: FrontEnd) -> None:
    front.page.route("**/connect", lambda route: route.abort())
    front.page.reload()
    front.send("hello")
    front.shows_answers(said("hello"))


def test_a_reload_before_an_answer(front: FrontEnd) -> None:
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.page.reload()
    front.shows_question("Window or aisle?")
    front.answer("aisle")
    front.shows_answers("Done: Booked for IC1: aisle")
    front.shows_calls("book_seat")

"""What users do, in each front end's own chat, with the agent of `examples/frontends/server.py`."""

from __future__ import annotations

import pytest
from langchain_core.messages import ToolMessage
from playwright.sync_api import expect

from examples.frontends import server
from langgraph_agui import LangGraphAgent
from tests.contracts.frontends.pages import Plain, site


@pytest.fixture(scope="module")
def served(kind):
    with site(kind, LangGraphAgent(server.graph, name="assistant", **kind.options)) as served:
        yield served


@pytest.fixture
def front(served, browser):
    with served.opened(browser) as front:
        yield front


def results(front, key="text"):
    """The tools' results, as the graph has them."""
    state = server.graph.get_state({"configurable": {"thread_id": front.thread_id}})
    messages = state.values["messages"]
    return [str(getattr(one, key)) for one in messages if isinstance(one, ToolMessage)]


def said(text):
    return f"Let me see …You said: {text}"


def test_text_reasoning_and_tools(front):
    front.send("hello")
    front.shows_answers(said("hello"))
    front.shows_thoughts("They ask about hello.")
    front.send("weather Rome")
    front.shows_answers(said("hello"), "Done: Sunny in Rome")
    front.send("weather Oslo")
    front.shows_answers(said("hello"), "Done: Sunny in Rome", "Done: Sunny in Oslo")
    front.shows_calls("get_weather", "get_weather")
    asked = ("hello", "weather Rome", "weather Oslo")
    front.shows_thoughts(*(f"They ask about {one}." for one in asked))


def test_an_approval_that_is_given_and_a_question(front):
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Approve")
    front.shows_answers("Done: Sent 5 to Ada")
    front.shows_no_question()
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.answer("window")
    front.shows_answers("Done: Sent 5 to Ada", "Done: Booked for IC1: window")
    front.shows_no_question()
    assert results(front) == ["Sent 5 to Ada", "Booked for IC1: window"]


def test_an_approval_that_is_refused(front):
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Reject")
    answers = expect(front.page.locator(front.answers))
    answers.to_contain_text(["Done: User rejected"])
    front.shows_no_question()
    front.send("hello")
    answers.to_contain_text(["Done: User rejected", said("hello")])
    assert results(front, "status") == ["error"]


def test_a_tool_of_the_page(front):
    front.send("paint red")
    front.shows_answers("Done: The page is red.")
    expect(front.page.locator("body")).to_have_css("background-color", "rgb(255, 0, 0)")
    front.send("paint blue")
    front.shows_answers("Done: The page is red.", "Done: The page is blue.")
    front.shows_calls("set_background", "set_background")
    assert results(front) == ["The page is red.", "The page is blue."]


# Long enough that a change is sent as a patch: CopilotKit's runtime has died of patches.
NOTES = ["three litres of fresh milk", "two loaves of rye bread", "a dozen eggs", "some green tea"]


def test_state_both_ways_twice(front):
    held, answers = [], []
    for mine, other in (NOTES[:2], NOTES[2:]):
        front.send(f"note {mine}")
        front.shows_answers(*(answers := [*answers, "Done: Noted."]))
        front.shows_notes(*(held := [*held, mine]))
        front.add_note(other)
        held.append(other)
        front.send("notes")
        front.shows_answers(*(answers := [*answers, f"Done: {', '.join(held)}"]))
    front.shows_notes(*NOTES)


def test_a_subagent(front):
    known = "Much is known about cats."
    front.send("research cats")
    front.shows_answers(known, f"Done: {known}")
    front.shows_calls("research")
    if isinstance(front, Plain):
        assert front.page.locator(".assistant").first.get_attribute("title") == "researcher"
    front.send("hello")
    front.shows_answers(known, f"Done: {known}", said("hello"))


def test_an_error(front):
    front.send("crash")
    expect(front.page.get_by_role("alert")).to_contain_text("The model could not answer.")
    front.shows_answers("Let me see …")
    front.send("hello")
    front.shows_answers("Let me see …", said("hello"))


def test_a_reload(front):
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


def test_a_thread_that_is_slow_to_come(front):
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


def test_a_thread_that_does_not_come(front):
    front.page.route("**/connect", lambda route: route.abort())
    front.page.reload()
    front.send("hello")
    front.shows_answers(said("hello"))


def test_a_reload_before_an_answer(front):
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.page.reload()
    front.shows_question("Window or aisle?")
    front.answer("aisle")
    front.shows_answers("Done: Booked for IC1: aisle")
    front.shows_calls("book_seat")

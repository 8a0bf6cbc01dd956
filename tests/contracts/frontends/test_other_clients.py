"""Front ends that talk through another `HttpAgent` than their own, and why they need the options of
docs/reference/clients.md: what their users see without.

`npm install @assistant-ui/react-ag-ui @ag-ui/client` gives them that of 1.0.0 today. It says that
it knows 1.0, but what it passes on is read by the front end, which does not. An option of the agent
helps.
"""

from __future__ import annotations

import pytest

from langgraph_agui import ClientOptions
from tests.contracts.frontends.pages import (
    AssistantUI,
    NewClientAssistantUI,
    NewClientCopilotKit,
    OwnClientCopilotKit,
    opened,
)
from tests.kit.waiting import wait_for

EACH = [NewClientAssistantUI, NewClientCopilotKit, OwnClientCopilotKit]
HELLO = "Let me see …You said: hello"
NOTES = ["three litres of fresh milk", "two loaves of rye bread"]


def kinds(*kinds):
    return pytest.mark.parametrize("kind", kinds, indirect=True, ids=lambda kind: kind.name)


@pytest.fixture
def front(kind, browser):
    with opened(kind, browser, **kind.options) as front:
        yield front


@kinds(*EACH)
def test_thoughts_tools_and_state(front):
    front.send("hello")
    front.shows_answers(HELLO)
    front.shows_thoughts("They ask about hello.")
    front.send("paint red")
    front.shows_answers(HELLO, "Done: The page is red.")
    front.send(f"note {NOTES[0]}")
    front.send(f"note {NOTES[1]}")
    front.shows_answers(HELLO, "Done: The page is red.", "Done: Noted.", "Done: Noted.")
    front.shows_notes(*NOTES)


@kinds(*EACH)
def test_an_approval_and_a_question(front):
    front.send("send 5")
    front.shows_question("requires approval")
    front.press("Approve")
    front.shows_answers("Done: Sent 5 to Ada")
    front.send("book IC1")
    front.shows_question("Window or aisle?")
    front.answer("window")
    front.shows_answers("Done: Sent 5 to Ada", "Done: Booked for IC1: window")


@kinds(AssistantUI, NewClientAssistantUI)
def test_assistant_ui_does_not_see_questions_that_events_ask(kind, browser):
    with opened(kind, browser, clients=ClientOptions(protocol="0.x")) as front:
        front.send("book IC1")
        front.shows_calls("book_seat")
        front.rests()
        front.shows_no_question()


@kinds(NewClientAssistantUI)
def test_assistant_ui_shows_thoughts_twice_if_its_client_speaks_1_0(kind, browser):
    with opened(kind, browser) as front:
        front.send("hello")
        front.shows_thoughts(*["They ask about hello."] * 2)


@kinds(NewClientCopilotKit)
def test_copilotkits_runtime_ends_if_its_client_speaks_1_0(kind, browser):
    with opened(kind, browser, dies=True) as front:
        front.send(f"note {NOTES[0]}")
        front.shows_answers("Done: Noted.")
        front.send(f"note {NOTES[1]}")
        wait_for(lambda: not front.runtime.alive, "the runtime has ended")

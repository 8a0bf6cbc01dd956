"""Questions that the page puts to a person: approvals, `interrupt()` and calls of its own tools."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from playwright.sync_api import Locator, expect
from pydantic import BaseModel, Field

from langgraph_agui import AGUIMiddleware, ApprovalOptions
from tests.behaviour.playground.sites import ask, shown
from tests.behaviour.playground.streams import (
    END,
    START_EVENT,
    answer,
    answer_with,
    frames,
    text_events,
)
from tests.kit.deep import deep
from tests.kit.expect.front_ends import options_for
from tests.kit.models.scripted import Scripted, call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

WAITS = "Waiting for you"


def defined(**definitions: Any) -> dict[str, Any]:
    return {"$ref": "#/$defs/A", "$defs": definitions}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class Mail:
    """An agent that sends e-mails if a person approves; `sent` holds the arguments that its tool
    got."""

    def __init__(self, *calls: dict[str, Any], guard: Any = True) -> None:
        self.sent: list[dict[str, Any]] = []
        self.results: list[str] = []

        @tool
        def send_email(to: str, body: str, copies: int = 1, tags: list[str] | None = None) -> str:
            """Send an e-mail."""
            self.sent.append({"to": to, "body": body, "copies": copies, "tags": tags})
            return "sent"

        def script(messages: list[BaseMessage]) -> list[Any]:
            self.results = [str(one.text) for one in messages if isinstance(one, ToolMessage)]
            if self.results:
                return ["Well."]
            return [call("send_email", f"c{at}", at, **args) for at, args in enumerate(calls)]

        self.graph = create_agent(
            Scripted(script=script),
            [send_email],
            middleware=[HumanInTheLoopMiddleware({"send_email": guard})],
            checkpointer=InMemorySaver(),
        )


LETTER: dict[str, Any] = {"to": "ada@example.com", "body": "Dear Ada,\nhow are you?", "copies": 2}


def cards(page: Page) -> Locator:
    return page.locator(".question")


def named(text: str) -> re.Pattern[str]:
    """A label as a tool's own name or as a title."""
    return re.compile(f"^{re.escape(text)}$", re.IGNORECASE)


def press(place: Page | Locator, name: str) -> None:
    place.get_by_role("button", name=name, exact=True).click()


def finished(page: Page, status: str = "Finished") -> None:
    expect(page.locator("#status")).to_have_text(status)


def test_an_approval_is_edited_field_by_field(browser: Browser) -> None:
    mail = Mail({**LETTER, "tags": ["a", "b"]})
    with shown(browser, mail.graph) as page:
        ask(page, status=WAITS)
        card = cards(page)
        expect(card.get_by_role("heading")).to_have_text("Tool execution requires approval")
        expect(card.locator(".question-tool")).to_have_text("send_email")
        expect(card.locator(".question-facts dd")).to_contain_text(["ada@example.com", "Dear Ada"])
        press(card, "Edit")
        expect(card.get_by_label(named("to"))).to_be_focused()
        expect(card.get_by_label(named("body"))).to_have_value(LETTER["body"])
        expect(card.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        card.get_by_label(named("to")).fill("bob@example.com")
        copies = card.get_by_label(named("copies"))
        copies.press_sequentially("e")
        press(card, "Approve with changes")
        expect(copies).to_be_focused()
        expect(copies).to_have_attribute("aria-invalid", "true")
        expect(copies).to_have_accessible_description(
            named("A whole number. copies must be a whole number.")
        )
        copies.fill("3")
        card.get_by_role("button", name=named("Remove tags 1")).click()
        card.get_by_label(named("tags 1")).fill("c")
        card.get_by_role("button", name=named("Add tags")).click()
        card.get_by_label(named("tags 2")).fill("d")
        card.get_by_label(named("tags 2")).press("Enter")
        finished(page)
        expect(cards(page)).to_be_hidden()
    assert mail.sent == [
        {"to": "bob@example.com", "body": LETTER["body"], "copies": 3, "tags": ["c", "d"]}
    ]


FOCUSED = """() => {
    const one = document.activeElement;
    const name = one.labels?.[0]?.firstChild.textContent || one.getAttribute("aria-label") || one.textContent;
    return name.trim().slice(0, 40);
}"""


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press `key` until the control of that name has the focus."""
    seen: list[str] = []
    while len(seen) < 60:
        page.keyboard.press(key)
        seen.append(page.evaluate(FOCUSED))
        if seen[-1] == name:
            return
    raise AssertionError(f"{name!r} is not among {seen}")


def test_a_conversation_by_keyboard_alone(browser: Browser) -> None:
    mail = Mail(LETTER)
    with shown(browser, mail.graph) as page:
        expect(page.get_by_label("Message", exact=True)).to_be_focused()
        page.keyboard.type("write to Ada")
        page.keyboard.press("Enter")
        finished(page, WAITS)
        tab_to(page, "Reject", "Shift+Tab")
        tab_to(page, "Edit", "Shift+Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Control+a")
        page.keyboard.type("bob@example.com")
        tab_to(page, "Approve with changes")
        page.keyboard.press("Enter")
        finished(page)
        expect(page.get_by_label("Message", exact=True)).to_be_focused()
        tab_to(page, "New thread", "Shift+Tab")
        page.keyboard.press("Space")
        expect(page.locator(".item")).to_have_count(0)
        expect(page.get_by_label("Message", exact=True)).to_be_focused()
    assert mail.sent == [{**LETTER, "to": "bob@example.com", "tags": None}]


@deep
def test_an_approval_without_changes(browser: Browser) -> None:
    options = options_for("the playground, of this library")
    mail = Mail(LETTER)
    with shown(browser, mail.graph, **options) as page:
        ask(page, status=WAITS)
        press(cards(page), "Edit")
        to = cards(page).get_by_label(named("to"))
        to.fill("bob@example.com")
        press(cards(page), "Discard edits")
        press(cards(page), "Edit")
        expect(to).to_have_value(LETTER["to"])
        to.fill("bob@example.com")
        to.fill(LETTER["to"])
        with page.expect_request("**/agent") as request:
            press(page, "Approve")
        (answer,) = json.loads(request.value.post_data or "")["resume"]
        assert answer["payload"] == {"approved": True}
        finished(page)
    assert mail.sent == [{**LETTER, "tags": None}]


def test_a_reason_or_a_result_instead_of_the_call(browser: Browser) -> None:
    mail = Mail(LETTER)
    with shown(browser, mail.graph) as page:
        card = cards(page)
        ask(page, status=WAITS)
        press(card, "More")
        card.get_by_label("Reason", exact=True).fill("Ada has left.")
        card.get_by_label("Reason", exact=True).press("Enter")
        finished(page)
        assert "Ada has left." in mail.results[0]
        press(page, "New thread")
        mail.results = []
        ask(page, status=WAITS)
        press(card, "More")
        card.get_by_label("Respond", exact=True).check()
        press(card, "Send")
        expect(card.get_by_role("alert")).to_have_text("Type what to respond.")
        card.get_by_label("Result to give instead").fill("I called her.")
        press(card, "Send")
        finished(page)
        expect(page.locator(".tool > summary .pill")).to_have_text("done")
        expect(page.locator(".tool .result")).to_have_text("I called her.")
    assert (mail.sent, mail.results) == ([], ["I called her."])


BUTTONS = {
    "approve edit reject": ["Approve", "Edit", "Reject", "More"],
    "approve reject": ["Approve", "Reject", "More"],
    "approve edit": ["Approve", "Edit", "More"],
    "edit": ["Approve with changes", "More"],
    "reject": ["Reject", "More"],
    "respond": ["More", "Send", "Cancel"],
}


@deep
def test_only_allowed_decisions_are_offered(browser: Browser) -> None:
    def act(to: str) -> str:
        """Act."""
        return to

    guards: dict[str, Any] = {
        f"t{at}": {"allowed_decisions": allowed.split()} for at, allowed in enumerate(BUTTONS)
    }
    model = Scripted([call(name, name, at, to="ada") for at, name in enumerate(guards)])
    guard, saver = HumanInTheLoopMiddleware(guards), InMemorySaver()
    tools = [tool(name)(act) for name in guards]
    with shown(browser, create_agent(model, tools, middleware=[guard], checkpointer=saver)) as page:
        ask(page, status=WAITS)
        for card, (allowed, buttons) in zip(cards(page).all(), BUTTONS.items(), strict=True):
            actions = card.locator(".question-actions")
            expect(actions.locator("button:visible")).to_have_text(buttons)
            # Where nothing else is allowed, the person can only edit.
            expect(card.locator(".question-call input")).to_have_count(int(allowed == "edit"))
            tops = "all => new Set(all.map((one) => one.getBoundingClientRect().top)).size"
            assert actions.first.locator("button").evaluate_all(tops) == 1


@deep
def test_an_answer_that_comes_too_late(browser: Browser) -> None:
    mail = Mail(LETTER)
    with shown(browser, mail.graph) as page:
        ask(page, status=WAITS)
        elsewhere = browser.new_context()  # in the same one, the page would follow
        other = elsewhere.new_page()
        other.goto(page.url)
        finished(other, WAITS)
        press(page, "Approve")
        finished(page)
        press(other, "Reject")
        expect(other.locator(".notice")).to_contain_text("the question was answered elsewhere")
        finished(other)
        expect(other.locator(".tool > summary .pill")).to_have_text("done")
        expect(cards(other)).to_have_count(0)
        elsewhere.close()
    assert len(mail.sent) == 1


WORDS = "I hope that this letter finds you well, and that the weather is as fine as here. " * 6


@pytest.mark.parametrize("count", [1, 2])
def test_a_call_is_in_view_when_it_is_approved(browser: Browser, count: int) -> None:
    with shown(browser, Mail(*[{**LETTER, "body": WORDS}] * count).graph) as page:
        page.set_viewport_size({"width": 390, "height": 700})
        ask(page, status=WAITS)
        approve = page.get_by_role("button", name="Approve")
        expect(approve.first).to_be_focused()
        expect(approve.first).to_be_in_viewport(ratio=1)
        if count == 1:
            expect(cards(page).locator("h2")).to_be_in_viewport(ratio=1)
        else:
            expect(approve.last).not_to_be_in_viewport()
        hidden = "one => one.scrollHeight > one.clientHeight && one.tabIndex < 0"
        assert not cards(page).locator("dd").evaluate_all(f"all => all.some({hidden})")


@deep
def test_several_are_answered_together(browser: Browser) -> None:
    mail = Mail(*({**LETTER, "to": who} for who in ("ann", "bob", "eve")))
    with shown(browser, mail.graph) as page:
        ask(page, status=WAITS)
        note = page.locator(".question-note")
        expect(note).to_have_text("0 of 3 answered")
        press(cards(page).nth(0), "Approve")
        expect(note).to_have_text("1 of 3 answered")
        answered = 'Answered: Approve · send_email {"to":"ann"'
        expect(cards(page).nth(0).locator("p:visible")).to_contain_text(answered)
        expect(cards(page).nth(1).get_by_role("button", name="Approve")).to_be_focused()
        press(cards(page).nth(2), "More")
        press(cards(page).nth(2), "Cancel")
        expect(cards(page).nth(2)).to_contain_text("Answered: Cancel")
        press(cards(page).nth(0), "Change answer")
        expect(note).to_have_text("1 of 3 answered")
        press(cards(page).nth(0), "Reject")
        press(cards(page).nth(1), "Approve")
        finished(page)
    assert [one["to"] for one in mail.sent] == ["bob"]


class Room(BaseModel):
    beds: int = Field(ge=1, le=4, description="How many people sleep in it.")
    view: Literal["sea", "garden"] = "garden"


class Booking(BaseModel):
    """Where you stay."""

    nights: int = Field(ge=1, title="Nights")
    guest: str = Field(min_length=2, title="Guest")
    breakfast: bool = False
    room: Room
    note: str | None = None
    extras: list[str] = Field(default=[], max_length=2)
    day: date
    at: time | None = None
    call: datetime
    price: float = 2.5


class Asker:
    """A graph that asks `question` by `interrupt()`; `answers` holds what it got."""

    def __init__(self, *questions: Any, schema: Any = None) -> None:
        self.answers: list[Any] = []

        def node(state: MessagesState) -> dict[str, Any]:
            options = {"response_schema": schema} if schema is not None else {}
            self.answers = [interrupt(question, **options) for question in questions]
            return {"messages": [AIMessage("Thanks.")]}

        builder = StateGraph(MessagesState).add_node("ask", node).add_edge(START, "ask")
        self.graph = builder.compile(checkpointer=InMemorySaver())


def test_a_form_from_a_schema(browser: Browser) -> None:
    asker = Asker({"message": "Where do you stay?", "budget": {"euros": 90}}, schema=Booking)
    context = browser.new_context(timezone_id="Europe/Rome")
    with shown(browser, asker.graph, context=context) as page:
        ask(page, status=WAITS)
        card = cards(page)
        expect(card.get_by_role("heading")).to_have_text("Where do you stay?")
        expect(card.locator(".question-facts")).to_contain_text('{ "euros": 90 }')
        expect(card).to_contain_text("A whole number of at least 1.")
        press(card, "Send")
        expect(card.get_by_label("Nights")).to_be_focused()
        expect(card).to_contain_text("Guest is required: text of at least 2 characters.")
        kinds = {"Day": "date", "At": "time", "Call": "datetime-local", "Breakfast": "checkbox"}
        for label, kind in {**kinds, "Nights": "number", "Price": "number"}.items():
            expect(card.get_by_label(label, exact=True)).to_have_attribute("type", kind)
        answers = {"Nights": "0.5", "Guest": "A", "Beds": "9", "Day": "2026-07-31"}
        for label, value in {**answers, "At": "09:30", "Call": "2026-07-30T08:15"}.items():
            card.get_by_label(label, exact=True).fill(value)
        press(card, "Send")
        problems = [
            "Nights must be a whole number of at least 1.",
            "Guest must be text of at least 2 characters.",
            "Beds must be a whole number from 1 to 4.",
        ]
        expect(card.locator(".field-problem:visible")).to_have_text(problems)
        for label, value in {"Nights": "3", "Guest": "Ada", "Beds": "2"}.items():
            card.get_by_label(label).fill(value)
        card.get_by_label("Breakfast").check()
        card.get_by_label("View").select_option("sea")
        press(card, "Add Extras")
        card.get_by_label("Extras 1", exact=True).fill("bike")
        card.get_by_label("Guest").press("Enter")
        finished(page)
    room, call_at = Room(beds=2, view="sea"), datetime(2026, 7, 30, 6, 15, tzinfo=UTC)
    when: Any = {"day": date(2026, 7, 31), "at": time(9, 30), "call": call_at}
    assert asker.answers == [
        Booking(nights=3, guest="Ada", breakfast=True, room=room, extras=["bike"], **when)
    ]


TIMES = {
    "a": ("2026-01-31T12:00:00Z", "datetime-local", "2026-01-31T13:00"),
    "b": ("2026-01-31T12:00:00.250+05:30", "datetime-local", "2026-01-31T07:30:00.25"),
    "c": ("2026-01-31T12:00", "datetime-local", "2026-01-31T12:00"),
    "d": ("tomorrow at noon", "text", "tomorrow at noon"),
}


@deep
def test_a_time_that_is_not_changed_is_sent_as_it_came(browser: Browser) -> None:
    schema = fields(
        note={"type": "string"},
        **{
            name: {"type": "string", "format": "date-time", "default": given}
            for name, (given, _, _) in TIMES.items()
        },
    )
    context = browser.new_context(timezone_id="Europe/Rome")
    with shown(browser, Asker("?").graph, context=context) as page:
        inputs = answer_with(page, {"id": "one", "reason": "x:y", "responseSchema": schema})
        ask(page, status=WAITS)
        for name, (_, kind, shown_as) in TIMES.items():
            field = cards(page).get_by_label(name, exact=True)
            expect(field).to_have_attribute("type", kind)
            expect(field).to_have_value(shown_as)
        field.fill("")
        with page.expect_response("**/agent"):
            press(cards(page), "Send")
        given = {name: TIMES[name][0] for name in "abc"}
        assert inputs[-1]["resume"][0]["payload"] == given


CONSTS = [{"const": 1, "title": "One"}, {"const": None, "title": "Nothing"}, {"const": 2}]


FIXED: list[tuple[Any, str, Any]] = [
    ({"enum": ["red", "blue"]}, "blue", "blue"),
    ({"oneOf": CONSTS}, "2", 2),
    ({"type": "boolean"}, "No", False),
    (fields(colour={"enum": ["red", "blue"]}) | {"required": ["colour"]}, "red", {"colour": "red"}),
]


@deep
def test_buttons_texts_and_json_as_answers(browser: Browser) -> None:
    asked = [{"message": f"{at}?", "responseSchema": one} for at, (one, _, _) in enumerate(FIXED)]
    asker = Asker(*asked, "Really?", "When?", "How long?")
    with shown(browser, asker.graph) as page:
        ask(page, status=WAITS)
        card = cards(page)
        for at, (_, button, _) in enumerate(FIXED):
            expect(card.get_by_role("heading")).to_have_text(f"{at}?")
            press(card, button)
        expect(card).to_contain_text("Really?")
        press(card, "No")
        expect(card).to_contain_text("When?")
        press(card, "Send")
        expect(card.get_by_role("alert")).to_have_text("Type an answer.")
        card.get_by_label("Another answer").fill("not before May")
        press(card, "Send")
        expect(card).to_contain_text("How long?")
        press(card, "More")
        for text in ("{nonsense", '{"days": 3}'):
            card.get_by_label("JSON answer").fill(text)
            press(card.locator(".question-panel"), "Send")
            if text == "{nonsense":
                expect(card.get_by_role("alert")).to_have_text("That is not JSON.")
        finished(page)
    fixed = [answer for _, _, answer in FIXED]
    assert asker.answers == [*fixed, False, "not before May", {"days": 3}]


@deep
def test_a_question_expires_while_it_is_shown_and_is_only_cancelled(browser: Browser) -> None:
    end = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    with shown(browser, Asker({"message": "Quick?", "expiresAt": end}).graph) as page:
        # Timers and the wall clock are two clocks: a timer may end before the time that it was
        # set for.
        page.evaluate(
            """() => {
                const wait = window.setTimeout;
                window.setTimeout = (done, time) => wait(done, time - 300);
            }"""
        )
        ask(page, status=WAITS)
        expect(cards(page)).to_contain_text("It is too late to answer.")
        expect(cards(page).locator("button:visible")).to_have_text(["Cancel"])
        press(cards(page), "Cancel")
        finished(page, "Stopped")


def test_a_question_of_an_agent_that_shows_no_threads_outlives_a_reload(
    browser: Browser, site: str
) -> None:
    context = browser.new_context()  # the browser logs the refusals
    page = context.new_page()
    for path in ("connect", "capabilities"):
        page.route(f"**/agent/{path}", lambda route: route.fulfill(status=404))
    answer_with(page, {"id": "i", "reason": "confirmation", "message": "Really?"})
    page.goto(site)
    ask(page, status=WAITS)
    page.reload()
    finished(page, WAITS)
    expect(cards(page).locator("h2")).to_have_text("Really?")
    inputs = answer(page, frames(START_EVENT, *text_events("m", "As you wish."), END))
    press(cards(page), "Cancel")
    finished(page)
    assert inputs[0]["resume"] == [{"interruptId": "i", "status": "cancelled"}]
    page.reload()
    finished(page)
    expect(cards(page)).to_have_count(0)
    context.close()


@deep
def test_a_refused_answer_opens_again(browser: Browser) -> None:
    refused: list[object] = []

    def refuse_once(approval: object) -> None:
        refused.append(approval)
        if len(refused) == 1:
            raise PermissionError

    mail = Mail(LETTER)
    with shown(browser, mail.graph, approvals=ApprovalOptions(on_answer=refuse_once)) as page:
        ask(page, status=WAITS)
        press(cards(page), "Edit")
        cards(page).get_by_label(named("to")).fill("bob@example.com")
        press(page, "Approve with changes")
        expect(page.locator(".question-refused:visible")).to_have_text(
            "The answer was not accepted."
        )
        finished(page, WAITS)
        expect(cards(page).get_by_label(named("to"))).to_have_value("bob@example.com")
        press(page, "Approve with changes")
        finished(page)
    assert [one["to"] for one in mail.sent] == ["bob@example.com"]


def test_a_message_has_to_wait(browser: Browser) -> None:
    mail = Mail(LETTER)
    with shown(browser, mail.graph) as page:
        ask(page, status=WAITS)
        message = page.get_by_label("Message", exact=True)
        message.fill("And hurry")
        page.clock.install(time=0)
        page.clock.pause_at(1)  # no time passes until the second key
        message.press("Enter")
        expect(page.locator(".question-note")).to_have_text("Answer the question first.")
        approve = cards(page).get_by_role("button", name="Approve")
        expect(approve).to_be_focused()
        approve.press("Enter")  # nobody can have seen the question by now
        page.clock.resume()
        expect(page.locator("#status")).to_have_text(WAITS)
        expect(message).to_have_value("And hurry")
        press(page, "Approve")
        finished(page)


@pytest.fixture
def served(browser: Browser) -> Iterator[Page]:
    """A page whose agent is replaced by `answer_with`."""
    with shown(browser, Asker("?").graph) as page:
        yield page


A: dict[str, Any] = {"$ref": "#/$defs/A"}
MANY = [f"p{n}" for n in range(20)]
WRONG = fields(a=5, b={"enum": {}}, c={"type": "nothing"}, d={"anyOf": "x"}, e=None)
PROTOTYPES = ("__proto__", "constructor", "toString", "hasOwnProperty")


HOSTILE: list[dict[str, Any]] = [
    # a required reference to itself, a circle, alternatives of itself, all of itself
    defined(A={**fields(next=A, n={"type": "integer"}), "required": ["next"]}),
    defined(A={"$ref": "#/$defs/B"}, B=A),
    defined(A={"anyOf": [A] * 3}),
    defined(A={"allOf": [A] * 3}),
    # properties that multiply, wrong types, a reference to elsewhere
    defined(A={**fields(**dict.fromkeys(MANY, A)), "required": MANY}),
    {**WRONG, "title": 5, "description": [], "required": "x"},
    {"$ref": "https://a.example/schema", "properties": []},
    # a pattern of another dialect, names of prototypes
    fields(a={"type": "string", "pattern": "(?P<x>a"}),
    fields(**{name: {"type": "string"} for name in PROTOTYPES}),
]


@deep
def test_hostile_schemas_leave_a_way_to_answer(served: Page) -> None:
    asked = {"reason": "x:y", "message": "<b>Which?</b>"}
    ids = [f"q{at}" for at in range(len(HOSTILE))]
    schemas = zip(ids, HOSTILE, strict=True)
    inputs = answer_with(
        served, *({**asked, "id": id_, "responseSchema": schema} for id_, schema in schemas)
    )
    ask(served, status=WAITS)
    with served.expect_response("**/agent"):
        for card in cards(served).all():
            expect(card.get_by_role("heading")).to_have_text("<b>Which?</b>")
            press(card, "More")
            expect(card.get_by_label("JSON answer")).to_be_visible()
            press(card, "Cancel")
    cancelled = [{"interruptId": id_, "status": "cancelled"} for id_ in ids]
    assert inputs[-1]["resume"] == cancelled


@deep
def test_many_properties_with_hostile_names(served: Page) -> None:
    properties = {
        **{f"p{n}": {"type": "string"} for n in range(200)},
        "__proto__": {"type": "string"},
    }
    schema = json.loads(json.dumps({"type": "object", "properties": properties}))
    inputs = answer_with(served, {"id": "one", "reason": "x:y", "responseSchema": schema})
    ask(served, status=WAITS)
    expect(cards(served).locator(".field")).to_have_count(201)
    cards(served).get_by_label("p199").fill("last")
    cards(served).get_by_label("__proto__").fill("first")
    with served.expect_response("**/agent"):
        press(cards(served), "Send")
    assert inputs[-1]["resume"][0]["payload"] == {"p199": "last", "__proto__": "first"}
    assert served.evaluate("({}).polluted === undefined")


APPROVE, REJECT = (
    {"type": "object", "properties": {"type": {"const": kind}}, "required": ["type"]}
    for kind in ("approve", "reject")
)
INTERRUPTS: list[dict[str, Any]] = [
    {"id": "one", "reason": "confirmation", "message": "First?"},
    {
        "id": "two",
        "reason": "input_required",
        "message": "Second?",
        "responseSchema": {"enum": ["red", "blue"]},
    },
    {
        "id": "three",
        "reason": "tool_call",
        "message": "Third?",
        "responseSchema": {"oneOf": [APPROVE, REJECT]},
    },
    {"id": "four", "reason": "tool_call", "message": "Fourth?"},
]


@deep
def test_questions_of_other_agents(served: Page) -> None:
    inputs = answer_with(served, *INTERRUPTS)
    ask(served, status=WAITS)
    press(cards(served).nth(2), "Reject")
    press(cards(served).nth(1), "blue")
    press(cards(served).nth(3), "Approve")
    assert len(inputs) == 1
    with served.expect_response("**/agent"):
        press(cards(served).nth(0), "Cancel")
    expect(cards(served)).to_have_count(4)
    assert inputs[1]["resume"] == [
        {"interruptId": "one", "status": "cancelled"},
        {"interruptId": "two", "status": "resolved", "payload": "blue"},
        {"interruptId": "three", "status": "resolved", "payload": {"type": "reject"}},
        {"interruptId": "four", "status": "resolved", "payload": {"approved": True}},
    ]


CAT = {**fields(kind={"const": "cat"}, lives={"type": "integer"}), "title": "Cat"}
DOG = {**fields(kind={"const": "dog"}, name={"type": "string"}), "title": "Dog"}


@deep
def test_variants_and_parts_that_may_be_left_out(served: Page) -> None:
    dog = {**DOG, "required": ["kind", "name"]}
    schema = {
        "type": "object",
        "properties": {"pet": {"oneOf": [CAT, dog]}, "more": {"$ref": "#"}, "any": {}},
        "required": ["pet"],
    }
    inputs = answer_with(served, {"id": "one", "reason": "x:y", "responseSchema": schema})
    ask(served, status=WAITS)
    card = cards(served)
    card.get_by_label("pet").select_option("Dog")
    press(card, "Send")
    expect(card.get_by_label("name")).to_be_focused()
    card.get_by_label("name").fill("Rex")
    press(card, "Add more")
    press(card, "Remove more")
    card.get_by_label("any").fill("[1, ")
    press(card, "Send")
    expect(card.locator(".field-problem:visible")).to_contain_text("any must be JSON: ")
    card.get_by_label("any").fill("[1, 2]")
    with served.expect_response("**/agent"):
        card.get_by_label("any").press("Control+Enter")
    assert inputs[-1]["resume"][0]["payload"] == {
        "pet": {"kind": "dog", "name": "Rex"},
        "any": [1, 2],
    }


def test_calls_of_the_pages_tools_are_answered(browser: Browser) -> None:
    offered: list[list[str]] = []

    def script(messages: list[BaseMessage]) -> list[Any]:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return [f"I got {last.text}."]
        return [call("pick_colour", f"c{len(messages)}", room="hall")]

    class Model(Scripted):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            offered.append([getattr(one, "name", None) or one["function"]["name"] for one in tools])
            return super().bind_tools(tools, **kwargs)

    graph = create_agent(
        Model(script=script), middleware=[AGUIMiddleware()], checkpointer=InMemorySaver()
    )
    with shown(browser, graph) as page:
        press(page, "Tools")
        for name in ("no name", "pick_colour"):
            page.get_by_label("Name", exact=True).fill(name)
            press(page, "Add tool")
            if name == "no name":
                expect(page.get_by_role("alert")).to_contain_text("The name must have 1 to 64")
        expect(page.locator("#tools li code")).to_have_text("pick_colour")
        press(page, "Close")
        for button, content in (("Send result", "blue"), ("Report an error", "none")):
            ask(page, status=WAITS)
            card = cards(page)
            heading = "The agent calls pick_colour. What is the result?"
            expect(card.get_by_role("heading")).to_have_text(heading)
            expect(card.locator(".question-facts")).to_have_text("roomhall")
            pill = page.locator(".tool > summary .pill").last
            expect(pill).to_have_text("waiting for you")
            press(card, button)
            expect(card.get_by_role("alert")).to_contain_text("Type ")
            card.get_by_label("Result").fill(content)
            with page.expect_request("**/agent") as request:
                press(card, button)
            result = json.loads(request.value.post_data or "")["messages"][-1]
            assert (result["toolCallId"][0], result["content"]) == ("c", content)
            assert ("error" in result) == (button == "Report an error")
            finished(page)
            got = page.locator(".text[data-role=assistant]").last
            expect(got).to_contain_text("I got")
            expect(got).to_contain_text(content)
            expect(cards(page)).to_have_count(0)
    assert "pick_colour" in offered[0]


@deep
def test_an_expired_question_is_only_cancelled(browser: Browser) -> None:
    asker = Asker({"message": "Quick?", "expiresAt": "2020-01-01T00:00:00"})
    with shown(browser, asker.graph) as page:
        ask(page, status=WAITS)
        expect(cards(page)).to_contain_text("It is too late to answer.")
        expect(cards(page).locator("button:visible")).to_have_text(["Cancel"])
        press(cards(page), "Cancel")
        finished(page, "Stopped")

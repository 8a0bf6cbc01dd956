"""Questions that the page puts to a person: approvals, `interrupt()` and calls of its own tools."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from playwright.sync_api import expect
from pydantic import BaseModel, Field

from langgraph_agui import AGUIMiddleware, ApprovalOptions
from tests.behaviour.playground.sites import (
    SAID,
    WAITS,
    answer,
    ask,
    field,
    interrupted,
    opened,
    press,
    see,
    shown,
    status,
    text_events,
)
from tests.kit.deep import deep
from tests.kit.expect.front_ends import options_for
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, call

LETTER = {"to": "ada@example.com", "body": "Dear Ada,\nhow are you?", "copies": 2}
PILLS = ".tool > summary .pill"


class Mail:
    """An agent that sends e-mails if a person approves; `sent` holds the arguments that its tool
    got."""

    def __init__(self, *calls):
        calls, self.sent, self.results = calls or [LETTER], [], []

        @tool
        def send_email(to: str, body: str, copies: int = 1, tags: list[str] | None = None) -> str:
            """Send an e-mail."""
            self.sent.append({"to": to, "body": body, "copies": copies, "tags": tags})
            return "sent"

        def script(messages):
            self.results = [str(one.text) for one in messages if isinstance(one, ToolMessage)]
            made = [call("send_email", f"c{at}", at, **args) for at, args in enumerate(calls)]
            return ["Well."] if self.results else made

        guard, saver = HumanInTheLoopMiddleware({"send_email": True}), InMemorySaver()
        model, tools = Scripted(script=script), [send_email]
        self.graph = create_agent(model, tools, middleware=[guard], checkpointer=saver)


class Asker:
    """A graph that asks questions by `interrupt()`; `answers` holds what it got."""

    def __init__(self, *questions, **options):
        self.answers = []

        def node(state: Chat):
            self.answers = [interrupt(question, **options) for question in questions]
            return {"messages": [AIMessage("Thanks.")]}

        self.graph = chain_of(node, checkpointer=InMemorySaver())


def cards(page):
    return page.locator(".question")


def resumed(page, send):
    """What the page's next request answers, after `send()`."""
    with page.expect_request("**/agent") as request:
        send()
    return json.loads(request.value.post_data)["resume"]


def test_an_approval_is_edited_field_by_field(browser):
    mail = Mail({**LETTER, "tags": ["a", "b"]})
    with shown(browser, mail.graph) as page:
        ask(page, then=WAITS)
        card = cards(page)
        see(card, {"h2": "Tool execution requires approval", ".question-tool": "send_email"})
        expect(card.locator(".question-facts dd")).to_contain_text(["ada@example.com", "Dear Ada"])
        press(card, "Edit")
        expect(field(card, "to")).to_be_focused()
        expect(field(card, "body")).to_have_value(LETTER["body"])
        expect(card.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        field(card, "to").fill("bob@example.com")
        copies = field(card, "copies")
        copies.press_sequentially("e")
        press(card, "Approve with changes")
        expect(copies).to_be_focused()
        expect(copies).to_have_attribute("aria-invalid", "true")
        problem = "A whole number. Copies must be a whole number."
        expect(copies).to_have_accessible_description(problem, ignore_case=True)
        copies.fill("3")
        press(card, "Remove Tags 1")
        field(card, "tags 1").fill("c")
        press(card, "Add Tags")
        field(card, "tags 2").fill("d")
        field(card, "tags 2").press("Enter")
        see(page, {"#status": "Finished", ".question": False})
    changes = {"to": "bob@example.com", "copies": 3, "tags": ["c", "d"]}
    assert mail.sent == [{**LETTER, **changes}]


FOCUSED = """() => {
    const one = document.activeElement;
    const name = one.labels?.[0]?.firstChild.textContent || one.getAttribute("aria-label") || one.textContent;
    return name.trim().slice(0, 40);
}"""


def tab_to(page, name, key="Shift+Tab"):
    """Press `key` until the control of that name has the focus."""
    seen = []
    while name not in seen:
        assert len(seen) < 60, f"{name!r} is not among {seen}"
        page.keyboard.press(key)
        seen.append(page.evaluate(FOCUSED))


def test_a_conversation_by_keyboard_alone(browser):
    mail = Mail()
    with shown(browser, mail.graph) as page:
        message, press = field(page, "Message"), page.keyboard.press
        expect(message).to_be_focused()
        page.keyboard.type("write to Ada")
        press("Enter")
        status(page, WAITS)
        tab_to(page, "Reject")
        tab_to(page, "Edit")
        press("Enter")
        press("Control+a")
        page.keyboard.type("bob@example.com")
        tab_to(page, "Approve with changes", "Tab")
        press("Enter")
        status(page)
        expect(message).to_be_focused()
        tab_to(page, "New thread")
        press("Space")
        see(page, {".item": 0})
        expect(message).to_be_focused()
    assert mail.sent == [{**LETTER, "to": "bob@example.com", "tags": None}]


@deep
def test_an_approval_without_changes(browser):
    mail = Mail()
    with shown(browser, mail.graph, **options_for("the playground, of this library")) as page:
        ask(page, then=WAITS)
        press(cards(page), "Edit")
        to = field(cards(page), "to")
        to.fill("bob@example.com")
        press(cards(page), "Discard edits", "Edit")
        expect(to).to_have_value(LETTER["to"])
        to.fill("bob@example.com")
        to.fill(LETTER["to"])
        (approval,) = resumed(page, lambda: press(page, "Approve"))
        assert approval["payload"] == {"approved": True}
        status(page)
    assert mail.sent == [{**LETTER, "tags": None}]


def test_a_reason_a_result_or_json_instead_of_the_call(browser):
    mail = Mail()
    with shown(browser, mail.graph) as page:
        card = cards(page)
        ask(page, then=WAITS)
        press(card, "More")
        field(card, "Reason").fill("Ada has left.")
        field(card, "Reason").press("Enter")
        status(page)
        assert "Ada has left." in mail.results[0]
        press(page, "New thread")
        ask(page, then=WAITS)
        press(card, "More")
        field(card, "Respond").check()
        press(card, "Send")
        expect(card.get_by_role("alert")).to_have_text("Type what to respond.")
        card.get_by_label("Result to give instead").fill("I called her.")
        press(card, "Send")
        see(page, {"#status": "Finished", PILLS: "done", ".tool .result": "I called her."})
        assert mail.results == ["I called her."]
        press(page, "New thread")
        ask(page, then=WAITS)
        press(card, "More")
        field(card, "JSON").check()
        box = field(card, "JSON answer")
        assert json.loads(box.input_value())["editedArgs"]["to"] == LETTER["to"]
        decision = {"type": "reject", "message": "Not now."}
        box.fill(json.dumps(decision))
        assert resumed(page, lambda: press(card, "Send"))[0]["payload"] == decision
        see(page, {"#status": "Finished", ".tool": "…Not now."})
    assert mail.sent == []


BUTTONS = {
    "approve edit reject": ["Approve", "Edit", "Reject", "More"],
    "approve reject": ["Approve", "Reject", "More"],
    "approve edit": ["Approve", "Edit", "More"],
    "edit": ["Approve with changes", "More"],
    "reject": ["Reject", "More"],
    "respond": ["More", "Send", "Cancel"],
}


@deep
def test_only_allowed_decisions_are_offered(browser):
    def act(to: str) -> str:
        """Act."""
        return to

    guards = {f"t{at}": {"allowed_decisions": one.split()} for at, one in enumerate(BUTTONS)}
    model = Scripted([call(name, name, at, to="ada") for at, name in enumerate(guards)])
    guard, tools = HumanInTheLoopMiddleware(guards), [tool(name)(act) for name in guards]
    graph = create_agent(model, tools, middleware=[guard], checkpointer=InMemorySaver())
    tops = "all => new Set(all.map((one) => one.getBoundingClientRect().top)).size"
    with shown(browser, graph) as page:
        ask(page, then=WAITS)
        for card, (allowed, buttons) in zip(cards(page).all(), BUTTONS.items(), strict=True):
            see(card, {".question-actions button:visible": buttons})
            # Where nothing else is allowed, the person can only edit.
            see(card, {".question-call input": int(allowed == "edit")})
            assert card.locator(".question-actions").first.locator("button").evaluate_all(tops) == 1


@deep
def test_an_answer_that_comes_too_late(browser):
    mail = Mail()
    with shown(browser, mail.graph) as page:
        ask(page, then=WAITS)
        with opened(browser, page.url) as other:  # in the same browser, it would follow
            status(other, WAITS)
            press(page, "Approve")
            status(page)
            press(other, "Reject")
            see(other, {".notice": "…the question was answered elsewhere", "#status": "Finished"})
            see(other, {PILLS: "done", ".question": 0})
    assert len(mail.sent) == 1


WORDS = "I hope that this letter finds you well, and that the weather is as fine as here. " * 6


@pytest.mark.parametrize("count", [1, 2])
def test_a_call_is_in_view_when_it_is_approved(browser, count):
    with shown(browser, Mail(*[{**LETTER, "body": WORDS}] * count).graph) as page:
        page.set_viewport_size({"width": 390, "height": 700})
        ask(page, then=WAITS)
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
def test_several_are_answered_together(browser):
    mail = Mail(*({**LETTER, "to": who} for who in ("ann", "bob", "eve")))
    with shown(browser, mail.graph) as page:
        ask(page, then=WAITS)
        first, second, third = (cards(page).nth(at) for at in range(3))
        see(page, {".question-note": "0 of 3 answered"})
        press(first, "Approve")
        see(page, {".question-note": "1 of 3 answered"})
        see(first, {"p:visible": '…Answered: Approve · send_email {"to":"ann"'})
        expect(second.get_by_role("button", name="Approve")).to_be_focused()
        press(third, "More", "Cancel")
        expect(third).to_contain_text("Answered: Cancel")
        press(first, "Change answer")
        see(page, {".question-note": "1 of 3 answered"})
        press(first, "Reject")
        press(second, "Approve")
        status(page)
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


KINDS = {"Day": "date", "At": "time", "Call": "datetime-local", "Breakfast": "checkbox"}
KINDS |= {"Nights": "number", "Price": "number"}
FILLED = {"Nights": "0.5", "Guest": "A", "Beds": "9"}
FILLED |= {"Day": "2026-07-31", "At": "09:30", "Call": "2026-07-30T08:15"}
PROBLEMS = [
    "Nights must be a whole number of at least 1.",
    "Guest must be text of at least 2 characters.",
    "Beds must be a whole number from 1 to 4.",
]
ROME = {"timezone_id": "Europe/Rome"}


def test_a_form_from_a_schema(browser):
    asked = {"message": "Where do you stay?", "budget": {"euros": 90}}
    asker = Asker(asked, response_schema=Booking)
    with shown(browser, asker.graph, context=ROME) as page:
        ask(page, then=WAITS)
        card = cards(page)
        see(card, {"h2": "Where do you stay?", ".question-facts": '…{ "euros": 90 }'})
        expect(card).to_contain_text("A whole number of at least 1.")
        press(card, "Send")
        expect(field(card, "Nights")).to_be_focused()
        expect(card).to_contain_text("Guest is required: text of at least 2 characters.")
        for label, kind in KINDS.items():
            expect(field(card, label)).to_have_attribute("type", kind)
        for label, value in FILLED.items():
            field(card, label).fill(value)
        press(card, "Send")
        see(card, {".field-problem:visible": PROBLEMS})
        for label, value in {"Nights": "3", "Guest": "Ada", "Beds": "2"}.items():
            card.get_by_label(label).fill(value)
        field(card, "Breakfast").check()
        field(card, "View").select_option("sea")
        press(card, "Add Extras")
        field(card, "Extras 1").fill("bike")
        card.get_by_label("Guest").press("Enter")
        status(page)
    call_at = datetime(2026, 7, 30, 6, 15, tzinfo=UTC)
    when = {"day": date(2026, 7, 31), "at": time(9, 30), "call": call_at}
    given = {"nights": 3, "guest": "Ada", "breakfast": True, "extras": ["bike"]}
    assert asker.answers == [Booking(room=Room(beds=2, view="sea"), **given, **when)]


CONSTS = [{"const": 1, "title": "One"}, {"const": None, "title": "Nothing"}, {"const": 2}]
COLOUR = {"enum": ["red", "blue"]}
FIXED = [
    (COLOUR, "blue", "blue"),
    ({"oneOf": CONSTS}, "2", 2),
    ({"type": "boolean"}, "No", False),
    ({"properties": {"colour": COLOUR}, "required": ["colour"]}, "red", {"colour": "red"}),
]


@deep
def test_buttons_texts_and_json_as_answers(browser):
    asked = [{"message": f"{at}?", "responseSchema": one} for at, (one, _, _) in enumerate(FIXED)]
    asker = Asker(*asked, "Really?", "When?", "How long?")
    with shown(browser, asker.graph) as page:
        ask(page, then=WAITS)
        card = cards(page)
        for at, (_, button, _) in enumerate(FIXED):
            see(card, {"h2": f"{at}?"})
            press(card, button)
        expect(card).to_contain_text("Really?")
        press(card, "No")
        expect(card).to_contain_text("When?")
        press(card, "Send")
        expect(card.get_by_role("alert")).to_have_text("Type an answer.")
        field(card, "Another answer").fill("not before May")
        press(card, "Send")
        expect(card).to_contain_text("How long?")
        press(card, "More")
        field(card, "JSON answer").fill("{nonsense")
        press(card.locator(".question-panel"), "Send")
        expect(card.get_by_role("alert")).to_have_text("That is not JSON.")
        field(card, "JSON answer").fill('{"days": 3}')
        press(card.locator(".question-panel"), "Send")
        status(page)
    assert asker.answers == [*(one for _, _, one in FIXED), False, "not before May", {"days": 3}]


# Timers and the wall clock are two clocks: a timer may end before the time that it was set for.
EARLY_TIMERS = """() => {
    const wait = window.setTimeout;
    window.setTimeout = (done, time) => wait(done, time - 300);
}"""


@deep
@pytest.mark.parametrize("seconds", [2, -1_000_000])
def test_a_question_that_is_expired_or_expires_meanwhile_is_only_cancelled(browser, seconds):
    end = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    with shown(browser, Asker({"message": "Quick?", "expiresAt": end}).graph) as page:
        page.evaluate(EARLY_TIMERS)
        ask(page, then=WAITS)
        expect(cards(page)).to_contain_text("It is too late to answer.")
        see(page, {".question button:visible": ["Cancel"]})
        press(cards(page), "Cancel")
        status(page, "Stopped")


def test_a_question_of_an_agent_that_shows_no_threads_outlives_a_reload(browser, site):
    with opened(browser, site, logs=True) as page:
        for path in ("connect", "capabilities"):
            page.route(f"**/agent/{path}", lambda route: route.fulfill(status=404))
        page.reload()
        question = {"id": "i", "reason": "confirmation", "message": "Really?"}
        answer(page, end=interrupted(question))
        ask(page, then=WAITS)
        page.reload()
        see(page, {"#status": WAITS, ".question h2": "Really?"})
        inputs = answer(page, *text_events("m", "As you wish."))
        press(cards(page), "Cancel")
        status(page)
        assert inputs[0]["resume"] == [{"interruptId": "i", "status": "cancelled"}]
        page.reload()
        see(page, {"#status": "Finished", ".question": 0})


@deep
def test_a_refused_answer_opens_again(browser):
    refused = []

    def refuse_once(approval):
        refused.append(approval)
        if len(refused) == 1:
            raise PermissionError

    mail = Mail()
    with shown(browser, mail.graph, approvals=ApprovalOptions(on_answer=refuse_once)) as page:
        ask(page, then=WAITS)
        press(cards(page), "Edit")
        field(cards(page), "to").fill("bob@example.com")
        press(page, "Approve with changes")
        see(page, {".question-refused:visible": "The answer was not accepted.", "#status": WAITS})
        expect(field(cards(page), "to")).to_have_value("bob@example.com")
        press(page, "Approve with changes")
        status(page)
    assert [one["to"] for one in mail.sent] == ["bob@example.com"]


def test_a_message_has_to_wait(browser):
    with shown(browser, Mail().graph) as page:
        ask(page, then=WAITS)
        message = field(page, "Message")
        message.fill("And hurry")
        page.clock.install(time=0)
        page.clock.pause_at(1)  # no time passes until the second key
        message.press("Enter")
        see(page, {".question-note": "Answer the question first."})
        approve = cards(page).get_by_role("button", name="Approve")
        expect(approve).to_be_focused()
        approve.press("Enter")  # nobody can have seen the question by now
        page.clock.resume()
        status(page, WAITS)
        expect(message).to_have_value("And hurry")
        press(page, "Approve")
        status(page)


@pytest.fixture
def asked(browser, echoes):
    """Opens pages whose agent asks these questions."""
    pages = []

    def ask_with(*questions, **context):
        opening = opened(browser, echoes, **context)
        page = opening.__enter__()
        pages.append(opening)
        ids = ({"id": f"q{at}", "reason": "x:y", **one} for at, one in enumerate(questions))
        inputs = answer(page, end=interrupted(*ids))
        ask(page, then=WAITS)
        return page, inputs

    yield ask_with
    for page in pages:
        page.__exit__(None, None, None)


def fields(**properties):
    return {"type": "object", "properties": properties}


def strings(*names):
    return {name: {"type": "string"} for name in names}


def defined(**definitions):
    return {"$ref": "#/$defs/A", "$defs": definitions}


A, MANY = {"$ref": "#/$defs/A"}, [f"p{n}" for n in range(20)]
WRONG = fields(a=5, b={"enum": {}}, c={"type": "nothing"}, d={"anyOf": "x"}, e=None)
HOSTILE = [
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
    fields(**strings("__proto__", "constructor", "toString", "hasOwnProperty")),
]


@deep
def test_hostile_schemas_leave_a_way_to_answer(asked):
    page, _ = asked(*({"message": "<b>Which?</b>", "responseSchema": one} for one in HOSTILE))

    def cancel():
        for card in cards(page).all():
            see(card, {"h2": "<b>Which?</b>"})
            press(card, "More")
            expect(field(card, "JSON answer")).to_be_visible()
            press(card, "Cancel")

    ids = [f"q{at}" for at in range(len(HOSTILE))]
    assert resumed(page, cancel) == [{"interruptId": one, "status": "cancelled"} for one in ids]


TIMES = {
    "a": ("2026-01-31T12:00:00Z", "datetime-local", "2026-01-31T13:00"),
    "b": ("2026-01-31T12:00:00.250+05:30", "datetime-local", "2026-01-31T07:30:00.25"),
    "c": ("2026-01-31T12:00", "datetime-local", "2026-01-31T12:00"),
    "d": ("tomorrow at noon", "text", "tomorrow at noon"),
}
MOMENT = {"type": "string", "format": "date-time"}


@deep
def test_what_is_not_changed_is_sent_as_it_came(asked):
    moments = {name: {**MOMENT, "default": given} for name, (given, _, _) in TIMES.items()}
    page, _ = asked({"responseSchema": fields(**strings("note", "__proto__"), **moments)}, **ROME)
    for name, (_, kind, shown_as) in TIMES.items():
        box = field(cards(page), name)
        expect(box).to_have_attribute("type", kind)
        expect(box).to_have_value(shown_as)
    box.fill("")
    field(cards(page), "__proto__").fill("first")
    (sent,) = resumed(page, lambda: press(cards(page), "Send"))
    times = {name: TIMES[name][0] for name in "abc"}
    assert sent["payload"] == {**times, "__proto__": "first"}
    assert page.evaluate("({}).polluted === undefined")


def kind(name):
    return {**fields(type={"const": name}), "required": ["type"]}


@deep
def test_questions_of_other_agents(asked):
    page, inputs = asked(
        {"reason": "confirmation", "message": "First?"},
        {"reason": "input_required", "responseSchema": COLOUR},
        {"reason": "tool_call", "responseSchema": {"oneOf": [kind("approve"), kind("reject")]}},
        {"reason": "tool_call", "message": "Fourth?"},
    )
    for at, button in {2: "Reject", 1: "blue", 3: "Approve"}.items():
        press(cards(page).nth(at), button)
    assert len(inputs) == 1
    sent = resumed(page, lambda: press(cards(page).nth(0), "Cancel"))
    assert [one["status"] for one in sent] == ["cancelled", *["resolved"] * 3]
    assert [one["payload"] for one in sent[1:]] == ["blue", {"type": "reject"}, {"approved": True}]


CAT = {**fields(kind={"const": "cat"}, lives={"type": "integer"}), "title": "Cat"}
DOG = {**fields(kind={"const": "dog"}, **strings("name")), "required": ["kind", "name"]}
PETS = {"oneOf": [CAT, {**DOG, "title": "Dog"}]}


@deep
def test_variants_and_parts_that_may_be_left_out(asked):
    schema = {**fields(pet=PETS, more={"$ref": "#"}, any={}), "required": ["pet"]}
    page, _ = asked({"responseSchema": schema})
    card = cards(page)
    card.get_by_label("pet").select_option("Dog")
    press(card, "Send")
    expect(card.get_by_label("name")).to_be_focused()
    card.get_by_label("name").fill("Rex")
    press(card, "Add more", "Remove more")
    card.get_by_label("any").fill("[1, ")
    press(card, "Send")
    see(card, {".field-problem:visible": "…any must be JSON: "})
    card.get_by_label("any").fill("[1, 2]")
    (sent,) = resumed(page, lambda: card.get_by_label("any").press("Control+Enter"))
    assert sent["payload"] == {"pet": {"kind": "dog", "name": "Rex"}, "any": [1, 2]}


def test_calls_of_the_pages_tools_are_answered(browser):
    def script(messages):
        last = messages[-1]
        if isinstance(last, ToolMessage):
            return [f"I got {last.text}."]
        return [call("pick_colour", f"c{len(messages)}", room="hall")]

    saver, middleware = InMemorySaver(), [AGUIMiddleware()]
    graph = create_agent(Scripted(script=script), middleware=middleware, checkpointer=saver)
    with shown(browser, graph) as page:
        press(page, "Tools")
        field(page, "Name").fill("no name")
        press(page, "Add tool")
        expect(page.get_by_role("alert")).to_contain_text("The name must have 1 to 64")
        field(page, "Name").fill("pick_colour")
        press(page, "Add tool")
        see(page, {"#tools li code": "pick_colour"})
        press(page, "Close")
        for button, content in (("Send result", "blue"), ("Report an error", "none")):
            ask(page, then=WAITS)
            card = cards(page)
            see(card, {"h2": "The agent calls pick_colour. What is the result?"})
            see(card, {".question-facts": "roomhall"})
            expect(page.locator(PILLS).last).to_have_text("waiting for you")
            press(card, button)
            expect(card.get_by_role("alert")).to_contain_text("Type ")
            card.get_by_label("Result").fill(content)
            with page.expect_request("**/agent") as request:
                press(card, button)
            sent = json.loads(request.value.post_data)
            result = sent["messages"][-1]
            assert (result["toolCallId"][0], result["content"]) == ("c", content)
            assert ("error" in result) == (button == "Report an error")
            assert [one["name"] for one in sent["tools"]] == ["pick_colour"]
            see(page, {"#status": "Finished", ".question": 0})
            expect(page.locator(SAID).last).to_contain_text(re.compile(f"I got.*{content}"))

"""The reader's actions in the browser at the end of each page in `FOLLOWED`, and the result: one function for each
page."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

PLAYGROUND = "http://127.0.0.1:8000"


def say(page: Page, text: str) -> None:
    """Write a message into the playground, and send it."""
    page.get_by_label("Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def answer(page: Page) -> Locator:
    """Return the last answer in the playground."""
    return page.locator(".text[data-role=assistant]").last


def quickstart(page: Page) -> None:
    page.goto(PLAYGROUND)
    say(page, "Hello")
    expect(answer(page)).to_contain_text("Hello! What shall we build?")
    expect(page.locator(".reasoning")).to_contain_text("They say hello.")


def approvals(page: Page) -> None:
    page.goto(PLAYGROUND)
    say(page, "Send Ada 5 euros")
    page.get_by_role("button", name="Approve").click()
    expect(answer(page)).to_contain_text("Sent 5 euros to Ada.")
    say(page, "Send Ada 5 euros")
    expect(page.get_by_role("button", name="Reject")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Reject").click()
    expect(answer(page)).to_contain_text("rejected")
    expect(answer(page)).not_to_contain_text("Sent")
    expect(page.locator("#status")).to_have_text("Finished")
    page.goto("http://127.0.0.1:8001")
    say(page, "Send Ada 5 euros")
    page.get_by_role("button", name="Savings").click()
    expect(answer(page)).to_contain_text("Sent 5 euros to Ada from the account Savings.")


def reasoning(page: Page) -> None:
    for address, shown in ((PLAYGROUND, 1), ("http://127.0.0.1:8001", 0)):
        page.goto(address)
        say(page, "Pick a number")
        expect(answer(page)).to_contain_text("Ask me for my number.")
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.get_by_text("Thought").first).to_be_visible()
        expect(page.get_by_text("I pick 417 and keep it to myself.")).to_have_count(shown)
        say(page, "Which number is it?")
        expect(answer(page)).to_contain_text("It is 417.")


def frontend_tools(page: Page) -> None:
    page.goto(PLAYGROUND)
    say(page, "Where can I eat?")
    expect(answer(page)).to_contain_text("I cannot see where you are. This client offers no tools.")
    page.get_by_role("button", name="Tools", exact=True).click()
    results = {"get_city": "Lisbon", "show_on_map": "Shown"}
    for name in results:
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_role("button", name="Add tool", exact=True).click()
    page.get_by_role("button", name="Close", exact=True).click()
    say(page, "Where can I eat?")
    for name, result in results.items():
        question = page.get_by_role("article", name=f"The agent calls {name}.")
        question.get_by_role("textbox").fill(result)
        question.get_by_role("button", name="Send result", exact=True).click()
    expect(answer(page)).to_contain_text("It is on your map now.")


def state(page: Page) -> None:
    shown = page.locator("#state")
    edit = shown.get_by_role("button", name="Edit state")
    page.goto(f"{PLAYGROUND}/#soup")
    expect(shown).to_contain_text("Tomato soup")
    edit.click()
    expect(shown.get_by_label("JSON")).to_have_value(re.compile("a handful of basil"))
    shown.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="New thread").click()
    say(page, "A tomato soup, please.")
    expect(answer(page)).to_contain_text("Here is your recipe.")
    edit.click()
    shown.get_by_label("What to edit").select_option("servings")
    expect(shown.get_by_label("JSON")).to_have_value("4")
    shown.get_by_label("JSON").fill("6")
    shown.get_by_role("button", name="Save").click()
    say(page, "What do I need?")
    expect(answer(page)).to_contain_text("For 6 people you need")
    expect(answer(page)).not_to_contain_text("basil")


def subagents(page: Page) -> None:
    for address, hidden in ((PLAYGROUND, False), ("http://127.0.0.1:8001", True)):
        page.goto(address)
        say(page, "Plan my day in Lisbon")
        page.get_by_role("button", name="Approve").click()
        expect(answer(page)).to_have_text(
            "Tomorrow it's sunny in Lisbon. I booked a tour of Lisbon at 10:00."
        )
        if hidden:
            expect(page.get_by_text("get_forecast")).to_have_count(0)
            continue
        groups = page.locator("#transcript").get_by_role("group")
        for expert, own, others in (
            ("weather", "get_forecast", "book_tour"),
            ("guide", "book_tour", "get_forecast"),
        ):
            group = groups.filter(has=page.get_by_text(expert, exact=True))
            group = group.filter(has_text=own).last
            expect(group).to_contain_text(re.compile("sunny in Lisbon|I booked"))
            expect(group).not_to_contain_text(others)


def chat(page: Page, text: str) -> None:
    """Write a message into the page of a front end, and send it."""
    page.get_by_placeholder("Write a message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def rests(page: Page) -> None:
    """Wait until the run of the page has ended: leaving the page before that is an error
    in the console."""
    page.get_by_placeholder("Write a message").fill("something")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()


def react(page: Page) -> None:
    for address in (PLAYGROUND, "http://127.0.0.1:5173"):
        page.goto(address)
        note = page.get_by_placeholder("Note")
        rests(page)
        note.fill("Buy milk")
        chat(page, "Hello")
        expect(page.locator(".assistant p")).to_have_text("Hello! I can send money.")
        rests(page)
        page.reload()
        expect(page.locator(".assistant p")).to_have_text("Hello! I can send money.")
        expect(note).to_have_value("Buy milk")
        rests(page)
        reasoning = page.get_by_text("They say hello. I say hello back.")
        expect(reasoning).not_to_be_visible()
        page.get_by_text("Reasoning", exact=True).click()
        expect(reasoning).to_be_visible()
        chat(page, "Send Ada 5 euros")
        page.get_by_role("button", name="Approve").click()
        expect(page.locator(".assistant p").last).to_have_text(
            "The answer is: Sent 5 euros to Ada."
        )
        expect(page.locator(".assistant code")).to_have_text('transfer {"to": "Ada", "amount": 5}')
        chat(page, "Send Ada 5 euros")
        expect(page.get_by_role("button", name="Reject")).to_be_visible()
        page.reload()
        page.get_by_role("button", name="Reject").click()
        expect(page.locator(".assistant p").last).to_contain_text("rejected")
        rests(page)


def copilotkit(page: Page) -> None:
    def rests() -> None:
        expect(page.get_by_test_id("copilot-chat")).to_have_attribute(
            "data-copilot-running", "false"
        )

    def send(text: str) -> None:
        rests()
        page.get_by_placeholder("Type a message...").fill(text)
        page.get_by_test_id("copilot-send-button").click()

    page.goto("http://127.0.0.1:4000")
    answers = page.locator('[data-testid="copilot-assistant-message"] > [class~="cpk:prose"] p')
    send("Paint the page")
    expect(answers).to_have_text("The answer is: The page is lightblue.")
    expect(page.locator("body")).to_have_css("background-color", "rgb(173, 216, 230)")
    send("Send Ada 5 euros")
    page.get_by_role("button", name="Approve").click()
    expect(answers.last).to_have_text("The answer is: Sent 5 euros to Ada.")
    send("Send Ada 5 euros")
    page.get_by_role("button", name="Reject").click()
    expect(answers.last).to_contain_text("rejected")


def assistant_ui(page: Page) -> None:
    page.goto(PLAYGROUND)
    chat(page, "Hello")
    expect(page.locator(".assistant .text")).to_have_text("Hello! I can send money.")
    page.get_by_text("Reasoning", exact=True).click()
    expect(page.get_by_text("They say hello. I say hello back.")).to_be_visible()
    chat(page, "Send Ada 5 euros")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".assistant .text").last).to_have_text(
        "The answer is: Sent 5 euros to Ada."
    )
    chat(page, "Send Ada 5 euros")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator(".assistant .text").last).to_contain_text("with reason: No, thank you.")

"""Threads of the page: kept, named, stopped, joined again, and without a server for a while."""

from __future__ import annotations

import json
from urllib.parse import unquote

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.behaviour.playground.sites import (
    SAID,
    TEXTS,
    Joined,
    ask,
    echo,
    field,
    opened,
    press,
    see,
    shown,
    site_of,
    status,
    upload,
)
from tests.kit.deep import deep
from tests.kit.models.media_files import encoded, png
from tests.kit.models.scripted import Scripted
from tests.kit.processes.serving import serving

pytestmark = deep

ROWS = "#threads .open"
DONE = "Begun and done"


def test_threads_are_kept_and_named_by_their_first_words(browser, echoes):
    with opened(browser, echoes) as page:
        ask(page, "milk")
        press(page, "New thread")
        see(page, {".item": 0})
        ask(page, "bread " * 30)
        see(page, {ROWS: 2})
        first, second = page.locator(ROWS).all_inner_texts()
        assert (first[:11], first[-1], second) == ("bread bread", "…", "milk")
        page.go_back()
        see(page, {TEXTS: ["milk", "milk"]})
        page.go_forward()
        expect(page.locator(TEXTS).first).to_contain_text("bread bread")
        page.locator(ROWS, has_text="milk").click()
        see(page, {TEXTS: ["milk", "milk"]})
        ask(page, "tea")
        see(page, {TEXTS: ["milk", "milk", "tea", "milk, tea"]})
        page.get_by_label("Remove bread").click()
        see(page, {ROWS: ["milk"]})
        page.get_by_label("Remove milk").click()
        see(page, {".item": 0})


def test_a_new_thread_on_a_phone_shows_the_conversation(browser, echoes):
    with opened(browser, echoes, viewport={"width": 390, "height": 844}) as page:
        for panel in ("Threads", "Details"):
            press(page, panel, "New thread")
            button = page.get_by_role("button", name=panel)
            expect(button).to_have_attribute("aria-expanded", "false")
            ask(page, panel)


def test_several_agents_on_one_page(browser):
    names = ["one", "zwei/drei"]
    graphs = [create_agent(Scripted([one]), [], checkpointer=InMemorySaver()) for one in names]
    agents = {name: LangGraphAgent(graph) for name, graph in zip(names, graphs, strict=True)}
    with site_of(agents) as url, opened(browser, url) as page:
        choice = page.locator("#agents")
        see(page, {"#agents option": names})
        ask(page, "milk")
        see(page, {TEXTS: ["milk", "one"]})
        choice.select_option(names[1])
        see(page, {".item": 0, ROWS: 0})
        ask(page, "bread")
        page.reload()
        expect(choice).to_have_value(names[1])
        see(page, {TEXTS: ["bread", names[1]], ROWS: ["bread"]})
        page.go_back()
        expect(choice).to_have_value("one")
        see(page, {TEXTS: ["milk", "one"], ROWS: ["milk"]})


def test_any_address_names_a_thread_that_is_unknown_until_it_runs(browser, echoes):
    with opened(browser, echoes) as page:
        for address in ("%zz/x", "milk%20and%20bread", "user/42"):
            page.goto(f"{echoes}#{address}")
            page.reload()
            see(page, {"#status": "Unknown thread", ".notice": "…Send a message to start it."})
            with page.expect_request("**/agent") as request:
                ask(page, "milk")
            see(page, {".notice": 0})
            assert json.loads(request.value.post_data)["threadId"] == unquote(address)
            page.reload()
            see(page, {TEXTS: ["milk", "milk"]})


def test_threads_of_an_agent_without_a_checkpointer_are_kept_by_the_page(browser):
    with shown(browser, echo(saver=False)) as page:
        ask(page, "milk")
        page.reload()
        see(page, {TEXTS: ["milk", "milk"]})
        other = page.context.new_page()
        other.goto(page.url)
        see(other, {TEXTS: ["milk", "milk"]})
        ask(page, "tea")
        for tab in (page, other):
            see(tab, {TEXTS: ["milk", "milk", "tea", "milk, tea"]})


def test_a_run_of_an_agent_without_a_checkpointer_is_joined_again_and_stopped(browser):
    joined = Joined()
    with shown(browser, joined.graph, on_disconnect="continue") as page:
        ask(page, then="Running")
        see(page, {f"{SAID} .body": "Beg"})
        page.reload()
        see(page, {"#status": "Running", f"{SAID} .body": "Beg"})
        joined.gate.set()
        see(page, {"#status": "Finished", TEXTS: ["hello", DONE]})
        joined.gate.clear()
        ask(page, "again", "Running")
        expect(page.locator(f"{SAID} .body").last).to_have_text("Beg")
        page.keyboard.press("Escape")
        see(page, {"#status": "Stopped", ".streaming": 0})
        joined.gate.set()
        ask(page, "more")
        see(page, {f"{SAID} .body": [DONE, "Beg", DONE]})


def test_two_tabs_send_at_once(browser):
    joined = Joined(InMemorySaver())
    # Two browsers, which log the refusal: in one, an idle tab follows the other.
    with site_of(joined.graph) as url, opened(browser, url, logs=True) as page:
        ask(page, "one", "Running")
        see(page, {f"{SAID} .body": "Beg"})
        with opened(browser, page.url, logs=True) as other:
            status(other, "Running")
            joined.gate.set()
            status(page)
            status(other)
            joined.gate.clear()
            ask(other, "two", "Running")
            expect(other.locator(f"{SAID} .body").last).to_have_text("Beg")
            field(page, "Message").fill("three")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_contain_text("thread_busy")
            press(page, "Retry")
            see(page, {TEXTS: ["one", DONE, "two", "Beg"]})
            joined.gate.set()
            expect(page.get_by_role("alert")).to_contain_text("The last message has no answer.")
            press(page, "Retry")
            see(page, {TEXTS: ["one", DONE, "two", DONE, "three", DONE]})
            status(other)


def test_an_idle_tab_follows_the_other(browser):
    joined = Joined(InMemorySaver())
    joined.gate.set()
    with shown(browser, joined.graph) as page:
        ask(page, "one")
        other = page.context.new_page()
        other.goto(page.url)
        status(other)
        joined.gate.clear()
        ask(page, "two", "Running")
        see(other, {"#status": "Running", TEXTS: ["one", DONE, "two", "Beg"]})
        joined.gate.set()
        for tab in (page, other):
            see(tab, {"#status": "Finished", TEXTS: ["one", DONE, "two", DONE]})
        # A run that is over before the other tab has begun to follow it.
        ask(page, "three")
        see(other, {TEXTS: 6})
        # And the other way, also to a tab that shows another thread meanwhile.
        press(page, "New thread")
        ask(other, "four")
        see(page, {".item": 0})
        page.go_back()
        see(page, {TEXTS: 8})


def test_a_message_that_is_sent_during_a_run_waits_for_its_end(browser):
    joined = Joined(InMemorySaver())
    with shown(browser, joined.graph) as page:
        message = field(page, "Message")
        ask(page, "one", "Running")
        message.fill("two")
        message.press("Enter")
        see(page, {".held": "…Your message will be sent when it finishes."})
        press(page.locator(".held"), "Don't send")
        see(page, {".held": False})
        message.press("Enter")
        joined.gate.set()
        see(page, {TEXTS: ["one", DONE, "two", DONE], "#status": "Finished"})
        expect(message).to_have_value("")
        joined.gate.clear()
        ask(page, "three", "Running")
        message.fill("four")
        message.press("Enter")
        press(page, "Stop")
        see(page, {"#status": "Stopped", ".held": False})
        expect(message).to_have_value("four")


def test_a_server_that_is_gone_and_comes_back(browser):
    app, alert = build_app(LangGraphAgent(echo()), "Test"), "The connection to the agent was lost"
    with serving(app) as served:
        opening = opened(browser, served.url(), logs=True)
        page = opening.__enter__()
        ask(page, "one")
    field(page, "Message").fill("two")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").last).to_contain_text(alert)
    with serving(app, served.port):
        expect(page.get_by_role("alert").last).to_contain_text("The last message has no answer.")
        press(page, "Retry")
        see(page, {TEXTS: ["one", "one", "two", "one, two"]})
        opening.__exit__(None, None, None)


def test_a_file_is_attached(browser):
    model = Scripted(["seen"])
    with shown(browser, create_agent(model, [], checkpointer=InMemorySaver())) as page:
        upload(page.get_by_label("Files to attach"), "dot.png", png(), "image/png")
        expect(page.get_by_label("Attachments")).to_contain_text("dot.png")
        ask(page, "what is this?")
        expect(page.get_by_label("Attachments")).to_be_hidden()
    (seen,) = model.seen
    for part in ("what is this?", encoded(png())):
        assert part in json.dumps(seen[-1].content)

"""Threads of the page: kept, named, forked, stopped, joined again, and without a server for a
while."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.behaviour.playground.sites import ask, opened, shown
from tests.kit.deep import deep
from tests.kit.graphs.chat import GatedModel
from tests.kit.models.media_files import encoded, png
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.serving import serving

pytestmark = deep

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from playwright.sync_api import Browser, Page


def echo(messages: list[BaseMessage]) -> Any:
    """Answer with all questions so far."""
    return [text_chunk(", ".join(one.text for one in messages if isinstance(one, HumanMessage)))]


def echo_graph(saver: InMemorySaver | None = None) -> Any:
    return create_agent(Scripted(script=echo), [], checkpointer=saver or InMemorySaver())


def texts(page: Page) -> list[str]:
    return page.locator(".text .body").all_inner_texts()


def rows(page: Page) -> list[str]:
    return page.locator("#threads .open").all_inner_texts()


def test_threads_are_kept_and_named_by_their_first_words(browser: Browser) -> None:
    with shown(browser, echo_graph()) as page:
        ask(page, "milk")
        page.get_by_role("button", name="New thread").click()
        expect(page.locator(".item")).to_have_count(0)
        ask(page, "bread " * 30)
        expect(page.locator("#threads .open")).to_have_count(2)
        assert rows(page)[1] == "milk"
        assert rows(page)[0].startswith("bread bread")
        assert rows(page)[0].endswith("…")
        page.go_back()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        page.go_forward()
        expect(page.locator(".text .body").first).to_contain_text("bread bread")
        page.locator("#threads .open", has_text="milk").click()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        ask(page, "tea")
        assert texts(page)[-1] == "milk, tea"
        page.get_by_label("Remove bread").click()
        expect(page.locator("#threads .open")).to_have_text(["milk"])
        page.get_by_label("Remove milk").click()
        expect(page.locator(".item")).to_have_count(0)


@deep
def test_a_new_thread_on_a_phone_shows_the_conversation(browser: Browser) -> None:
    with shown(browser, echo_graph()) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for panel in ("Threads", "Details"):
            page.get_by_role("button", name=panel).click()
            page.get_by_role("button", name="New thread").click()
            expect(page.get_by_role("button", name=panel)).to_have_attribute(
                "aria-expanded", "false"
            )
            ask(page, panel)


def test_several_agents_on_one_page(browser: Browser) -> None:
    names = ["one", "zwei/drei"]
    agents = {
        name: LangGraphAgent(create_agent(Scripted([name]), [], checkpointer=InMemorySaver()))
        for name in names
    }
    with serving(build_app(agents, "Test")) as served, opened(browser, served.url()) as page:
        choice = page.locator("#agents")
        expect(choice.locator("option")).to_have_text(names)
        ask(page, "milk")
        assert texts(page) == ["milk", "one"]
        choice.select_option(names[1])
        expect(page.locator(".item")).to_have_count(0)
        expect(page.locator("#threads .open")).to_have_count(0)
        ask(page, "bread")
        assert texts(page) == ["bread", names[1]]
        assert rows(page) == ["bread"]
        page.reload()
        expect(choice).to_have_value(names[1])
        expect(page.locator(".text .body")).to_have_text(["bread", names[1]])
        page.go_back()
        expect(choice).to_have_value("one")
        expect(page.locator(".text .body")).to_have_text(["milk", "one"])
        assert rows(page) == ["milk"]


@deep
def test_any_address_names_a_thread_that_is_unknown_until_it_runs(browser: Browser) -> None:
    with shown(browser, echo_graph()) as page:
        site = page.url.partition("#")[0]
        for address in ("%zz/x", "milk%20and%20bread", "user/42"):
            page.goto(f"{site}#{address}")
            page.reload()
            expect(page.locator("#status")).to_have_text("Unknown thread")
            expect(page.locator(".notice")).to_contain_text("Send a message to start it.")
            with page.expect_request("**/agent") as request:
                ask(page, "milk")
            expect(page.locator(".notice")).to_have_count(0)
            assert json.loads(request.value.post_data or "")["threadId"] == unquote(address)
            page.reload()
            expect(page.locator(".text .body")).to_have_text(["milk", "milk"])


def test_threads_of_an_agent_without_a_checkpointer_are_kept_by_the_page(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted(script=echo), [])) as page:
        ask(page, "milk")
        page.reload()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.locator(".text .body")).to_have_text(["milk", "milk"])
        ask(page, "tea")
        for tab in (page, other):
            expect(tab.locator(".text .body")).to_have_text(["milk", "milk", "tea", "milk, tea"])


class Joined:
    """A graph whose model waits in the middle of its answer."""

    def __init__(self, saver: InMemorySaver | None) -> None:
        self.gate = threading.Event()
        model = GatedModel(
            script=lambda messages: [text_chunk("Beg"), self.gate, text_chunk("un and done")]
        )
        self.graph = create_agent(model, [], checkpointer=saver)


def test_a_run_is_stopped_although_it_goes_on_without_its_reader(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    with shown(browser, joined.graph, on_disconnect="continue") as page:
        ask(page, status="Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        page.keyboard.press("Escape")
        expect(page.locator("#status")).to_have_text("Stopped")
        joined.gate.set()
        ask(page, "again")
        expect(page.locator(".text[data-role=assistant] .body").last).to_have_text("Begun and done")


def test_a_page_that_is_loaded_again_joins_the_run_of_an_agent_without_a_checkpointer(
    browser: Browser,
) -> None:
    joined = Joined(None)
    with shown(browser, joined.graph, on_disconnect="continue") as page:
        ask(page, status="Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        page.reload()
        expect(page.locator("#status")).to_have_text("Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        joined.gate.set()
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".text .body")).to_have_text(["hello", "Begun and done"])


def test_two_tabs_send_at_once(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    # Two browsers: in one, an idle tab follows the other.
    contexts = [browser.new_context(), browser.new_context()]
    page, other = (context.new_page() for context in contexts)
    with serving(build_app(LangGraphAgent(graph=joined.graph), "Test")) as served:
        page.goto(served.url())
        ask(page, "one", status="Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        other.goto(page.url)
        expect(other.locator("#status")).to_have_text("Running")
        joined.gate.set()
        for tab in (page, other):
            expect(tab.locator("#status")).to_have_text("Finished")
        joined.gate.clear()
        ask(other, "two", status="Running")
        expect(other.locator(".text[data-role=assistant] .body").last).to_have_text("Beg")
        page.get_by_label("Message", exact=True).fill("three")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("thread_busy")
        page.get_by_role("button", name="Retry").click()
        expect(page.locator(".text .body")).to_have_text(["one", "Begun and done", "two", "Beg"])
        joined.gate.set()
        expect(page.get_by_role("alert")).to_contain_text("The last message has no answer.")
        page.get_by_role("button", name="Retry").click()
        texts_now = ["one", "Begun and done", "two", "Begun and done", "three", "Begun and done"]
        expect(page.locator(".text .body")).to_have_text(texts_now)
        for context in contexts:
            context.close()


def test_an_idle_tab_follows_the_other(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    context = browser.new_context()
    page, other = context.new_page(), context.new_page()
    with serving(build_app(LangGraphAgent(graph=joined.graph), "Test")) as served:
        page.goto(served.url())
        joined.gate.set()
        ask(page, "one")
        other.goto(page.url)
        expect(other.locator("#status")).to_have_text("Finished")
        joined.gate.clear()
        ask(page, "two", status="Running")
        expect(other.locator("#status")).to_have_text("Running")
        expect(other.locator(".text .body")).to_have_text(["one", "Begun and done", "two", "Beg"])
        joined.gate.set()
        for tab in (page, other):
            expect(tab.locator("#status")).to_have_text("Finished")
            expect(tab.locator(".text .body").last).to_have_text("Begun and done")
        # A run that is over before the other tab has begun to follow it.
        ask(page, "three")
        expect(other.locator(".text .body")).to_have_count(6)
        # And the other way, also to a tab that shows another thread meanwhile.
        page.get_by_role("button", name="New thread").click()
        ask(other, "four")
        expect(page.locator(".item")).to_have_count(0)
        page.go_back()
        expect(page.locator(".text .body")).to_have_count(8)
        context.close()


def test_a_message_that_is_sent_during_a_run_waits_for_its_end(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    with shown(browser, joined.graph) as page:
        message, held = page.get_by_label("Message", exact=True), page.locator(".held")
        ask(page, "one", status="Running")
        message.fill("two")
        message.press("Enter")
        expect(held).to_contain_text("Your message will be sent when it finishes.")
        held.get_by_role("button", name="Don't send").click()
        expect(held).to_be_hidden()
        message.press("Enter")
        joined.gate.set()
        said = ["one", "Begun and done", "two", "Begun and done"]
        expect(page.locator(".text .body")).to_have_text(said)
        expect(page.locator("#status")).to_have_text("Finished")
        expect(message).to_have_value("")
        joined.gate.clear()
        ask(page, "three", status="Running")
        message.fill("four")
        message.press("Enter")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("Stopped")
        expect(held).to_be_hidden()
        expect(message).to_have_value("four")


def test_a_server_that_is_gone_and_comes_back(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = browser.new_context()
    page = context.new_page()
    with serving(build_app(LangGraphAgent(graph=joined.graph), "Test"), port=port) as served:
        page.goto(served.url())
        joined.gate.set()
        ask(page, "one")
    page.get_by_label("Message", exact=True).fill("two")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").last).to_contain_text("The connection to the agent was lost")
    with serving(build_app(LangGraphAgent(graph=joined.graph), "Test"), port=port):
        expect(page.get_by_role("alert").last).to_contain_text("The last message has no answer.")
        page.get_by_role("button", name="Retry").click()
        expect(page.locator(".text .body")).to_have_text(
            ["one", "Begun and done", "two", "Begun and done"]
        )
        context.close()


def test_a_file_is_attached(browser: Browser) -> None:
    seen: list[object] = []

    def script(messages: list[BaseMessage]) -> Any:
        seen.append(messages[-1].content)
        return [text_chunk("seen")]

    graph = create_agent(Scripted(script=script), [], checkpointer=InMemorySaver())
    with shown(browser, graph) as page:
        page.get_by_label("Files to attach").set_input_files(
            [{"name": "dot.png", "mimeType": "image/png", "buffer": png()}]
        )
        expect(page.get_by_label("Attachments")).to_contain_text("dot.png")
        ask(page, "what is this?")
        expect(page.get_by_label("Attachments")).to_be_hidden()
    assert "what is this?" in json.dumps(seen[0])
    assert encoded(png()) in json.dumps(seen[0])

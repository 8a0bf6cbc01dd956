"""Threads of the page: kept, named, forked, stopped, joined again, and without a server for a
while."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.middleware import AGUIMiddleware
from tests.behaviour.playground.sites import ask, opened, shown
from tests.kit.deep import deep
from tests.kit.graphs.chat import GatedModel
from tests.kit.models.media_files import encoded, png
from tests.kit.models.scripted import Scripted, call, text_chunk
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
        page.locator("#threads .open", has_text="milk").click()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        ask(page, "tea")
        assert texts(page)[-1] == "milk, tea"
        page.get_by_label("Remove bread").click()
        expect(page.locator("#threads .open")).to_have_text(["milk"])
        page.get_by_label("Remove milk").click()
        expect(page.locator(".item")).to_have_count(0)


def test_back_and_forward_move_between_threads(browser: Browser) -> None:
    with shown(browser, echo_graph()) as page:
        ask(page, "milk")
        page.get_by_role("button", name="New thread").click()
        ask(page, "bread")
        page.go_back()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        page.go_forward()
        expect(page.locator(".text .body")).to_have_text(["bread", "bread"])


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
@pytest.mark.parametrize("address", ["%zz/x", "milk%20and%20bread", "user/42"])
def test_any_address_names_a_thread(browser: Browser, address: str) -> None:
    with (
        serving(build_app(LangGraphAgent(graph=echo_graph()), "Test")) as served,
        opened(browser, served.url()) as page,
    ):
        page.goto(f"{served.url()}#{address}")
        page.reload()
        expect(page.locator("#status")).to_have_text("Unknown thread")
        with page.expect_request("**/agent") as request:
            ask(page, "milk")
        assert json.loads(request.value.post_data or "")["threadId"] == unquote(address)
        page.reload()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])


@deep
def test_an_agent_without_a_checkpointer_is_kept_by_the_page(browser: Browser) -> None:
    graph = create_agent(Scripted(script=echo), [])
    with shown(browser, graph) as page:
        ask(page, "milk")
        page.reload()
        expect(page.locator(".text .body")).to_have_text(["milk", "milk"])
        ask(page, "tea")
        assert texts(page)[-1] == "milk, tea"


def test_a_question_is_edited_and_an_answer_written_anew(browser: Browser) -> None:
    with shown(browser, echo_graph()) as page:
        ask(page, "one")
        ask(page, "two")
        page.locator(".text[data-role=user]").last.get_by_role("button", name="Edit").click()
        page.get_by_label("Edit your message").fill("zwei")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".text .body")).to_have_text(["one", "one", "zwei", "one, zwei"])
        page.locator(".text[data-role=assistant]").last.get_by_role(
            "button", name="Regenerate"
        ).click()
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".text .body")).to_have_text(["one", "one", "zwei", "one, zwei"])
        page.reload()
        expect(page.locator(".text .body")).to_have_text(["one", "one", "zwei", "one, zwei"])


class Joined:
    """A graph whose model waits in the middle of its answer."""

    def __init__(self, saver: InMemorySaver | None) -> None:
        self.gate = threading.Event()
        model = GatedModel(
            script=lambda messages: [text_chunk("Beg"), self.gate, text_chunk("un and done")]
        )
        self.graph = create_agent(model, [], checkpointer=saver)


@pytest.mark.parametrize("how", [pytest.param("Stop", marks=deep), "Escape"])
def test_a_run_is_stopped_although_it_goes_on_without_its_reader(
    browser: Browser, how: str
) -> None:
    joined = Joined(InMemorySaver())
    with shown(browser, joined.graph, on_disconnect="continue") as page:
        ask(page, status="Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        page.get_by_role("button", name="Stop").click() if how == "Stop" else page.keyboard.press(
            "Escape"
        )
        expect(page.locator("#status")).to_have_text("Stopped")
        joined.gate.set()
        ask(page, "again")
        expect(page.locator(".text[data-role=assistant] .body").last).to_have_text("Begun and done")


@pytest.mark.parametrize("kept", [True, pytest.param(False, marks=deep)], ids=["kept", "not kept"])
def test_a_page_that_is_loaded_again_joins_the_run(browser: Browser, kept: bool) -> None:
    joined = Joined(InMemorySaver() if kept else None)
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


def test_idle_tabs_of_an_agent_that_keeps_no_threads(browser: Browser) -> None:
    graph = create_agent(Scripted(script=echo), [])
    with shown(browser, graph) as page:
        ask(page, "milk")
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.locator(".text .body")).to_have_text(["milk", "milk"])
        ask(page, "tea")
        expect(other.locator(".text .body")).to_have_text(["milk", "milk", "tea", "milk, tea"])


@pytest.mark.parametrize("end", ["finished", pytest.param("stopped", marks=deep)])
def test_a_message_that_is_sent_during_a_run_waits_for_its_end(browser: Browser, end: str) -> None:
    joined = Joined(InMemorySaver())
    with shown(browser, joined.graph) as page:
        ask(page, "one", status="Running")
        message = page.get_by_label("Message", exact=True)
        message.fill("two")
        message.press("Enter")
        held = page.locator(".held")
        expect(held).to_contain_text("Your message will be sent when it finishes.")
        held.get_by_role("button", name="Don't send").click()
        expect(held).to_be_hidden()
        message.press("Enter")
        if end == "stopped":
            page.get_by_role("button", name="Stop").click()
            expect(page.locator("#status")).to_have_text("Stopped")
            expect(held).to_be_hidden()
            expect(message).to_have_value("two")
            return
        joined.gate.set()
        texts_now = ["one", "Begun and done", "two", "Begun and done"]
        expect(page.locator(".text .body")).to_have_text(texts_now)
        expect(page.locator("#status")).to_have_text("Finished")
        expect(message).to_have_value("")


def test_an_unknown_thread_is_called_unknown_until_it_runs(browser: Browser) -> None:
    with (
        serving(build_app(LangGraphAgent(graph=echo_graph()), "Test")) as served,
        opened(browser, served.url()) as page,
    ):
        page.goto(f"{served.url()}#nobody-knows-me")
        page.reload()
        expect(page.locator("#status")).to_have_text("Unknown thread")
        expect(page.locator(".notice")).to_contain_text("Send a message to start it.")
        ask(page, "milk")
        expect(page.locator(".notice")).to_have_count(0)


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


def test_a_tool_of_the_page_is_offered_and_answered_by_hand(browser: Browser) -> None:
    offered: list[list[str]] = []

    def script(messages: list[BaseMessage]) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return [text_chunk(f"It is {messages[-1].text}.")]
        return [call("paint", "c1", color="red")]

    class Model(Scripted):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            offered.append([getattr(one, "name", None) or one["function"]["name"] for one in tools])
            return super().bind_tools(tools, **kwargs)

    graph = create_agent(
        Model(script=script), [], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver()
    )
    with shown(browser, graph) as page:
        page.get_by_role("button", name="Tools").click()
        page.get_by_label("Name").fill("no name")
        page.get_by_role("button", name="Add tool").click()
        expect(page.get_by_role("alert")).to_contain_text("The name must have 1 to 64 letters")
        page.get_by_label("Name").fill("paint")
        page.get_by_role("button", name="Add tool").click()
        expect(page.locator("#tools li code")).to_have_text("paint")
        page.get_by_role("button", name="Close").click()
        ask(page, "paint it red", "Waiting for you")
        form = page.get_by_label("Waiting for your answer")
        expect(form).to_contain_text("paint")
        expect(page.locator(".tool > summary .pill")).to_have_text("waiting for you")
        form.get_by_label("Result (text or JSON)").fill("painted")
        form.get_by_role("button", name="Send result").click()
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("It is painted.")
    assert "paint" in offered[0]

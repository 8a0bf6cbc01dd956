"""The pages as a user has them: what they show, and what can be done."""

from __future__ import annotations

import contextlib
import re
from uuid import uuid4

from fastapi.staticfiles import StaticFiles
from playwright.sync_api import expect

from examples.frontends import server
from langgraph_agui import LangGraphAgent
from tests.contracts.frontends.building import (
    MIGRATED_PAGE,
    NEW_CLIENT_PAGE,
    PAGES,
    build,
    build_migrated_page,
    page_with_new_client,
    runtime,
    runtime_with_client,
    runtime_with_migrated_page,
)
from tests.kit.expect.front_ends import options_for
from tests.kit.processes.serving import serving


class FrontEnd:
    """A page in a browser. The pages differ in their chat; notes and questions are the same in
    all. `options` are what an agent needs for it."""

    # What the chat shows of assistant messages, of reasoning and of tool calls, an element for
    # each.
    answers, thoughts, calls = ".assistant", ".reasoning", ".call"
    placeholder = "Write a message"

    def __init__(self, page, runtime=None):
        self.page, self.runtime = page, runtime

    @classmethod
    def build(cls):
        build(cls.directory)

    @property
    def send_button(self):
        return self.page.get_by_role("button", name="Send", exact=True)

    @property
    def thread_id(self):
        return self.page.url.partition("#")[2]

    def send(self, text):
        """Send a message, once the run before has ended."""
        self.page.get_by_placeholder(self.placeholder).fill(text)
        self.send_button.click()

    def rests(self):
        """Wait until no run is under way."""
        self.page.get_by_placeholder(self.placeholder).fill("something")
        expect(self.send_button).to_be_enabled()

    def takes_no_message(self):
        """Expect that nothing can be sent, if the chat is there at all."""
        box = self.page.get_by_placeholder(self.placeholder)
        if box.count():
            box.fill("something")
            expect(self.send_button).to_be_disabled()

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def answer(self, text):
        """Answer the one question that there is."""
        button = self.page.get_by_role("button", name="Answer", exact=True)
        self.page.locator("form", has=button).get_by_role("textbox").fill(text)
        button.click()

    def add_note(self, text):
        self.page.get_by_placeholder("Add a note").fill(text)
        self.press("Add")

    def shows(self, selector, *texts):
        """Wait until these are the texts of the elements, and no other."""
        expect(self.page.locator(selector)).to_have_text([*texts])

    def shows_answers(self, *texts):
        """Wait until these are the answers, while the run is under way and when it has ended."""
        self.shows(self.answers, *texts)
        self.rests()
        self.shows(self.answers, *texts)

    def shows_thoughts(self, *texts):
        self.shows(self.thoughts, *texts)

    def shows_calls(self, *names):
        self.shows(self.calls, *(re.compile(rf"^{name}\b") for name in names))

    def shows_notes(self, *notes):
        self.shows("aside li", *notes)

    def shows_question(self, text):
        expect(self.page.locator("form").filter(has_text=text)).to_be_visible()

    def shows_no_question(self):
        buttons = self.page.get_by_role("button", name=re.compile("^(Approve|Answer)$"))
        expect(buttons).to_have_count(0)


class Plain(FrontEnd):
    """A page on `@ag-ui/client` alone."""

    name, directory = "plain", PAGES / "plain"
    options = options_for("your own page, @ag-ui/client 1.0.0")


class AssistantUI(FrontEnd):
    """assistant-ui's parts."""

    name, directory = "assistant-ui", PAGES / "assistant-ui"
    options = options_for("assistant-ui, @assistant-ui/react-ag-ui 0.0.57")


class CopilotKit(FrontEnd):
    """CopilotKit's chat, behind its runtime."""

    name, directory = "copilotkit", PAGES / "copilotkit"
    options = options_for("CopilotKit 1.74 and 1.75, LangGraphHttpAgent")
    answers = '[data-testid="copilot-assistant-message"] > [class~="cpk:prose"] p'
    thoughts = '[data-message-id*=":reasoning"] p'
    calls = '[data-testid="copilot-tool-render-name"]'
    placeholder = "Type a message..."

    @property
    def send_button(self):
        return self.page.get_by_test_id("copilot-send-button")

    @staticmethod
    def script():
        """Return the runtime's script."""
        return "runtime.mjs"

    def rests(self):
        chat = self.page.get_by_test_id("copilot-chat")
        expect(chat).to_have_attribute("data-copilot-running", "false")

    def send(self, text):
        self.rests()
        super().send(text)


class NewClientAssistantUI(AssistantUI):
    """assistant-ui in an application with `@ag-ui/client` 1.0.0."""

    name, directory = "new-client", NEW_CLIENT_PAGE
    options = options_for("assistant-ui, the same with @ag-ui/client 1.0.0")

    @classmethod
    def build(cls):
        build(page_with_new_client())


class OwnClientCopilotKit(CopilotKit):
    """CopilotKit whose runtime talks through the `HttpAgent` of its own `@ag-ui/client`."""

    name = "copilotkit-own-client"
    options = options_for("CopilotKit 1.74 and 1.75, HttpAgent of @ag-ui/client 0.0.59")

    @staticmethod
    def script():
        return runtime_with_client(PAGES / "copilotkit")


class NewClientCopilotKit(CopilotKit):
    """CopilotKit whose runtime talks through `@ag-ui/client` 1.0.0."""

    name = "copilotkit-new-client"
    options = options_for("CopilotKit 1.74 and 1.75, HttpAgent of @ag-ui/client 1.0.0")

    @classmethod
    def build(cls):
        build(PAGES / "plain")  # its client
        super().build()

    @staticmethod
    def script():
        return runtime_with_client(PAGES / "plain")


class Migrated(CopilotKit):
    """CopilotKit's page for the graphs of `tests/contracts/migrated`."""

    name, directory = "migrated", MIGRATED_PAGE
    options = options_for("CopilotKit 1.74 and 1.75, pages written for ag-ui-langgraph")

    @classmethod
    def build(cls):
        build_migrated_page()

    @staticmethod
    def script():
        return runtime_with_migrated_page()


EACH = (Plain, CopilotKit, AssistantUI)


class Site:
    """A server of one agent, and the address of a page for it."""

    def __init__(self, kind, url, runtime=None):
        self.kind, self.url, self.runtime = kind, url, runtime

    @contextlib.contextmanager
    def opened(self, browser, query="", *, dies=False):
        """Open the page in a thread of its own. No error may be thrown in it."""
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        page, thrown = context.new_page(), []
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.goto(f"{self.url}{query}#{uuid4()}")
        yield self.kind(page, self.runtime)
        context.close()
        assert dies or thrown == []
        assert dies or self.runtime is None or self.runtime.alive


@contextlib.contextmanager
def site(kind, agent):
    """Serve an agent, and a page for it."""
    app = server.build_app(agent)
    newest = StaticFiles(directory=NEW_CLIENT_PAGE / "dist", html=True, check_dir=False)
    app.mount("/new-client", newest)
    with serving(app) as served:
        if not issubclass(kind, CopilotKit):
            yield Site(kind, served.url(f"/{kind.name}/"))
            return
        with runtime(served.url("/agent"), kind.script()) as started:
            yield Site(kind, f"{started.url}/", started)


@contextlib.contextmanager
def opened(kind, browser, *, dies=False, **options):
    """Open a page for the agent of the examples with these options."""
    agent = LangGraphAgent(server.graph, **options)
    with site(kind, agent) as served, served.opened(browser, dies=dies) as front:
        yield front

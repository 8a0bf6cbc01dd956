"""The three pages as a user has them: what they show, and what can be done."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from fastapi.staticfiles import StaticFiles
from playwright.sync_api import Locator, Page, expect

from examples.frontends.server import build_app
from langgraph_agui import LangGraphAgent
from tests.kit.expect.front_ends import options_for
from tests.kit.processes.building import (
    MIGRATED_PAGE,
    NEW_CLIENT_PAGE,
    PAGES,
    Runtime,
    runtime,
    runtime_with_client,
    runtime_with_migrated_page,
)
from tests.kit.processes.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser


class FrontEnd:
    """A page in a browser. The pages differ in their chat; notes and questions are the same in
    all."""

    name: str
    directory: Path
    options: ClassVar[dict[str, Any]]
    """What an agent needs for it."""
    # What the chat shows of assistant messages, of reasoning and of tool calls, an element for
    # each.
    answers = ".assistant"
    thoughts = ".reasoning"
    calls = ".call"
    placeholder = "Write a message"

    def __init__(self, page: Page, runtime: Runtime | None = None) -> None:
        self.page = page
        self.runtime = runtime

    @property
    def send_button(self) -> Locator:
        return self.page.get_by_role("button", name="Send", exact=True)

    @property
    def thread_id(self) -> str:
        return self.page.url.partition("#")[2]

    def send(self, text: str) -> None:
        """Send a message, once the run before has ended."""
        self.page.get_by_placeholder(self.placeholder).fill(text)
        self.send_button.click()

    def rests(self) -> None:
        """Wait until no run is under way."""
        self.page.get_by_placeholder(self.placeholder).fill("something")
        expect(self.send_button).to_be_enabled()

    def takes_no_message(self) -> None:
        """Expect that nothing can be sent, if the chat is there at all."""
        box = self.page.get_by_placeholder(self.placeholder)
        if box.count():
            box.fill("something")
            expect(self.send_button).to_be_disabled()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def answer(self, text: str) -> None:
        """Answer the one question that there is."""
        form = self.page.locator(
            "form", has=self.page.get_by_role("button", name="Answer", exact=True)
        )
        form.get_by_role("textbox").fill(text)
        self.press("Answer")

    def add_note(self, text: str) -> None:
        self.page.get_by_placeholder("Add a note").fill(text)
        self.press("Add")

    def shows(self, selector: str, *texts: str | re.Pattern[str]) -> None:
        """Wait until these are the texts of the elements, and no other."""
        expect(self.page.locator(selector)).to_have_text([*texts])

    def shows_answers(self, *texts: str) -> None:
        """Wait until these are the answers, while the run is under way and when it has ended."""
        self.shows(self.answers, *texts)
        self.rests()
        self.shows(self.answers, *texts)

    def shows_thoughts(self, *texts: str) -> None:
        self.shows(self.thoughts, *texts)

    def shows_calls(self, *names: str) -> None:
        self.shows(self.calls, *(re.compile(rf"^{name}\b") for name in names))

    def shows_notes(self, *notes: str) -> None:
        self.shows("aside li", *notes)

    def shows_error(self, text: str) -> None:
        expect(self.page.get_by_role("alert")).to_contain_text(text)

    def shows_question(self, text: str) -> None:
        expect(self.page.locator("form").filter(has_text=text)).to_be_visible()

    def shows_no_question(self) -> None:
        expect(
            self.page.get_by_role("button", name=re.compile("^(Approve|Answer)$"))
        ).to_have_count(0)


class Plain(FrontEnd):
    """A page on `@ag-ui/client` alone."""

    name = "plain"
    directory = PAGES / "plain"
    options = options_for("your own page, @ag-ui/client 1.0.0")


class AssistantUI(FrontEnd):
    """assistant-ui's parts."""

    name = "assistant-ui"
    directory = PAGES / "assistant-ui"
    options = options_for("assistant-ui, @assistant-ui/react-ag-ui 0.0.57")


class CopilotKit(FrontEnd):
    """CopilotKit's chat, behind its runtime."""

    name = "copilotkit"
    directory = PAGES / "copilotkit"
    options = options_for("CopilotKit 1.74 and 1.75, LangGraphHttpAgent")
    answers = '[data-testid="copilot-assistant-message"] > [class~="cpk:prose"] p'
    thoughts = '[data-message-id*=":reasoning"] p'
    calls = '[data-testid="copilot-tool-render-name"]'
    placeholder = "Type a message..."

    @property
    def send_button(self) -> Locator:
        return self.page.get_by_test_id("copilot-send-button")

    @staticmethod
    def script() -> str:
        """Return the runtime's script."""
        return "runtime.mjs"

    def rests(self) -> None:
        expect(self.page.get_by_test_id("copilot-chat")).to_have_attribute(
            "data-copilot-running", "false"
        )

    def send(self, text: str) -> None:
        self.rests()
        super().send(text)


class NewClientAssistantUI(AssistantUI):
    """assistant-ui in an application with `@ag-ui/client` 1.0.0."""

    name = "assistant-ui-new-client"
    directory = NEW_CLIENT_PAGE
    options = options_for("assistant-ui, the same with @ag-ui/client 1.0.0")


class OwnClientCopilotKit(CopilotKit):
    """CopilotKit whose runtime talks through the `HttpAgent` of its own `@ag-ui/client`."""

    name = "copilotkit-own-client"
    options = options_for("CopilotKit 1.74 and 1.75, HttpAgent of @ag-ui/client 0.0.59")

    @staticmethod
    def script() -> str:
        return runtime_with_client(PAGES / "copilotkit")


class NewClientCopilotKit(CopilotKit):
    """CopilotKit whose runtime talks through `@ag-ui/client` 1.0.0."""

    name = "copilotkit-new-client"
    options = options_for("CopilotKit 1.74 and 1.75, HttpAgent of @ag-ui/client 1.0.0")

    @staticmethod
    def script() -> str:
        return runtime_with_client(PAGES / "plain")


class Migrated(CopilotKit):
    """CopilotKit's page for the graphs of `tests/contracts/migrated`."""

    name = "migrated"
    directory = MIGRATED_PAGE
    options = options_for("CopilotKit 1.74 and 1.75, pages written for ag-ui-langgraph")

    @staticmethod
    def script() -> str:
        return runtime_with_migrated_page()


EACH: tuple[type[FrontEnd], ...] = (Plain, CopilotKit, AssistantUI)


class Site:
    """A server of one agent, and the address of a page for it."""

    def __init__(self, kind: type[FrontEnd], url: str, runtime: Runtime | None) -> None:
        self.kind, self.url, self.runtime = kind, url, runtime

    @contextlib.contextmanager
    def opened(self, browser: Browser, query: str = "") -> Iterator[FrontEnd]:
        """Open the page in a thread of its own. No error may be thrown in it."""
        context = browser.new_context(viewport={"width": 1280, "height": 1000})
        page = context.new_page()
        thrown: list[str] = []
        page.on("pageerror", lambda error: thrown.append(str(error)))
        page.goto(f"{self.url}{query}#{uuid4()}")
        yield self.kind(page, self.runtime)
        context.close()
        assert thrown == []
        assert self.runtime is None or self.runtime.alive


@contextlib.contextmanager
def site(kind: type[FrontEnd], agent: LangGraphAgent) -> Iterator[Site]:
    """Serve an agent, and a page for it."""
    with contextlib.ExitStack() as stack:
        app = build_app(agent)
        app.mount(
            "/new-client",
            StaticFiles(
                directory=NewClientAssistantUI.directory / "dist", html=True, check_dir=False
            ),
        )
        served = stack.enter_context(serving(app))
        if issubclass(kind, CopilotKit):
            started = stack.enter_context(runtime(served.url("/agent"), kind.script()))
            yield Site(kind, f"{started.url}/", started)
        else:
            path = "new-client" if kind is NewClientAssistantUI else kind.name
            yield Site(kind, served.url(f"/{path}/"), None)

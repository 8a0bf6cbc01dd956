"""Opens pages of real servers, presses what a person presses, and reads what the pages show."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager

import httpx2
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.kit.graphs.chat import GatedModel
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.serving import serving

OUTLINE = """() => {
    const own = (element, kind) => [...element.children].find((child) => child.matches(kind));
    const items = (box) => [...box.children].filter((child) => child.matches(".item")).map(outline);
    const outline = (item) => {
        const inner = own(item, ".items");
        const head = own(item, "summary");
        const inside = inner && !inner.hidden ? [items(inner)] : [];
        const name = head?.querySelector(".name")?.textContent;
        if (item.matches(".subagent")) return [name, item.dataset.state, ...inside];
        if (item.matches(".tool")) return [`${name}()`, item.dataset.state, ...inside];
        if (item.matches(".reasoning")) return `(${own(item, ".body").textContent.trim()})`;
        return item.matches(".text") ? own(item, ".body").textContent.trim() : item.textContent;
    };
    return items(document.getElementById("transcript"));
}"""
AT_END = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 2"
SAID = ".text[data-role=assistant]"
TEXTS = ".text .body"
WAITS = "Waiting for you"
START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


@contextmanager
def opened(browser, url, *, logs=False, **context):
    """Open the page of a server. It must log nothing, unless the browser will log refusals
    (`logs`), and send requests to its own server only."""
    own = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    page, logged, origins = own.new_page(), [], set()
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on(
        "request", lambda one: origins.add(httpx2.URL(one.url).copy_with(path="/", fragment=None))
    )
    page.goto(url)
    yield page
    own.close()
    assert logs or logged == []
    assert {str(one) for one in origins} == {url.partition("#")[0]}


@contextmanager
def site_of(graph, **options):
    """Serve `graph`, or the agents of a dict."""
    agents = graph if isinstance(graph, dict) else LangGraphAgent(graph, **options)
    with serving(build_app(agents, "Test")) as served:
        yield served.url()


@contextmanager
def shown(browser, graph, context=None, **options):
    """Serve `graph`, and open its page."""
    with site_of(graph, **options) as url, opened(browser, url, **(context or {})) as page:
        yield page


def echo(saver=True):
    """A graph that answers with all questions so far, line by line."""

    def script(messages):
        asked = [one.text for one in messages if isinstance(one, HumanMessage)]
        return [text_chunk(line) for line in ", ".join(asked).splitlines(keepends=True)]

    return create_agent(
        Scripted(script=script), [], checkpointer=InMemorySaver() if saver else None
    )


class Joined:
    """A graph whose model waits in the middle of its answer."""

    def __init__(self, saver=None):
        self.gate = threading.Event()
        answer = [text_chunk("Beg"), self.gate, text_chunk("un and done")]
        self.graph = create_agent(GatedModel(script=lambda _: answer), [], checkpointer=saver)


def see(place, wants):
    """Wait until what the selectors find has this text, each of these texts or, after "…", a part
    of it; is so many; is visible or not."""
    for selector, want in wants.items():
        found = expect(place.locator(selector))
        if isinstance(want, bool):
            found.to_be_visible(visible=want)
        elif isinstance(want, int):
            found.to_have_count(want)
        elif isinstance(want, str) and want.startswith("…"):
            found.to_contain_text(want[1:])
        else:
            found.to_have_text(want)


def status(page, text="Finished"):
    see(page, {"#status": text})


def wait_for_frame(page):
    """Wait until the page has drawn what has happened so far."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")


def press(place, *names):
    for name in names:
        place.get_by_role("button", name=any_case(name)).click()


def any_case(name):
    """A property's own name, or its title."""
    return re.compile(f"^{re.escape(name)}$", re.IGNORECASE)


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def field(place, label):
    """The control with this label."""
    return place.get_by_label(label, exact=True).or_(place.get_by_label(any_case(label)))


def ask(page, text="hello", then="Finished"):
    """Send a message, and wait for the status of its run."""
    field(page, "Message").fill(text)
    press(page, "Send")
    wait_for_frame(page)  # until then the status is that of the run before
    status(page, then)


def outline(page):
    """Return what the conversation shows: texts, (reasoning), [tool(), state, subagents],
    [subagent, state, items]."""
    return page.evaluate(OUTLINE)


def held_state(page):
    """Return the state that the page holds, as its editor shows it."""
    press(page, "Edit state")
    editor = page.locator("#state")
    held = json.loads(editor.get_by_label("JSON").input_value())
    press(editor, "Cancel")
    return held


def upload(place, name, content, mime_type="text/plain"):
    data = content.encode() if isinstance(content, str) else content
    place.set_input_files([{"name": name, "mimeType": mime_type, "buffer": data}])


def frames(*events):
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def text_events(message_id, *deltas, **tags):
    """The events of an assistant's text."""
    one = {"messageId": message_id, **tags}
    contents = [{"type": "TEXT_MESSAGE_CONTENT", **one, "delta": delta} for delta in deltas]
    return [{"type": "TEXT_MESSAGE_START", **one}, *contents, {"type": "TEXT_MESSAGE_END", **one}]


def answer(page, *events, end=END, body=None, **response):
    """Let the agent answer every input with a run of these events, or with `body`; return the list
    that the inputs are put into."""
    inputs = []
    text = frames(START, *events, *([end] if end else [])) if body is None else body

    def fulfill(route):
        inputs.append(json.loads(route.request.post_data))
        route.fulfill(**{"content_type": "text/event-stream", "body": text, **response})

    page.unroute("**/agent")
    page.route("**/agent", fulfill)
    return inputs


def interrupted(*interrupts):
    """The end of a run that asks."""
    return {**END, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}

"""The page reads as its client does: chunks of every family, refused events, long streams."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ag_ui.core import AgentCapabilities, BaseEvent, Event, RunAgentInput
from fastapi import FastAPI
from playwright.sync_api import expect
from pydantic import TypeAdapter

from langgraph_agui.devtools import playground_router
from langgraph_agui.fastapi import agui_router
from tests.behaviour.playground.sites import ask, opened, outline
from tests.behaviour.playground.streams import END, START_EVENT, answer, frames, text_events
from tests.kit.deep import deep
from tests.kit.processes.serving import serving

pytestmark = deep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from playwright.sync_api import Browser, Page

    from tests.kit.processes.node_client import NodeClient


def chunk(family: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"{family}_CHUNK", **fields}


TEXT, REASONING, CALL = "TEXT_MESSAGE", "REASONING_MESSAGE", "TOOL_CALL"
CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
SCOUT = {"subagentRunId": "s"}
RESULT = {"messageId": "t", "toolCallId": "c", "content": "seen"}
START = {**START_EVENT, "protocolVersion": "1.0"}
CHUNKS: list[dict[str, Any]] = [
    START,
    chunk(REASONING, messageId="r", delta="Because"),
    chunk(REASONING, delta=" I"),
    chunk(REASONING, delta=" can."),
    chunk(TEXT, messageId="m", role="assistant", delta="Let me "),
    chunk(TEXT, delta="look."),
    chunk(CALL, toolCallId="c", toolCallName="look", parentMessageId="m", delta='{"what":'),
    chunk(CALL, delta=' "it"}'),
    {"type": "TOOL_CALL_RESULT", **RESULT},
    {"type": "SUBAGENT_STARTED", **SCOUT, "name": "scout"},
    chunk(TEXT, messageId="a", delta="Far", **SCOUT),
    chunk(TEXT, messageId="b", delta="Mean"),
    chunk(TEXT, delta=" away", **SCOUT),
    chunk(TEXT, delta="while."),
    {"type": "SUBAGENT_FINISHED", **SCOUT},
    END,
]
SHOWN = ["(Because I can.)", "Let me look.", ["look()", "done"], ["scout", "done", ["Far away"]]]


EVENTS: TypeAdapter[BaseEvent] = TypeAdapter(Event)


class Recorded:
    """An agent that is no graph."""

    def __init__(self, events: Sequence[dict[str, Any]]) -> None:
        self.events = events

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[BaseEvent]:
        run = {"threadId": run_input.thread_id, "runId": run_input.run_id}
        for event in self.events:
            yield EVENTS.validate_python({**event, **(run if "threadId" in event else {})})

    async def get_capabilities(self) -> AgentCapabilities:
        return AgentCapabilities()


@contextmanager
def page_of(browser: Browser, agent: Any, **options: Any) -> Iterator[Page]:
    """Open the page of an application with `agent`."""
    app = FastAPI()
    app.include_router(agui_router(agent, "/agent", **options))
    app.include_router(playground_router("/agent"))
    with serving(app) as served, opened(browser, served.url()) as page:
        yield page


def test_chunks_of_every_family_are_drawn(browser: Browser, node_client: NodeClient) -> None:
    inputs: list[dict[str, Any]] = []
    with page_of(browser, Recorded(CHUNKS)) as page:
        page.on(
            "request",
            lambda one: inputs.append(one.post_data_json) if one.url.endswith("/agent") else None,
        )
        page.add_init_script("""
            window.broken = [];
            const note = ({ violatedDirective, blockedURI }) => broken.push([violatedDirective, blockedURI]);
            document.addEventListener("securitypolicyviolation", note);
        """)
        page.reload()
        ask(page)
        assert outline(page)[1:] == [*SHOWN, "Meanwhile."]
        assert page.evaluate("broken") == []  # of the content security policy
        ask(page, "again")
    client = node_client.run(events=CHUNKS, messages=inputs[0]["messages"])
    assert client.accepted
    assert inputs[1]["messages"][:-1] == client.messages  # what the page holds after its first run


def test_the_page_keeps_the_threads_of_an_agent_that_cannot_connect(browser: Browser) -> None:
    app = FastAPI()
    app.include_router(agui_router(Recorded(CHUNKS), "/agent"))
    app.include_router(playground_router("/agent"))
    context = browser.new_context()  # the browser logs that there is no route
    page = context.new_page()
    with serving(app) as served:
        page.goto(served.url())
        ask(page)
        page.reload()
        expect(page.locator("#status")).to_have_text("Finished")
        assert outline(page) == ["hello", *SHOWN, "Meanwhile."]
        context.close()


def test_chunks_share_a_row_and_have_times(browser: Browser) -> None:
    with page_of(browser, Recorded(CHUNKS)) as page:
        ask(page)
        families = {row.split("_CHUNK")[0]: row for row in chunk_rows(page)}
        assert set(families) == {TEXT, REASONING, CALL}
        assert [row for row in chunk_rows(page) if row.startswith(TEXT)] == [
            f"{TEXT}_CHUNK Let me look.",
            f"{TEXT}_CHUNK Far away",
            f"{TEXT}_CHUNK Meanwhile.",
        ]
        expect(page.locator(".insp-verdict").first).to_have_text("The stream keeps every rule.")
        page.get_by_role("tab", name="Timing").click()
        run = page.locator(".insp-run")
        expect(run).to_contain_text("first reasoning")
        expect(run).to_contain_text("first text")
        expect(run).to_contain_text("tool call look")
        page.get_by_label("Event of the run").fill("3")
        expect(page.locator(".reasoning .body")).to_have_text("Because I")
        expect(page.locator(".text[data-role=assistant]")).to_have_count(0)


def chunk_rows(page: Page) -> list[str]:
    """Type and joined text of the rows of chunks."""
    page.get_by_role("tab", name="Events").click()
    rows = page.locator(".insp-rows > li", has_text="_CHUNK")
    texts = [(row.locator(".insp-type"), row.locator(".insp-preview")) for row in rows.all()]
    return [f"{kind.inner_text()} {text.inner_text()}" for kind, text in texts]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**CONTENT, "delta": 5}, "delta: Invalid input: expected string, received number"),
    ({**CONTENT, "messageId": "nobody"}, "Cannot send 'TEXT_MESSAGE_CONTENT' event: No active"),
    ({"type": "MESSAGES_SNAPSHOT", "messages": [None]}, ""),
    (chunk(TEXT, delta="x"), "First TEXT_MESSAGE"),
]


def test_a_refused_event_is_told_and_the_thread_stays_usable(browser: Browser, site: str) -> None:
    with opened(browser, f"{site}/") as page:
        said, alert = page.locator(".text[data-role=assistant] .body"), page.get_by_role("alert")
        answer(page, frames(START_EVENT, *text_events("m", "Good")[:2], START_EVENT))
        ask(page, status="Failed")  # within one read: all before the refused event is shown
        expect(alert).to_contain_text("@ag-ui/client refuses event 4: Cannot send")
        expect(said).to_have_text("Good")
        expect(page.locator(".streaming")).to_have_count(0)
        for at, (wrong, problem) in enumerate(REFUSED):
            page.unroute("**/agent")
            answer(page, frames(START_EVENT, *text_events(f"n{at}", "Fine"), wrong, END))
            ask(page, "again", status="Failed")
            expect(alert.last).to_contain_text(f"@ag-ui/client refuses event 5: {problem}")
            expect(said).to_have_count(at + 2)
        page.unroute("**/agent")
        ask(page, "hello")
        expect(said.last).to_contain_text("You wrote")


def test_a_long_answer_is_applied_in_few_steps(browser: Browser, site: str) -> None:
    words = [f"word{number} " for number in range(5000)]
    call = {"toolCallId": "c"}
    args = [{"type": "TOOL_CALL_ARGS", **call, "delta": f"{number},"} for number in range(5000)]
    with opened(browser, f"{site}/") as page:
        page.evaluate("""() => {
            const clone = window.structuredClone;
            window.cloned = 0;
            window.structuredClone = (...given) => {
                window.cloned += 1;
                return clone(...given);
            };
        }""")
        answer(
            page,
            frames(
                START_EVENT,
                *text_events("m", *words),
                {"type": "TOOL_CALL_START", **call, "toolCallName": "add"},
                {"type": "TOOL_CALL_ARGS", **call, "delta": "["},
                *args,
                {"type": "TOOL_CALL_ARGS", **call, "delta": "0]"},
                {"type": "TOOL_CALL_END", **call},
                END,
            ),
        )
        ask(page)
        expect(page.locator(".text[data-role=assistant]")).to_contain_text("word4999")
        expect(page.locator(".tool .arguments")).to_contain_text("4999")
        assert page.evaluate("window.cloned") < 500
        assert json.loads(page.evaluate(NUMBERS)) == [*range(5000), 0]


NUMBERS = "() => document.querySelector('.tool .arguments').textContent"

"""A tour of the page: what each scene looks like in light, dark and on a phone, and that axe finds
nothing wrong.

`make pictures` writes the screenshots into docs/pictures, which the documentation shows.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from playwright.sync_api import Browser, Page, expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.devtools.demo import SUGGESTIONS, build_demo_graph
from langgraph_agui.middleware import AGUIMiddleware
from tests.behaviour.playground.sites import ask, opened
from tests.behaviour.playground.streams import END, START_EVENT, answer, frames, text_events
from tests.docs.blocks import ROOT
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.processes.serving import serving

# Where the screenshots go; unset, they are taken and thrown away.
PICTURES = os.environ.get("PICTURES")

SCHEMA = {
    "type": "object",
    "properties": {
        "date": {
            "type": "string",
            "format": "date",
            "title": "Date",
            "description": "When you travel.",
        },
        "people": {"type": "integer", "title": "People", "minimum": 1, "maximum": 8, "default": 2},
        "meal": {"type": "string", "title": "Meal", "enum": ["none", "breakfast", "half board"]},
        "quiet": {"type": "boolean", "title": "Quiet room", "default": False},
    },
    "required": ["date", "people"],
}


@tool
def book() -> str:
    """Book a room."""
    return json.dumps(interrupt({"message": "Which room do you want?", "response_schema": SCHEMA}))


def clerk(messages: list[Any]) -> Any:
    """Book a room, or paint what the page paints."""
    if isinstance(messages[-1], ToolMessage):
        return [text_chunk(f"The answer was: {messages[-1].text}")]
    return [call("paint" if "paint" in messages[-1].text else "book", f"c{len(messages)}")]


class Look(NamedTuple):
    """How the page is looked at."""

    scheme: Any
    width: int
    height: int


LOOKS = {
    "light": Look("light", 1280, 800),
    "dark": Look("dark", 1280, 800),
    "phone": Look("light", 390, 844),
}


def conversation(page: Page) -> None:
    ask(page, "Is it warmer in Rome or in Oslo?")
    page.locator(".reasoning summary").first.click()
    expect(page.locator(".reasoning .body").first).to_be_visible()


def approval(page: Page) -> None:
    ask(page, "Send an email to ada@example.com saying the demo works", "Waiting for you")
    card = page.locator("#questions")
    card.get_by_role("button", name="Edit").click()
    card.get_by_label("to").fill("bob@example.com")
    expect(page.get_by_role("button", name="Approve with changes")).to_be_visible()


def rejected(page: Page) -> None:
    ask(page, "Send an email to ada@example.com saying the demo works", "Waiting for you")
    card = page.locator("#questions")
    card.get_by_role("button", name="More").click()
    card.get_by_label("Reason", exact=True).fill("Not before Monday.")
    card.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_have_text("Finished")
    expect(page.locator(".tool[data-state=rejected]")).to_contain_text("Not before Monday.")


def edit(page: Page) -> None:
    ask(page, "What is 12 * 7?")
    page.locator(".text[data-role=user]").get_by_role("button", name="Edit").click()


def state(page: Page) -> None:
    ask(page, "Remember that the demo works offline")
    if page.get_by_role("button", name="Details").is_visible():
        page.get_by_role("button", name="Details").click()
    page.get_by_role("button", name="Edit state").click()


def attachment(page: Page) -> None:
    plan: Any = {"name": "plan.txt", "mimeType": "text/plain", "buffer": b"x"}
    page.get_by_label("Files to attach").set_input_files([plan])
    expect(page.get_by_label("Attachments")).to_contain_text("plan.txt")


def subagents(page: Page) -> None:
    ask(page, "Plan a day in Rome and one in Oslo")


def error(page: Page) -> None:
    ask(page, "Please crash", "Failed")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()


def timing(page: Page) -> None:
    ask(page, "Is it warmer in Rome or in Oslo?")
    page.get_by_role("tab", name="Timing").click()


def replay(page: Page) -> None:
    ask(page, "Is it warmer in Rome or in Oslo?")
    for _ in range(3):
        page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("This is a recording.")).to_be_visible()


def frontend_tools(page: Page) -> None:
    page.get_by_role("button", name="Tools").click()
    page.get_by_label("Name", exact=True).fill("paint")
    page.get_by_label("Description").fill("Paint the page.")
    page.get_by_role("button", name="Add tool").click()
    expect(page.locator("#tools li")).to_contain_text("paint")


def headers(page: Page) -> None:
    page.get_by_role("button", name="Headers").click()
    page.get_by_label("Value", exact=True).fill("Bearer token-of-ada")


def frontend_call(page: Page) -> None:
    frontend_tools(page)
    page.get_by_role("button", name="Close").click()
    ask(page, "paint it", "Waiting for you")


def question(page: Page) -> None:
    ask(page, "book a room", "Waiting for you")
    expect(page.get_by_label("Date")).to_be_visible()


def more(page: Page) -> None:
    ask(page, "Send an email to ada@example.com saying the demo works", "Waiting for you")
    card = page.locator("#questions")
    card.get_by_role("button", name="More").click()
    card.get_by_label("JSON", exact=True).check()


def team(page: Page) -> None:
    subagents(page)
    page.locator(".team > summary").last.click()


def events(page: Page) -> None:
    subagents(page)
    if page.get_by_role("button", name="Details").is_visible():
        page.get_by_role("button", name="Details").click()
    page.get_by_role("tab", name="Events").click()
    page.locator(".insp-rows summary").last.click()


def full_width(page: Page) -> None:
    events(page)
    page.get_by_role("button", name="Full width").click()


def mathematics(page: Page) -> None:
    answer(page, frames(START_EVENT, *text_events("t", MATHEMATICS), END))
    ask(page)
    expect(page.locator("math")).to_have_count(3)


MATHEMATICS = r"""The sum $1 + 2$ is

$$\sum_{i=1}^{2} i = \begin{pmatrix} 1 & 1 \end{pmatrix} \begin{pmatrix} 1 \\ 2 \end{pmatrix}$$

| a | b |
|---|--:|
| $x$ costs $5 | 1 |
"""

SCENES: dict[str, Callable[[Page], None]] = {
    scene.__name__: scene
    for scene in (
        conversation,
        approval,
        rejected,
        edit,
        state,
        attachment,
        subagents,
        error,
        timing,
        replay,
        frontend_tools,
        headers,
        frontend_call,
        question,
        more,
        team,
        events,
        full_width,
        mathematics,
    )
}
# The scenes of `make test`.
FEW = {"conversation", "approval", "state", "full_width"}
# The scenes that need the clerk, not the demo agent.
CLERK = {frontend_call, question}


@pytest.fixture(scope="module")
def sites() -> Iterator[dict[bool, str]]:
    """The addresses of the demo agent and of the clerk, by whether it is the clerk."""
    graph = create_agent(
        Scripted(script=clerk), [book], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver()
    )
    demo = build_app(
        LangGraphAgent(graph=build_demo_graph(delay=0)), "Demo agent", suggestions=SUGGESTIONS
    )
    with serving(demo) as first, serving(build_app(LangGraphAgent(graph=graph), "Clerk")) as second:
        yield {False: first.url(), True: second.url()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else deep) for name in SCENES]
)
def test_a_scene(browser: Browser, sites: dict[bool, str], name: str) -> None:
    scene, found = SCENES[name], []
    with opened(browser, sites[scene in CLERK]) as page:
        # a flash that fades would be measured in between
        page.emulate_media(reduced_motion="reduce")
        scene(page)
        for look, (scheme, width, height) in LOOKS.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": height})
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{name}-{look}.jpg", type="jpeg", quality=85)
            problems = Axe().run(page).response["violations"]
            found += [
                (look, one["id"], node["html"][:200]) for one in problems for node in one["nodes"]
            ]
            overflow = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            found += [(look, "wider than the screen", str(overflow))] if overflow > 0 else []
    assert found == []


def test_the_documentation_shows_every_picture() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+\.jpg)", page)}
    assert shown == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}

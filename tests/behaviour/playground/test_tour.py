"""A tour of the page: what each scene looks like in light, dark and on a phone, and that axe finds
nothing wrong.

`make pictures` writes the screenshots into docs/pictures, which the documentation shows.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from langgraph_agui.devtools.demo import SUGGESTIONS, build_demo_graph
from langgraph_agui.middleware import AGUIMiddleware
from tests.behaviour.playground.sites import (
    WAITS,
    answer,
    ask,
    field,
    opened,
    press,
    see,
    site_of,
    status,
    tab,
    text_events,
    upload,
)
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.paths import ROOT
from tests.kit.processes.serving import serving

# Where the screenshots go; unset, they are taken and thrown away.
PICTURES = os.environ.get("PICTURES")
LOOKS = {"light": ("light", 1280, 800), "dark": ("dark", 1280, 800), "phone": ("light", 390, 844)}
SCENES = {}
DAY = {"type": "string", "format": "date", "title": "Date", "description": "When you travel."}
PROPERTIES = {
    "date": DAY,
    "people": {"type": "integer", "title": "People", "minimum": 1, "maximum": 8, "default": 2},
    "meal": {"type": "string", "title": "Meal", "enum": ["none", "breakfast", "half board"]},
    "quiet": {"type": "boolean", "title": "Quiet room", "default": False},
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["date", "people"]}
MATHEMATICS = r"""The sum $1 + 2$ is

$$\sum_{i=1}^{2} i = \begin{pmatrix} 1 & 1 \end{pmatrix} \begin{pmatrix} 1 \\ 2 \end{pmatrix}$$

| a | b |
|---|--:|
| $x$ costs $5 | 1 |
"""


@tool
def book() -> str:
    """Book a room."""
    return json.dumps(interrupt({"message": "Which room do you want?", "response_schema": SCHEMA}))


def clerk(messages):
    """Book a room, or paint what the page paints."""
    if isinstance(messages[-1], ToolMessage):
        return [text_chunk(f"The answer was: {messages[-1].text}")]
    return [call("paint" if "paint" in messages[-1].text else "book", f"c{len(messages)}")]


def scene(function):
    SCENES[function.__name__] = function
    return function


@scene
def conversation(page):
    ask(page, "Is it warmer in Rome or in Oslo?")
    page.locator(".reasoning summary").first.click()
    expect(page.locator(".reasoning .body").first).to_be_visible()


def mail(page):
    ask(page, "Send an email to ada@example.com saying the demo works", WAITS)
    return page.locator("#questions")


@scene
def approval(page):
    card = mail(page)
    press(card, "Edit")
    field(card, "to").fill("bob@example.com")
    expect(page.get_by_role("button", name="Approve with changes")).to_be_visible()


@scene
def rejected(page):
    card = mail(page)
    press(card, "More")
    field(card, "Reason").fill("Not before Monday.")
    press(card, "Send")
    status(page)
    see(page, {".tool[data-state=rejected]": "…Not before Monday."})


@scene
def edit(page):
    ask(page, "What is 12 * 7?")
    press(page.locator(".text[data-role=user]"), "Edit")


def details(page):
    if page.get_by_role("button", name="Details").is_visible():
        press(page, "Details")


@scene
def state(page):
    ask(page, "Remember that the demo works offline")
    details(page)
    press(page, "Edit state")


@scene
def attachment(page):
    upload(page.get_by_label("Files to attach"), "plan.txt", "x")
    expect(page.get_by_label("Attachments")).to_contain_text("plan.txt")


@scene
def subagents(page):
    ask(page, "Plan a day in Rome and one in Oslo")


@scene
def error(page):
    ask(page, "Please crash", "Failed")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()


@scene
def timing(page):
    ask(page, "Is it warmer in Rome or in Oslo?")
    tab(page, "Timing")


@scene
def replay(page):
    ask(page, "Is it warmer in Rome or in Oslo?")
    press(page, *["Previous"] * 3)
    expect(page.get_by_text("This is a recording.")).to_be_visible()


@scene
def frontend_tools(page):
    press(page, "Tools")
    field(page, "Name").fill("paint")
    page.get_by_label("Description").fill("Paint the page.")
    press(page, "Add tool")
    see(page, {"#tools li": "…paint"})


@scene
def headers(page):
    press(page, "Headers")
    field(page, "Value").fill("Bearer token-of-ada")


@scene
def frontend_call(page):
    frontend_tools(page)
    press(page, "Close")
    ask(page, "paint it", WAITS)


@scene
def question(page):
    ask(page, "book a room", WAITS)
    expect(page.get_by_label("Date")).to_be_visible()


@scene
def more(page):
    card = mail(page)
    press(card, "More")
    field(card, "JSON").check()


@scene
def team(page):
    subagents(page)
    page.locator(".team > summary").last.click()


@scene
def events(page):
    subagents(page)
    details(page)
    tab(page, "Events")
    page.locator(".insp-rows summary").last.click()


@scene
def full_width(page):
    events(page)
    press(page, "Full width")


@scene
def mathematics(page):
    answer(page, *text_events("t", MATHEMATICS))
    ask(page)
    see(page, {"math": 3})


@pytest.fixture(scope="module")
def sites():
    """The addresses of the demo agent and of the clerk, by whether it is the clerk."""
    middleware, saver = [AGUIMiddleware()], InMemorySaver()
    graph = create_agent(Scripted(script=clerk), [book], middleware=middleware, checkpointer=saver)
    agent = LangGraphAgent(build_demo_graph(delay=0))
    demo = build_app(agent, "Demo agent", suggestions=SUGGESTIONS)
    with serving(demo) as served, site_of(graph, name="Clerk") as other:
        yield {False: served.url(), True: other}


FEW = {"conversation", "approval", "state", "full_width"}  # those of `make test`


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in FEW else deep) for one in SCENES]
)
def test_a_scene(browser, sites, name):
    found = []
    with opened(browser, sites[name in ("frontend_call", "question")]) as page:
        # a flash that fades would be measured in between
        page.emulate_media(reduced_motion="reduce")
        SCENES[name](page)
        for look, (scheme, width, height) in LOOKS.items():
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": height})
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{name}-{look}.jpg", type="jpeg", quality=85)
            for one in Axe().run(page).response["violations"]:
                found += [(look, one["id"], node["html"][:200]) for node in one["nodes"]]
            overflow = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            found += [(look, "wider than the screen", overflow)] if overflow > 0 else []
    assert found == []


def test_the_documentation_shows_every_picture():
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"pictures/([\w-]+\.jpg)", page)}
    assert shown == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}

"""The page shows what a model makes besides text, live and after a reload, and trusts none of
it."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import emit_activity
from tests.behaviour.playground.sites import TEXTS, answer, ask, see, shown, text_events
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.made_answers import PICTURE, SOUND
from tests.kit.models.scripted import Scripted

HOSTILE, SCRIPT = "<img src=x onerror=alert(1)>", "javascript:alert(1)"
FOUND = {"type": "web_search_result", "url": "https://a.example", "title": "A"}
CITED = {"type": "web_search_result_location", "cited_text": HOSTILE}
SOURCES = [
    {**CITED, "url": "https://a.example/", "title": "A"},
    {**CITED, "url": SCRIPT, "title": HOSTILE},
]
MADE = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": HOSTILE}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [FOUND]},
    {"type": "text", "text": "It is sunny.", "citations": SOURCES},
    {"type": "image", "base64": PICTURE, "mime_type": "image/png", "extras": {"revised_prompt": HOSTILE}},
    {"type": "audio", "base64": SOUND, "mime_type": "audio/wav"},
    {"type": "file", "base64": "PGI+", "mime_type": "text/html", "extras": {"filename": "a.html"}},
    {"type": "image", "url": SCRIPT},
]  # fmt: skip


async def paint(state: Chat):
    emit_activity("app:note", {"text": "noted"})
    about = {"model_provider": "anthropic"}
    return {"messages": [AIMessage(MADE, id="a1", response_metadata=about)]}


def check(page):
    see(page, {".tool .name": "web_search", ".tool .runner": "run by the provider"})
    see(page, {".tool[data-state=done] .result": "…https://a.example", ".sources li": 2})
    links = "all => all.map((a) => [a.href, a.rel])"
    safe = [["https://a.example/", "noopener noreferrer"]]
    assert page.locator(".sources li a").evaluate_all(links) == safe
    expect(page.locator(".sources li").last).to_contain_text(HOSTILE)
    see(
        page,
        {".made": 1, ".made img": 1, ".made figcaption": HOSTILE, ".made audio": 1, ".made a": 1},
    )
    expect(page.locator(".made img")).to_have_js_property("naturalWidth", 1)
    for name, value in {
        "download": "a.html",
        "href": "data:application/octet-stream;base64,PGI+",
    }.items():
        expect(page.locator(".made a")).to_have_attribute(name, value)


def test_live_and_after_a_reload(browser):
    with shown(browser, chain_of(paint, checkpointer=InMemorySaver())) as page:
        ask(page)
        check(page)
        see(page, {".activity": "…noted"})
        page.reload()
        check(page)


def test_a_summary_is_told_in_its_place(browser):
    summary = Scripted(["All so far."])
    middleware = SummarizationMiddleware(summary, trigger=("messages", 4), keep=("messages", 2))
    model = Scripted(["a0"], ["a1"], ["a2"])
    graph = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    with shown(browser, graph) as page:
        for question in ("u0", "u1", "u2"):
            ask(page, question)
        see(page, {".summed-up": "…summarized earlier messages"})
        see(page, {TEXTS: ["u0", "a0", "u1", "a1", "u2", "a2"]})
        page.reload()
        see(page, {".summed-up": 1, ".activity": 0})
        expect(page.locator("#transcript > .item").first).to_have_class("item summed-up")


def test_what_is_too_large_or_no_media_at_all(browser):
    omitted = {"reason": "too_large", "bytes": 12_345_678, "mimeType": "image/png"}
    parts = [[{"type": "image", "omitted": omitted}, None, "words", {"type": 1}], "nothing", []]
    media = {"type": "ACTIVITY_SNAPSHOT", "activityType": "langgraph:media"}
    contents = [{"messageId": "t", "parts": one} for one in parts]
    all_of_it = [
        {**media, "messageId": f"m{at}", "content": one} for at, one in enumerate(contents)
    ]
    with shown(browser, chain_of(paint)) as page:
        answer(page, *text_events("t", "Look:"), *all_of_it)
        ask(page)
        see(page, {".made": 1, ".made .chip": 4})
        too_large = "image of 12.3 MB: too large to be shown"
        expect(page.locator(".made .chip").first).to_have_text(too_large)

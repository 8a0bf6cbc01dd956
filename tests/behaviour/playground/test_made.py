"""The page shows what a model makes besides text, live and after a reload, and trusts none of
it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import emit_activity
from tests.behaviour.playground.sites import ask, shown
from tests.behaviour.playground.streams import END, START_EVENT, answer, frames, text_events
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.made_answers import PICTURE, SOUND
from tests.kit.models.scripted import Scripted

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<img src=x onerror=alert(1)>"


async def paint(state: Chat) -> Any:
    emit_activity("app:note", {"text": "noted"})
    content: list[Any] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": HOSTILE}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "url": "https://a.example", "title": "A"}],
        },
        {
            "type": "text",
            "text": "It is sunny.",
            "citations": [
                {
                    "type": "web_search_result_location",
                    "url": url,
                    "title": title,
                    "cited_text": HOSTILE,
                }
                for url, title in (("https://a.example/", "A"), ("javascript:alert(1)", HOSTILE))
            ],
        },
        {
            "type": "image",
            "base64": PICTURE,
            "mime_type": "image/png",
            "extras": {"revised_prompt": HOSTILE},
        },
        {"type": "audio", "base64": SOUND, "mime_type": "audio/wav"},
        {
            "type": "file",
            "base64": "PGI+",
            "mime_type": "text/html",
            "extras": {"filename": "a.html"},
        },
        {"type": "image", "url": "javascript:alert(1)"},
    ]
    message = AIMessage(content, id="a1")
    message.response_metadata["model_provider"] = "anthropic"
    return {"messages": [message]}


def check(page: Page) -> None:
    card = page.locator(".tool")
    expect(card.locator(".name")).to_have_text("web_search")
    expect(card.locator(".runner")).to_have_text("run by the provider")
    expect(card).to_have_attribute("data-state", "done")
    expect(card.locator(".result")).to_contain_text("https://a.example")
    sources = page.locator(".sources li")
    expect(sources).to_have_count(2)
    assert sources.locator("a").evaluate_all("all => all.map((a) => [a.href, a.rel])") == [
        ["https://a.example/", "noopener noreferrer"]
    ]
    expect(sources.last).to_contain_text(HOSTILE)
    made = page.locator(".made")
    expect(made).to_have_count(1)
    expect(made.locator("img")).to_have_count(1)
    expect(made.locator("img")).to_have_js_property("naturalWidth", 1)
    expect(made.locator("figcaption")).to_have_text(HOSTILE)
    expect(made.locator("audio")).to_have_count(1)
    link = made.locator("a")
    expect(link).to_have_count(1)
    expect(link).to_have_attribute("download", "a.html")
    expect(link).to_have_attribute("href", "data:application/octet-stream;base64,PGI+")


def test_live_and_after_a_reload(browser: Browser) -> None:
    with shown(browser, chain_of(paint, checkpointer=InMemorySaver())) as page:
        ask(page)
        check(page)
        expect(page.locator(".activity")).to_contain_text("noted")
        page.reload()
        check(page)


def test_a_summary_is_told_in_its_place(browser: Browser) -> None:
    middleware = SummarizationMiddleware(
        Scripted(["All so far."]), trigger=("messages", 4), keep=("messages", 2)
    )
    model = Scripted(["a0"], ["a1"], ["a2"])
    graph = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    with shown(browser, graph) as page:
        for question in ("u0", "u1", "u2"):
            ask(page, question)
        told = page.locator(".summed-up")
        expect(told).to_contain_text("summarized earlier messages")
        expect(page.locator(".text .body")).to_have_text(["u0", "a0", "u1", "a1", "u2", "a2"])
        page.reload()
        expect(told).to_have_count(1)
        expect(page.locator("#transcript > .item").nth(0)).to_have_class("item summed-up")
        expect(page.locator(".activity")).to_have_count(0)


def test_what_is_too_large_or_no_media_at_all(browser: Browser) -> None:
    def media(message_id: str, parts: Any) -> dict[str, Any]:
        content = {"messageId": "t", "parts": parts}
        kind = "langgraph:media"
        return {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": message_id,
            "activityType": kind,
            "content": content,
        }

    omitted = {"reason": "too_large", "bytes": 12_345_678, "mimeType": "image/png"}
    with shown(browser, chain_of(paint)) as page:
        answer(
            page,
            frames(
                START_EVENT,
                *text_events("t", "Look:"),
                media("one", [{"type": "image", "omitted": omitted}, None, "words", {"type": 1}]),
                media("two", "nothing"),
                media("three", []),
                END,
            ),
        )
        ask(page)
        made = page.locator(".made")
        expect(made).to_have_count(1)
        expect(made.locator(".chip").first).to_have_text("image of 12.3 MB: too large to be shown")
        expect(made.locator(".chip")).to_have_count(4)

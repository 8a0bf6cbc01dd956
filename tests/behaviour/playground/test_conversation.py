"""The conversation in a real browser: Markdown, code, reasoning, results and the buttons of
messages."""

from __future__ import annotations

import json
import re
import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import ReasoningOptions, ReasoningSeal
from tests.behaviour.playground.sites import ask, shown, wait_for_frame
from tests.kit.deep import deep
from tests.kit.models.media_files import encoded, png
from tests.kit.models.scripted import Piece, Scripted, call, text_chunk, thinking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

ANSWER = """# Plan

Read **this** and [that](https://that.example).

```python
def f():
    return "<b>"
```

| a | b |
|--:|---|
| 1 | 2 |

<img src=x> [bad](javascript:alert(1)) ![pic](https://elsewhere.example/p.png)

1. one

   more
2. two
"""


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def paused(gate: threading.Event, before: list[str], after: list[str]) -> Scripted:
    """A model that writes `before`, waits for the gate, and writes `after`."""

    def script(_: object) -> Iterator[Piece]:
        yield from before
        while not gate.is_set():
            yield 0.005
        yield from after

    return Scripted(script=script)


def test_markdown_is_rendered_block_by_block_and_as_a_whole_at_the_end(browser: Browser) -> None:
    gate = threading.Event()
    before, after = ANSWER.split("| a |")
    with shown(
        browser, create_agent(paused(gate, [*lines(before), "| a |"], lines(after)), [])
    ) as page:
        ask(page, status="Running")
        answer = page.locator(".text[data-role=assistant]")
        expect(answer.locator(".heading.h1")).to_have_text("Plan")
        expect(answer.locator(".code-block .hl-k").first).to_have_text("def")
        expect(answer.locator(".tail")).to_have_text("| a |")
        # The mark of the place where more comes stands behind the last word.
        page.emulate_media(reduced_motion="reduce")
        mark = """one => {
            const { content, animationName } = getComputedStyle(one, "::after");
            return [content, animationName];
        }"""
        assert answer.locator(".tail").evaluate(mark) == ['""', "none"]
        assert answer.locator(".body").evaluate(mark) == ["none", "none"]
        # that of the code: the message is not complete
        expect(answer.get_by_role("button")).to_have_count(1)
        gate.set()
        expect(page.locator("#status")).to_have_text("Finished")
        expect(answer.locator("td.right")).to_have_text("1")
        expect(answer.locator("li")).to_have_count(2)
        expect(answer.locator(".markdown")).to_have_count(1)
        assert answer.locator("img, h1, h2, script").count() == 0
        expect(answer.locator(".body")).to_contain_text("<img src=x> [bad](javascript:alert(1))")
        links = answer.locator("a").evaluate_all("all => all.map((a) => [a.href, a.target, a.rel])")
        assert links == [
            [address, "_blank", "noopener noreferrer"]
            for address in ("https://that.example/", "https://elsewhere.example/p.png")
        ]


def test_the_card_of_a_tool_that_ends_the_run_shows_why(browser: Browser) -> None:
    def pay(euros: int) -> str:
        """Pay."""
        raise RuntimeError("The bank is closed.")

    graph = create_agent(Scripted([call("pay", "c1", euros=1)]), [pay])
    with shown(browser, graph, expose_errors=True) as page:
        ask(page, status="Failed")
        card = page.locator(".tool")
        expect(card.locator("> summary > .pill")).to_have_text("failed")
        expect(card.locator(".output")).to_have_text("RuntimeError: The bank is closed.")


WIDE = f"""| Model | Released | {" | ".join(f"Price of call {number}" for number in range(11))} |
|---|{"--:|" * 12}
| `claude-sonnet-4-5-20250929` | 2025-09-29 | {" | ".join(["1,048,576"] * 11)} |
"""


def test_a_wide_table_scrolls_and_its_cells_break_no_word(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted([WIDE]), [])) as page:
        ask(page)
        box = page.locator(".table-box")
        expect(box).to_be_visible()
        lines = box.locator("td").evaluate_all(
            """all => all.map((cell) => {
                const range = document.createRange();
                range.selectNodeContents(cell);
                return new Set([...range.getClientRects()].map((one) => one.top)).size;
            })"""
        )
        assert set(lines) == {1} or lines == [2, *[1] * 12]  # code and its box are of two heights
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            assert box.evaluate("box => box.scrollWidth > box.clientWidth")
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("() => document.querySelector('.table-box').scrollLeft > 0")


ARABIC = """- واحد
- اثنان

> اقتباس

| عمود | آخر |
|---|---|
| خلية | رقم |

- one

שלום עולם!

Hello!
"""


def test_text_from_right_to_left(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted([ARABIC]), [])) as page:
        ask(page, "مرحبا!")
        answer = page.locator(".text[data-role=assistant] .markdown")
        expect(answer.locator("table")).to_be_visible()
        directions = answer.locator(":is(ul, blockquote, table)").evaluate_all(
            "all => all.map((one) => getComputedStyle(one).direction)"
        )
        assert directions == ["rtl", "rtl", "rtl", "ltr"]
        first, last = answer.locator("td").first.bounding_box(), answer.locator("td").last
        assert first
        assert first["x"] > (last.bounding_box() or first)["x"]
        marks = answer.locator("ul").first.evaluate("one => getComputedStyle(one).paddingLeft")
        assert marks == "0px"
        starts = """all => all.map((box) => {
            const range = document.createRange();
            range.selectNodeContents(box);
            return range.getBoundingClientRect().left - box.getBoundingClientRect().left > 100;
        })"""
        texts = page.locator(".text[data-role=user] .body, .markdown > p")
        # The line of the user is as wide as its text.
        assert texts.evaluate_all(starts) == [False, True, False]


MATHEMATICS = r"""The roots of $ax^2 + bx_1 + c_1 = 0$, from $5 and $10:

$$
x = \frac{-b \pm \sqrt{b^2}}{2a} \\
- 1
$$

and \(e^{i\pi}\), but $\wrong{$ and `$code$`.

\[ \mathbb{R} \label{status} \]
"""


def test_mathematics_is_drawn(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted(lines(MATHEMATICS)), [])) as page:
        ask(page)
        answer = page.locator(".text[data-role=assistant] .body")
        expect(answer.locator("math")).to_have_count(4)
        expect(answer.locator("math[display=block]")).to_have_count(2)
        expect(answer.locator("mfrac msqrt")).to_have_count(1)
        expect(answer.locator("math").last).to_contain_text("ℝ")
        expect(answer).to_contain_text("from $5 and $10:")
        expect(answer).to_contain_text(r"but $\wrong{$ and $code$.")
        assert answer.locator("math").evaluate_all(
            "all => all.every((one) => one.namespaceURI.endsWith('MathML'))"
        )
        # Nothing of an answer can take the place of a part of the page.
        assert answer.locator("[id]").count() == 0


HOSTILE = [
    r"\href{javascript:alert(1)}{x}",
    r"\url{javascript:alert(1)}",
    r"\includegraphics{https://elsewhere.example/p.png}",
    r"\class{pill}{x} \id{send}{x} \style{position: fixed}{x}",
    r"\def\a{\a\a}\a",
    r"\text{<img src=x onerror=alert(1)>}",
    "{" * 2000 + "x" + "}" * 2000,
    r"\rule{9999em}{9999em}",
]


@deep
def test_hostile_mathematics_does_no_harm(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted([f"${tex}$\n\n" for tex in HOSTILE]), [])) as page:
        ask(page)
        answer = page.locator(".text[data-role=assistant] .body")
        expect(answer.locator(".math")).to_have_count(len(HOSTILE))
        assert answer.locator("a, img, [href], [src], [id], .pill, .item").count() == 0
        height = answer.locator(".math").last.evaluate("one => one.getBoundingClientRect().height")
        assert height < 1500
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@deep
def test_mathematics_stays_as_it_is_written_where_it_cannot_be_drawn(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted(lines(MATHEMATICS)), [])) as page:
        page.route(
            "**/vendor/temml.js",
            lambda route: route.fulfill(content_type="text/javascript", body="export default 1;"),
        )
        ask(page)
        answer = page.locator(".text[data-role=assistant] .body")
        expect(answer.locator(".math")).to_have_count(5)
        assert answer.locator("math").count() == 0
        expect(answer).to_contain_text(r"and \(e^{i\pi}\), but")


@deep
def test_code_and_messages_are_copied(browser: Browser) -> None:
    with shown(browser, create_agent(Scripted(lines(ANSWER)), [])) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        ask(page, "hello")
        page.get_by_role("button", name="Copy code").click()
        expect(page.get_by_role("button", name="Copied")).to_have_count(1)
        assert page.evaluate("navigator.clipboard.readText()") == 'def f():\n    return "<b>"'
        page.locator(".text[data-role=assistant]").get_by_role(
            "button", name="Copy", exact=True
        ).click()
        expect(page.get_by_role("button", name="Copied")).to_have_count(2)
        assert page.evaluate("navigator.clipboard.readText()") == ANSWER


def test_of_other_answers_only_known_tags_and_links_are_copied(browser: Browser) -> None:
    """Another server may send nonsense or any HTML."""
    html = (
        '<p id="status" class="pill hl-k">a<script>x()</script></p>'
        '<a href="javascript:alert(1)">b</a><a href="https://c.example"></a><iframe '
        'src="/"></iframe><b>d</b><h2>e</h2>'
    )
    bodies = ["nonsense", json.dumps({"html": [html]})]
    with shown(browser, create_agent(Scripted(script=lambda _: ["**x**"]), [])) as page:
        said, block = page.locator(".text[data-role=assistant] .body"), page.locator(".markdown")
        page.route(
            "**/markdown",
            lambda route: route.fulfill(content_type="application/json", body=bodies[-1]),
        )
        bodies.reverse()
        ask(page)
        expect(said).to_have_text("**x**")
        expect(block).to_have_count(0)
        bodies.reverse()
        page.get_by_role("button", name="New thread").click()
        ask(page)
        expect(block).to_contain_text("e")
        assert block.inner_html() == '<p class="hl-k">a</p>bd<p class="heading h2">e</p>'


SEAL = ReasoningSeal([ReasoningSeal.new_key()])


@pytest.mark.parametrize(
    ("visibility", "seal", "label"),
    [
        ("full", None, r"^Thought( for [\d.]+ s)?$"),
        ("hidden", None, "not shown"),
        ("hidden", SEAL, "not shown"),
    ],
    ids=["signed by the provider", "hidden", "sealed"],
)
def test_reasoning_that_cannot_be_read_is_marked(
    browser: Browser, visibility: Any, seal: Any, label: str
) -> None:
    graph = create_agent(Scripted([thinking("Because.", signature="c2ln"), text_chunk("Yes")]), [])
    options = ReasoningOptions(visibility=visibility, seal=seal)
    with shown(browser, graph, reasoning=options) as page:
        ask(page)
        thought = page.locator(".reasoning")
        expect(thought.locator("summary > span").first).to_have_text(re.compile(label))
        expect(thought).not_to_have_attribute("open", "")
        thought.locator("summary").click()
        # Without a seal, nothing of hidden reasoning leaves the server.
        if seal:
            expect(thought.locator(".seal")).to_have_text("sealed")
            expect(thought.locator(".seal-note")).to_contain_text("only in encrypted form")
        else:
            expect(thought.locator(".seal")).to_be_hidden()
            expect(thought.locator(".seal-note")).to_be_hidden()


@tool
def look(what: str) -> Any:
    """Look."""
    picture = encoded(png())
    return {
        "json": json.dumps({"found": [1, 2], "long": "x" * 100}),
        "parts": [
            {"type": "text", "text": "Here:"},
            {"type": "image", "base64": picture, "mime_type": "image/png"},
        ],
        "url": json.dumps(
            [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}]
        ),
        "elsewhere": [{"type": "image", "url": "https://elsewhere.example/p.png"}],
    }[what]


def test_results_are_text_json_and_pictures(browser: Browser) -> None:
    kinds = ("json", "parts", "url", "elsewhere")
    model = Scripted(
        [call("look", f"c{at}", at, what=what) for at, what in enumerate(kinds)], ["Done"]
    )
    with shown(browser, create_agent(model, [look])) as page:
        ask(page)
        results = page.locator(".tool .result")
        expect(results).to_have_count(4)
        expect(results.nth(0).locator("pre")).to_contain_text('"found": [\n')
        expect(results.nth(1).locator("pre")).to_have_text("Here:")
        for at in (1, 2):
            picture = results.nth(at).get_by_role("img")
            expect(picture).to_be_visible()
            assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        expect(results.nth(3).get_by_role("link")).to_have_attribute(
            "href", "https://elsewhere.example/p.png"
        )
        assert page.locator("#transcript :is(h1, h2, h3)").count() == 0


def test_a_message_is_edited_in_its_place_and_an_answer_written_anew(browser: Browser) -> None:
    numbers = count(1)
    model = Scripted(
        script=lambda messages: [f"You wrote {messages[-1].text} as message {next(numbers)}."]
    )
    with shown(browser, create_agent(model, [], checkpointer=InMemorySaver())) as page:
        ask(page, "one")
        mine, answer = (
            page.locator(".text[data-role=user]"),
            page.locator(".text[data-role=assistant]"),
        )
        edit = mine.get_by_role("button", name="Edit")
        edit.click()
        box = page.get_by_label("Edit your message")
        expect(box).to_be_focused()
        box.fill("never")
        box.press("Escape")
        expect(box).to_have_count(0)
        expect(edit).to_be_focused()
        edit.click()
        expect(box).to_have_value("one")
        box.fill("two")
        page.get_by_role("button", name="Save").click()
        expect(answer).to_have_text("You wrote two as message 2.")
        expect(mine).to_have_text("two")
        expect(page.locator("#status")).to_have_text("Finished")
        answer.get_by_role("button", name="Regenerate").click()
        expect(answer).to_have_text("You wrote two as message 3.")
        page.reload()
        expect(page.locator(".text .body")).to_have_text(["two", "You wrote two as message 3."])


def test_an_error_is_tried_again(browser: Browser) -> None:
    failures = iter([True, False])

    def fail_once() -> None:
        if next(failures):
            raise ValueError("broken")

    with shown(browser, create_agent(Scripted([fail_once, "Better"]), [])) as page:
        ask(page, status="Failed")
        alert = page.get_by_role("alert")
        expect(alert.locator("code")).not_to_be_empty()
        alert.get_by_role("button", name="Retry").click()
        expect(page.locator(".text[data-role=assistant]")).to_have_text("Better")
        expect(alert).to_have_count(0)


@deep
def test_what_has_not_changed_is_left_alone_while_the_end_streams(browser: Browser) -> None:
    model = Scripted(lines(ANSWER), ["word "] * 300)
    with shown(browser, create_agent(model, [])) as page:
        ask(page)
        expect(page.locator(".markdown")).to_have_count(1)
        expect(page.locator(".tail")).to_be_empty()  # all is rendered
        page.evaluate("""() => {
            window.changes = 0;
            const settled = document.querySelector(".text[data-role=assistant] .body");
            const observer = new MutationObserver((records) => (window.changes += records.length));
            observer.observe(settled, { childList: true, subtree: true, characterData: true, attributes: true });
        }""")
        page.get_by_label("Message", exact=True).fill("again")
        page.get_by_role("button", name="Send", exact=True).click()
        wait_for_frame(page)
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".text[data-role=assistant]").last).to_contain_text("word word")
        assert page.evaluate("window.changes") == 0

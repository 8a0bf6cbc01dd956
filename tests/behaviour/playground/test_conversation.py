"""The conversation: Markdown, code, mathematics, reasoning, results and the buttons of messages."""

from __future__ import annotations

import json
import re
import threading
from itertools import count

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import ReasoningOptions, ReasoningSeal
from tests.behaviour.playground.sites import SAID, TEXTS, ask, opened, press, see, shown, status
from tests.kit.deep import deep
from tests.kit.graphs.chat import GatedModel
from tests.kit.models.media_files import encoded, png
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking

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
MARK = """one => {
    const { content, animationName } = getComputedStyle(one, "::after");
    return [content, animationName];
}"""
WATCH = """() => {
    window.changes = 0;
    const settled = document.querySelector(".text[data-role=assistant] .body");
    const observer = new MutationObserver((records) => (window.changes += records.length));
    observer.observe(settled, { childList: true, subtree: true, characterData: true, attributes: true });
}"""
LINKS = "all => all.map((a) => [a.href, a.target, a.rel])"
FITS = "() => document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def page(browser, echoes):
    """The page of an agent whose answer is the question."""
    with opened(browser, echoes) as page:
        yield page


def test_markdown_is_rendered_block_by_block_and_copied(browser):
    gate, (before, after) = threading.Event(), ANSWER.split("| a |")
    chunks = [[text_chunk(one) for one in part.splitlines(True)] for part in (before, after)]
    first = [*chunks[0], text_chunk("| a |"), gate, *chunks[1]]
    model = GatedModel(first, [text_chunk("word ")] * 300)
    with shown(browser, create_agent(model, [])) as page:
        ask(page, then="Running")
        said = page.locator(SAID)
        see(said, {".heading.h1": "Plan", ".tail": "| a |"})
        expect(said.locator(".code-block .hl-k").first).to_have_text("def")
        # The mark of the place where more comes stands behind the last word.
        page.emulate_media(reduced_motion="reduce")
        assert said.locator(".tail").evaluate(MARK) == ['""', "none"]
        assert said.locator(".body").evaluate(MARK) == ["none", "none"]
        see(said, {"button:visible": 1})  # that of the code: the message is not complete
        gate.set()
        status(page)
        see(said, {"td.right": "1", "li": 2, ".markdown": 1, "img, h1, h2, script": 0})
        see(said, {".body": "…<img src=x> [bad](javascript:alert(1))"})
        addresses = ("https://that.example/", "https://elsewhere.example/p.png")
        outside = [[address, "_blank", "noopener noreferrer"] for address in addresses]
        assert said.locator("a").evaluate_all(LINKS) == outside

        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        texts = {"Copy code": 'def f():\n    return "<b>"', "Copy": ANSWER}
        for at, (name, copied) in enumerate(texts.items()):
            press(said, name)
            expect(page.get_by_role("button", name="Copied")).to_have_count(at + 1)
            assert page.evaluate("navigator.clipboard.readText()") == copied
        expect(page.get_by_role("button", name="Copied")).to_have_count(0)

        # What has not changed is left alone while the next answer streams.
        see(page, {".tail": ""})
        page.evaluate(WATCH)
        ask(page, "again")
        expect(said.last).to_contain_text("word word")
        assert page.evaluate("window.changes") == 0


def test_the_card_of_a_tool_that_ends_the_run_shows_why(browser):
    def pay(euros: int) -> str:
        """Pay."""
        raise RuntimeError("The bank is closed.")

    graph = create_agent(Scripted([call("pay", "c1", euros=1)]), [pay])
    with shown(browser, graph, expose_errors=True) as page:
        ask(page, then="Failed")
        see(page, {".tool > summary > .pill": "failed"})
        see(page, {".tool .output": "RuntimeError: The bank is closed."})


WIDE = f"""| Model | Released | {" | ".join(f"Price of call {number}" for number in range(11))} |
|---|{"--:|" * 12}
| `claude-sonnet-4-5-20250929` | 2025-09-29 | {" | ".join(["1,048,576"] * 11)} |
"""
LINES = """all => all.map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map((one) => one.top)).size;
})"""


def test_a_wide_table_scrolls_and_its_cells_break_no_word(page):
    ask(page, WIDE)
    box = page.locator(".table-box")
    expect(box).to_be_visible()
    found = box.locator("td").evaluate_all(LINES)
    assert set(found) == {1} or found == [2, *[1] * 12]  # code and its box are of two heights
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert box.evaluate("box => box.scrollWidth > box.clientWidth")
        assert page.evaluate(FITS)
    box.press("ArrowRight")
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
STARTS = """all => all.map((box) => {
    const range = document.createRange();
    range.selectNodeContents(box);
    return range.getBoundingClientRect().left - box.getBoundingClientRect().left > 100;
})"""


def test_text_from_right_to_left(page):
    ask(page, ARABIC)
    said = page.locator(f"{SAID} .markdown")
    see(said, {"table": True})
    style = "all => all.map((one) => [getComputedStyle(one).direction, getComputedStyle(one).paddingLeft])"
    found = said.locator(":is(ul, blockquote, table)").evaluate_all(style)
    assert [direction for direction, _ in found] == ["rtl", "rtl", "rtl", "ltr"]
    assert found[0][1] == "0px"  # where the marks of a list would be
    first, last = (said.locator("td").nth(at).bounding_box()["x"] for at in (0, -1))
    assert first > last
    assert said.locator("> p").evaluate_all(STARTS) == [True, False]


MATHEMATICS = r"""The roots of $ax^2 + bx_1 + c_1 = 0$, from $5 and $10:

$$
x = \frac{-b \pm \sqrt{b^2}}{2a} \\
- 1
$$

and \(e^{i\pi}\), but $\wrong{$ and `$code$`.

\[ \mathbb{R} \label{status} \]
"""
PLAIN = {"content_type": "text/javascript", "body": "export default 1;"}


@pytest.mark.parametrize("drawn", [True, pytest.param(False, marks=deep)])
def test_mathematics_is_drawn_or_stays_as_it_is_written(page, drawn):
    if not drawn:
        page.route("**/vendor/temml.js", lambda route: route.fulfill(**PLAIN))
    ask(page, MATHEMATICS)
    said = page.locator(f"{SAID} .body")
    see(said, {".math": 5, "math": 4 if drawn else 0})
    expect(said).to_contain_text("from $5 and $10:")
    expect(said).to_contain_text(r"but $\wrong{$ and $code$.")
    if drawn:
        # Nothing of an answer can take the place of a part of the page.
        see(said, {"math[display=block]": 2, "mfrac msqrt": 1, "[id]": 0})
        expect(said.locator("math").last).to_contain_text("ℝ")
        kinds = said.locator("math").evaluate_all("all => all.map((one) => one.namespaceURI)")
        assert all(kind.endswith("MathML") for kind in kinds)
    else:
        expect(said).to_contain_text(r"and \(e^{i\pi}\), but")


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
def test_hostile_mathematics_does_no_harm(page):
    ask(page, "".join(f"${tex}$\n\n" for tex in HOSTILE))
    said = page.locator(f"{SAID} .body")
    see(said, {".math": len(HOSTILE), "a, img, [href], [src], [id], .pill, .item": 0})
    height = "one => one.getBoundingClientRect().height"
    assert said.locator(".math").last.evaluate(height) < 1500
    assert page.evaluate(FITS)


HTML = (
    '<p id="status" class="pill hl-k">a<script>x()</script></p>'
    '<a href="javascript:alert(1)">b</a><a href="https://c.example"></a><iframe '
    'src="/"></iframe><b>d</b><h2>e</h2>'
)


def test_of_html_that_another_server_renders_only_known_tags_and_links_are_kept(page):
    body = "nonsense"
    page.route(
        "**/markdown", lambda route: route.fulfill(content_type="application/json", body=body)
    )
    ask(page, "**x**")
    see(page, {f"{SAID} .body": "**x**", ".markdown": 0})
    body = json.dumps({"html": [HTML]})
    press(page, "New thread")
    ask(page, "**x**")
    see(page, {".markdown": "…e"})
    kept = '<p class="hl-k">a</p>bd<p class="heading h2">e</p>'
    assert page.locator(".markdown").inner_html() == kept


SEAL = ReasoningSeal([ReasoningSeal.new_key()])


@pytest.mark.parametrize(
    ("visibility", "seal", "label"),
    [
        pytest.param("full", None, r"^Thought( for [\d.]+ s)?$", id="signed by the provider"),
        pytest.param("hidden", None, "not shown", id="hidden"),
        pytest.param("hidden", SEAL, "not shown", id="sealed"),
    ],
)
def test_reasoning_that_cannot_be_read_is_marked(browser, visibility, seal, label):
    graph = create_agent(Scripted([thinking("Because.", signature="c2ln"), text_chunk("Yes")]), [])
    with shown(
        browser, graph, reasoning=ReasoningOptions(visibility=visibility, seal=seal)
    ) as page:
        ask(page)
        thought = page.locator(".reasoning")
        expect(thought.locator("summary > span").first).to_have_text(re.compile(label))
        expect(thought).not_to_have_attribute("open", "")
        thought.locator("summary").click()
        # Without a seal, nothing of hidden reasoning leaves the server.
        sealed = {".seal": "sealed", ".seal-note": "…only in encrypted form"}
        see(thought, sealed if seal else dict.fromkeys(sealed, False))


@tool
def look(what: str):
    """Look."""
    picture = encoded(png())
    text, image = {"type": "text", "text": "Here:"}, {"type": "image", "base64": picture}
    return {
        "json": json.dumps({"found": [1, 2], "long": "x" * 100}),
        "parts": [text, {**image, "mime_type": "image/png"}],
        "url": json.dumps(
            [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}]
        ),
        "elsewhere": [{"type": "image", "url": "https://elsewhere.example/p.png"}],
    }[what]


def test_results_are_text_json_and_pictures(browser):
    kinds = ("json", "parts", "url", "elsewhere")
    calls = [call("look", f"c{at}", at, what=what) for at, what in enumerate(kinds)]
    with shown(browser, create_agent(Scripted(calls, ["Done"]), [look])) as page:
        ask(page)
        results = page.locator(".tool .result")
        expect(results).to_have_count(4)
        see(results.nth(0), {"pre": '…"found": [\n'})
        see(results.nth(1), {"pre": "Here:"})
        for at in (1, 2):
            picture = results.nth(at).get_by_role("img")
            expect(picture).to_be_visible()
            assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        link = results.nth(3).get_by_role("link")
        expect(link).to_have_attribute("href", "https://elsewhere.example/p.png")
        see(page, {"#transcript :is(h1, h2, h3)": 0})


def test_a_message_is_edited_in_its_place_and_an_answer_written_anew(browser):
    numbers = count(1)
    model = Scripted(script=lambda said: [f"You wrote {said[-1].text} as message {next(numbers)}."])
    with shown(browser, create_agent(model, [], checkpointer=InMemorySaver())) as page:
        ask(page, "one")
        mine, box = page.locator(".text[data-role=user]"), page.get_by_label("Edit your message")
        edit = mine.get_by_role("button", name="Edit")
        edit.click()
        expect(box).to_be_focused()
        box.fill("never")
        box.press("Escape")
        expect(box).to_have_count(0)
        expect(edit).to_be_focused()
        edit.click()
        expect(box).to_have_value("one")
        box.fill("two")
        press(page, "Save")
        see(page, {TEXTS: ["two", "You wrote two as message 2."], "#status": "Finished"})
        press(page.locator(SAID), "Regenerate")
        anew = {TEXTS: ["two", "You wrote two as message 3."]}
        see(page, anew)
        page.reload()
        see(page, anew)


def test_an_error_is_tried_again(browser):
    failures = iter([True, False])

    def fail_once():
        if next(failures):
            raise ValueError("broken")

    with shown(browser, create_agent(Scripted([fail_once, "Better"]), [])) as page:
        ask(page, then="Failed")
        alert = page.get_by_role("alert")
        expect(alert.locator("code")).not_to_be_empty()
        press(alert, "Retry")
        see(page, {SAID: "Better"})
        expect(alert).to_have_count(0)

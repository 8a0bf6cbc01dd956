"""What the page asks its server: Markdown as HTML, and what the verifier finds in a stream."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from langgraph_agui.devtools.playground import playground_router
from tests.kit.deep import deep
from tests.kit.processes.serving import serving

pytestmark = deep


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    app = FastAPI()
    app.include_router(playground_router({"one": "/one", "<two>": "/deep/two"}), prefix="/ui")
    with (
        serving(app) as served,
        httpx2.Client(base_url=served.url("/ui/playground"), timeout=60) as client,
    ):
        yield client


def rendered(client: httpx2.Client, *texts: str) -> list[str]:
    answer = client.post("/markdown", json={"texts": texts})
    assert answer.status_code == 200, answer.text
    html: list[str] = answer.json()["html"]
    return html


class Markup(HTMLParser):
    """The tags and attributes of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "# One\n\n*two* **three** ~~four~~",
            "<h1>One</h1>\n<p><em>two</em> <strong>three</strong> <s>four</s></p>\n",
        ),
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>\n'),
        ("[a](https://b.example)", '<p><a href="https://b.example">a</a></p>\n'),
        ("![a](https://b.example/c.png)", '<p><a href="https://b.example/c.png">a</a></p>\n'),
        ("https://b.example", "<p>https://b.example</p>\n"),
        ("```\n<i>\n```", "<pre><code>&lt;i&gt;\n</code></pre>\n"),
        ("```nonsense\nx\n```", '<pre><code class="language-nonsense">x\n</code></pre>\n'),
        ("", ""),
        ("a \ud800 b", "<p>a \ufffd b</p>\n"),
    ],
)
def test_markdown_becomes_html(client, text, html):
    body, kind = json.dumps({"texts": [text]}), {"Content-Type": "application/json"}
    assert client.post("/markdown", content=body, headers=kind).json() == {"html": [html]}


def test_code_has_classes_and_no_styles(client):
    (html,) = rendered(client, "```python\ndef f(): return '<b>'\n```")
    assert '<code class="language-python"><span class="hl-k">def</span>' in html
    assert "style" not in html
    assert Markup(html).text == "def f(): return '<b>'\n\n"


def test_the_columns_of_a_table_are_aligned_without_styles(client):
    (html,) = rendered(client, "|a|b|\n|-:|:-:|\n|1|2|")
    assert Markup(html).attributes == {("class", "right"), ("class", "center")}


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (r"a $x_1$ and $x_2$ b", ["$x_1$", "$x_2$"]),
        (r"$ax^2 + bx + c = 0$", ["$ax^2 + bx + c = 0$"]),
        (r"\(e^{i\pi}\) and \[ a * b * c \] here", [r"\(e^{i\pi}\)", r"\[ a * b * c \]"]),
        ("$$\nx \\\\\n- c\n$$", ["$$\nx \\\\\n- c\n$$"]),
        ("words\n\\[\n+ b\n\\]\nwords", ["\\[\n+ b\n\\]"]),
        ("> $$\n> x\n> $$", ["$$\nx\n$$"]),
        ("- a\n\n  \\[\n  y\n  \\]", ["\\[\ny\n\\]"]),
        (r"|a|b|\n|-|-|\n|$x_1$|\(y\)|".replace(r"\n", "\n"), ["$x_1$", r"\(y\)"]),
        (r"**$a*b*c$** [$x$](https://a.example)", ["$a*b*c$", "$x$"]),
        (r"$\$5 \text{ and more}$", [r"$\$5 \text{ and more}$"]),
        ("$a\nb$", ["$a\nb$"]),
        # Prices, variables, code and what is escaped are none.
        ("$5 and $10, US$20, $5-$10, $5 and 10$, $3.00", []),
        ("$HOME/$USER and $PATH", []),
        (r"`$x$` \$x\$ \\(x\\)", []),
        ("```\n$$x$$\n```", []),
        (r"\[a\](https://a.example)", []),
        ("$$\nopen", []),
        ("$ x $ and $$ $$", []),
    ],
)
def test_mathematics_stays_as_it_is_written(client, text, sources):
    found: list[str] = []

    class Sources(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = ("class", "math") in attrs

        def handle_endtag(self, tag: str) -> None:
            self.inside = False

        def handle_data(self, data: str) -> None:
            if self.inside:
                found.append(data)

    parser = Sources()
    parser.feed(rendered(client, text)[0])
    parser.close()
    assert found == sources


HOSTILE = [
    "$<script>alert(1)</script>$",
    "\\[<img src=x onerror=alert(1)>\\]",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](//elsewhere.example)",
    "<javascript:alert(1)>",
    '[a](https://b.example "x\\" onclick=alert(1)")',
    "![a](javascript:alert(1))",
    '![" onerror="alert(1)](https://b.example/"onerror=alert(1))',
    '```"><script>alert(1)</script>\nx\n```',
    "```html\n<script>alert(1)</script>\n```",
    "[a]: javascript:alert(1)\n\n[a]",
    "<a href='javascript:alert(1)'>x</a>",
]


def test_hostile_markdown_makes_no_scripts_no_images_and_no_other_links(client):
    for text, html in zip(HOSTILE, rendered(client, *HOSTILE), strict=True):
        markup = Markup(html)
        assert markup.tags <= {"p", "a", "br", "pre", "code", "span"}, text
        assert {name for name, _ in markup.attributes} <= {"href", "title", "class"}, text
        links = [value or "" for name, value in markup.attributes if name == "href"]
        assert all(link.startswith("https://b.example") for link in links), text


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 50_000, "- " * 5_000 + "a", "> " * 20_000, "`a" * 50_000, "**a*" * 25_000),
        *("$a" * 50_000, "\\(" * 50_000, "\\[\n" * 33_000, "> $$\n" * 20_000),
    ],
)
def test_markdown_that_is_hard_to_read_is_read(client, text):
    assert rendered(client, text)


def test_a_long_text_stays_plain(client):
    (html,) = rendered(client, "# <One>\ntwo\n\nthree " + "x" * 100_000)
    assert html.startswith("<p># &lt;One&gt;<br>two</p><p>three x")


TEXTS = 'Expected {"texts": [...]}: at most 64 Markdown texts.'
STREAM = 'Expected {"input": RunAgentInput or null, "events": [...]}: AG-UI events as JSON objects.'


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/markdown", "{", 422, f"The body is not JSON. {TEXTS}"),
        ("/markdown", "[]", 422, TEXTS),
        ("/markdown", "{}", 422, TEXTS),
        ("/markdown", '{"texts": [1]}', 422, TEXTS),
        ("/markdown", json.dumps({"texts": ["a"] * 65}), 413, f"There are 65 texts. {TEXTS}"),
        ("/markdown", json.dumps({"texts": ["a" * 1_000_000]}), 413, "larger than 1000000 bytes"),
        ("/markdown", "[" * 500, 413, "nested 500 levels deep"),
        ("/verify", "{}", 422, STREAM),
        ("/verify", '{"events": [1]}', 422, STREAM),
        ("/verify", '{"events": [], "input": 1}', 422, STREAM),
        ("/verify", '{"events": [], "input": {}}', 422, "threadId"),
        ("/verify", "[" + "1," * 1_000_001 + "1]", 413, "JSON values"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_what_was_expected(
    client, path, body, status, message
):
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, message in answer.json()["detail"]) == (status, True), answer.text


@pytest.mark.parametrize("path", ["/markdown", "/verify"])
def test_another_site_cannot_send_a_body(client, path):
    answer = client.post(path, content="{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


RUN = {"threadId": "t", "runId": "r"}
INPUT = {**RUN, "protocolVersion": "1.0", "state": {}, "forwardedProps": {}}
INPUT |= {"messages": [], "tools": [], "context": []}
START = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", **RUN}


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([START, END], None),
        ([START], (1, "truncated-stream")),
        ([], (0, "empty-stream")),
        ([START, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, END], (1, "not-open")),
        ([{**START, "threadId": "other"}, END], (0, "thread-id")),
        ([START, {"type": "STEP_STARTED", "stepName": 1}, END], (1, "malformed-event")),
    ],
)
@pytest.mark.parametrize("run_input", [INPUT, None])
def test_the_first_fault_of_a_stream_is_found(client, events, found, run_input):
    if found == (0, "thread-id") and run_input is None:
        # no input names the thread, so that the end differs from the start
        found = (1, "thread-id")
    answer = client.post("/verify", json={"input": run_input, "events": events}).json()
    places = [(finding["index"], finding["code"]) for finding in answer["findings"]]
    assert places == ([] if found is None else [found])
    assert answer["stopped"] is (found is not None)
    assert all(finding["message"] for finding in answer["findings"])


def test_the_page_names_its_agents(client):
    page = client.get("../").text
    metas: dict[str, str] = {}

    class Metas(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
            given = dict(attrs)
            if tag == "meta" and "name" in given:
                metas[given["name"]] = given["content"]

    Metas().feed(page)
    assert metas["agent"] == "/one"
    assert json.loads(metas["agents"]) == [
        {"name": "one", "url": "/one"},
        {"name": "<two>", "url": "/deep/two"},
    ]


WITHOUT = """
import sys
sys.modules["markdown_it"] = sys.modules["pygments"] = None
from langgraph_agui.devtools.playground.markdown import to_html
print(to_html("# <One>\\n\\n\\n*two*\\nthree"))
"""


@deep
def test_without_the_packages_texts_are_plain_paragraphs():
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "<p># &lt;One&gt;</p><p>*two*<br>three</p>"

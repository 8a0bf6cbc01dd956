"""What the page asks its server: Markdown as HTML, and what the verifier finds in a stream."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser

import httpx2
import pytest
from fastapi import FastAPI

from langgraph_agui.devtools.playground import playground_router
from tests.kit.deep import deep
from tests.kit.processes.serving import serving

pytestmark = deep
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def client():
    app = FastAPI()
    app.include_router(playground_router({"one": "/one", "<two>": "/deep/two"}), prefix="/ui")
    with (
        serving(app) as served,
        httpx2.Client(base_url=served.url("/ui/playground"), timeout=60) as client,
    ):
        yield client


def rendered(client, *texts):
    given = client.post("/markdown", content=json.dumps({"texts": texts}), headers=JSON)
    assert given.status_code == 200, given.text
    return given.json()["html"]


class Markup(HTMLParser):
    """The tags with their attributes, the text, and the mathematics of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.math, self.inside = [], "", [], False
        self.feed(html)
        self.close()
        self.attributes = {pair for _, given in self.tags for pair in given.items()}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = ("class", "math") in attrs

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.text += data
        self.math += [data] if self.inside else []


BECOMES = [
    ("# One\n\n*two* **three** ~~four~~", "<h1>One</h1>\n<p><em>two</em> <strong>three</strong> <s>four</s></p>\n"),
    ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
    ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>\n'),
    ("[a](https://b.example)", '<p><a href="https://b.example">a</a></p>\n'),
    ("![a](https://b.example/c.png)", '<p><a href="https://b.example/c.png">a</a></p>\n'),
    ("https://b.example", "<p>https://b.example</p>\n"),
    ("```\n<i>\n```", "<pre><code>&lt;i&gt;\n</code></pre>\n"),
    ("```nonsense\nx\n```", '<pre><code class="language-nonsense">x\n</code></pre>\n'),
    ("", ""),
    ("a \ud800 b", "<p>a \ufffd b</p>\n"),
]  # fmt: skip


def test_markdown_becomes_html(client):
    texts, html = zip(*BECOMES, strict=True)
    assert rendered(client, *texts) == [*html]


def test_code_and_tables_have_classes_and_no_styles(client):
    code, table = rendered(
        client, "```python\ndef f(): return '<b>'\n```", "|a|b|\n|-:|:-:|\n|1|2|"
    )
    assert '<code class="language-python"><span class="hl-k">def</span>' in code
    assert "style" not in code
    assert Markup(code).text == "def f(): return '<b>'\n\n"
    assert Markup(table).attributes == {("class", "right"), ("class", "center")}


MATHEMATICS = [
    (r"a $x_1$ and $x_2$ b", ["$x_1$", "$x_2$"]),
    (r"$ax^2 + bx + c = 0$", ["$ax^2 + bx + c = 0$"]),
    (r"\(e^{i\pi}\) and \[ a * b * c \] here", [r"\(e^{i\pi}\)", r"\[ a * b * c \]"]),
    ("$$\nx \\\\\n- c\n$$", ["$$\nx \\\\\n- c\n$$"]),
    ("words\n\\[\n+ b\n\\]\nwords", ["\\[\n+ b\n\\]"]),
    ("> $$\n> x\n> $$", ["$$\nx\n$$"]),
    ("- a\n\n  \\[\n  y\n  \\]", ["\\[\ny\n\\]"]),
    ("|a|b|\n|-|-|\n|$x_1$|\\(y\\)|", ["$x_1$", r"\(y\)"]),
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
]


def test_mathematics_stays_as_it_is_written(client):
    texts, sources = zip(*MATHEMATICS, strict=True)
    assert [Markup(html).math for html in rendered(client, *texts)] == [*sources]


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
        assert {tag for tag, _ in markup.tags} <= {"p", "a", "br", "pre", "code", "span"}, text
        assert {name for name, _ in markup.attributes} <= {"href", "title", "class"}, text
        links = [value or "" for name, value in markup.attributes if name == "href"]
        assert all(link.startswith("https://b.example") for link in links), text


HARD = ["[" * 50_000, "- " * 5_000 + "a", "> " * 20_000, "`a" * 50_000, "**a*" * 25_000]
HARD += ["$a" * 50_000, "\\(" * 50_000, "\\[\n" * 33_000, "> $$\n" * 20_000]


@pytest.mark.parametrize("text", HARD)
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
    given = client.post(path, content=body, headers=JSON)
    assert (given.status_code, message in given.json()["detail"]) == (status, True), given.text


@pytest.mark.parametrize("path", ["/markdown", "/verify"])
def test_another_site_cannot_send_a_body(client, path):
    given = client.post(path, content="{}", headers={"Content-Type": "text/plain"})
    assert given.status_code == 415


RUN = {"threadId": "t", "runId": "r"}
INPUT = {**RUN, "protocolVersion": "1.0", "state": {}, "forwardedProps": {}}
INPUT |= {"messages": [], "tools": [], "context": []}
START = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", **RUN}


@pytest.mark.parametrize(
    ("run_input", "events", "found"),
    [
        (INPUT, [START, END], []),
        (None, [START, END], []),
        (INPUT, [START], [(1, "truncated-stream")]),
        (None, [START, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, END], [(1, "not-open")]),
        (INPUT, [{**START, "threadId": "other"}, END], [(0, "thread-id")]),
        # no input names the thread, so that the end differs from the start
        (None, [{**START, "threadId": "other"}, END], [(1, "thread-id")]),
        (None, [START, {"type": "STEP_STARTED", "stepName": 1}, END], [(1, "malformed-event")]),
    ],
)
def test_the_first_fault_of_a_stream_is_found(client, run_input, events, found):
    given = client.post("/verify", json={"input": run_input, "events": events}).json()
    assert [(finding["index"], finding["code"]) for finding in given["findings"]] == found
    assert given["stopped"] is bool(found)
    assert all(finding["message"] for finding in given["findings"])


def test_the_page_names_its_agents(client):
    tags = Markup(client.get("../").text).tags
    metas = {given.get("name"): given.get("content") for tag, given in tags if tag == "meta"}
    agents = [{"name": "one", "url": "/one"}, {"name": "<two>", "url": "/deep/two"}]
    assert (metas["agent"], json.loads(metas["agents"])) == ("/one", agents)


WITHOUT = """
import sys
sys.modules["markdown_it"] = sys.modules["pygments"] = None
from langgraph_agui.devtools.playground.markdown import to_html
print(to_html("# <One>\\n\\n\\n*two*\\nthree"))
"""


def test_without_the_packages_texts_are_plain_paragraphs():
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "<p># &lt;One&gt;</p><p>*two*<br>three</p>"

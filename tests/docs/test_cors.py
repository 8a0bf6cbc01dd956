"""A page on another origin calls the agent that docs/guides/mount.md allows it to call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.docs.blocks import ROOT
from tests.docs.browser import browser_page
from tests.docs.follow import Follower

CALL = """async (url) => {
  const message = { id: "m1", role: "user", content: "Hello" };
  const response = await fetch(url, {
    method: "POST",
    headers: {"Content-Type": "application/json", Accept: "text/event-stream", Authorization: "Bearer x"},
    body: JSON.stringify({ protocolVersion: "1.0", threadId: "t1", runId: "r1", messages: [message] }),
  });
  return await response.text();
}"""


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'<link rel="icon" href="data:,">')


@contextmanager
def page_server(port: int) -> Iterator[None]:
    with ThreadingHTTPServer(("127.0.0.1", port), Page) as server:
        Thread(target=server.serve_forever).start()
        yield
        server.shutdown()


@pytest.mark.xdist_group("tutorials")  # some of which use the port of the page too
@pytest.mark.timeout(600)
def test_a_page_on_another_origin_calls_the_agent(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    try:
        follower.follow(ROOT / "docs" / "guides" / "mount.md")
        with page_server(5173), browser_page() as page:
            page.goto("http://localhost:5173/")
            stream = page.evaluate(CALL, f"http://127.0.0.1:{follower.port('8002')}/agent")
        assert "This thread has 1 messages." in stream
        assert '"RUN_FINISHED"' in stream
    finally:
        follower.close()

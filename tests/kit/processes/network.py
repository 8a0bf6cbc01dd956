"""A server in the network of an agent's server, which no client may have asked for anything."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.kit.models.media_files import PNG

REDIRECTED: Final = "what-only-the-redirect-leads-to"


class Network:
    """A server at `url`, where `/start` redirects to `/end`, and `/picture` is one. It knows the
    paths that it was asked for."""

    def __init__(self) -> None:
        asked = self.asked = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                asked.append(path)
                self.send_response(302 if path == "/start" else 200)
                if path == "/start":
                    self.send_header("Location", "/end")
                self.end_headers()
                if path == "/picture":
                    self.wfile.write(PNG)
                elif path != "/start":
                    self.wfile.write(REDIRECTED.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def address(self, path: str) -> str:
        """The URL of a path, with as many letters as base64 has: then the package for Ollama takes
        it for that."""
        url = f"{self.url}{path}?"
        return url + "a" * (-sum(one.isalnum() or one == "/" for one in url) % 4)

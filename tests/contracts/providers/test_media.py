"""What the provider packages send of AG-UI media, told by the bodies of their requests."""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from ag_ui.core import (
    AudioPart,
    DataSource,
    DocumentPart,
    FileSource,
    ImagePart,
    TextPart,
    UrlSource,
    VideoPart,
)
from langchain_core.messages import HumanMessage

from langgraph_agui.messages.content import user_blocks
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn

PARTS = {"image": ImagePart, "audio": AudioPart, "video": VideoPart, "document": DocumentPart}
HELLO = "aGVsbG8="  # "hello"
URL = "https://e.com/a"
PDF = "application/pdf"
MIMES = {"image": "image/jpg", "audio": "audio/mpeg", "video": "video/mp4", "document": PDF}
SPOKEN = {**MIMES, "image": "image/jpeg", "audio": "audio/mp3"}
CANARY = "canary"
NAME = {"filename": "a b.pdf"}

Cells = dict[tuple[str, str], Any]


def _everywhere(kinds: str, why: str, sources: str = "data url file") -> Cells:
    return {(kind, source): why for kind in kinds.split() for source in sources.split()}


def _data_url(kind: str) -> str:
    return f"data:{SPOKEN[kind]};base64,{HELLO}"


def _url(kind: str, address: str) -> dict[str, Any]:
    """A block of Chat Completions with a URL."""
    return {"type": f"{kind}_url", f"{kind}_url": {"url": address}}


def _of(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, kind: value}


def _anthropic(kind: str, **more: str) -> Cells:
    data = {"type": "base64", "media_type": SPOKEN[kind], "data": HELLO}
    url, file = {"type": "url", "url": URL}, {"type": "file", "file_id": "file-1"}
    sources = {"data": data, "url": url, "file": file}
    return {(kind, name): {"type": kind, "source": one, **more} for name, one in sources.items()}


def _gemini(kind: str) -> Cells:
    """It takes every kind, and fetches what is at a URL itself (`hello`, from the test's own
    server)."""
    inline = {"inlineData": {"data": HELLO, "mime_type": SPOKEN[kind]}}
    file = {"fileData": {"file_uri": "file-1", "mime_type": SPOKEN[kind]}}
    # The type is that of the bytes, and these are no picture.
    url = {"inlineData": {"data": HELLO}} if kind == "image" else inline
    return {(kind, "data"): inline, (kind, "url"): url, (kind, "file"): file}


_CHAT: Cells = {
    **_everywhere("image", "Only 'url' and 'base64' are supported", "file"),
    **_everywhere("audio", "Key base64 is required", "url file"),
    **_everywhere("video", "type video is not supported"),
    ("image", "data"): _url("image", _data_url("image")),
    ("image", "url"): _url("image", URL),
    ("audio", "data"): _of("input_audio", {"data": HELLO, "format": "mp3"}),
    ("document", "data"): _of("file", {"file_data": _data_url("document"), **NAME}),
    ("document", "url"): "does not support file URLs",
    ("document", "file"): _of("file", {"file_id": "file-1"}),
}
"""OpenAI's Chat Completions, which several packages speak."""

_INPUT = {"type": "input_file"}
# For each package, kind and source: the part in the request's body, or the error that the package
# raises.
BODIES: dict[str, Cells] = {
    "openai": {
        **_CHAT,
        ("image", "data"): {"type": "input_image", "image_url": _data_url("image")},
        ("image", "url"): {"type": "input_image", "image_url": URL},
        # ChatOpenAI drops it without a word: the Responses API has no audio
        ("audio", "data"): None,
        ("document", "data"): {**_INPUT, "file_data": _data_url("document"), **NAME},
        ("document", "url"): {**_INPUT, "file_url": URL},
        ("document", "file"): {**_INPUT, "file_id": "file-1"},
    },
    **dict.fromkeys(("openai-chat", "groq", "mistral", "xai", "deepseek"), _CHAT),
    "openrouter": {
        **_CHAT,
        ("video", "data"): _url("video", _data_url("video")),
        ("video", "url"): _url("video", URL),
        ("video", "file"): "must have either 'url' or 'base64'",
        ("document", "url"): _of("file", {"file_data": URL, **NAME}),
        ("document", "file"): "does not support file IDs",
    },
    "anthropic": {
        **_anthropic("image"),
        **_anthropic("document", title="a b.pdf"),
        **_everywhere("audio", "type audio is not supported"),
        **_everywhere("video", "type video is not supported"),
    },
    "google": {place: cell for kind in PARTS for place, cell in _gemini(kind).items()},
    "bedrock": {
        ("image", "data"): {"image": {"format": "jpeg", "source": {"bytes": HELLO}}},
        ("video", "data"): {"video": {"format": "mp4", "source": {"bytes": HELLO}}},
        ("document", "data"): {
            "document": {"format": "pdf", "source": {"bytes": HELLO}, "name": "a b-*"}
        },
        **_everywhere("audio", "Unsupported data content block type: 'audio'"),
        ("image", "url"): "The image URL provided is not supported",
        ("image", "file"): "only supported through in-line base64",
        **_everywhere("video document", "only supported through in-line base64", "url file"),
    },
    "ollama": {
        ("image", "data"): HELLO,
        ("image", "url"): "Invalid image data, expected base64 string or path to image file",
        ("image", "file"): "only supported through in-line base64",
        **_everywhere("audio video", "not supported"),
        **_everywhere("document", "Blocks of type file not supported"),
    },
}


@pytest.fixture(scope="module")
def hello() -> Iterator[str]:
    """The address of a server of files, each of which is "hello"."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/a"
        server.shutdown()
        thread.join()


def _send(server: ProviderServer, provider: str, *parts: Any) -> list[Any]:
    """Send a user's message, and return the parts in the request's body."""
    server.script(provider, turn(Text("ok")))
    content, kwargs = user_blocks([TextPart(text="Look"), *parts])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a missing file name
        warnings.filterwarnings("ignore", message="The model|Pydantic|.*deprecated|.*experimental")
        make_model(provider, server).invoke([HumanMessage(content, additional_kwargs=kwargs)])
    body = server.bodies[-1]
    assert CANARY not in json.dumps(body)
    shown = next(body[key] for key in ("messages", "input", "contents") if key in body)[-1]
    if provider == "ollama":
        return list(shown["images"])
    return list(shown.get("content") or shown["parts"])[1:]


# Names by which packages send extras, and one of the client's own.
EXTRAS = {
    **dict.fromkeys(("context", "signature", "private"), CANARY),
    "cache_control": {"type": CANARY},
    "citations": {CANARY: True},
    "prompt_cache_breakpoint": {"mode": CANARY},
}


@pytest.mark.parametrize(
    ("provider", "kind", "source"),
    [(name, *cell) for name, cells in BODIES.items() for cell in sorted(cells)],
)
def test_what_providers_are_sent(
    provider_server: ProviderServer, hello: str, provider: str, kind: str, source: str
) -> None:
    mime = MIMES[kind]
    made: dict[str, Any] = {
        "data": DataSource(value=HELLO, mime_type=mime),
        "url": UrlSource(value=hello if provider == "google" else URL, mime_type=mime),
        "file": FileSource(value="file-1", mime_type=mime, provider="openai"),
    }
    named = {**EXTRAS, "filename": f"a b.{mime[-3:]}"}
    one = PARTS[kind](id=CANARY, source=made[source], metadata=named)
    expected = BODIES[provider][kind, source]
    if isinstance(expected, str) and expected != HELLO:
        with pytest.raises(ValueError, match=re.escape(expected)):
            _send(provider_server, provider, one)
        return
    sent = _send(provider_server, provider, one)
    for block in sent:
        # a part of the name is to tell documents apart
        if provider == "bedrock" and "document" in block:
            block["document"]["name"] = re.sub(r"-[0-9a-f]{8}$", "-*", block["document"]["name"])
    assert sent == ([] if expected is None else [expected])


PDF_AS = {
    "openai": ("input_file", '"filename":"document.pdf"'),
    "openai-chat": ("file", '"filename":"document.pdf"'),
    "openrouter": ("file", '"filename":"document.pdf"'),
    "anthropic": ("document", '"media_type":"application/pdf"'),
    "google": (None, '"mime_type":"application/pdf"'),
    "bedrock": (None, '"format":"pdf"'),
}


@pytest.mark.parametrize("provider", PDF_AS)
def test_a_pdf_is_never_an_image(provider_server: ProviderServer, provider: str) -> None:
    kind, detail = PDF_AS[provider]
    typed = DataSource(value=HELLO, mime_type="APPLICATION/PDF; version=1.7")
    for part in (
        ImagePart(source=DataSource(value=HELLO, mime_type=PDF)),
        ImagePart(source=UrlSource(value=_data_url("document"))),
        DocumentPart(source=DataSource(value=_data_url("document"), mime_type="")),
        DocumentPart(source=typed),
    ):
        (sent,) = _send(provider_server, provider, part)
        text = json.dumps(sent, separators=(",", ":"))
        assert (sent.get("type"), detail in text) == (kind, True)
        assert not any(word in text for word in ("image", "title"))


def test_the_same_file_twice_on_bedrock(provider_server: ProviderServer) -> None:
    document = DocumentPart(source=DataSource(value=HELLO, mime_type=PDF))
    first, second = _send(provider_server, "bedrock", document, document)
    assert first["document"]["name"] != second["document"]["name"]

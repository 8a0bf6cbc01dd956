"""What the provider packages send of AG-UI media, told by the bodies of their requests."""

from __future__ import annotations

import json
import re
import threading
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

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
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.provider_models import make_model
from tests.kit.models.turns import Text, turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kit.models.server import ProviderServer

PARTS = {"image": ImagePart, "audio": AudioPart, "video": VideoPart, "document": DocumentPart}
HELLO = "aGVsbG8="  # "hello"
URL = "https://e.com/a"
MIMES = {
    "image": "image/jpg",
    "audio": "audio/mpeg",
    "video": "video/mp4",
    "document": "application/pdf",
}
SPOKEN = {
    "image": "image/jpeg",
    "audio": "audio/mp3",
    "video": "video/mp4",
    "document": "application/pdf",
}
CANARY = "canary"


def _everywhere(kinds: str, why: str, sources: str = "data url file") -> dict[Any, str]:
    return {(kind, source): why for kind in kinds.split() for source in sources.split()}


def _data_url(kind: str) -> str:
    return f"data:{SPOKEN[kind]};base64,{HELLO}"


def _chat(
    image: Any = lambda address: {"type": "image_url", "image_url": {"url": address}},
) -> dict[Any, Any]:
    """OpenAI's Chat Completions, which several packages speak."""
    return {
        **_everywhere("image", "Only 'url' and 'base64' are supported", "file"),
        **_everywhere("audio", "Key base64 is required", "url file"),
        **_everywhere("video", "type video is not supported"),
        ("image", "data"): image(_data_url("image")),
        ("image", "url"): image(URL),
        ("audio", "data"): {"type": "input_audio", "input_audio": {"data": HELLO, "format": "mp3"}},
        ("document", "data"): {
            "type": "file",
            "file": {"file_data": _data_url("document"), "filename": "a b.pdf"},
        },
        ("document", "url"): "does not support file URLs",
        ("document", "file"): {"type": "file", "file": {"file_id": "file-1"}},
    }


def _anthropic(kind: str, **more: str) -> dict[Any, Any]:
    sources = {
        "data": {"type": "base64", "media_type": SPOKEN[kind], "data": HELLO},
        "url": {"type": "url", "url": URL},
        "file": {"type": "file", "file_id": "file-1"},
    }
    return {
        (kind, name): {"type": kind, "source": source, **more} for name, source in sources.items()
    }


def _gemini() -> dict[Any, Any]:
    """It takes every kind, and fetches what is at a URL itself (`hello`, from the test's own
    server)."""
    inline = {kind: {"inlineData": {"data": HELLO, "mime_type": SPOKEN[kind]}} for kind in PARTS}
    return {
        **{(kind, source): inline[kind] for kind in PARTS for source in ("data", "url")},
        # The type is that of the bytes, and these are no picture.
        ("image", "url"): {"inlineData": {"data": HELLO}},
        **{
            (kind, "file"): {"fileData": {"file_uri": "file-1", "mime_type": SPOKEN[kind]}}
            for kind in PARTS
        },
    }


_CHAT = _chat()
# For each package, kind and source: the part in the request's body, or the error that the package
# raises.
BODIES: dict[str, dict[tuple[str, str], Any]] = {
    "openai": {
        **_chat(lambda address: {"type": "input_image", "image_url": address}),
        (
            "audio",
            "data",
        ): None,  # ChatOpenAI drops it without a word: the Responses API has no audio
        ("document", "data"): {
            "type": "input_file",
            "file_data": _data_url("document"),
            "filename": "a b.pdf",
        },
        ("document", "url"): {"type": "input_file", "file_url": URL},
        ("document", "file"): {"type": "input_file", "file_id": "file-1"},
    },
    "openai-chat": _CHAT,
    "groq": _CHAT,
    "mistral": _CHAT,
    "xai": _CHAT,
    "deepseek": _CHAT,
    "openrouter": {
        **_CHAT,
        ("video", "data"): {"type": "video_url", "video_url": {"url": _data_url("video")}},
        ("video", "url"): {"type": "video_url", "video_url": {"url": URL}},
        ("video", "file"): "must have either 'url' or 'base64'",
        ("document", "url"): {"type": "file", "file": {"file_data": URL, "filename": "a b.pdf"}},
        ("document", "file"): "does not support file IDs",
    },
    "anthropic": {
        **_anthropic("image"),
        **_anthropic("document", title="a b.pdf"),
        **_everywhere("audio", "type audio is not supported"),
        **_everywhere("video", "type video is not supported"),
    },
    "google": _gemini(),
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

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
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
    message: Any = HumanMessage(content, additional_kwargs=kwargs)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a missing file name
        warnings.filterwarnings("ignore", message="The model|Pydantic|.*deprecated|.*experimental")
        make_model(provider, server).invoke([message])
    body = server.bodies[-1]
    assert CANARY not in json.dumps(body)
    shown = next(body[key] for key in ("messages", "input", "contents") if key in body)[-1]
    if provider == "ollama":
        return list(shown["images"])
    return list(shown.get("content") or shown["parts"])[1:]


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
    # Names by which packages send extras, and one of the client's own.
    metadata: dict[str, Any] = {
        "cache_control": {"type": CANARY},
        "context": CANARY,
        "citations": {CANARY: True},
    }
    metadata |= {
        "signature": CANARY,
        "prompt_cache_breakpoint": {"mode": CANARY},
        "private": CANARY,
    }
    one = PARTS[kind](
        id=CANARY, source=made[source], metadata={**metadata, "filename": f"a b.{mime[-3:]}"}
    )
    expected = BODIES[provider][kind, source]
    if isinstance(expected, str) and expected != HELLO:
        with pytest.raises(ValueError, match=re.escape(expected)):
            _send(provider_server, provider, one)
        return
    sent = _send(provider_server, provider, one)
    for block in sent:
        # a part of the name is to tell documents apart
        if "document" in block and provider == "bedrock":
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
@pytest.mark.parametrize(
    "sent_as",
    [
        ImagePart(source=DataSource(value=HELLO, mime_type="application/pdf")),
        ImagePart(source=UrlSource(value=_data_url("document"))),
        DocumentPart(source=DataSource(value=_data_url("document"), mime_type="")),
        DocumentPart(source=DataSource(value=HELLO, mime_type="APPLICATION/PDF; version=1.7")),
    ],
)
def test_a_pdf_is_never_an_image(
    provider_server: ProviderServer, provider: str, sent_as: Any
) -> None:
    kind, detail = PDF_AS[provider]
    (sent,) = _send(provider_server, provider, sent_as)
    text = json.dumps(sent, separators=(",", ":"))
    assert sent.get("type") == kind
    assert detail in text
    assert "image" not in text
    assert "title" not in text


def test_the_same_file_twice_on_bedrock(provider_server: ProviderServer) -> None:
    document = DocumentPart(source=DataSource(value=HELLO, mime_type="application/pdf"))
    first, second = _send(provider_server, "bedrock", document, document)
    assert first["document"]["name"] != second["document"]["name"]

"""AG-UI content parts as LangChain content blocks, and what both ways know about media.

In: the content of an AG-UI user or tool message, `text`, `image`, `audio`, `video` and `document` parts (AG-UI 1.0,
messages). Out: standard v1 blocks (`langchain_core.messages.content`), from which every provider package makes its own
shape. `media.content_parts` is the way back, and gives the same parts.

A media block's `extras` have two floors. On top are the names that packages look for and send: `filename` (OpenAI,
OpenRouter), `title` (Anthropic), `name` (Bedrock). Under `agui` is what only AG-UI knows. The part's metadata are there
and not on top because packages send other extras by their names too (`cache_control`, `citations`, `context`,
`signature`), and those are not a client's to choose.
"""

from __future__ import annotations

import logging
import mimetypes
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes
from zlib import crc32

from ag_ui.core import AudioPart, ContentPart, DocumentPart, FileSource, ImagePart, TextPart, VideoPart

logger = logging.getLogger(__name__)

Kind: TypeAlias = Literal["image", "audio", "video", "document"]
MediaPart: TypeAlias = ImagePart | AudioPart | VideoPart | DocumentPart

OWN = "agui"
"""Key in a block's `extras`: what the part said that the block cannot say. Empty if the block says all of it."""

OCTETS = "application/octet-stream"
"""What a browser or an upload calls bytes that it does not know: as good as no mime type."""

_BLOCKS: Mapping[Kind, str] = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
_SOURCES = {"data": "base64", "url": "url", "file": "file_id"}
_MAJORS: Mapping[str, Kind] = {"image": "image", "audio": "audio", "video": "video"}
_DEFAULT_MIME: Mapping[Kind, str] = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": OCTETS,
}
_SPOKEN_MIME = {
    "application/x-pdf": "application/pdf",
    "audio/mpeg": "audio/mp3",  # OpenAI takes "mp3" and "wav", and langchain-openai sends what stands behind the slash
    "audio/vnd.wave": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",  # Anthropic and Bedrock refuse what is no registered type
}
FILENAMES = ("filename", "fileName", "name", "title")
"""Where front ends and packages keep a file's name in metadata; `filename` is AG-UI's own (its old `binary` part)."""


def content_blocks(content: str | Sequence[ContentPart], *, message_id: str = "") -> str | list[dict[str, object]]:
    """Return the content of an AG-UI message as the content of a LangChain one.

    Text is text alone: its metadata would reach the provider, which packages send text blocks to as they are. Empty
    text, which providers refuse beside media, is left out, and so, with a warning, is what cannot be used; a content
    of which nothing is left is "".

    Args:
        content: A text, or the parts.
        message_id: The message's id, which sets its documents' names (Bedrock) apart from those of other messages.
    """
    if isinstance(content, str):
        return content
    blocks: list[dict[str, object]] = []
    for part in content:
        if isinstance(part, TextPart):
            if part.text:
                blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, MediaPart) and (origin := _origin(part)) is not None:
            blocks.append(_block(part, origin, f"{message_id}/{len(blocks)}"))
        else:
            leave_out(str(getattr(part, "type", type(part).__name__)))
    return blocks or ""


class _Origin(NamedTuple):
    """The member of a block that holds the media, what it holds, and the mime type that the part gives."""

    member: str
    value: str
    mime: str | None


def _origin(part: MediaPart) -> _Origin | None:
    source = part.source
    if isinstance(source, FileSource) or source.value[:5].lower() != "data:":
        return _Origin(_SOURCES[source.type], source.value, source.mime_type) if source.value else None
    # Packages read a `data:` URL as an address: Anthropic would fetch it, OpenAI has no URLs of files.
    inline = from_data_url(source.value)
    return None if inline is None else _Origin("base64", inline[0], inline[1] or source.mime_type)


def _block(part: MediaPart, origin: _Origin, place: str) -> dict[str, object]:
    member, value, said = origin
    filename = filename_in(part.metadata)
    mime = spoken_mime(said) or (guessed_mime(part.type, filename) if member == "base64" else None)
    kind = fitting_kind(part.type, mime)
    own: dict[str, object] = {}
    if said not in (None, mime):
        own["mime_type"] = said
    if kind != part.type:
        own["type"] = part.type
    if isinstance(part.source, FileSource) and part.source.provider is not None:
        own["provider"] = part.source.provider
    if part.metadata is not None:
        own["metadata"] = part.metadata
    block: dict[str, object] = {"type": _BLOCKS[kind], member: value}
    if mime is not None:
        block["mime_type"] = mime
    if part.id is not None:
        block["id"] = part.id
    names = _names(kind, filename, mime, f"{place}/{value}" if member == "base64" else None)
    if own or names:
        block["extras"] = {**names, OWN: own}
    return block


def _names(kind: Kind, filename: str | None, mime: str | None, inline: str | None) -> dict[str, str]:
    """Where packages look for a file's name. Inline documents always need one, others have one or none.

    Made-up names have the extension that tells OpenAI what a file is. `inline` tells inline documents apart.
    """
    names = {"filename": filename} if filename else {}
    if kind != "document":
        return names  # Anthropic refuses an image with a title
    if filename:
        names["title"] = filename
    if inline is not None:
        names.setdefault("filename", f"document{mimetypes.guess_extension(mime or '') or ''}")
        names["name"] = _bedrock_name(names["filename"], inline)
    return names


def _bedrock_name(filename: str, inline: str) -> str:
    """A document's name for Bedrock: up to 200 letters, digits, single spaces and `-()[]`; no two in a request alike.

    From the reference of its Converse API, `DocumentBlock`: it refuses "report.pdf".
    """
    stem = filename.rpartition(".")[0] or filename
    words = re.sub(r"[^A-Za-z0-9()\[\]-]+", " ", stem)[:180].strip() or "document"
    return f"{words}-{crc32(inline.encode('utf-8', 'surrogatepass')):08x}"


def spoken_mime(mime: str | None) -> str | None:
    """`mime` as providers spell it, without parameters; None if it says nothing."""
    plain = (mime or "").partition(";")[0].strip().lower()
    return _SPOKEN_MIME.get(plain, plain) if "/" in plain and plain != OCTETS else None


def guessed_mime(kind: Kind, filename: str | None) -> str:
    """The mime type of a file that came without one: that of its name, if it fits, or the most likely of its kind."""
    guess = spoken_mime(mimetypes.guess_type(filename)[0]) if filename else None
    return guess if guess is not None and fitting_kind(kind, guess) == kind else _DEFAULT_MIME[kind]


def fitting_kind(named: Kind, mime: str | None) -> Kind:
    """The kind as which a model takes media that are sent as `named`: a PDF is a document, whatever it was called.

    Audio and video keep their name, for they share containers (`video/webm`, `application/ogg`).
    """
    if mime is None or mime == OCTETS:
        return named
    major = mime.partition("/")[0]
    if named in ("audio", "video") and major in ("audio", "video", "application") and mime != "application/pdf":
        return named
    return _MAJORS.get(major, "document")


def filename_in(metadata: object) -> str | None:
    """The file's name in a part's metadata, which may be any JSON."""
    if not isinstance(metadata, Mapping):
        return None
    return next((name for key in FILENAMES if isinstance(name := metadata.get(key), str) and name), None)


def from_data_url(url: str) -> tuple[str, str | None] | None:
    """The base64 and the mime type of a `data:` URL (RFC 2397); None for another text, or one without data."""
    if url[:5].lower() != "data:":
        return None
    head, _, payload = url[5:].partition(",")
    mime, *parameters = (piece.strip() for piece in head.split(";"))
    if parameters and parameters[-1].lower() == "base64":
        data = unquote_to_bytes(payload).decode("ascii", "replace") if "%" in payload else payload
    else:
        data = b64encode(unquote_to_bytes(payload)).decode()
    return (data, mime or None) if data else None


@lru_cache(maxsize=256)
def leave_out(kind: str) -> None:
    """Warn, once for each kind, of a block or part that has no counterpart, or that lacks what it is about."""
    logger.warning("%.80r content without a counterpart, or with nothing usable in it, is left out.", kind)

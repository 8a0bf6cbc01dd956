"""LangChain content blocks as AG-UI content parts: text, image, audio, video, document (AG-UI 1.0, messages).

In: the content of a human or tool message, in any shape that packages of LangChain take or give: standard v1 blocks, v0
blocks (`source_type`), and the native ones of OpenAI, Anthropic, Gemini, Bedrock and Mistral. Out: parts. `parts` has
the inverse; a block that it made becomes the part that it was made from.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from ag_ui.core import (
    AudioPart,
    ContentPart,
    DataSource,
    DocumentPart,
    FileSource,
    ImagePart,
    TextPart,
    UrlSource,
    VideoPart,
)

from langgraph_agui.messages.blocks import ContentBlock
from langgraph_agui.messages.parts import (
    FILENAMES,
    OWN,
    Kind,
    MediaPart,
    content_blocks,
    filename_in,
    fitting_kind,
    from_data_url,
    guessed_mime,
    leave_out,
    spoken_mime,
)
from langgraph_agui.protocol.jsonable import clean_text

__all__ = ["content_blocks", "content_parts"]

_PARTS: Mapping[Kind, type[MediaPart]] = {
    "image": ImagePart,
    "audio": AudioPart,
    "video": VideoPart,
    "document": DocumentPart,
}
_NOTHING = TextPart(text="")
_TEXTS = ("text", "input_text", "output_text")
_KINDS: Mapping[str, Kind] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "audio_url": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "document": "document",
    "document_url": "document",
    "file": "document",
    "input_file": "document",
    "text-plain": "document",
}
_DATA = ("base64", "data", "bytes", "file_data")
_URLS = ("url", "image_url", "audio_url", "video_url", "document_url", "file_url")
_MIMES = ("mime_type", "media_type", "mimeType", "mediaType")
_ABOUT = (*FILENAMES, "detail", "context")
"""Members of native blocks that are about the file; `metadata` (v0) and `extras` (v1) are so as a whole."""

_FORMATS: Mapping[str, Mapping[str, str]] = {
    "audio": {"mp3": "audio/mpeg"},
    "video": {
        "flv": "video/x-flv",
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mpg": "video/mpeg",
        "three_gp": "video/3gpp",
        "wmv": "video/x-ms-wmv",
    },
    "document": {
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "html": "text/html",
        "md": "text/markdown",
        "txt": "text/plain",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    },
}
"""The formats of Bedrock and of OpenAI's `input_audio` whose mime type is spelled otherwise."""


class _Found(NamedTuple):
    """Where a block's bytes are: the member of `DataSource`, `UrlSource` or `FileSource`, and what it says of them."""

    source: str
    value: str
    mime: str | None = None
    provider: str | None = None


def content_parts(content: str | Sequence[str | ContentBlock]) -> str | list[ContentPart]:
    """Return the content of a human or tool message as AG-UI content: a string where it is only text.

    Blocks that AG-UI has no part for, or in which nothing can be used, are left out with a warning. So is empty text,
    without one.
    """
    if isinstance(content, str):
        return clean_text(content)
    parts = [part for block in content if (part := _part(block)) is not None and part != _NOTHING]
    if all(isinstance(part, TextPart) for part in parts):
        return "".join(part.text for part in cast("list[TextPart]", parts))
    return parts


def _part(block: object) -> ContentPart | None:
    if isinstance(block, str):
        return TextPart(text=clean_text(block))
    if not isinstance(block, Mapping):
        leave_out(type(block).__name__)
        return None
    if block.get("type") == "non_standard" and isinstance(value := block.get("value"), Mapping):
        block = value
    kind = block.get("type")
    if kind is None:  # Bedrock's own blocks: {"document": {...}}
        kind = next((name for name in _PARTS if isinstance(block.get(name), Mapping)), None)
    if kind in _TEXTS and isinstance(text := block.get("text"), str):
        return TextPart(text=clean_text(text))
    if isinstance(kind, str) and (kind in _KINDS or kind == "media"):
        flat, issuer = _flat(kind, block)
        if (found := _found(kind, flat, issuer)) is not None:
            return _media(_KINDS.get(kind), flat, found)
    leave_out(str(kind))
    return None


def _flat(kind: str, block: ContentBlock) -> tuple[ContentBlock, str | None]:
    """Return `block` with the members of its inner objects on top, and whose ids its shape tells that it holds.

    Inner objects are those of `image_url`, `input_audio`, `file`, Bedrock's `document` and its like, and any `source`.
    """
    issuer = "openai" if kind.startswith("input_") else None
    if isinstance(inner := block.get(kind), Mapping):
        block = {**block, **inner}
        issuer = "openai" if kind == "file" else issuer
    if isinstance(source := block.get("source"), Mapping):
        form = "text" if source.get("type") is None and "text" in source else source.get("type")
        block = {**block, **source, "source_type": form}
        issuer = "anthropic" if form == "file" else issuer
    return block, issuer


def _found(kind: str, flat: ContentBlock, issuer: str | None) -> _Found | None:
    mime = _string(flat, _MIMES) or _mime_of_format(kind, flat.get("format"))
    if flat.get("source_type") == "text":  # v0 keeps the text in `url`, Anthropic in `data`, Bedrock in `text`
        text = _string(flat, ("text", "data", "url"))
        return _text(text, mime) if text else None
    for value in (_encoded(flat.get(name)) for name in _DATA):
        if value:
            return _inline(value, mime)
    if url := _string(flat, _URLS):
        return _inline(url, mime) if url[:5].lower() == "data:" else _Found("url", url, mime)
    if kind == "text-plain" and (text := _string(flat, ("text",))):
        return _text(text, mime)
    if uri := _string(flat, ("file_uri",)):
        return _Found("file", uri, mime, "google")
    if uri := _s3(flat):
        return _Found("file", uri, mime, "bedrock")
    file_id = _string(flat, ("file_id", "id") if flat.get("source_type") == "id" else ("file_id",))
    return _Found("file", file_id, mime, issuer) if file_id else None


def _inline(value: str, mime: str | None) -> _Found | None:
    """Inline bytes. OpenAI's shapes, and careless senders, give them as a `data:` URL; its mime type goes first."""
    if value[:5].lower() != "data:":
        return _Found("data", value, mime)
    inline = from_data_url(value)
    return None if inline is None else _Found("data", inline[0], inline[1] or mime)


def _text(text: str, mime: str | None) -> _Found:
    return _Found("data", b64encode(text.encode("utf-8", "replace")).decode(), mime or "text/plain")


def _encoded(value: object) -> str | None:
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    return value if isinstance(value, str) else None


def _string(holder: ContentBlock, names: Sequence[str]) -> str | None:
    """The first text that is not empty."""
    return next((value for name in names if isinstance(value := holder.get(name), str) and value), None)


def _s3(flat: ContentBlock) -> str | None:
    """The address of Bedrock's `s3Location`, which langchain-aws also takes as `data` of a source of that type."""
    places = (flat.get(name) for name in ("s3Location", "s3_location", "data"))
    return next((uri for place in places if isinstance(place, Mapping) and (uri := _string(place, ("uri",)))), None)


def _mime_of_format(kind: str, said: object) -> str | None:
    if not isinstance(said, str) or not said:
        return None
    named = _KINDS.get(kind, "document")
    return _FORMATS.get(named, {}).get(said, f"{'application' if named == 'document' else named}/{said}")


def _media(named: Kind | None, flat: ContentBlock, found: _Found) -> MediaPart:
    """The part of a block that calls itself `named`; None says nothing, and the mime type decides."""
    extras = flat.get("extras")
    own = extras.get(OWN) if isinstance(extras, Mapping) else None
    metadata = _own_metadata(own) if isinstance(own, Mapping) else _metadata(flat)
    mime = found.mime
    kind = named if named == "document" else fitting_kind(named or "document", spoken_mime(mime))
    if isinstance(own, Mapping):
        kind, mime = _as_said(own, kind, mime)
        provider = own.get("provider")
        found = found._replace(provider=provider if isinstance(provider, str) else None)
    source: DataSource | UrlSource | FileSource
    if found.source == "data":
        mime = guessed_mime(kind, filename_in(metadata)) if mime is None else mime
        source = DataSource(value=found.value, mime_type=mime)
    elif found.source == "url":
        source = UrlSource(value=found.value, mime_type=mime)
    else:
        source = FileSource(value=found.value, mime_type=mime, provider=found.provider)
    block_id = flat.get("id")
    is_id = isinstance(block_id, str) and flat.get("source_type") != "id"
    return _PARTS[kind](id=cast("str", block_id) if is_id else None, source=source, metadata=metadata)


def _as_said(own: ContentBlock, kind: Kind, mime: str | None) -> tuple[Kind, str | None]:
    """Kind and mime type as the part said them, unless the block has been changed since into something else."""
    said_mime, said_kind = own.get("mime_type"), own.get("type")
    if isinstance(said_mime, str) and spoken_mime(said_mime) in (None, mime):
        said: str | None = said_mime
    else:
        said = mime
    if isinstance(said_kind, str) and said_kind in _PARTS and fitting_kind(cast("Kind", said_kind), mime) == kind:
        kind = cast("Kind", said_kind)
    return kind, said


def _own_metadata(own: ContentBlock) -> object:
    metadata = own.get("metadata")
    return metadata if _is_json(metadata) else None


def _metadata(flat: ContentBlock) -> dict[str, object] | None:
    """What a block that we did not make says of its file, with the name as AG-UI's `filename`."""
    about = {name: value for name in _ABOUT if (value := flat.get(name)) is not None}
    found: dict[str, object] = {}
    for holder in (flat.get("metadata"), flat.get("extras"), about):
        if isinstance(holder, Mapping):
            found.update({name: value for name, value in holder.items() if isinstance(name, str) and _is_json(value)})
    name = next((name for name in FILENAMES if isinstance(found.get(name), str)), "filename")
    if name in found:
        found["filename"] = found.pop(name)
    return found or None


def _is_json(value: object) -> bool:
    """Say whether `value` can be sent: a graph may keep any object beside its files."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return True

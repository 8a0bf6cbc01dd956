"""LangChain content blocks as AG-UI content parts: text, image, audio, video, document (AG-UI 1.0, messages)."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import cast

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

from langgraph_agui.messages.blocks import Block

logger = logging.getLogger(__name__)

_PARTS = {"image": ImagePart, "audio": AudioPart, "video": VideoPart, "file": DocumentPart}
_DEFAULT_MIME = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "application/octet-stream",
}


def content_parts(content: str | Sequence[str | Block]) -> str | list[ContentPart]:
    """Return the content of a human or tool message as AG-UI content: a string where it is only text.

    Blocks that AG-UI has no part for are left out with a warning.
    """
    if isinstance(content, str):
        return content
    parts = [part for block in content if (part := _part(block)) is not None]
    if all(isinstance(part, TextPart) for part in parts):
        return "".join(part.text for part in cast("list[TextPart]", parts))
    return parts


def _part(block: str | Block) -> ContentPart | None:
    if isinstance(block, str):
        return TextPart(text=block)
    kind = block.get("type")
    if kind == "text":
        return TextPart(text=str(block.get("text") or ""))
    if kind == "image_url":
        inner = block.get("image_url")
        url = inner.get("url") if isinstance(inner, Mapping) else inner
        block = {"type": "image", "url": url}
        kind = "image"
    if isinstance(kind, str) and kind in _PARTS and (source := _source(kind, block)) is not None:
        part: ContentPart = _PARTS[kind](source=source)
        return part
    logger.warning("A %r content block has no AG-UI part and was left out.", kind)
    return None


def _source(kind: str, block: Block) -> DataSource | UrlSource | FileSource | None:
    """The source of a v1 block (`base64`, `url`, `file_id`), a v0 block (`source_type`) or an Anthropic one."""
    inner = block.get("source")
    if isinstance(inner, Mapping):
        block = {"base64": inner.get("data"), "url": inner.get("url"), "mime_type": inner.get("media_type")}
    mime = block.get("mime_type")
    mime_type = mime if isinstance(mime, str) else None
    data = block.get("base64") or block.get("data")
    if isinstance(data, bytes):
        data = b64encode(data).decode()
    if isinstance(data, str):
        return DataSource(value=data, mime_type=mime_type or _DEFAULT_MIME[kind])
    url = block.get("url")
    if isinstance(url, str):
        if url.startswith("data:") and ";base64," in url:
            head, _, value = url.partition(";base64,")
            return DataSource(value=value, mime_type=head.removeprefix("data:") or _DEFAULT_MIME[kind])
        return UrlSource(value=url, mime_type=mime_type)
    file_id = block.get("file_id") or block.get("id")
    return FileSource(value=file_id, mime_type=mime_type) if isinstance(file_id, str) else None

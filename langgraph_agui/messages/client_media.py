"""The media of a client's messages: those that a graph gets, and those refused before anything
runs.

A client's message enters `ClientMedia.admit`, and leaves with inline data that we have decoded and
encoded again. LangChain messages enter `ClientMedia.check`, with what opaque values have restored.
So nothing is a path where a provider package expects data: the one for Ollama opens it.
"""

import binascii
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from ag_ui import core as agui
from langchain_core.messages import BaseMessage

from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.messages.content import (
    DATA,
    URLS,
    Kind,
    MediaPart,
    accepted_mime,
    filename_in,
    fitting_kind,
    guessed_mime,
    inlined,
)
from langgraph_agui.messages.file_formats import recognise
from langgraph_agui.messages.media_urls import check_address, looks_like_address, looks_like_url
from langgraph_agui.options import MediaUrls

Message: TypeAlias = agui.UserMessage | agui.ToolMessage

# Types of media blocks, without `input_` before and `_url` behind; Bedrock's blocks have them as
# their only key.
_MEDIA: Final = frozenset({"image", "audio", "video", "document", "file", "media", "text-plain"})
# Members of media blocks that are texts, whatever they look like.
_TEXTS: Final = frozenset({"text", "extras", "metadata", "context", "title"})
_ADDRESSES: Final = frozenset({*URLS, "file_uri", "uri"})

_EXPECTED: Final[Mapping[Kind, str]] = {
    "image": "an image, such as PNG, JPEG, GIF or WebP",
    "audio": "a recording, such as MP3, WAV, Ogg or FLAC",
    "video": "a film, such as MP4 or WebM",
    "document": "a document, such as PDF, an Office file, or text in UTF-8",
}
_FROM_URL_SAFE: Final = str.maketrans("-_", "+/")


class ClientMedia:
    """Judges the media of one client's messages.

    Args:
        allowed: Which addresses the agent takes.
        sent: All messages that the client sent, to name places in them.
    """

    def __init__(self, allowed: MediaUrls, sent: Sequence[agui.Message]) -> None:
        self._allowed = allowed
        self._sent = sent
        self._files: set[str] = set()
        self._addresses: set[str] = set()

    def admit(self, message: Message) -> Message:
        """Return a message with its inline data as we encode them, and with the media type that
        they have.

        Raises:
            RunInputError: Inline data cannot be decoded, or are not what the part calls itself; or
                an address is not allowed (`invalid_input`).
        """
        if isinstance(message.content, str):
            return message
        place = self._place(message.id)
        parts = [
            self._admitted(part, f"{place}.content[{number}]")
            for number, part in enumerate(message.content)
        ]
        return message.model_copy(update={"content": parts})

    def check(self, messages: Iterable[BaseMessage]) -> None:
        """Check the media that the graph gets, in any package's form: a client may have made
        opaque values itself.

        Raises:
            RunInputError: Inline data are no file that is known, or an address is not allowed
                (`invalid_input`).
        """
        for message in messages:
            if not isinstance(message.content, str):
                self._check_blocks(message.content, self._place(message.id))

    @cached_property
    def _places(self) -> Mapping[str, str]:
        numbers = reversed([*enumerate(self._sent)])
        return {message.id: f"messages[{number}]" for number, message in numbers}

    def _place(self, message_id: str | None) -> str:
        return self._places.get(message_id or "", f"the message {quoted(message_id)}")

    def _check_address(self, address: str, place: str) -> None:
        if address not in self._addresses:  # a function is asked once
            check_address(address, self._allowed, place)
            self._addresses.add(address)

    # -- parts ------------------------------------------------------------------------------------

    def _admitted(self, part: agui.ContentPart, place: str) -> agui.ContentPart:
        if not isinstance(part, MediaPart):
            return part
        source = inlined(part.source)
        if source is None:
            return part  # it is empty, and left out later
        if isinstance(source, agui.DataSource):
            return part.model_copy(update={"source": self._admitted_data(part, source, place)})
        if isinstance(source, agui.UrlSource) or looks_like_address(source.value):
            self._check_address(source.value, place)
        return part

    def _admitted_data(
        self, part: MediaPart, source: agui.DataSource, place: str
    ) -> agui.DataSource:
        claimed = accepted_mime(source.mime_type)
        kind = fitting_kind(part.type, claimed)
        data = _decoded(source.value)
        if data is None:
            raise _refused(place, kind, "its data are not base64")
        found = recognise(data)
        if found is None:
            raise _refused(place, kind, "its bytes are of no known format")
        is_any_file = claimed is None and part.type == "document"
        if kind not in found.kinds and not is_any_file:
            raise _refused(place, kind, f"its bytes are {found.mimes[0]}")
        expected = claimed or guessed_mime(kind, filename_in(part.metadata))
        mime = found.mime_for(kind, expected)
        if mime == expected:
            mime = source.mime_type  # in the client's spelling
        return agui.DataSource(value=self._encode(source.value, data), mime_type=mime)

    def _encode(self, sent: str, data: bytes) -> str:
        encoded = binascii.b2a_base64(data, newline=False).decode()
        encoded = sent if sent == encoded else encoded  # one copy of a large file is enough
        self._files.add(encoded)
        return encoded

    # -- blocks -----------------------------------------------------------------------------------

    def _check_blocks(self, value: object, place: str, *, in_media: bool = False) -> None:
        """Check the media blocks in a message's content, however deep."""
        if isinstance(value, list):
            for inner in value:
                self._check_blocks(inner, place, in_media=in_media)
        elif isinstance(value, Mapping):
            kind = value.get("type")
            named = (
                kind.removeprefix("input_").removesuffix("_url") if isinstance(kind, str) else None
            )
            inside = in_media or named in _MEDIA or (kind is None and not _MEDIA.isdisjoint(value))
            for key, inner in value.items():
                if inside and isinstance(inner, bytes) and key in DATA:
                    self._check_data(inner, place)
                elif inside and isinstance(inner, str):
                    self._check_member(value, key, inner, place)
                else:
                    self._check_blocks(inner, place, in_media=inside and key not in _TEXTS)

    def _check_member(self, holder: Mapping[str, object], key: str, value: str, place: str) -> None:
        if key in _TEXTS or (key == "data" and holder.get("type") == "text"):
            return
        if key in DATA or value[:5].lower() == "data:":
            self._check_text(value, place)
        elif key in _ADDRESSES or (looks_like_address if key == "file_id" else looks_like_url)(
            value
        ):
            # The package for Ollama takes what stands behind a comma in an `image_url` for data,
            # and opens it.
            is_cut = key == "image_url" or "type" not in holder
            for address in value.split(",") if is_cut else [value]:
                self._check_address(address, place)

    def _check_text(self, value: str, place: str) -> None:
        """Check base64, or a `data:` URL of it, in the one spelling that we use: packages take it
        as it is.
        """
        head, comma, payload = value.partition(",")
        encoded = payload if comma and head[:5].lower() == "data:" else value
        if encoded in self._files:
            return
        data = _decoded(encoded)
        if data is None or binascii.b2a_base64(data, newline=False).decode() != encoded:
            raise _no_file(place)
        self._check_data(data, place)

    def _check_data(self, data: bytes, place: str) -> None:
        if recognise(data) is None:
            raise _no_file(place)


def _decoded(text: str) -> bytes | None:
    """Return the bytes of base64; None if it is none. It may have line breaks, lack its padding, or
    be made for URLs.
    """
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        pass
    plain = "".join(text.split()).rstrip("=").translate(_FROM_URL_SAFE)
    try:
        return binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:
        return None


def _refused(place: str, kind: Kind, reason: str) -> RunInputError:
    return RunInputError(
        ErrorCode.INVALID_INPUT, f"{place} must be {_EXPECTED[kind]}, as base64; {reason}."
    )


def _no_file(place: str) -> RunInputError:
    text = (
        f"{place}: its encryptedValue has media that are not the base64 of a file of a known "
        "format."
    )
    return RunInputError(ErrorCode.INVALID_INPUT, text)

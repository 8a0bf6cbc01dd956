"""Contents and calls of messages. Both the server and the client use this file, and the client no
other of this room.

Contents of user and tool messages (AG-UI 1.0, messages): parts (`text`, `image`, `audio`, `video`,
`document`) enter `content_blocks`, and standard v1 blocks (`langchain_core.messages.content`)
leave, from which every provider package makes its own shape. `content_parts` is the way back. It
takes blocks in any shape that packages take or give: standard v1, v0 (`source_type`), and the
native ones of OpenAI, Anthropic, Gemini, Bedrock and Mistral. A block that `content_blocks` made
becomes the same part again.

A block's `extras` hold two things. On top are the names that packages look for and send: `filename`
(OpenAI, OpenRouter), `title` (Anthropic), `name` (Bedrock). Under `agui` is what only AG-UI knows.
The part's metadata are there too: packages send other extras by their names (`cache_control`,
`citations`, `context`, `signature`), and a client must not choose those.

`BaseMessage.content_blocks` of langchain-core does not do: it gives blocks random ids, raises on
some v0 blocks, and leaves those of OpenAI Responses, Gemini and Bedrock as they are.

Calls: those of LangChain messages, and the results that we make for calls without one.
"""

import json
import mimetypes
import re
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast
from urllib.parse import unquote_to_bytes
from zlib import crc32

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.protocol.json import broke_off, clean_text

logger = run_logger(__name__)

ContentBlock: TypeAlias = Mapping[str, object]
Content: TypeAlias = str | list[agui.ContentPart]

Kind: TypeAlias = Literal["image", "audio", "video", "document"]
MediaPart: TypeAlias = agui.ImagePart | agui.AudioPart | agui.VideoPart | agui.DocumentPart
Source: TypeAlias = agui.DataSource | agui.UrlSource | agui.FileSource

# Where a remote agent's message keeps the agent's ids and opaque values: in `additional_kwargs`.
REMOTE_KWARG: Final = "agui"

# Where a user's message keeps the fields that its `image_url` blocks have no place for: in
# `additional_kwargs`, an entry for each block. Packages send all keys of a block to the provider.
IMAGES_KWARG: Final = "agui_images"

# Fields of standard blocks of images that `image_url` blocks lack, with data and with an address.
_BESIDE_DATA: Final = ("id", "extras")
_BESIDE_URL: Final = (*_BESIDE_DATA, "mime_type")

# The type of an image that a `data:` URL can hold.
_IMAGE_MIME: Final = re.compile(r"image/[a-z0-9.+-]+")

# A URL with a host, which is no path, nor are its parts if a package cuts it at commas.
_WHOLE_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://[^,]*", re.IGNORECASE)

# Where a media block keeps what its part holds and the block has no field for: in `extras`.
OWN_EXTRA: Final = "agui"

# AG-UI's roles by LangChain's types of messages, where the names differ.
_ROLES: Final = {"human": "user", "ai": "assistant"}

# The `error` of a tool message whose content is no text. It adds nothing to `metadata.status`.
FAILED_WITHOUT_TEXT: Final = "tool failed"

# The end of the ids of results that say that nobody has answered a call.
_UNANSWERED: Final = ":unanswered"

# The end of the ids of results that say that a model has not finished a call.
_UNFINISHED: Final = ":unfinished"

# Makes the result of a call that gets none from its tool, given the call's id, its tool and the id
# of its message. The result's own id has both ids: models may number their calls, and begin anew in
# each message.
SettlingResult: TypeAlias = Callable[[str, str | None, str], ToolMessage]

# The mime types of browsers and uploads for unknown bytes: as good as no mime type.
OCTETS: Final = "application/octet-stream"

_PARTS: Final[Mapping[Kind, type[MediaPart]]] = {
    "image": agui.ImagePart,
    "audio": agui.AudioPart,
    "video": agui.VideoPart,
    "document": agui.DocumentPart,
}
# Kinds by the types of blocks, without `input_` before a type and `_url` behind it.
_KINDS: Final[Mapping[str, Kind]] = {
    **{kind: kind for kind in _PARTS},
    "file": "document",
    "text-plain": "document",
}

_SOURCES: Final = {"data": "base64", "url": "url", "file": "file_id"}
_DEFAULT_MIME: Final[Mapping[Kind, str]] = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": OCTETS,
}
_ACCEPTED_MIME: Final = {
    "application/x-pdf": "application/pdf",
    # OpenAI takes "mp3" and "wav", and langchain-openai sends what stands behind the slash
    "audio/mpeg": "audio/mp3",
    "audio/vnd.wave": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",  # Anthropic and Bedrock refuse what is no registered type
}
# Formats of Bedrock and of OpenAI's `input_audio` that are not the end of their mime type.
_FORMATS: Final = {
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "html": "text/html",
    "md": "text/markdown",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "txt": "text/plain",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

# Where front ends and packages keep a file's name in metadata; `filename` is AG-UI's own (its old
# `binary` part).
_FILENAMES: Final = ("filename", "fileName", "name", "title")

_TEXTS: Final = ("text", "input_text", "output_text")
DATA: Final = ("base64", "data", "bytes", "file_data")
URLS: Final = ("url", "image_url", "audio_url", "video_url", "document_url", "file_url")
_MIMES: Final = ("mime_type", "media_type", "mimeType", "mediaType")
# Members of native blocks that are about the file; `metadata` (v0) and `extras` (v1) are so as a
# whole.
_ABOUT: Final = (*_FILENAMES, "detail", "context")


def text_of(content: Content) -> str:
    """Return the visible text, without media."""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, agui.TextPart))


def role_of(message: BaseMessage) -> str:
    """Return the role of a message by the name that AG-UI has for it, if it has one."""
    # LangChain has no type for OpenAI's developer messages; only this key distinguishes them from
    # system messages.
    role = message.additional_kwargs.get("__openai_role__")
    role = str(role or getattr(message, "role", message.type))
    return _ROLES.get(role, role)


def as_content(content: object) -> str | Sequence[str | ContentBlock]:
    """Return the content of a message, typed as its package's blocks."""
    return cast("str | Sequence[str | ContentBlock]", content)


# -- from parts to blocks ------------------------------------------------------------------------


def content_blocks(
    content: str | Sequence[agui.ContentPart], *, message_id: str = ""
) -> str | list[dict[str, object]]:
    """Return the content of an AG-UI message as the content of a LangChain one.

    Text blocks hold the text only, because packages send them to the provider as they are. Empty
    text is left out, because providers refuse it beside media. Unusable parts are left out with a
    warning. Content with no part left is "".

    Args:
        content: A text, or the parts.
        message_id: The message's id. It makes the names of documents (Bedrock) differ from those of
            other messages.
    """
    if isinstance(content, str):
        return content
    blocks: list[dict[str, object]] = []
    for part in content:
        if isinstance(part, agui.TextPart):
            if part.text:
                blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, MediaPart) and (source := inlined(part.source)) is not None:
            blocks.append(_block(part, source, f"{message_id}/{len(blocks)}"))
        else:
            leave_out(str(getattr(part, "type", type(part).__name__)))
    return blocks or ""


def user_blocks(
    content: str | Sequence[agui.ContentPart], *, message_id: str = ""
) -> tuple[str | list[object], dict[str, object]]:
    """Return the content of a user's message as the content and the `additional_kwargs` of a
    LangChain one.

    Most images are `image_url` blocks, which all packages take, and which nodes for other adapters
    read. `with_images` is the way back.
    """
    blocks, others = content_blocks(content, message_id=message_id), list[dict[str, object]]()
    if isinstance(blocks, str):
        return blocks, {}
    for block in blocks:
        if _image_url(block) is not None:
            kept = _BESIDE_URL if "url" in block else _BESIDE_DATA
            others.append({key: block[key] for key in kept if key in block})
    return as_image_urls(blocks), {IMAGES_KWARG: others} if any(others) else {}


def as_image_urls(blocks: Sequence[object]) -> list[object]:
    """Return the blocks of a user's message, with images as `image_url` blocks where they can be
    such.
    """
    return [
        block if url is None else {"type": "image_url", "image_url": {"url": url}}
        for block, url in zip(blocks, map(_image_url, blocks), strict=True)
    ]


def with_images(message: BaseMessage) -> str | Sequence[str | ContentBlock]:
    """Return the content of a user's message, with everything that its images are known to have.

    A node may have changed the content since: then nothing is known.
    """
    content, others = as_content(message.content), message.additional_kwargs.get(IMAGES_KWARG)
    if isinstance(content, str) or not isinstance(others, list):
        return content
    blocks = [*content]
    images = [
        number
        for number, block in enumerate(blocks)
        if isinstance(block, Mapping) and block.get("type") == "image_url"
    ]
    if len(images) == len(others):
        for number, other in zip(images, others, strict=True):
            known = other if isinstance(other, Mapping) else {}
            own = {key: known[key] for key in _BESIDE_URL if key in known}
            blocks[number] = {**own, **cast("ContentBlock", blocks[number])}
    return blocks


def _image_url(block: object) -> str | None:
    """Return the address of an image for an `image_url` block; None if it stays a standard block.

    The package for Ollama opens an `image_url` that is a path, also one behind a comma.
    """
    if not isinstance(block, Mapping) or block.get("type") != "image":
        return None
    url, data, mime = block.get("url"), block.get("base64"), block.get("mime_type")
    if isinstance(url, str):
        return url if _WHOLE_URL.fullmatch(url) else None
    if not isinstance(data, str) or not isinstance(mime, str):
        return None
    leads_back = data and "%" not in data and _IMAGE_MIME.fullmatch(mime)
    return f"data:{mime};base64,{data}" if leads_back else None


def _block(part: MediaPart, source: Source, place: str) -> dict[str, object]:
    filename, is_data = filename_in(part.metadata), isinstance(source, agui.DataSource)
    mime = accepted_mime(source.mime_type) or (
        guessed_mime(part.type, filename) if is_data else None
    )
    kind = fitting_kind(part.type, mime)
    own = {
        "mime_type": source.mime_type if source.mime_type != mime else None,
        "type": part.type if kind != part.type else None,
        "provider": source.provider if isinstance(source, agui.FileSource) else None,
        "metadata": part.metadata,
    }
    own = {key: value for key, value in own.items() if value is not None}
    names = _names(kind, filename, mime, f"{place}/{source.value}" if is_data else None)
    return {
        "type": "file" if kind == "document" else kind,
        _SOURCES[source.type]: source.value,
        **({"mime_type": mime} if mime is not None else {}),
        **({"id": part.id} if part.id is not None else {}),
        **({"extras": {**names, OWN_EXTRA: own}} if own or names else {}),
    }


def _names(
    kind: Kind, filename: str | None, mime: str | None, inline: str | None
) -> dict[str, str]:
    """Return a file's name under the keys where packages look for it. Only inline documents always
    need one.

    A made-up name has the extension by which OpenAI knows the type. `inline` distinguishes inline
    documents.
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
    """Return a document's name for Bedrock: letters, digits, single spaces and `-()[]`, no two in a
    request alike.

    The reference of its Converse API (`DocumentBlock`) allows 200 characters. It refuses
    "report.pdf".
    """
    stem = filename.rpartition(".")[0] or filename
    words = re.sub(r"[^A-Za-z0-9()\[\]-]+", " ", stem)[:180].strip() or "document"
    return f"{words}-{crc32(inline.encode('utf-8', 'surrogatepass')):08x}"


# -- from blocks to parts ------------------------------------------------------------------------


def content_parts(content: str | Sequence[str | ContentBlock]) -> str | list[agui.ContentPart]:
    """Return the content of a human or tool message as AG-UI content: a string if it is only text.

    Blocks without an AG-UI part, and unusable blocks, are left out with a warning. Empty text is
    left out without one.
    """
    if isinstance(content, str):
        return clean_text(content)
    parts = [part for block in content if (part := _part(block)) is not None]
    if all(isinstance(part, agui.TextPart) for part in parts):
        return "".join(part.text for part in cast("list[agui.TextPart]", parts))
    return [part for part in parts if not isinstance(part, agui.TextPart) or part.text]


def media_part(block: ContentBlock) -> MediaPart | None:
    """Return the part of a block with media; None with a warning if it is unusable."""
    part = _part(block)
    return part if isinstance(part, MediaPart) else None


def _part(block: object) -> agui.ContentPart | None:
    if isinstance(block, str):
        return agui.TextPart(text=clean_text(block))
    if not isinstance(block, Mapping):
        leave_out(type(block).__name__)
        return None
    if block.get("type") == "non_standard" and isinstance(value := block.get("value"), Mapping):
        block = value
    kind = block.get("type")
    if kind is None:  # Bedrock's own blocks: {"document": {...}}
        kind = next((name for name in _PARTS if isinstance(block.get(name), Mapping)), None)
    if kind in _TEXTS and isinstance(text := block.get("text"), str):
        return agui.TextPart(text=clean_text(text))
    if isinstance(kind, str):
        named = _KINDS.get(kind.removeprefix("input_").removesuffix("_url"))
        flat, provider = _flat(kind, block)
        if (named or kind == "media") and (
            source := _source_of_block(kind, named, flat, provider)
        ) is not None:
            return _media_part(named, flat, source)
    leave_out(str(kind))
    return None


def _flat(kind: str, block: ContentBlock) -> tuple[ContentBlock, str | None]:
    """Return `block` with the members of its inner objects on top, and the provider of its file id,
    as its shape shows.

    Inner objects are those of `image_url`, `input_audio`, `file`, Bedrock's `document` and its
    like, and any `source`.
    """
    provider = "openai" if kind.startswith("input_") else None
    if isinstance(inner := block.get(kind), Mapping):
        block = {**block, **inner}
        provider = "openai" if kind == "file" else provider
    if isinstance(source := block.get("source"), Mapping):
        form = "text" if source.get("type") is None and "text" in source else source.get("type")
        block = {**block, **source, "source_type": form}
        provider = "anthropic" if form == "file" else provider
    return block, provider


def _source_of_block(
    kind: str, named: Kind | None, flat: ContentBlock, provider: str | None
) -> Source | None:
    mime = _string(flat, _MIMES)
    if mime is None and isinstance(format_ := flat.get("format"), str) and format_:
        major = "application" if named in (None, "document") else named
        mime = _FORMATS.get(format_, f"{major}/{format_}")
    # v0 keeps the text in `url`, Anthropic in `data`, Bedrock in `text`
    if flat.get("source_type") == "text":
        text = _string(flat, ("text", "data", "url"))
        return _text(text, mime) if text else None
    for value in (flat.get(name) for name in DATA):
        encoded = b64encode(value).decode() if isinstance(value, bytes | bytearray) else value
        if encoded and isinstance(encoded, str):
            return inlined(agui.DataSource(value=encoded, mime_type=mime or ""))
    if url := _string(flat, URLS):
        return inlined(agui.UrlSource(value=url, mime_type=mime))
    if kind == "text-plain" and (plain := _string(flat, ("text",))):
        return _text(plain, mime)
    if uri := _string(flat, ("file_uri",)):
        return agui.FileSource(value=uri, mime_type=mime, provider="google")
    file_id = _string(flat, ("file_id", "id") if flat.get("source_type") == "id" else ("file_id",))
    return agui.FileSource(value=file_id, mime_type=mime, provider=provider) if file_id else None


def _text(text: str, mime: str | None) -> agui.DataSource:
    return agui.DataSource(
        value=b64encode(text.encode("utf-8", "replace")).decode(), mime_type=mime or "text/plain"
    )


def _string(holder: ContentBlock, names: Sequence[str]) -> str | None:
    """Return the first text that is not empty."""
    return next(
        (value for name in names if isinstance(value := holder.get(name), str) and value), None
    )


def _media_part(named: Kind | None, flat: ContentBlock, source: Source) -> MediaPart:
    """Return the part of a block that calls itself `named`. If it has no name, the mime type
    decides.
    """
    extras = flat.get("extras")
    own = extras.get(OWN_EXTRA) if isinstance(extras, Mapping) else None
    mime = source.mime_type or None
    kind = named if named == "document" else fitting_kind(named or "document", accepted_mime(mime))
    if isinstance(own, Mapping):
        metadata = own.get("metadata")
        if not _is_json(metadata):
            metadata = None
        kind, mime = _as_sent(own, kind, mime)
        if isinstance(source, agui.FileSource):
            provider = own.get("provider")
            source.provider = provider if isinstance(provider, str) else None
    else:
        metadata = _metadata(flat)
    if isinstance(source, agui.DataSource) and mime is None:
        mime = guessed_mime(kind, filename_in(metadata))
    source = source.model_copy(update={"mime_type": mime})
    block_id = flat.get("id") if flat.get("source_type") != "id" else None
    return _PARTS[kind](
        id=block_id if isinstance(block_id, str) else None, source=source, metadata=metadata
    )


def _as_sent(own: ContentBlock, kind: Kind, mime: str | None) -> tuple[Kind, str | None]:
    """Return kind and mime type that the client sent, unless the block has been changed since into
    something else.
    """
    sent_mime, sent_kind = own.get("mime_type"), own.get("type")
    if (
        isinstance(sent_kind, str)
        and sent_kind in _PARTS
        and fitting_kind(cast("Kind", sent_kind), mime) == kind
    ):
        kind = cast("Kind", sent_kind)
    return kind, sent_mime if isinstance(sent_mime, str) and accepted_mime(sent_mime) in (
        None,
        mime,
    ) else mime


def _metadata(flat: ContentBlock) -> dict[str, object] | None:
    """Return what a block that `content_blocks` did not make has of its file, with the name as
    AG-UI's `filename`.
    """
    about = {name: value for name in _ABOUT if (value := flat.get(name)) is not None}
    holders = [
        one for one in (flat.get("metadata"), flat.get("extras"), about) if isinstance(one, Mapping)
    ]
    items = [item for holder in holders for item in holder.items()]
    found = {name: value for name, value in items if isinstance(name, str) and _is_json(value)}
    name = next((name for name in _FILENAMES if isinstance(found.get(name), str)), "filename")
    if name in found:
        found["filename"] = found.pop(name)
    return found or None


def _is_json(value: object) -> bool:
    """Whether `value` can be sent: a graph may keep any object beside its files."""
    with suppress(TypeError, ValueError, RecursionError):
        return bool(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    return False


def inlined(source: Source) -> Source | None:
    """Return a source, a `data:` URL (RFC 2397) as its data; None if it is empty.

    Packages read a `data:` URL as an address: Anthropic would fetch it, OpenAI has no URLs of
    files.
    """
    if isinstance(source, agui.FileSource) or source.value[:5].lower() != "data:":
        return source if source.value else None
    head, _, payload = source.value[5:].partition(",")
    own_mime, *parameters = (piece.strip() for piece in head.split(";"))
    if parameters and parameters[-1].lower() == "base64":
        data = unquote_to_bytes(payload).decode("ascii", "replace") if "%" in payload else payload
    else:
        data = b64encode(unquote_to_bytes(payload)).decode()
    return (
        agui.DataSource(value=data, mime_type=own_mime or source.mime_type or "") if data else None
    )


def accepted_mime(mime: str | None) -> str | None:
    """Return `mime` as providers spell it, without parameters; None if it is unspecific."""
    plain = (mime or "").partition(";")[0].strip().lower()
    return _ACCEPTED_MIME.get(plain, plain) if "/" in plain and plain != OCTETS else None


def guessed_mime(kind: Kind, filename: str | None) -> str:
    """Return the mime type of a file without one: that of its name, if it fits, or the most likely
    of its kind.
    """
    guess = accepted_mime(mimetypes.guess_type(filename)[0]) if filename else None
    return guess if guess is not None and fitting_kind(kind, guess) == kind else _DEFAULT_MIME[kind]


def fitting_kind(named: Kind, mime: str | None) -> Kind:
    """Return the kind as which a model takes media that are sent as `named`: a PDF is a document,
    whatever its name.

    Audio and video keep their name, for they share containers (`video/webm`, `application/ogg`).
    """
    if mime is None or mime == OCTETS:
        return named
    major = mime.partition("/")[0]
    if (
        named in ("audio", "video")
        and major in ("audio", "video", "application")
        and mime != "application/pdf"
    ):
        return named
    return cast("Kind", major) if major in ("image", "audio", "video") else "document"


def filename_in(metadata: object) -> str | None:
    """Return the file's name in a part's metadata, which may be any JSON."""
    return _string(metadata, _FILENAMES) if isinstance(metadata, Mapping) else None


def leave_out(kind: str) -> None:
    """Count content without a counterpart, such as media of a model; warn of it once for each
    kind.
    """
    count_dropped("content")
    warn_left_out(kind)


@lru_cache(maxsize=256)
def warn_left_out(kind: str) -> None:
    """Warn of content that is left out."""
    logger.warning(
        "%.80r content without a counterpart, or with nothing usable in it, is left out.", kind
    )


# -- calls, and results that no tool gives -------------------------------------------------------


def unanswered_calls(messages: Sequence[BaseMessage], *, at_end: bool = False) -> list[ToolCall]:
    """Return the calls of the last assistant message that have no result yet.

    Args:
        messages: A conversation.
        at_end: Whether to return none if anything but results follows that message.
    """
    answered: list[str] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return calls_without_result(message, answered)
        if isinstance(message, ToolMessage):
            answered.append(message.tool_call_id)
        elif at_end:
            break
    return []


def calls_without_result(message: AIMessage, answered: Iterable[str]) -> list[ToolCall]:
    """Return the calls of a message that have no result.

    Args:
        message: The message.
        answered: The call ids of the results. Of calls with one id, the first are answered.
    """
    results = Counter(answered)
    found: list[ToolCall] = []
    for call in message.tool_calls:
        if results[call["id"] or ""]:
            results[call["id"] or ""] -= 1
        else:
            found.append(call)
    return found


def free_call_id(
    own_id: str, message_id: str, taken: Container[str], last: str | None = None
) -> str:
    """Return the client's id of a call: the model's, or a longer one if another call has that.

    Args:
        own_id: The model's id. Models repeat them: some count from 0 in each answer.
        message_id: The client's id of the message with the call.
        taken: The ids of the other calls.
        last: The id of the last call of this id in the message, if it has one.
    """
    call_id = last or own_id
    while call_id in taken or not call_id:
        rest = own_id if call_id == own_id else call_id.removeprefix(message_id)
        call_id = f"{message_id}:{rest}"  # one more colon each time
    return call_id


def own_call_id(call_id: str, message_id: str) -> str:
    """Return the model's id of a call, from the client's id and that of its message."""
    prefix = f"{message_id}:"
    own_id = call_id.removeprefix(prefix).lstrip(":") if call_id.startswith(prefix) else ""
    return own_id or call_id


def caller_id(messages: Sequence[BaseMessage], call_id: str) -> str:
    """Return the id of the last message with this call; empty if none has it."""
    return next(
        (message.id or "" for message in reversed(messages) if has_call(message, call_id)), ""
    )


def has_call(message: BaseMessage, call_id: str) -> bool:
    """Return whether a message has a call with this id."""
    return isinstance(message, AIMessage) and any(
        call["id"] == call_id for call in message.tool_calls
    )


def interrupted(call_id: str, name: str | None, message_id: str) -> ToolMessage:
    """Return the result of a call that was interrupted: its run was stopped or has failed."""
    text = "Interrupted: there is no result."
    return ToolMessage(
        text,
        id=f"{message_id}:{call_id}:interrupted",
        tool_call_id=call_id,
        name=name,
        status="error",
    )


def unfinished(call_id: str, name: str | None, message_id: str) -> ToolMessage:
    """Return the result of a call that its model has not finished: it was stopped or has failed."""
    result = interrupted(call_id, name, message_id)
    return result.model_copy(update={"id": f"{message_id}:{call_id}{_UNFINISHED}"})


def is_unfinished(call: agui.ToolCall, results: Sequence[agui.ToolMessage]) -> bool:
    """Return whether a model has not finished a call: a result says so, or there is none and the
    arguments are cut off. The client has lost the connection then, or the server has died.
    """
    return says_unfinished(call, results) if results else broke_off(call.function.arguments)


def says_unfinished(_call: agui.ToolCall, results: Sequence[agui.ToolMessage]) -> bool:
    """Return whether a result of a call says that its model has not finished it."""
    return any(result.id.endswith(_UNFINISHED) for result in results)


def without_calls(
    messages: Sequence[agui.Message],
    goes: Callable[[agui.ToolCall, Sequence[agui.ToolMessage]], bool],
    kept: Container[str] = (),
) -> list[agui.Message]:
    """Return a client's messages without some calls and their results, and without what is empty
    then.

    Args:
        messages: The messages.
        goes: Returns whether a call goes, given its results.
        kept: The ids of messages that stay as they are.
    """
    changed: dict[int, agui.Message | None] = {}
    results: defaultdict[str, list[tuple[int, agui.ToolMessage]]] = defaultdict(list)
    for place, message in reversed([*enumerate(messages)]):
        if isinstance(message, agui.ToolMessage):
            results[message.tool_call_id].append((place, message))
        elif isinstance(message, agui.AssistantMessage) and message.tool_calls:
            left: list[agui.ToolCall] = []
            for call in message.tool_calls:
                # an earlier call may have the same id
                answers = results.pop(call.id, [])
                if message.id in kept or not goes(call, [answer for _, answer in answers]):
                    left.append(call)
                else:
                    changed |= dict.fromkeys(at for at, _ in answers)
            if len(left) < len(message.tool_calls):
                rest = message.model_copy(update={"tool_calls": left or None})
                changed[place] = rest if left or message.content else None
    if not changed:
        return list(messages)
    rests = (changed.get(place, message) for place, message in enumerate(messages))
    return [message for message in rests if message is not None]


def unanswered(call_id: str, name: str | None, message_id: str) -> ToolMessage:
    """Return the result of a call that nobody answers, though nothing was interrupted: an agent may
    end by a call.
    """
    text = "This call has no result."
    return ToolMessage(
        text, id=f"{message_id}:{call_id}{_UNANSWERED}", tool_call_id=call_id, name=name
    )


def is_unanswered(result: agui.ToolMessage) -> bool:
    """Return whether a client's result is ours: nobody has answered the call."""
    return result.id.endswith(_UNANSWERED)


def not_kept(call_id: str, name: str | None, message_id: str) -> ToolMessage:
    """Return the result of a call in a message that the graph does not keep."""
    text = "This call was not kept: it has no result."
    return ToolMessage(text, id=f"{message_id}:{call_id}:not_kept", tool_call_id=call_id, name=name)


def cancelled(call_id: str, name: str | None, message_id: str) -> ToolMessage:
    """Return the result of a call that the user was asked about and has cancelled."""
    text = "Cancelled by the user: this was not executed."
    return ToolMessage(
        text,
        id=f"{message_id}:{call_id}:cancelled",
        tool_call_id=call_id,
        name=name,
        status="error",
    )

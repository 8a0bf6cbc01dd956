"""Spellings from before AG-UI 1.0, and those of 1.0.

Wire objects enter and leave; the argument stays as it is. Each spelling that is replaced is named
in the notes. The reference client reads the same, but for two that it refuses: reasoning in the
role of an assistant, and a list of parts where a message has text.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

Wire: TypeAlias = Mapping[str, object]

_MEDIA: Final = ("image", "audio", "video", "document")
# The roles whose content is text; messages of users and tools may have parts.
_TEXT_ONLY: Final = ("developer", "system", "assistant", "reasoning")
# The fields that could be null, by event type.
_NULLABLE: Final[Mapping[object, Sequence[str]]] = {
    "RUN_FINISHED": ("result", "outcome"),
    "SUBAGENT_FINISHED": ("result",),
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
}


def modern_event(event: Wire, notes: list[str]) -> Wire:
    """Return `event` with old spellings replaced, each named in `notes`."""
    kind = event.get("type")
    event = _without_nulls(
        event, ("rawEvent", *(_NULLABLE.get(kind, ()) if isinstance(kind, str) else ())), notes
    )
    if kind == "MESSAGES_SNAPSHOT":
        event = _mapped(event, "messages", _modern_message, notes)
    elif kind == "RUN_STARTED" and isinstance(run_input := event.get("input"), Mapping):
        event = {**event, "input": modern_input(run_input, notes)}
    elif kind == "REASONING_MESSAGE_START" and event.get("role") == "assistant":
        notes.append("deprecated role 'assistant' of reasoning, read as 'reasoning'")
        event = {**event, "role": "reasoning"}
    return event


def modern_input(run_input: Wire, notes: list[str]) -> Wire:
    """Return a `RunAgentInput` with old spellings replaced, each named in `notes`."""
    run_input = _without_nulls(run_input, ("forwardedProps",), notes)
    run_input = _mapped(
        run_input, "tools", lambda tool, notes: _without_nulls(tool, ("parameters",), notes), notes
    )
    run_input = _mapped(
        run_input, "resume", lambda entry, notes: _without_nulls(entry, ("payload",), notes), notes
    )
    return _mapped(run_input, "messages", _modern_message, notes)


def _modern_message(message: Wire, notes: list[str]) -> Wire:
    message = _mapped(message, "content", _modern_part, notes)
    parts = message.get("content")
    if not isinstance(parts, list):
        return message
    if message.get("role") in _TEXT_ONLY and (text := _text_of(parts, notes)) is not None:
        return {**message, "content": text}
    if not any(_is_binary(part) for part in parts):
        return message
    notes.append("deprecated binary content, read as media parts")
    notes += [
        "binary content without data or url"
        for part in parts
        if _is_binary(part) and _source(part) is None
    ]
    media = [_as_media(part) if _is_binary(part) else part for part in parts]
    # A sender may have added the modern form itself, next to the old one.
    modern = {form for part in parts for form in _forms(part)}
    kept = [
        new
        for old, new in zip(parts, media, strict=True)
        if new is old or modern.isdisjoint(_forms(new)[:1])
    ]
    return {**message, "content": kept}


def _text_of(parts: Sequence[object], notes: list[str]) -> str | None:
    """Return the text of a list of parts without those that are no text; `None` if one is
    malformed.
    """
    texts, others = [], []
    for part in parts:
        if not isinstance(part, Mapping) or not isinstance(kind := part.get("type"), str):
            return None
        if kind != "text":
            others.append(f"unknown part {kind!r} in content, removed")
        elif isinstance(text := part.get("text"), str):
            texts.append(text)
        else:
            return None
    notes += ["a list of parts in content, read as its text", *others]
    return "".join(texts)


def _modern_part(part: Wire, notes: list[str]) -> Wire:
    return _without_nulls(part, ("metadata",), notes) if part.get("type") in _MEDIA else part


def _is_binary(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "binary"


def _as_media(part: Wire) -> Wire:
    mime, source = part.get("mimeType"), _source(part)
    if not isinstance(mime, str) or source is None:
        return part  # a bare file id has no 1.0 form; the part is removed later
    kind = next((kind for kind in _MEDIA[:3] if mime.startswith(f"{kind}/")), "document")
    name = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    return {
        "type": kind,
        "source": {"type": source, "value": part[source], "mimeType": mime},
        **name,
    }


def _source(part: Wire) -> str | None:
    """Return the field that holds a binary part's content: one that counts as true in
    JavaScript.
    """
    return next((name for name in ("data", "url") if part.get(name) not in (None, "", 0)), None)


def _forms(part: object) -> list[str]:
    """Return the identity of a media part: its file with the file's name, if it has one, and
    without.
    """
    source = part.get("source") if isinstance(part, Mapping) else None
    if not isinstance(part, Mapping) or not isinstance(source, Mapping):
        return []
    file = [part.get("type"), *(source.get(key) for key in ("type", "value", "mimeType"))]
    metadata = part.get("metadata")
    names = (
        [metadata["filename"]] if isinstance(metadata, Mapping) and "filename" in metadata else []
    )
    return [repr([*file, *names]), *([repr(file)] if names else [])]


def _mapped(
    holder: Wire, key: str, change: Callable[[Wire, list[str]], Wire], notes: list[str]
) -> Wire:
    items = holder.get(key)
    if not isinstance(items, list | tuple):
        return holder
    return {
        **holder,
        key: [change(item, notes) if isinstance(item, Mapping) else item for item in items],
    }


def _without_nulls(holder: Wire, keys: Sequence[str], notes: list[str]) -> Wire:
    nulls = [key for key in keys if key in holder and holder[key] is None]
    notes += [f"deprecated null in {key}, read as absent" for key in nulls]
    return {key: value for key, value in holder.items() if key not in nulls} if nulls else holder

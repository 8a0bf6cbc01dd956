"""Shapes from before AG-UI 1.0 that the reference client still understands, in their 1.0 form.

Each conversion leaves a note; a conforming producer causes none. Not covered is the ``THINKING_*`` family,
which the client translates by inventing ids: here such events are of unknown type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Wire: TypeAlias = Mapping[str, object]

_MEDIA = ("image", "audio", "video", "document")


def modernise(event: Wire, notes: list[str]) -> Wire:
    """Return ``event`` with retired spellings replaced, each named in ``notes``; the argument stays as it is."""
    kind = event.get("type")
    event = _without_null(event, "rawEvent", notes)
    match kind:
        case "RUN_FINISHED":
            event = _without_null(_without_null(event, "result", notes), "outcome", notes)
        case "SUBAGENT_FINISHED":
            event = _without_null(event, "result", notes)
        case "TOOL_CALL_START" | "TOOL_CALL_CHUNK":
            event = _without_null(event, "parentMessageId", notes)
        case "MESSAGES_SNAPSHOT":
            event = _mapped(event, "messages", lambda message: _message(message, notes))
        case "RUN_STARTED" if isinstance(run_input := event.get("input"), Mapping):
            event = {**event, "input": modernise_input(run_input, notes)}
    return event


def modernise_input(run_input: Wire, notes: list[str] | None = None) -> Wire:
    """Do the same for a ``RunAgentInput``."""
    notes = [] if notes is None else notes
    run_input = _without_null(run_input, "forwardedProps", notes)
    run_input = _mapped(run_input, "tools", lambda tool: _without_null(tool, "parameters", notes))
    run_input = _mapped(run_input, "resume", lambda entry: _without_null(entry, "payload", notes))
    return _mapped(run_input, "messages", lambda message: _message(message, notes))


def _message(message: Wire, notes: list[str]) -> Wire:
    message = _mapped(message, "content", lambda part: _part(part, notes))
    parts = message.get("content")
    if not isinstance(parts, list) or not any(_is_binary(part) for part in parts):
        return message
    notes.append("deprecated binary content, read as media parts")
    notes += ["binary content without data or url" for part in parts if _is_binary(part) and _source(part) is None]
    upgraded = [_upgrade(part) for part in parts]
    kept = [new for old, new in zip(parts, upgraded, strict=True) if new is old or not _mirrored(new, parts)]
    return {**message, "content": kept}


def _part(part: Wire, notes: list[str]) -> Wire:
    return _without_null(part, "metadata", notes) if part.get("type") in _MEDIA else part


def _is_binary(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "binary"


def _upgrade(part: object) -> object:
    if not isinstance(part, Mapping) or not _is_binary(part):
        return part
    mime, source = part.get("mimeType"), _source(part)
    if not isinstance(mime, str) or source is None:
        return part  # a bare file id has no 1.0 form: the schema stage removes the part
    kind = next((kind for kind in _MEDIA[:3] if mime.startswith(f"{kind}/")), "document")
    name = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    return {"type": kind, "source": {"type": source, "value": part[source], "mimeType": mime}, **name}


def _source(part: Wire) -> str | None:
    """What a binary part has its bytes from: what counts as true in JavaScript, where empty lists do."""
    return next((name for name in ("data", "url") if part.get(name) not in (None, "", 0)), None)


def _mirrored(new: object, parts: Sequence[object]) -> bool:
    """Say whether one of the original ``parts`` is the modern twin of ``new``, which was made from another."""
    return any(_covers(part, new) for part in parts)


def _covers(part: object, new: object) -> bool:
    if isinstance(new, Mapping):
        return isinstance(part, Mapping) and all(_covers(part.get(key), new[key]) for key in new)
    return type(part) is type(new) and part == new


def _mapped(holder: Wire, key: str, change: Callable[[Wire], Wire]) -> Wire:
    items = holder.get(key)
    if not isinstance(items, (list, tuple)):
        return holder
    return {**holder, key: [change(item) if isinstance(item, Mapping) else item for item in items]}


def _without_null(holder: Wire, key: str, notes: list[str]) -> Wire:
    if key not in holder or holder[key] is not None:
        return holder
    notes.append(f"deprecated null in {key}, read as absent")
    return {name: value for name, value in holder.items() if name != key}

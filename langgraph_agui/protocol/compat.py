"""Shapes from before AG-UI 1.0 that the reference client still understands, in their 1.0 form.

Each conversion is logged as a warning: a conforming producer causes none. Not covered is the ``THINKING_*``
family, which the client translates by inventing ids; here such events are unknown and therefore dropped with
a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

_log = logging.getLogger(__name__)

_MEDIA = ("image", "audio", "video", "document")


def modernise(event: Mapping[str, object]) -> Mapping[str, object]:
    """Return the wire form of ``event`` with retired spellings replaced; the argument stays as it is."""
    kind = event.get("type")
    event = _without_null(event, "rawEvent", kind)
    match kind:
        case "RUN_FINISHED":
            event = _without_null(_without_null(event, "result", kind), "outcome", kind)
        case "SUBAGENT_FINISHED":
            event = _without_null(event, "result", kind)
        case "TOOL_CALL_START" | "TOOL_CALL_CHUNK":
            event = _without_null(event, "parentMessageId", kind)
        case "MESSAGES_SNAPSHOT":
            event = _mapped(event, "messages", _message)
        case "RUN_STARTED" if isinstance(run_input := event.get("input"), Mapping):
            event = {**event, "input": modernise_input(run_input)}
    return event


def modernise_input(run_input: Mapping[str, object]) -> Mapping[str, object]:
    run_input = _without_null(run_input, "forwardedProps", "RunAgentInput")
    run_input = _mapped(run_input, "tools", lambda tool: _without_null(tool, "parameters", "Tool"))
    run_input = _mapped(run_input, "resume", lambda entry: _without_null(entry, "payload", "ResumeEntry"))
    return _mapped(run_input, "messages", _message)


def _message(message: Mapping[str, object]) -> Mapping[str, object]:
    message = _mapped(message, "content", _part)
    parts = message.get("content")
    if not isinstance(parts, Sequence) or not any(_is_binary(part) for part in parts):
        return message
    _log.warning("AG-UI: converting deprecated binary content to media parts")
    upgraded = [_upgrade(part) for part in parts]
    kept = [new for old, new in zip(parts, upgraded, strict=True) if new is old or not _mirrors(new, parts)]
    return {**message, "content": kept}


def _part(part: Mapping[str, object]) -> Mapping[str, object]:
    return _without_null(part, "metadata", f"{part['type']} part") if part.get("type") in _MEDIA else part


def _is_binary(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "binary"


def _upgrade(part: object) -> object:
    if (
        not isinstance(part, Mapping)
        or not _is_binary(part)
        or not isinstance(mime := part.get("mimeType"), str)
    ):
        return part
    source = next((name for name in ("data", "url") if part.get(name)), None)
    if source is None:
        return part  # a bare file id has no 1.0 form: enforcement removes the part
    kind = next((kind for kind in _MEDIA[:3] if mime.startswith(f"{kind}/")), "document")
    extra = {"metadata": {"filename": part["filename"]}} if part.get("filename") else {}
    return {"type": kind, "source": {"type": source, "value": part[source], "mimeType": mime}, **extra}


def _mirrors(new: object, parts: Sequence[object]) -> bool:
    """Say whether a modern part of the same message carries what ``new``, once a binary part, holds."""
    if not isinstance(new, Mapping):
        return False
    for part in parts:
        if not isinstance(part, Mapping) or part.get("type") != new["type"]:
            continue
        source, metadata = part.get("source"), part.get("metadata")
        same = isinstance(source, Mapping) and {**source, **new["source"]} == {**source}
        if same and (
            "metadata" not in new
            or (isinstance(metadata, Mapping) and {**metadata, **new["metadata"]} == metadata)
        ):
            return True
    return False


def _mapped(
    holder: Mapping[str, object], key: str, change: Callable[[Mapping[str, object]], Mapping[str, object]]
) -> Mapping[str, object]:
    items = holder.get(key)
    if not isinstance(items, (list, tuple)):
        return holder
    return {**holder, key: [change(item) if isinstance(item, Mapping) else item for item in items]}


def _without_null(holder: Mapping[str, object], key: str, context: object) -> Mapping[str, object]:
    if key not in holder or holder[key] is not None:
        return holder
    _log.warning("AG-UI: reading deprecated null in %s.%s as an absent field", context, key)
    return {name: value for name, value in holder.items() if name != key}

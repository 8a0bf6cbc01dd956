"""What a client sends, read as a producer must read it (AG-UI 1.0, run input)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import cast

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    DeveloperMessage,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessage,
    RunAgentInput,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from pydantic import ValidationError

from langgraph_agui.protocol.compat import modernise_input
from langgraph_agui.protocol.schema import MalformedError, check, log_notes, record_of, strip
from langgraph_agui.protocol.wire import ProtocolError

logger = logging.getLogger(__name__)

_MESSAGES = (
    ActivityMessage,
    AssistantMessage,
    DeveloperMessage,
    ReasoningMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

_ABSENT: Mapping[str, object] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
"""What an absent member of the input means."""


def parse_input(value: Mapping[str, object]) -> RunAgentInput:
    """Return the wire object `value` as a `RunAgentInput`.

    Absent lists and objects count as empty. Unknown members, roles and content parts are removed with one warning
    each, so that a newer client is served. Raises `ProtocolError` (`malformed-input`) for a malformed value.
    """
    notes: list[str] = []
    wire = {**_ABSENT, **modernise_input(value, notes)}
    if wire["state"] is None:
        wire["state"] = {}
    shape = record_of(RunAgentInput)
    removed: list[str] = []
    kept = cast("Mapping[str, object]", strip(wire, shape, "", removed))
    log_notes([*notes, *(f"unknown {path} in RunAgentInput, removed" for path in removed)])
    try:
        check(kept, shape, "")
        return RunAgentInput.model_validate(kept)
    except MalformedError as error:
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput: {error}") from error
    except ValidationError as error:
        places = ", ".join("/".join(str(step) for step in detail["loc"]) for detail in error.errors())
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput at {places}") from error


def known_messages(messages: object) -> list[Message]:
    """Return `messages` as objects: each may be one already, or a wire object. Unknown and malformed ones are left out.

    One message that nobody understands must not cost the client its conversation: each is logged, none raises.
    """
    if isinstance(messages, Mapping):
        messages = messages.get("messages", ())
    if isinstance(messages, MessagesSnapshotEvent):
        messages = messages.messages
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes):
        logger.warning("A %s holds no AG-UI messages and was left out.", type(messages).__name__)
        return []
    known: list[Message] = []
    for message in messages:
        if isinstance(message, _MESSAGES):
            known.append(message)
        elif isinstance(message, Mapping):
            try:
                known += parse_input({"threadId": "", "runId": "", "messages": [message]}).messages
            except ProtocolError as error:
                logger.warning("A message was left out: %s", error)
        else:
            logger.warning("A %s is no AG-UI message and was left out.", type(message).__name__)
    return known

"""Reads what a client sends as a producer must read it (AG-UI 1.0, run input).

JSON objects enter; `RunAgentInput` and SDK messages leave.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import cast, get_args

from ag_ui.core import Message, MessagesSnapshotEvent, RunAgentInput

from langgraph_agui.protocol.schema import MalformedError, conform, log_notes, modernise_input
from langgraph_agui.protocol.wire import ProtocolError

logger = logging.getLogger(__name__)

_MESSAGE_TYPES: tuple[type, ...] = get_args(get_args(Message)[0])
_ABSENT: Mapping[str, object] = {"state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}
"""The values of absent members of the input."""


def parse_input(value: Mapping[str, object]) -> RunAgentInput:
    """Return a wire object as a `RunAgentInput`.

    Absent lists and objects count as empty. Unknown members, roles and content parts are removed with one warning
    each, so that a newer client is served.

    Raises:
        ProtocolError: A value is malformed (`malformed-input`).
    """
    notes: list[str] = []
    wire = {**_ABSENT, **modernise_input(value, notes)}
    if wire["state"] is None:
        wire["state"] = {}
    try:
        return conform(wire, RunAgentInput, "RunAgentInput", notes)
    except MalformedError as error:
        raise ProtocolError("malformed-input", f"Malformed RunAgentInput: {error}") from error
    finally:
        log_notes(notes)


def known_messages(messages: object) -> list[Message]:
    """Return messages as SDK objects; each may be one already, or a wire object.

    Unknown and malformed ones are logged and left out: one bad message must not cost the client its conversation.

    Args:
        messages: A list of messages, a `MessagesSnapshotEvent`, or an object with a `messages` member.
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
        if isinstance(message, _MESSAGE_TYPES):
            known.append(cast("Message", message))
        elif isinstance(message, Mapping):
            try:
                known += parse_input({"threadId": "", "runId": "", "messages": [message]}).messages
            except ProtocolError as error:
                logger.warning("A message was left out: %s", error)
        else:
            logger.warning("A %s is no AG-UI message and was left out.", type(message).__name__)
    return known

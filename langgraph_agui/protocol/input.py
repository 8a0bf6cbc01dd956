"""A client's input: that it is not too much, and that every store and provider can hold its text.

JSON can spell U+0000, which Postgres refuses, and halves of surrogate pairs, which UTF-8 does not
have. In text, each becomes U+FFFD: a character that came with pasted text must not cost the user a
message. An id that holds one is refused: nobody makes such an id, and another would be a thread of
its own.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ag_ui.core import AssistantMessage, RunAgentInput, ToolMessage
from ag_ui.core.types import GeneratedBaseModel
from pydantic_core import from_json, to_json

from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.protocol.json import (
    JsonValue,
    check_json,
    clean_json,
    plain_copy,
    to_jsonable,
    too_large,
)
from langgraph_agui.protocol.limits import InputLimits

_PLAIN = json.JSONEncoder(ensure_ascii=False)

# Characters that are as much work as one text or object.
_CHARACTERS = 100


def check_items(value: Mapping[str, object], limits: InputLimits, values: int) -> None:
    """Check the lists of a `RunAgentInput` as it was sent, and the arguments of its calls; `values`
    is of its body.

    Raises:
        ProtocolError: There are too many of something, or the arguments are too much (`too-large`).
    """
    for name in ("messages", "tools", "context", "resume"):
        _check_list(value.get(name), f"`{name}`", limits)
    messages = value.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping):
            continue
        calls = message.get("toolCalls")
        _check_list(message.get("content"), "The `content` of a message", limits)
        _check_list(calls, "The `toolCalls` of a message", limits)
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            arguments = function.get("arguments") if isinstance(function, Mapping) else None
            if isinstance(arguments, str):
                encoded = arguments.encode("utf-8", "replace")
                values = check_json(
                    encoded, limits, "The input with the arguments of its tool calls", values
                )


def _check_list(items: object, what: str, limits: InputLimits) -> None:
    if isinstance(items, list) and len(items) > limits.max_items:
        raise too_large(f"{what} has {len(items)} items", limits.max_items, "max_items")


@dataclass(frozen=True, slots=True)
class CleanInput:
    """An input that every store can hold.

    Attributes:
        input: The input. Its state is JSON data that nobody else holds.
        cost: How much work it is: about the number of its texts and objects.
    """

    input: RunAgentInput
    cost: int


def clean_input(run_input: RunAgentInput | CleanInput) -> CleanInput:
    """Return an input that every store can hold; one that was made here, as it is.

    Raises:
        RunInputError: An id holds U+0000, or half of a surrogate pair (`invalid_input`).
        TypeError: It is no input.
    """
    if isinstance(run_input, CleanInput):
        return run_input
    if not isinstance(run_input, RunAgentInput):
        raise TypeError(
            "A run takes a RunAgentInput. Make one of JSON data with "
            "RunAgentInput.model_validate(...)."
        )
    texts, state = [*_texts(run_input)], b""
    if run_input.state:
        try:
            state = to_json(run_input.state, inf_nan_mode="null")
            own = _own_state(run_input.state, state)
        except ValueError:  # pydantic does not know a value, or it has too many levels
            own = to_jsonable(run_input.state)
            state = json.dumps(own).encode()
        run_input = run_input.model_copy(update={"state": own})
    cost = len(texts) + (sum(map(len, texts)) + len(state)) // _CHARACTERS
    if b"\\u0000" in state:
        texts.append(_unescaped(state.decode()))
    if _is_clean("".join(texts)):
        return CleanInput(run_input, cost)
    for name, value in _ids(run_input):
        if clean_json(value) != value:
            message = f"The {name} {quoted(value)} contains U+0000 or half of a surrogate pair."
            raise RunInputError(ErrorCode.INVALID_INPUT, message)
    fields = clean_json(run_input.model_dump(by_alias=True, exclude_unset=True))
    return CleanInput(type(run_input).model_validate(fields), cost)


def _own_state(state: object, text: bytes) -> JsonValue:
    """Return a state that nobody else holds; `text` is its JSON."""
    try:
        return plain_copy(state)
    except TypeError:
        value: JsonValue = from_json(text)
        return value


def _texts(run_input: RunAgentInput) -> Iterator[str]:
    """Yield all text of an input but its state: fields as they are, open JSON values as JSON."""
    models: list[GeneratedBaseModel] = [run_input]
    for model in models:  # which grows meanwhile
        for name, value in vars(model).items():
            if value.__class__ is str:
                yield value
            elif value is None or (model is run_input and name == "state"):
                continue
            elif isinstance(value, GeneratedBaseModel):
                models.append(value)
            elif isinstance(value, list) and value and isinstance(value[0], GeneratedBaseModel):
                models += value
            elif isinstance(value, Mapping | list) and value:
                try:
                    yield _unescaped(_PLAIN.encode(value))
                except (TypeError, ValueError, RecursionError):  # no JSON, so no client has sent it
                    continue


def _unescaped(text: str) -> str:
    """Return JSON text with U+0000 itself, not its escape."""
    return text.replace("\\\\", "").replace("\\u0000", "\0") if "\\u0000" in text else text


def _is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _ids(run_input: RunAgentInput) -> Iterator[tuple[str, str | None]]:
    yield "threadId", run_input.thread_id
    yield "runId", run_input.run_id
    yield "parentRunId", run_input.parent_run_id
    for message in run_input.messages:
        yield from (
            ("message id", message.id),
            ("subagentRunId", getattr(message, "subagent_run_id", None)),
        )
        if isinstance(message, ToolMessage):
            yield "toolCallId", message.tool_call_id
        calls = message.tool_calls if isinstance(message, AssistantMessage) else None
        yield from (("tool call id", call.id) for call in calls or ())
    yield from (("interruptId", entry.interrupt_id) for entry in run_input.resume or ())

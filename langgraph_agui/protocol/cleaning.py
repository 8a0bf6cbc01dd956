"""Text that every store and provider can hold. A client's input enters, the same without U+0000 and
half pairs leaves.

JSON can spell U+0000, which Postgres refuses, and halves of surrogate pairs, which UTF-8 does not
have. In text, each becomes U+FFFD: a character that came with pasted text must not cost the user a
message. An id that holds one is refused: nobody makes such an id, and another would be a thread of
its own.
"""

import json
from collections.abc import Iterator, Mapping

from ag_ui.core import AssistantMessage, RunAgentInput, ToolMessage
from ag_ui.core.types import GeneratedBaseModel

from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.protocol.wire import clean_text, own_json

_PLAIN = json.JSONEncoder(ensure_ascii=False)

# Characters that are as much work as one text or object.
_CHARACTERS = 100


def clean_input(run_input: RunAgentInput) -> tuple[RunAgentInput, int]:
    """Return an input fit for every store, and how much work it is: about the number of its texts
    and objects.

    Its state is JSON data of its own, whatever the caller does with the one that it gave.

    Raises:
        RunInputError: An id holds U+0000, or half of a surrogate pair (`invalid_input`).
        TypeError: It is no input.
    """
    if not isinstance(run_input, RunAgentInput):
        raise TypeError(
            "A run takes a RunAgentInput. Make one of JSON data with "
            "RunAgentInput.model_validate(...)."
        )
    texts = [*_texts(run_input)]
    state = b""
    if run_input.state:
        own, state = own_json(run_input.state)
        run_input = run_input.model_copy(update={"state": own})
    whole = "".join(texts)
    weight = len(texts) + (len(whole) + len(state)) // _CHARACTERS
    if _is_clean(whole) and (b"\\u0000" not in state or _is_clean(_unescaped(state.decode()))):
        return run_input, weight
    for name, value in _ids(run_input):
        if clean_json(value) != value:
            message = f"The {name} {quoted(value)} holds U+0000 or half of a surrogate pair."
            raise RunInputError(ErrorCode.INVALID_INPUT, message)
    fields = clean_json(run_input.model_dump(by_alias=True, exclude_unset=True))
    return type(run_input).model_validate(fields), weight


def _texts(run_input: RunAgentInput) -> Iterator[str]:
    """Yield all text of an input but its state: fields as they are, open JSON values as JSON."""
    models: list[GeneratedBaseModel] = [run_input]
    for model in models:  # which grows meanwhile
        for name, value in vars(model).items():
            if value is None or (model is run_input and name == "state"):
                continue
            if isinstance(value, str):
                yield value
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


def clean_json(value: object) -> object:
    """Return JSON data with U+FFFD in the place of each U+0000 and each half of a surrogate pair,
    keys included.
    """
    if isinstance(value, str):
        return clean_text(value).replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return dict(zip(map(clean_json, value), map(clean_json, value.values()), strict=True))
    return [*map(clean_json, value)] if isinstance(value, list) else value

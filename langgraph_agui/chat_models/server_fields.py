"""Fields that an OpenAI-compatible server adds to its answers, beside those of OpenAI's own API.

OpenRouter adds `reasoning_details`, LiteLLM `thinking_blocks`, Gemini's compatible endpoint
`extra_content` with the signatures of its thoughts, to messages and to tool calls. Many servers
refuse the next request of a tool loop if such a field does not come back as it came. No list names
them: whatever OpenAI's API does not have is the server's.

An answer enters `ServerFields.add`, whole or in deltas. `keep` puts the fields into the LangChain
message, `give_back` puts those of a history into a request.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from langchain_core.messages import BaseMessage

from langgraph_agui.messages.blocks import SERVER_FIELDS

# The names that compatible servers have for a message's reasoning, which our class reads itself.
REASONING: Final = ("reasoning", "reasoning_content")

# Fields of OpenAI's API, and those that langchain-openai and our class read themselves.
_MESSAGE: Final = frozenset(
    {
        "audio",
        "content",
        "function_call",
        "id",
        "name",
        "parsed",
        *REASONING,
        "refusal",
        "role",
        "tool_calls",
    }
)
_CALL: Final = frozenset({"custom", "function", "id", "index", "type"})
_FUNCTION: Final = frozenset({"arguments", "name", "parsed_arguments"})

_OF_CALL: Final = ("call", "function")

# Strings that may come again with each piece of a value, and never grow.
_LABELS: Final = frozenset({"format", "id", "name", "role", "type"})

# Strings of words: the same piece twice is two pieces.
_WORDS: Final = frozenset({"content", "reasoning", "summary", "text", "thinking"})

Fields = dict[str, Any]


class ServerFields:
    """The server's own fields of one answer."""

    def __init__(self) -> None:
        self._message: Fields = {}
        self._calls: list[Fields] = []

    def add(self, answer: Mapping[str, Any]) -> None:
        """Add the fields of `answer`, a message or a delta."""
        self._message = join_fields(self._message, _others(answer, _MESSAGE))
        for number, call in enumerate(_mappings(answer.get("tool_calls"))):
            self._add_call(call.get("index", number), call)

    def _add_call(self, index: object, call: Mapping[str, Any]) -> None:
        """Add the fields of a call. Some servers number all calls 0 and give each its own id."""
        added = {"index": index, "id": call.get("id"), **_of_call(call)}
        for number, known in reversed([*enumerate(self._calls)]):
            if known["index"] == index and _agree(known, added, "id"):
                self._calls[number] = join_fields(known, added)
                return
        self._calls.append(added)

    def keep(self, message: BaseMessage, model: str) -> bool:
        """Put the fields into `message`, and return whether there are any.

        Args:
            message: The message, or a chunk of it.
            model: Whose fields they are: see `digest_of`.
        """
        fields = _filled(self._message)
        calls = [
            {"id": call["id"], **own}
            for call in self._calls
            if (own := {key: value for key in _OF_CALL if (value := _filled(call[key]))})
        ]
        if fields or calls:
            kept = {"model": model, "message": fields, "tool_calls": calls}
            message.additional_kwargs[SERVER_FIELDS] = kept
        return bool(fields or calls)


def digest_of(host: str, model: str) -> str:
    """Return a digest that stands for a model of a server. Clients may see it, but not the
    host.
    """
    return sha256(f"{host}\n{model}".encode()).hexdigest()[:16]


def give_back(
    body: Fields, message: BaseMessage, model: str, allowed: Collection[str] | None
) -> None:
    """Put the fields that `message` has kept into `body`, the message as the package sends it.

    Nothing that the package sends is replaced.

    Args:
        body: The message of the request; it is changed.
        message: The LangChain message.
        model: Who gets the request. The fields of others stay out.
        allowed: The names of the fields that may go; None for all.
    """
    kept = _mapping(message.additional_kwargs.get(SERVER_FIELDS))
    if kept.get("model") != model:
        return

    def fill(target: Fields, fields: object, known: Collection[str]) -> None:
        for key, value in _others(_mapping(fields), known).items():
            if allowed is None or key in allowed:
                target.setdefault(key, value)

    fill(body, kept.get("message"), _MESSAGE)
    waiting = [*_mappings(kept.get("tool_calls"))]
    for call in body.get("tool_calls") or ():
        own = next((one for one in waiting if _agree(one, call, "id")), None)
        if own is not None:
            waiting.remove(own)
            fill(call, own.get("call"), _CALL)
            if "function" in call:
                fill(call["function"], own.get("function"), _FUNCTION)


def join_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> Fields:
    """Return `old`, continued by `new`: the values so far, and a piece of each or of some."""
    return {**old, **{key: _join(key, old.get(key), value) for key, value in new.items()}}


def _join(key: str, old: Any, new: Any) -> Any:
    match old, new:
        case _, None:
            return old
        case str(), str():
            is_again = old == new and key not in _WORDS
            if key in _LABELS or is_again:
                return new or old
            return old + new
        case dict(), dict():
            return join_fields(old, new)
        case list(), list():
            return _join_lists(old, new)
    return new


def _join_lists(old: list[Any], new: list[Any]) -> list[Any]:
    joined = [*old]
    for entry in new:
        number = next(
            (
                number
                for number in reversed(range(len(joined)))
                if _continues(entry, joined[number], is_last=number == len(joined) - 1)
            ),
            None,
        )
        if number is None:
            joined.append(entry)
        else:
            joined[number] = join_fields(joined[number], entry)
    return joined


def _continues(entry: object, known: object, *, is_last: bool) -> bool:
    """Whether `entry` is a further piece of `known`.

    OpenRouter numbers the pieces of an entry by `index`, and may use a number for each type anew.
    LiteLLM does not number them: words come first, and their signature completes the entry.
    """
    if not (isinstance(entry, dict) and isinstance(known, dict)):
        return False
    if not (_agree(entry, known, "type") and _agree(entry, known, "id")):
        return False
    index = entry.get("index")
    if index is not None or known.get("index") is not None:
        return bool(index == known.get("index"))
    return is_last and not any(
        value for key, value in known.items() if key not in _LABELS and key not in _WORDS
    )


def _agree(one: Mapping[str, Any], other: Mapping[str, Any], key: str) -> bool:
    """Whether two entries may be the same one: both have the same value, or one has none."""
    values = one.get(key), other.get(key)
    return None in values or "" in values or values[0] == values[1]


def _of_call(call: Mapping[str, Any]) -> Fields:
    """Return the server's own fields of a call, and those of its function."""
    function = _mapping(call.get("function"))
    return {"call": _others(call, _CALL), "function": _others(function, _FUNCTION)}


def _others(values: Mapping[str, Any], known: Collection[str]) -> Fields:
    return {key: value for key, value in values.items() if key not in known}


def _filled(fields: Fields) -> Fields:
    """Return the fields that have a value: many servers send the others as null or empty."""
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    entries = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return (entry for entry in entries if isinstance(entry, Mapping))

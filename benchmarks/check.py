"""Does a stream say what the script said? Done outside the timed region.

Two views, because a closing ``MESSAGES_SNAPSHOT`` can repair what a live stream got wrong: what a
user saw while the run went on, which is only the live events put together here, and what a client
holds at the end, which is the library's ``fold``.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import Message

from langgraph_agui.protocol import Fold, SSEDecoder

from .recording import Recording
from .workloads import Call, Expected, Workload


@dataclass
class Seen:
    """What the live events of one run add up to."""

    texts: dict[str, str] = field(default_factory=dict)
    reasoning: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    opaque: int = 0
    last: str = ""

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        self.last = event["type"]
        match self.last:
            case "TEXT_MESSAGE_CONTENT":
                _append(self.texts, event["messageId"], event["delta"])
            case "REASONING_MESSAGE_CONTENT":
                _append(self.reasoning, event["messageId"], event["delta"])
            case "TOOL_CALL_START":
                self.names[event["toolCallId"]] = event["toolCallName"]
            case "TOOL_CALL_ARGS":
                _append(self.arguments, event["toolCallId"], event["delta"])
            case "TOOL_CALL_RESULT":
                self.results[event["toolCallId"]] = event["content"]
            case "REASONING_ENCRYPTED_VALUE":
                self.opaque += 1

    def outcome(self) -> Expected:
        """The same in the script's terms, state excluded."""
        calls = [
            Call(name, self.arguments.get(call_id, ""), self.results.get(call_id, ""))
            for call_id, name in self.names.items()
        ]
        texts, thoughts = "".join(self.texts.values()), "".join(self.reasoning.values())
        return Expected(texts, thoughts, calls=tuple(calls))


def check(workload: Workload, recording: Recording) -> list[str]:
    """What is wrong with the stream, in words; nothing if it is right."""
    seen = Seen()
    before = recording.run_input.messages
    # an adapter may have changed that of the input
    client = Fold(messages=before, state=workload.sent_state())
    for event in decode(recording.chunks):
        seen.add(event)
        if seen.last != "RAW":
            client.feed(event)
    found = compare("streamed", seen.outcome(), workload.expected)
    found += compare("folded", _held(client.messages[len(before) :]), workload.expected)
    if [_essence(message) for message in client.messages[: len(before)]] != [
        _essence(m) for m in before
    ]:
        found.append("the history differs after the run")
    if workload.expected.signed and not seen.opaque:
        found.append("the signature of the reasoning is lost (no `REASONING_ENCRYPTED_VALUE`)")
    if workload.expected.state:
        found += _compare_state(client.state, workload.expected.state)
    if seen.last != "RUN_FINISHED":
        found.append(f"the stream ends with {seen.last or 'nothing'}")
    return found


def _held(messages: Iterable[Message]) -> Expected:
    """What the messages that a run added say."""
    messages = list(messages)
    results = {m.tool_call_id: str(m.content) for m in messages if m.role == "tool"}
    answers = [m for m in messages if m.role == "assistant"]
    calls = [call for message in answers for call in message.tool_calls or ()]
    return Expected(
        "".join(str(message.content or "") for message in answers),
        "".join(message.content for message in messages if message.role == "reasoning"),
        calls=tuple(
            Call(c.function.name, c.function.arguments, results.get(c.id, "")) for c in calls
        ),
    )


def _essence(message: Message) -> tuple[str, str, object]:
    return message.id, message.role, message.content


def _compare_state(got: object, wanted: Mapping[str, Any]) -> list[str]:
    if not isinstance(got, Mapping):
        return ["the state is no object"]
    wrong = sorted(key for key in wanted if got.get(key) != wanted[key])
    extra = sorted(set(got) - set(wanted))
    found = [f"the final state is wrong in {', '.join(wrong)}"] if wrong else []
    return [*found, f"the final state also holds {', '.join(extra)}"] if extra else found


def decode(chunks: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    """The events of a response body."""
    decoder = SSEDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()


def compare(view: str, got: Expected, wanted: Expected) -> list[str]:
    """The differences between two outcomes, state excluded."""
    found = []
    if got.text != wanted.text:
        found.append(f"{view} text differs ({len(got.text):,} characters of {len(wanted.text):,})")
    if got.reasoning != wanted.reasoning:
        sizes = f"{len(got.reasoning):,} characters of {len(wanted.reasoning):,}"
        found.append(f"{view} reasoning differs ({sizes})")
    if got.calls != wanted.calls:
        meant = [_meaning(call) for call in got.calls]
        right = sum(_meaning(call) in meant for call in wanted.calls)
        same = right == len(wanted.calls) == len(meant)
        how = (
            "arguments are not the model's bytes"
            if same
            else f"{right} of {len(wanted.calls)} right"
        )
        found.append(f"{view} tool calls differ ({how})")
    return found


def _meaning(call: Call) -> tuple[str, object, str]:
    try:
        return call.name, json.loads(call.arguments), call.result
    except ValueError:
        return call.name, call.arguments, call.result


def _append(store: dict[str, str], key: str, delta: str) -> None:
    store[key] = store.get(key, "") + delta

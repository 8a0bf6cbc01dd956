"""Whether a stream says what the script says: its bytes go in, complaints come out.

There are two views. The closing `MESSAGES_SNAPSHOT` can repair what was wrong before. So the live
events are folded without it, for what a user saw, and with it, for what a client holds at the end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ag_ui.core import Message, MessagesSnapshotEvent, RunAgentInput

from langgraph_agui.protocol import Fold, ProtocolError, SSEDecoder, Verifier

from .workloads import Call, Expected, Workload, question_of


def check(
    workload: Workload, run_input: RunAgentInput, chunks: Iterable[bytes], *, strict: bool
) -> list[str]:
    """What is wrong with the stream of a run. `strict` applies the rules for producers too."""
    sent, expected = run_input.messages, workload.expect(question_of(run_input))
    # An adapter may have changed the state of the input.
    seen, held = (Fold(sent, workload.sent_state()) for _ in range(2))
    verifier, last = Verifier(strict, input=run_input), "nothing"
    try:
        for frame in _frames(chunks):
            last = str(frame["type"])
            for event in verifier.feed(frame):
                held.apply(event)
                if not isinstance(event, MessagesSnapshotEvent):
                    seen.apply(event)
        verifier.finish()
    except ProtocolError as error:
        return [str(error)]
    found = [] if last == "RUN_FINISHED" else [f"the stream ends with {last}"]
    if [_essence(one) for one in held.messages[: len(sent)]] != [_essence(one) for one in sent]:
        found.append("the history differs after the run")
    for view, fold in (("streamed", seen), ("folded", held)):
        got = _added(fold.messages[len(sent) :])
        found += [f"{view} {name} differs" for name in _differences(got, expected)]
    return found + _wrong_state(held.state, expected.state)


def _frames(chunks: Iterable[bytes]) -> Iterator[Mapping[str, object]]:
    decoder = SSEDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()


def _added(messages: Sequence[Message]) -> Expected:
    """What the messages that a run added say."""
    answers = [one for one in messages if one.role == "assistant"]
    thoughts = [one for one in messages if one.role == "reasoning"]
    results = {one.tool_call_id: str(one.content) for one in messages if one.role == "tool"}
    calls = [call for one in answers for call in one.tool_calls or ()]
    return Expected(
        "".join(str(one.content or "") for one in answers),
        "".join(one.content for one in thoughts),
        tuple(
            Call(call.function.name, call.function.arguments, results.get(call.id, ""))
            for call in calls
        ),
        any(one.encrypted_value for one in thoughts),
    )


def _differences(got: Expected, expected: Expected) -> list[str]:
    names = ("text", "reasoning", "calls", "signed")
    return [name for name in names if getattr(got, name) != getattr(expected, name)]


def _wrong_state(got: object, expected: Mapping[str, object] | None) -> list[str]:
    if expected is None or got == expected:
        return []
    if not isinstance(got, Mapping):
        return ["the state is no object"]
    wrong = sorted(key for key in {*got, *expected} if got.get(key) != expected.get(key))
    return [f"the state differs in {', '.join(wrong)}"]


def _essence(message: Message) -> tuple[str, str, object]:
    return message.id, message.role, message.content

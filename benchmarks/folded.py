"""What a client asks, and what it holds after a stream: compared with the script, outside of what
is timed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ag_ui.core import Message, RunAgentInput, TextMessageContentEvent, UserMessage
from langchain_core.messages import AIMessageChunk, BaseMessage

from langgraph_agui.protocol import Fold, ProtocolError, SSEDecoder, Verifier

from .model import ScriptedModel, finish, plain


def speaker(tokens: Sequence[str], chunk: Callable[[str], AIMessageChunk] = plain) -> ScriptedModel:
    """A model that says the tokens, each in a chunk of this shape."""

    def script(_: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(chunk, tokens)
        yield finish(len(tokens))

    return ScriptedModel(script=script)


def asking(
    history: Iterable[Message] = (), thread: str | None = None, state: object = None
) -> RunAgentInput:
    """What a client sends that holds a history and a state: these, and a question."""
    thread = thread or str(uuid4())
    return RunAgentInput(
        protocol_version="1.0",
        thread_id=thread,
        run_id=uuid4().hex,
        messages=[*history, UserMessage(id=f"question-{thread}", content="Go.")],
        state={} if state is None else state,
        tools=[],
        context=[],
        forwarded_props={},
    )


@dataclass
class Folded:
    """What a client holds after a run, and the texts that it was told on the way, by their
    messages."""

    client: Fold
    told: dict[str, str] = field(default_factory=dict)


def fold_stream(what: str, chunks: Iterable[bytes], run_input: RunAgentInput) -> Folded:
    """Apply a stream. Raises `AssertionError` if it is no whole run."""
    decoder, verifier, last = SSEDecoder(), Verifier(strict=True, input=run_input), "nothing"
    found = Folded(Fold(messages=run_input.messages, state=run_input.state))
    try:
        for chunk in chunks:
            for frame in decoder.feed(chunk):
                last = str(frame["type"])
                for event in verifier.feed(frame):
                    found.client.apply(event)
                    if isinstance(event, TextMessageContentEvent):
                        found.told[event.message_id] = (
                            found.told.get(event.message_id, "") + event.delta
                        )
        verifier.finish()
    except ProtocolError as error:
        raise AssertionError(f"{what}: {error}") from error
    if decoder.finish() or last != "RUN_FINISHED":
        raise AssertionError(f"{what}: the stream ends with {last}")
    return found


def check_stream(what: str, chunks: Iterable[bytes], run_input: RunAgentInput, text: str) -> None:
    """Raise unless a client is told this text, and holds what it sent and one message more, with
    the text."""
    found, sent = fold_stream(what, chunks, run_input), run_input.messages
    held = found.client.messages
    if [_essence(one) for one in held[: len(sent)]] != [_essence(one) for one in sent]:
        raise AssertionError(f"{what}: the messages that were sent differ after the run")
    check_text(what, "".join(found.told.values()), text)
    check_text(what, "".join(str(one.content or "") for one in held[len(sent) :]), text)


def check_text(what: str, got: object, text: str) -> None:
    """Raise unless the text is that of the script."""
    if got != text:
        size = len(got) if isinstance(got, str) else 0
        raise AssertionError(f"{what}: {size:,} characters of {len(text):,}, or others")


def last_text(values: Any) -> object:
    """The text of the last message in the values of a graph: here as an object, from a server as
    JSON."""
    messages = values["messages"] if isinstance(values, dict) else []
    last = messages[-1] if messages else {}
    return last.text if isinstance(last, BaseMessage) else last.get("content")


def _essence(message: Message) -> tuple[str, str, object]:
    return message.id, message.role, message.content

"""`langgraph-agui validate` and `play`: recorded streams, and whether they keep the rules of
AG-UI 1.0.

In: a file, or the address of an agent. Out: findings, or the run as the terminal shows it.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
import typer
from ag_ui import core as agui
from rich.console import Console

from langgraph_agui.client import AGUIClient, errors
from langgraph_agui.devtools.cli import chat
from langgraph_agui.devtools.cli.approval import show_waiting
from langgraph_agui.devtools.cli.formatting import (
    CommandError,
    ExitCode,
    json_text,
    plain_text,
    plural,
    printable,
)
from langgraph_agui.devtools.faults import first_fault
from langgraph_agui.protocol import (
    ProtocolError,
    SSEDecoder,
    Verifier,
    parse_input,
    to_jsonable,
)

_EXPECTED: Final = (
    'Expected an export of the playground (lines {"input": …} and {"at": ms, "event": …}), the '
    "output of chat --json, or a dump of an event stream (SSE)."
)
_SSE_STARTS: Final = ("data:", "event:", "id:", "retry:", ":")
# Seconds that an agent has to take the connection, and to send something.
_TIMEOUT: Final = httpx2.Timeout(10, read=600)


@dataclass(slots=True)
class Stream:
    """The stream of one request.

    Attributes:
        input: The input of the request, if that is known.
        events: The events as they came, each behind the milliseconds at which it did.
        fault: The frame without an event that ended the stream before its end.
    """

    input: agui.RunAgentInput | None = None
    events: list[tuple[float, Mapping[str, object]]] = field(default_factory=list)
    fault: ProtocolError | None = None


def read_recording(data: bytes) -> list[Stream]:
    """Return the streams of a recording. Raises `ValueError`, `TypeError` or `ProtocolError` if it
    is none.
    """
    lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    if lines and lines[0].startswith(_SSE_STARTS):
        return [_decode(data, None)]
    streams: list[Stream] = []
    for number, line in enumerate(lines, 1):
        value = json.loads(line)
        event = value.get("event", value) if isinstance(value, dict) else None
        if isinstance(event, dict) and "type" in event:
            streams = streams or [Stream()]
            streams[-1].events.append((float(value.get("at", 0)), event))
        elif isinstance(event, dict) and "input" in event:
            streams.append(Stream(parse_input(event["input"])))
        else:
            raise ValueError(f"line {number} is neither an event nor an input")
    if not streams:
        raise ValueError("it is empty")
    return streams


def _decode(data: bytes, run_input: agui.RunAgentInput | None) -> Stream:
    stream, decoder = Stream(run_input), SSEDecoder()
    try:
        stream.events += [(0, frame) for frame in decoder.feed(data)]
        stream.events += [(0, frame) for frame in decoder.finish()]
        decoder.feed(b"")  # raises the error of a frame that came behind valid ones
    except ProtocolError as error:
        stream.fault = error
    return stream


def _read(path: Path) -> list[Stream]:
    try:
        return read_recording(path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except (ProtocolError, RecursionError, TypeError, ValueError) as error:
        raise CommandError(f"{path} is not a recorded stream: {error}. {_EXPECTED}") from error


def validate(source: str, question: str, headers: Sequence[str] = ()) -> ExitCode:
    """Print the findings of the strict verifier: in a recording, or in the answer of an agent to
    `question`.

    Each stream has at most one: later ones would follow from it.
    """
    path, url = Path(source), chat.with_scheme(source)
    if not path.is_file() and "://" not in url:
        raise CommandError(
            f"There is no file {source}. The address of an agent begins with https:// or http://."
        )
    streams = _read(path) if path.is_file() else [_ask(url, question, headers)]
    before, findings = 0, 0
    for stream in streams:
        count = len(stream.events)
        if (fault := _fault_in(stream)) is not None:
            index, error = fault
            is_whole = index == count
            place = f"after event {before + index}" if is_whole else f"event {before + index + 1}"
            typer.echo(printable(f"{place}: {error.code}: {error}"))
            findings += 1
        before += count
    result = plural(findings, "finding") if findings else "every rule kept"
    typer.echo(f"{plural(before, 'event')}, {result}.")
    return ExitCode.FAILED if findings else ExitCode.OK


def _fault_in(stream: Stream) -> tuple[int, ProtocolError] | None:
    """Return the first fault of a stream, as `first_fault` does; a frame that is no event comes
    behind its events.
    """
    events = [event for _, event in stream.events]
    fault = first_fault(events, stream.input)
    if stream.fault is not None and (fault is None or fault[0] == len(events)):
        return len(events), stream.fault
    return fault


def _ask(url: str, question: str, headers: Sequence[str]) -> Stream:
    """Return the answer of the agent at `url`, in a new thread, as it is on the wire.

    `AGUIClient` would read it as clients do, which take more than agents may send.

    Raises:
        CommandError: There is no answer, or no stream.
    """
    run_input = agui.RunAgentInput(
        protocol_version=agui.PROTOCOL_VERSION,
        thread_id=str(uuid4()),
        run_id=str(uuid4()),
        messages=[agui.UserMessage(id=str(uuid4()), content=question)],
    )
    sent = chat.parse_headers(headers)
    try:
        place = AGUIClient(url, headers=sent).public_url  # which checks both
    except ValueError as error:
        raise CommandError(str(error)) from error
    sent = {**sent, "Accept": "text/event-stream"}
    body = bytearray()
    try:
        with httpx2.stream(
            "POST", url, json=to_jsonable(run_input), headers=sent, timeout=_TIMEOUT
        ) as response:
            _check_stream(place, response)
            for chunk in response.iter_bytes():
                body += chunk
    except errors.AgentError as error:
        raise chat.unreachable(error) from error
    except httpx2.RequestError as error:
        if not body:
            reason = str(error) or type(error).__name__
            raise CommandError(
                f"Nothing answers at {place}: {reason}.", ExitCode.UNREACHABLE
            ) from error
    return _decode(bytes(body), run_input)


def _check_stream(place: str, response: httpx2.Response) -> None:
    """Raise `AgentError` if a response is no event stream."""
    content_type = response.headers.get("content-type", "")
    if not response.is_success:
        text = response.read().decode("utf-8", "replace")
        raise errors.AgentStatusError(place, response.status_code, text)
    if content_type.partition(";")[0].strip().lower() != "text/event-stream":
        raise errors.NotAnEventStreamError(
            f"{place} answered {content_type or 'no content type'}, not an AG-UI event stream."
        )


def play(path: Path, speed: float = 1) -> ExitCode:
    """Show the runs of a recording, `speed` times as fast as they were; 0 shows all at once."""
    view = chat.view_for(Console(highlight=False))
    for stream in _read(path):
        for said in _said_in(stream):
            view.line(f"> {said}")
        verifier, last = Verifier(), None
        try:
            for at, event in stream.events:
                if speed and last is not None:
                    time.sleep(max(at - last, 0) / 1000 / speed)
                last = at
                for one in verifier.feed(event):
                    view.feed(one)
                    show_waiting(view, _interrupts_of(one))
            if stream.fault is not None:
                raise stream.fault
        except ProtocolError as error:
            view.finish()
            view.line(f"The stream broke off: {error}", "error")
            return ExitCode.FAILED
        finally:
            view.finish()
    return ExitCode.OK


def _said_in(stream: Stream) -> list[str]:
    """Return the words of the user that a stream answers, if its input is known: the answers to
    interrupts, or the last message.
    """
    if stream.input is None:
        return []
    if stream.input.resume:
        return [
            json_text(one.payload) if one.status == "resolved" else one.status
            for one in stream.input.resume
        ]
    asked = [one.content for one in stream.input.messages if isinstance(one, agui.UserMessage)]
    return [plain_text(one) for one in asked[-1:]]


def _interrupts_of(event: agui.Event) -> list[agui.Interrupt]:
    """Return the interrupts with which an event ends its run, if it does."""
    outcome = event.outcome if isinstance(event, agui.RunFinishedEvent) else None
    return outcome.interrupts if isinstance(outcome, agui.RunFinishedInterruptOutcome) else []

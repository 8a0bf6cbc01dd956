"""`langgraph-agui validate` and `replay`: recorded streams, and whether they keep the rules of
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

from langgraph_agui.client import AGUIClient, endpoint
from langgraph_agui.devtools.cli import chat
from langgraph_agui.devtools.cli.formatting import CommandError, ExitCode, plain_text, printable
from langgraph_agui.protocol import ProtocolError, SSEDecoder, Verifier, to_jsonable
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.verify import first_fault

_EXPECTED: Final = (
    'Expected an export of the playground (lines {"input": …} and {"at": ms, "event": …}), the '
    "output of chat --json, "
    "or a dump of an event stream (SSE)."
)


@dataclass(slots=True)
class Stream:
    """What one request brought.

    Attributes:
        input: What was asked for, if that is known.
        events: The events as they came, each behind the milliseconds at which it did.
        fault: What ended the stream before its end: a frame that holds no event.
    """

    input: agui.RunAgentInput | None = None
    events: list[tuple[float, Mapping[str, object]]] = field(default_factory=list)
    fault: ProtocolError | None = None


def read_recording(data: bytes) -> list[Stream]:
    """Return the streams of a recording. Raises `ValueError`, `TypeError` or `ProtocolError` if it
    is none.
    """
    lines = [line for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    if lines and lines[0].startswith(("data:", "event:", "id:", "retry:", ":")):
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
            raise ValueError(f"line {number} is no event and no input")
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
        raise CommandError(f"{path} is no recorded stream: {error}. {_EXPECTED}") from error


def validate(source: str, question: str, headers: Sequence[str] = ()) -> ExitCode:
    """Print what the strict verifier finds in a recording, or in the answer of an agent to
    `question`.

    It stops at the first finding of a stream, as later ones would follow from it.
    """
    streams = [_ask(source, question, headers)] if "://" in source else _read(Path(source))
    before, findings = 0, 0
    for stream in streams:
        fault = first_fault((event for _, event in stream.events), stream.input)
        if stream.fault is not None and (fault is None or fault[0] == len(stream.events)):
            fault = len(stream.events), stream.fault
        if fault is not None:
            findings += 1
            index, error = fault
            place = (
                f"event {before + index + 1}"
                if index < len(stream.events)
                else f"after event {before + index}"
            )
            typer.echo(printable(f"{place}: {error.code}: {error}"))
        before += len(stream.events)
    result = (
        "every rule kept"
        if not findings
        else f"{findings} {'finding' if findings == 1 else 'findings'}"
    )
    typer.echo(f"{before} {'event' if before == 1 else 'events'}, {result}.")
    return ExitCode.FAILED if findings else ExitCode.OK


def _ask(url: str, question: str, headers: Sequence[str]) -> Stream:
    """Return the answer of the agent at `url`, in a new thread. Raises `CommandError` if there is
    none.
    """
    message = agui.UserMessage(id=str(uuid4()), content=question)
    run_input = agui.RunAgentInput(
        protocol_version=agui.PROTOCOL_VERSION,
        thread_id=str(uuid4()),
        run_id=str(uuid4()),
        messages=[message],
    )
    try:
        sent = chat.parse_headers(headers)
        AGUIClient(url, headers=sent)  # which checks both
    except ValueError as error:
        raise CommandError(str(error)) from error
    body = bytearray()
    try:
        with httpx2.Client(verify=endpoint.tls()) as http:
            request = http.build_request(
                "POST",
                url,
                json=to_jsonable(run_input),
                headers={**sent, "Accept": "text/event-stream"},
                timeout=endpoint.TIMEOUT,
            )
            response = http.send(request, stream=True)
            if not endpoint.is_event_stream(response):
                raise CommandError(
                    str(endpoint.response_error(response, response.read())), ExitCode.UNREACHABLE
                )
            for chunk in response.iter_bytes():
                body += chunk
    except httpx2.RequestError as error:
        if not body:
            raise CommandError(
                str(endpoint.connection_error(request.url, error)), ExitCode.UNREACHABLE
            ) from error
    return _decode(bytes(body), run_input)


def replay(path: Path, speed: float = 1) -> ExitCode:
    """Show the runs of a recording, `speed` times as fast as they were; 0 shows all at once."""
    view = chat.view_for(Console(highlight=False))
    for stream in _read(path):
        asked = (
            [one for one in stream.input.messages if isinstance(one, agui.UserMessage)]
            if stream.input
            else []
        )
        if asked:
            view.line(f"> {plain_text(asked[-1].content)}")
        verifier, last = Verifier(), None
        try:
            for at, event in stream.events:
                time.sleep(max(at - last, 0) / 1000 / speed if speed and last is not None else 0)
                last = at
                for one in verifier.feed(event):
                    view.feed(one)
            if stream.fault is not None:
                raise stream.fault
        except ProtocolError as error:
            view.finish()
            view.line(f"The stream broke off: {error}", "error")
            return ExitCode.FAILED
        finally:
            view.finish()
    return ExitCode.OK

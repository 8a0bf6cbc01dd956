"""`langgraph-agui chat`: an AG-UI client for the terminal, for any agent and not just ours."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import httpx2
from ag_ui.core import (
    Event,
    Interrupt,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    UserMessage,
)
from ag_ui.core.version import PROTOCOL_VERSION
from rich.console import Console

from langgraph_agui.cli.errors import CommandError, ExitCode
from langgraph_agui.cli.render import Renderer, printable
from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.protocol import Fold, ProtocolError, SSEDecoder, Verifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TIMEOUT: Final = httpx2.Timeout(10, read=None)
_SHOWN_BODY: Final = 500


def run(url: str, question: str | None, *, headers: Sequence[str] = (), as_json: bool = False) -> ExitCode:
    """Ask `question`, or hold a conversation when there is none. `CommandError` when nobody can be asked."""
    console = Console(highlight=False)
    with httpx2.Client(timeout=_TIMEOUT, headers=_headers(headers)) as http:
        session = Session(http, url, console, as_json=as_json)
        if question is None:
            return _converse(session, console)
        code = session.ask(question)
        while code is ExitCode.WAITING:
            if as_json or not sys.stdin.isatty():
                session.say_waiting()
                break
            code = session.answer(session.answers())
        return code


class Session:
    """One conversation: keeps what the events fold into and sends all of it with every turn."""

    def __init__(self, http: httpx2.Client, url: str, console: Console, *, as_json: bool = False) -> None:
        self.interrupts: list[Interrupt] = []
        self._http = http
        self._url = url
        self._console = console
        self._speakers = Speakers()
        self._renderer = None if as_json else Renderer(console, self._speakers)
        self._thread_id = str(uuid4())
        self._messages: list[Any] = []
        self._state: Any = {}

    def ask(self, question: str) -> ExitCode:
        """Send a user message and print the run that answers it."""
        self._messages.append(UserMessage(id=str(uuid4()), role="user", content=question))
        return self._run(None)

    def answer(self, answers: list[dict[str, Any]]) -> ExitCode:
        """Answer the open interrupts and print the run that goes on."""
        return self._run(answers)

    def _run(self, resume: list[dict[str, Any]] | None) -> ExitCode:
        fold = Fold(self._messages, self._state)
        last: Event | None = None
        try:
            for event in self._events(resume):
                fold.feed(event)
                (self._renderer or self._speakers).feed(event)
                if isinstance(event, (RunFinishedEvent, RunErrorEvent)):
                    last = event
        except (ProtocolError, httpx2.TransportError) as error:
            self._say(f"The stream broke off: {error or type(error).__name__}")
            return ExitCode.FAILED
        finally:
            if self._renderer:
                self._renderer.finish()
            changed = fold.state != self._state
            self._messages, self._state = list(fold.messages), fold.state
        if self._renderer and changed and _holds_something(self._state):
            self._renderer.line(f"state: {json.dumps(self._state, ensure_ascii=False)}")
        return self._outcome(last)

    def _outcome(self, last: Event | None) -> ExitCode:
        if isinstance(last, RunErrorEvent):
            return ExitCode.FAILED
        if not isinstance(last, RunFinishedEvent):
            self._say("The stream ended before the run did.")
            return ExitCode.FAILED
        outcome = last.outcome
        self.interrupts = list(outcome.interrupts) if isinstance(outcome, RunFinishedInterruptOutcome) else []
        return ExitCode.WAITING if self.interrupts else ExitCode.OK

    def say_waiting(self) -> None:
        """Say what the run waits for."""
        for interrupt in self.interrupts:
            self._say(f"waiting: {self._question(interrupt)}")

    def answers(self) -> list[dict[str, Any]]:
        """Ask the person for an answer to every open interrupt."""
        return [
            {"interruptId": interrupt.id, **_answer(interrupt, self._question(interrupt), self._console)}
            for interrupt in self.interrupts
        ]

    def _question(self, interrupt: Interrupt) -> str:
        run = interrupt.subagent_run_id
        return f"{self._speakers.who(run)} asks: {_question(interrupt)}" if run else _question(interrupt)

    def _events(self, resume: list[dict[str, Any]] | None) -> Iterator[Event]:
        """Post the input and yield the verified events of the answer."""
        headers = {"Accept": "text/event-stream"}
        try:
            with self._http.stream("POST", self._url, json=self._input(resume), headers=headers) as response:
                _check(response, self._url)
                decoder, verifier = SSEDecoder(), Verifier()
                for chunk in response.iter_bytes():
                    yield from self._verified(decoder.feed(chunk), verifier)
                yield from self._verified(decoder.finish(), verifier)
                yield from self._verified(decoder.feed(b""), verifier)  # raises what finish() held back
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise CommandError(f"Nobody answers at {self._url} ({error}).", ExitCode.UNREACHABLE) from error
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise CommandError(f"{self._url!r} is not a URL of an agent: {error}") from error

    def _verified(self, frames: list[dict[str, Any]], verifier: Verifier) -> Iterator[Event]:
        for frame in frames:
            if self._renderer is None:
                print(json.dumps(frame, ensure_ascii=False), flush=True)  # noqa: T201  # this is the output
            yield from verifier.feed(frame)

    def _input(self, resume: list[dict[str, Any]] | None) -> dict[str, Any]:
        messages = [message.model_dump(mode="json", by_alias=True) for message in self._messages]
        return {
            "threadId": self._thread_id,
            "runId": str(uuid4()),
            "protocolVersion": PROTOCOL_VERSION,
            "messages": [message for message in messages if message["role"] != "activity"],
            "state": self._state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **({"resume": resume} if resume else {}),
        }

    def _say(self, text: str) -> None:
        """Say something about the run where it does not get into the way of JSON lines."""
        if self._renderer:
            self._renderer.line(text, "error")
        else:
            print(text, file=sys.stderr)  # noqa: T201


def _holds_something(state: Any) -> bool:
    return any(state.values()) if isinstance(state, dict) else bool(state)


def _check(response: httpx2.Response, url: str) -> None:
    if not response.is_success:
        body = response.read().decode("utf-8", "replace").strip()[:_SHOWN_BODY]
        astray = response.status_code in {404, 405}
        hint = " Is this the address of the agent itself, such as …/agent?" if astray else ""
        raise CommandError(f"{url} answered HTTP {response.status_code}: {body}{hint}", ExitCode.UNREACHABLE)
    content_type = response.headers.get("content-type", "no content type")
    if not content_type.startswith("text/event-stream"):
        raise CommandError(f"{url} answered {content_type}, not an AG-UI event stream.", ExitCode.UNREACHABLE)


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise CommandError(f"--header {line!r} must look like 'Name: value'.")
        headers[name.strip()] = value.strip()
    return headers


def _converse(session: Session, console: Console) -> ExitCode:
    """Talk until the person is done (Ctrl-D). Ctrl-C stops a run, and leaves when there is none."""
    code = ExitCode.OK
    while True:
        question, answers = "", None
        try:
            # A run that failed leaves its interrupts open: nothing else can be said before they are answered.
            if session.interrupts:
                answers = session.answers()
            else:
                question = console.input("[bold]> [/bold]").strip()
        except (EOFError, KeyboardInterrupt):
            console.print()
            return code
        try:
            if answers is not None:
                code = session.answer(answers)
            elif question:
                code = session.ask(question)
        except KeyboardInterrupt:
            console.print("Stopped.", style="dim")
            code = ExitCode.INTERRUPTED


def _answer(interrupt: Interrupt, question: str, console: Console) -> dict[str, Any]:
    choices = known_answers(interrupt)
    prompt = printable(f"{', '.join([*choices, 'cancel'])} or JSON: ")
    console.print(printable(question), style="yellow", markup=False, soft_wrap=True)
    while True:
        given = console.input(prompt, markup=False).strip()
        if given == "cancel":
            return {"status": "cancelled"}
        if given in choices:
            return {"status": "resolved", "payload": choices[given]}
        try:
            return {"status": "resolved", "payload": json.loads(given)}
        except ValueError as error:
            console.print(f"That is neither one of the answers nor JSON: {error}", style="red", markup=False)


def _question(interrupt: Interrupt) -> str:
    asked = interrupt.message or interrupt.reason
    about = interrupt.metadata or {}
    if isinstance(name := about.get("name"), str) and name:
        return f"{asked}: {name} {json.dumps(about.get('args'), ensure_ascii=False)}"
    return asked


def known_answers(interrupt: Interrupt) -> dict[str, Any]:
    """The answers that a word can give: what the schema fixes completely, else yes and no."""
    schema = interrupt.response_schema
    if not schema or schema.get("type") == "boolean":
        return {"yes": True, "no": False}
    approved = schema.get("properties", {}).get("approved", {})
    if approved.get("type") == "boolean" and set(schema.get("required", ())) <= {"approved"}:
        words = {"approve": {"approved": True}, "reject": {"approved": False}}
        return {
            word: answer
            for word, answer in words.items()
            if answer["approved"] == approved.get("const", answer["approved"])
        }
    options = schema.get("oneOf") or schema.get("anyOf") or [schema]
    definitions = schema.get("$defs", {})
    found: dict[str, Any] = {}
    for option in options:
        plain = definitions.get(str(option.get("$ref", "")).rpartition("/")[2], option)
        kind = plain.get("properties", {}).get("type", {})
        word = kind.get("const") or next(iter(kind.get("enum", ())), None)
        if isinstance(word, str) and set(plain.get("required", ())) <= {"type"}:
            found[word] = {"type": word}
    return found

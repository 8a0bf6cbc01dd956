"""`langgraph-agui chat`: an AG-UI client for the terminal, for any agent and not just ours."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ag_ui.core import RunFinishedEvent, RunStartedEvent, ToolCallResultEvent, ToolMessage
from rich.console import Console

from langgraph_agui.cli import prompt
from langgraph_agui.cli.approval import Asking
from langgraph_agui.cli.commands import Anew, Commands, Leave
from langgraph_agui.cli.errors import CommandError, ExitCode, reason
from langgraph_agui.cli.view import View, view_on
from langgraph_agui.cli.words import json_text
from langgraph_agui.client.agent import AGUIClient
from langgraph_agui.client.endpoint import HEADER_NAME, parsed_url, public
from langgraph_agui.client.errors import (
    AgentError,
    AgentStatusError,
    AgentUnreachableError,
    NotAnEventStreamError,
    RunFailedError,
    StreamInvalidError,
)
from langgraph_agui.client.session import AGUISession, Turn
from langgraph_agui.client.tools import LocalTool

_STOPPED: Final = "The user stopped it."


def run(
    url: str,
    question: str | None,
    *,
    headers: Sequence[str] = (),
    as_json: bool = False,
    tools: Sequence[LocalTool] = (),
    kept: Path | None = None,
    thread: str | None = None,
) -> ExitCode:
    """Ask `question`, or hold a conversation when there is none. `CommandError` when nobody can be asked.

    Args:
        url: The agent's address.
        question: What to ask, once; None to converse.
        headers: `Name: value`, sent with each request.
        as_json: Whether to print the events instead.
        tools: What the agent may call and this process carries out.
        kept: A conversation that `:save` has kept, to go on with.
        thread: The id of a thread that the agent has, to go on with.
    """
    told = _headers(headers)
    try:
        client = AGUIClient(url, headers=told)
    except ValueError as error:
        raise CommandError(str(error)) from error
    session: AGUISession[object] = AGUISession(client, thread_id=thread, tools=tools)
    chat = Chat(session, view_on(Console(highlight=False), as_json=as_json), tools)
    with chat.logged():
        if kept is not None:
            chat.load(kept)
        elif thread is not None:
            chat.recall()
        return chat.converse() if question is None else chat.once(question, interactive=not as_json)


class Chat:
    """A conversation on a view. `session` is what has been said in it."""

    def __init__(self, session: AGUISession[object], view: View, tools: Sequence[LocalTool] = ()) -> None:
        self.session, self.view = session, view
        self._tools = tools
        self._local: set[str] = set()
        """The calls that tools answer here."""
        self._asking = Asking(view, self._answer)
        self._commands = Commands(self)

    def load(self, path: Path) -> None:
        """Go on with a conversation that was kept. Raises `CommandError` if it cannot be read."""
        try:
            path = path.expanduser()
            kept = path.read_bytes()
        except (OSError, RuntimeError, ValueError) as error:  # no such user, no such name
            raise CommandError(f"{path} cannot be read: {reason(error)}.") from error
        try:
            self.session = AGUISession.from_json(kept.decode(), self.session.client, tools=self._tools)
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise CommandError(f"{path} is no saved AG-UI session.") from error

    def recall(self) -> None:
        """Learn from the agent what was said in the thread, if it can tell. Raises `CommandError` if nobody answers."""
        try:
            with self.session.connect() as turn:
                for event in turn:
                    self.view.speakers.feed(event)
        except AgentUnreachableError as error:
            raise _no_agent(error) from error
        except AgentError as error:
            self.view.line(f"The agent does not tell what was said in this thread: {error}", "failed")
        else:
            self.view.line(f"{len(self.session.messages)} messages; :history shows them.")

    def once(self, question: str, *, interactive: bool = True) -> ExitCode:
        """Ask one question. What the agent asks in turn is put to the person, if there is one."""
        if self.session.interrupts:
            raise CommandError("The conversation waits for answers: leave out the question to give them.")
        code = self._turn(self.session.send(question))
        while self.session.interrupts:
            if not (interactive and prompt.is_person()):
                self._asking.waiting(self.session.interrupts)
                break
            try:
                code = self._turn(self._resumed())
            except (Anew, Leave, EOFError):
                break
        return code

    def converse(self) -> ExitCode:
        """Talk until the person is done. Ctrl-C stops a turn, and leaves when there is none."""
        code = ExitCode.OK
        self._greet()
        while True:
            try:
                turn = self._next()
            except Anew:
                continue
            except Leave:
                return ExitCode.OK
            except (EOFError, KeyboardInterrupt):
                self.view.line("")
                return code
            if turn is not None:
                code = self._survived(turn)

    def _next(self) -> Turn | None:
        """What the person says next, or answers; None for nothing.

        A run that failed leaves its interrupts open: nothing else can be said before they are answered.
        """
        if self.session.interrupts:
            return self._resumed()
        line = self._line("> ", remembered=True)
        return self.session.send(line.strip()) if line.strip() else None

    def _resumed(self) -> Turn:
        while True:
            payloads, cancelled = self._asking.ask(self.session.interrupts)
            try:
                return self.session.resume(payloads, cancel=cancelled)
            except AgentError as error:  # one has expired meanwhile
                self.view.line(str(error), "error")

    def _survived(self, turn: Turn) -> ExitCode:
        """Show a turn; for a person, no failure ends the conversation."""
        try:
            return self._turn(turn)
        except KeyboardInterrupt:
            self.view.line("Stopped.")
            return ExitCode.INTERRUPTED
        except CommandError as error:
            if not prompt.is_person():
                raise
            self.view.line(str(error), "error")
            return error.code

    def _turn(self, turn: Turn) -> ExitCode:
        """Show a turn and say how it went. Raises `CommandError` where no agent has answered."""
        before = json_text(self.session.state)
        try:
            self._show(turn)
        except (AgentUnreachableError, AgentStatusError, NotAnEventStreamError) as error:
            raise _no_agent(error) from error
        except RunFailedError:
            return ExitCode.FAILED  # the event has told why
        except AgentError as error:
            self.view.line(_broken(error), "error")
            return ExitCode.FAILED
        finally:
            self.view.ended(self._changed(before), turn.usage)
        return ExitCode.WAITING if self.session.interrupts else ExitCode.OK

    def _show(self, turn: Turn) -> None:
        self.view.begin()
        try:
            with turn:
                for event in turn:
                    if isinstance(event, RunStartedEvent):
                        self._show_local()
                    self.view.feed(event)
                    if isinstance(event, RunFinishedEvent):
                        self._local.update(call.id for call in self.session.pending_tool_calls)
        except KeyboardInterrupt:
            self._stop_local()
            raise
        finally:
            self._show_local()
            self.view.finish()

    def _show_local(self) -> None:
        """Show the results of tools that ran here: no event tells of them."""
        for message in self.session.messages:
            if isinstance(message, ToolMessage) and message.tool_call_id in self._local:
                self._local.discard(message.tool_call_id)
                about = {"status": "error"} if message.error else None
                self.view.answered(
                    ToolCallResultEvent(
                        message_id=message.id,
                        tool_call_id=message.tool_call_id,
                        content=message.content,
                        metadata=about,
                    )
                )

    def _stop_local(self) -> None:
        """Answer the calls that were to run here: the thread cannot go on without."""
        for call in self.session.pending_tool_calls:
            self.session.answer(call.id, _STOPPED, error=_STOPPED)

    def _changed(self, before: str) -> str | None:
        """The state as JSON, if it is another one and holds something."""
        state = self.session.state
        holds = any(state.values()) if isinstance(state, dict) else bool(state)
        now = json_text(state)
        return now if holds and now != before else None

    def _line(self, asked: str, *, filled: str = "", remembered: bool = False) -> str:
        """Read a line, carrying out the commands that come instead."""
        while True:
            line = prompt.read_line(self.view.console, asked, filled=filled, remembered=remembered)
            if not line.startswith(":"):
                return line
            self._commands.run(line)

    def _answer(self, asked: str, *, filled: str = "") -> str:
        return self._line(asked, filled=filled)

    def _greet(self) -> None:
        if self.view.console.is_terminal and prompt.is_person():
            where = public(parsed_url(self.session.client.url))
            self.view.line(f"Talking to {where} · :help shows what else there is, :q leaves")

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Show what the client logs, such as why a local tool failed, as all else is shown."""
        handler, loggers = _Shown(self.view), [logging.getLogger(f"langgraph_agui.{room}") for room in _ROOMS]
        for logger in loggers:
            logger.addHandler(handler)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(handler)


_ROOMS: Final = ("client", "protocol")


class _Shown(logging.Handler):
    """Shows the warnings of this conversation; those of others in the process go where they went before."""

    def __init__(self, view: View) -> None:
        super().__init__(logging.WARNING)
        self._view, self._thread = view, threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning on a line, and an exception by its name."""
        if record.thread != self._thread:
            if logging.lastResort is not None:
                logging.lastResort.handle(record)
            return
        error = record.exc_info[1] if record.exc_info else None
        self._view.line(record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""), "failed")


def _no_agent(error: AgentError) -> CommandError:
    astray = isinstance(error, AgentStatusError) and error.status in {404, 405}
    hint = " Is this the address of the agent itself, such as …/agent?" if astray else ""
    return CommandError(f"{error}{hint}", ExitCode.UNREACHABLE)


def _broken(error: AgentError) -> str:
    return f"The stream broke off: {error}" if isinstance(error, StreamInvalidError) else str(error)


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not HEADER_NAME.fullmatch(name.strip()):
            shown = HEADER_NAME.match(line.strip())  # what follows may be a secret
            raise CommandError(f"--header {shown[0] if shown else ''}… must look like 'Name: value'.")
        headers[name.strip()] = value.strip()
    return headers

"""`langgraph-agui chat`: a terminal client for any AG-UI agent.

In: lines that a person types; those that begin with a colon are commands. Out: the agent's events
on a `View`.
"""

import asyncio
import logging
import re
import threading
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from shlex import quote
from tempfile import NamedTemporaryFile
from typing import Final, TypeVar

import httpx2
from ag_ui import core as agui
from rich.console import Console, Group
from rich.text import Text

from langgraph_agui.client import AGUIClient, AGUISession, Turn, errors
from langgraph_agui.devtools.cli.approval import (
    LEAVING,
    InterruptPrompt,
    Quit,
    is_person,
    read_line,
    show_waiting,
)
from langgraph_agui.devtools.cli.formatting import (
    CommandError,
    ExitCode,
    json_text,
    one_line,
    safe,
    summarize,
)
from langgraph_agui.devtools.cli.view import JsonLinesView, LiveView, PlainView, View

T = TypeVar("T")

HELP: Final = """\
:state            show the shared state
:history          list the messages, a line each
:history N        show message N in full
:clear            forget the conversation and start a new one
:help             show this list
:q                leave, as quit, exit and Ctrl-D do, and show how to continue
Ctrl-C            stop the agent; at a prompt, clear the line; in an answer, go back to its question
An approval also takes y and n. If a form is offered, Enter opens it.
To send a line that begins with a colon, or the word quit or exit, put a space before it."""
_STOPPED: Final = "The user stopped it."
_MAX_AUTHOR: Final = 40
# How much of a message is looked at for its line in the list.
_MAX_SUMMARY: Final = 1000
# The name of a header (RFC 9110, token).
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# How many seconds an agent has to answer a question about itself.
_PATIENCE: Final = 5.0


class SessionReplaced(Exception):  # noqa: N818  # not an error
    """The person began a new conversation: the question that was open no longer counts."""


def run(
    url: str,
    question: str | None,
    headers: Sequence[str] = (),
    *,
    as_json: bool = False,
    saved: Path | None = None,
    thread: str | None = None,
) -> ExitCode:
    """Ask `question`, or hold a conversation when there is none. Raises `CommandError` if no agent
    can be asked.

    Args:
        url: The agent's address; on this machine without `http://` too.
        question: The one question to ask; None to converse.
        headers: `Name: value`, sent with each request.
        as_json: Whether to print the events as JSON lines.
        saved: A file with a conversation, to continue from.
        thread: The id of a thread on the server, to continue.
    """
    try:
        client = AGUIClient(with_scheme(url), headers=parse_headers(headers))
    except ValueError as error:
        raise CommandError(str(error)) from error
    view = view_for(Console(highlight=False), as_json=as_json)
    handler = _WarningHandler(view)
    # not a server's
    loggers = [logging.getLogger(f"langgraph_agui.{name}") for name in ("client", "protocol")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        session = (
            AGUISession(client, thread_id=thread) if saved is None else _read_session(saved, client)
        )
        chat = Chat(session, view, " -H …" * bool(headers))
        if thread is not None:
            chat.connect()
        return (
            chat.converse()
            if question is None
            else chat.ask_once(question, interactive=not as_json)
        )
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def view_for(console: Console, *, as_json: bool = False) -> View:
    """Return the view for `console`: live on a terminal, else plain lines.

    Outside the main thread it is plain too: nothing would restore the terminal when the process
    ends.
    """
    if as_json:
        return JsonLinesView()
    is_main = threading.current_thread() is threading.main_thread()
    return (
        LiveView(console)
        if console.is_terminal and not console.is_dumb_terminal and is_main
        else PlainView(console)
    )


class Chat:
    """A conversation between a person and an agent.

    Args:
        session: The conversation.
        view: Where it is shown.
        options: The options of the command that opens it again.
    """

    def __init__(self, session: "AGUISession[object]", view: View, options: str = "") -> None:
        self._session, self._view = session, view
        self._url, self._options = session.client.public_url, options
        # The run that streams.
        self._run: agui.RunStartedEvent | None = None
        self._interrupts = InterruptPrompt(view, self._read_line)

    def connect(self) -> None:
        """Fetch the thread from the agent, if the agent supports it, and follow a run that is going
        on.
        """
        try:
            self._show_turn(self._session.connect(), joins=True)
        except KeyboardInterrupt:
            self._view.line("Stopped.")
        except errors.AgentError as error:
            self._view.line(
                f"The agent does not send the messages of this thread: {error}", "failed"
            )

    def ask_once(self, question: str, *, interactive: bool = True) -> ExitCode:
        """Ask one question, and put the agent's interrupts to the person if there is one."""
        if self._session.interrupts:
            raise CommandError(
                "The conversation is waiting for answers. Leave out the question to give them."
            )
        code = self._run_turn(self._session.send(question))
        while self._session.interrupts and code is not ExitCode.INTERRUPTED:
            if not (interactive and is_person()):
                show_waiting(self._view, self._session.interrupts)
                break
            try:
                code = self._run_turn(self._resume())
            except (SessionReplaced, Quit, EOFError):
                break
        return code

    def converse(self) -> ExitCode:
        """Talk until the person leaves. Ctrl-C stops a turn, or clears a line."""
        code = ExitCode.OK
        if self._view.console.is_terminal and is_person():
            self._view.line(f"Talking to {self._url} · :help lists the commands, :q leaves")
        while True:
            try:
                if (turn := self._next_turn()) is not None:
                    code = self._run_turn(turn)
            except SessionReplaced:
                continue
            except KeyboardInterrupt:
                if not is_person():
                    raise
            except Quit:
                self._show_way_back()
                return ExitCode.OK
            except EOFError:
                self._view.line("")
                self._show_way_back()
                return code
            except CommandError as error:
                if not is_person():
                    raise
                self._view.line(str(error), "error")
                code = error.code

    def _next_turn(self) -> Turn | None:
        """Return the next turn: of answers while interrupts are open, else of a message. None if
        the message is empty.
        """
        if self._session.interrupts:
            return self._resume()
        line = self._read_line("> ")
        if line.rstrip() in LEAVING:
            raise Quit
        return self._session.send(line.strip()) if line.strip() else None

    def _show_way_back(self) -> None:
        """Print the command that opens this conversation again; save it if the agent does not."""
        session, console = self._session, self._view.console
        if not (session.messages and console.is_terminal and is_person()):
            return
        about = _answer_of(session.client.capabilities())
        if about and about.state and about.state.persistent_state:
            option = f"--thread {quote(session.thread_id)}"
        else:
            option = f"--session {quote(_save(session))}"
        again = "Its questions are asked again. " if session.interrupts else ""
        command = f"langgraph-agui chat {quote(self._url)} {option}{self._options}"
        # on one line, to be copied
        console.print(safe(f"{again}Continue with: {command}", "note"), soft_wrap=True)

    def _resume(self) -> Turn:
        while True:
            payloads, cancelled = self._interrupts.ask(self._session.interrupts)
            try:
                return self._session.resume(payloads, cancel=cancelled)
            except errors.AgentError as error:  # one has expired meanwhile
                self._view.line(str(error), "error")

    def _read_line(self, prompt: str, initial: str = "") -> str:
        """Read a line. Commands that come instead are carried out; they may raise `Quit` or
        `SessionReplaced`.
        """
        while (line := read_line(self._view.console, prompt, initial)).startswith(":"):
            try:
                self._run_command(line)
            except CommandError as error:
                self._view.line(str(error), "failed")
        return line

    def _run_turn(self, turn: Turn) -> ExitCode:
        """Show a turn and return how it ended. Raises `CommandError` if no agent answered."""
        before = json_text(self._session.state)
        try:
            self._show_turn(turn)
        except KeyboardInterrupt:
            self._view.line("Stopped.")
            return ExitCode.INTERRUPTED
        except (
            errors.AgentUnreachableError,
            errors.AgentStatusError,
            errors.NotAnEventStreamError,
        ) as error:
            raise unreachable(error) from error
        except errors.RunFailedError:
            return ExitCode.FAILED  # the view has shown why
        except errors.AgentError as error:
            broken = (
                "The stream broke off: " if isinstance(error, errors.StreamInvalidError) else ""
            )
            self._view.line(f"{broken}{error}", "error")
            return ExitCode.FAILED
        finally:
            after = json_text(self._session.state)
            self._view.end_turn(after if after not in (before, "null", "{}") else None, turn.usage)
        return ExitCode.WAITING if self._session.interrupts else ExitCode.OK

    def _show_turn(self, turn: Turn, *, joins: bool = False) -> None:
        self._view.begin()
        self._run = None
        try:
            with turn:
                for event in turn:
                    if isinstance(event, agui.RunStartedEvent):
                        self._run = event
                    self._view.feed(event)
                    if joins and isinstance(event, agui.MessagesSnapshotEvent):
                        joins = False  # of further runs, the events are shown
                        self._view.finish()  # the person may read the history in a pager
                        self._show_history("")
                        self._view.begin()
        except KeyboardInterrupt:
            # The thread cannot continue without results.
            for call in self._session.pending_tool_calls:
                self._session.answer(call.id, _STOPPED, error=_STOPPED)
            if self._run is not None:  # it may outlive the connection
                _answer_of(self._session.client.cancel(self._run.thread_id, self._run.run_id))
            raise
        finally:
            self._view.finish()

    def _run_command(self, line: str) -> None:
        """Carry out a command. Raises `CommandError`; `Quit` or `SessionReplaced` where the
        conversation ends.
        """
        name, _, argument = line.removeprefix(":").strip().partition(" ")
        match name:
            case "state":
                self._view.page(safe(json_text(self._session.state, indent=2)))
            case "history":
                self._show_history(argument.strip())
            case "clear":
                self._session.clear()
                self._view.line("Forgotten. This is a new conversation.")
                raise SessionReplaced
            case "help":
                self._view.show(safe(HELP))
            case "q" | "quit" | "exit":
                raise Quit
            case _:
                raise CommandError(f"There is no command :{name}. :help lists the commands.")

    def _show_history(self, wanted: str) -> None:
        """List the messages, or show the one with the number `wanted`. Raises `CommandError` if
        there is none.
        """
        found = enumerate(
            summarize(self._session.messages, self._view.subagents, self._view.rejected), 1
        )
        entries = {str(number): entry for number, entry in found}
        if not entries:
            self._view.line("There are no messages.")
        elif wanted:
            if wanted not in entries:
                raise CommandError(
                    f"There is no message {wanted}: :history has 1 to {len(entries)}."
                )
            author, content = entries[wanted]
            self._view.page(Group(safe(f"{wanted} {author}:", "bold"), safe(content)))
        else:
            lines = []
            for number, (author, content) in entries.items():
                start = f"{number} {one_line(author, _MAX_AUTHOR)}: "
                lines.append(
                    Text.assemble((start, "bold"), one_line(content[:_MAX_SUMMARY], _MAX_SUMMARY))
                )
                lines[-1].truncate(self._view.console.width, overflow="ellipsis")
            self._view.page(Group(*lines))


def _read_session(path: Path, client: AGUIClient) -> "AGUISession[object]":
    """Return the conversation in a file. Raises `CommandError` if there is none."""
    try:
        return AGUISession.from_json(path.read_text("utf-8"), client)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise CommandError(f"{path} is not a saved AG-UI session.") from error


def _save(session: "AGUISession[object]") -> str:
    """Write a conversation to a new file that only this user can read, and return its path."""
    try:
        with NamedTemporaryFile(
            "w", encoding="utf-8", prefix="agui-", suffix=".json", delete=False
        ) as file:
            file.write(session.to_json())
    except (OSError, ValueError) as error:
        raise CommandError(f"The conversation could not be saved: {error}") from error
    return file.name


def unreachable(error: errors.AgentError) -> CommandError:
    """Return the error of a command that has found no agent at the address."""
    wrong_path = isinstance(error, errors.AgentStatusError) and error.status in {404, 405}
    hint = " Is this the address of the agent itself, such as …/agent?" if wrong_path else ""
    return CommandError(f"{error}{hint}", ExitCode.UNREACHABLE)


class _WarningHandler(logging.Handler):
    """Shows the client's warnings on a view."""

    def __init__(self, view: View) -> None:
        super().__init__(logging.WARNING)
        self._view = view

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning on one line."""
        self._view.line(record.getMessage(), "failed")


def _answer_of(asking: Coroutine[object, None, T]) -> T | None:
    """Return the answer of an agent, or None: it may lack the route, or be gone."""
    with suppress(errors.AgentError, TimeoutError):
        return asyncio.run(asyncio.wait_for(asking, _PATIENCE))
    return None


def with_scheme(address: str) -> str:
    """Return an address on this machine with the `http://` that it may lack; others as they are."""
    if "://" in address:
        return address
    try:
        url = httpx2.URL(f"http://{address}")
    except httpx2.InvalidURL:
        return address
    return str(url) if is_local(url.host) else address


def is_local(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def parse_headers(lines: Sequence[str]) -> dict[str, str]:
    """Return the headers of the option --header. Raises `CommandError` if one is not `Name:
    value`.
    """
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not _HEADER_NAME.fullmatch(name.strip()):
            start = _HEADER_NAME.match(line.strip())  # what follows may be a secret
            raise CommandError(
                f"--header {start[0] if start else ''}… must look like 'Name: value'."
            )
        headers[name.strip()] = value.strip()
    return headers

"""`langgraph-agui chat`: a terminal client for any AG-UI agent.

In: lines that a person types; those that begin with a colon are commands. Out: the agent's events on a `View`.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ag_ui import core as agui
from rich.console import Console
from rich.text import Text

from langgraph_agui.cli.approval import InterruptPrompt, is_person, read_line
from langgraph_agui.cli.formatting import CommandError, ExitCode, json_text, one_line, safe, summarize
from langgraph_agui.cli.view import JsonLinesView, LiveView, PlainView, View
from langgraph_agui.client import AGUIClient, AGUISession, Turn, errors
from langgraph_agui.client.endpoint import HEADER_NAME, parsed_url, public
from langgraph_agui.client.tools import LocalTool

HELP: Final = """\
:state            show the shared state
:history          list the messages, in short
:reasoning, :r    show the reasoning of the last turn and keep reasoning open; again: fold it
:clear            forget the conversation and begin a new one
:save [FILE]      save the conversation, by default in agui-THREAD.json
:load FILE        continue a saved conversation
:help             show this list
:q                quit, as Ctrl-D does
Ctrl-C            stop the agent; at the prompt, quit
To send a line that begins with a colon, put a space before it."""
_STOPPED: Final = "The user stopped it."
_MAX_HISTORY_CONTENT: Final = 120


class Quit(Exception):  # noqa: N818  # not an error
    """The person wants to leave."""


class SessionReplaced(Exception):  # noqa: N818  # not an error
    """A command replaced the conversation: the question that was open no longer counts."""


def run(
    url: str,
    question: str | None,
    headers: Sequence[str] = (),
    tools: Sequence[LocalTool] = (),
    *,
    as_json: bool = False,
    saved: Path | None = None,
    thread: str | None = None,
) -> ExitCode:
    """Ask `question`, or hold a conversation when there is none. Raises `CommandError` if no agent can be asked.

    Args:
        url: The agent's address.
        question: The one question to ask; None to converse.
        headers: `Name: value`, sent with each request.
        as_json: Whether to print the events as JSON lines.
        tools: Tools that the agent may call and that run in this process.
        saved: A file that `:save` wrote, to continue from.
        thread: The id of a thread on the server, to continue.
    """
    try:
        client = AGUIClient(url, headers=_parse_headers(headers))
    except ValueError as error:
        raise CommandError(str(error)) from error
    view = view_for(Console(highlight=False), as_json=as_json)
    chat = Chat(AGUISession(client, thread_id=thread, tools=tools), view, tools)
    handler = _WarningHandler(view)
    loggers = [logging.getLogger(f"langgraph_agui.{name}") for name in ("client", "protocol")]  # not a server's
    for logger in loggers:
        logger.addHandler(handler)
    try:
        if saved is not None:
            chat.load(saved)
        elif thread is not None:
            chat.connect()
        return chat.converse() if question is None else chat.ask_once(question, interactive=not as_json)
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


def view_for(console: Console, *, as_json: bool = False) -> View:
    """Return the view for `console`: live on a terminal, else plain lines.

    Outside the main thread it is plain too: nothing would restore the terminal when the process ends.
    """
    if as_json:
        return JsonLinesView()
    is_main = threading.current_thread() is threading.main_thread()
    return LiveView(console) if console.is_terminal and not console.is_dumb_terminal and is_main else PlainView(console)


class Chat:
    """A conversation between a person and an agent."""

    def __init__(self, session: AGUISession[object], view: View, tools: Sequence[LocalTool] = ()) -> None:
        self._session, self._view, self._tools = session, view, tools
        # The calls that tools of this process answer, until their results are shown.
        self._local_calls: set[str] = set()
        self._interrupts = InterruptPrompt(view, self._read_line)

    def load(self, path: Path) -> None:
        """Continue a saved conversation. Raises `CommandError` if the file cannot be read."""
        try:
            path = path.expanduser()
            saved = path.read_bytes()
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: no such user; ValueError: a null byte
            raise CommandError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        try:
            self._session = AGUISession.from_json(saved.decode(), self._session.client, tools=self._tools)
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise CommandError(f"{path} is no saved AG-UI session.") from error

    def connect(self) -> None:
        """Fetch the thread from the agent, if the agent supports it."""
        try:
            with self._session.connect() as turn:
                for event in turn:
                    self._view.subagents.receive(event)
        except errors.AgentError as error:
            self._view.line(f"The agent does not send the messages of this thread: {error}", "failed")
        else:
            self._show_message_count()

    def ask_once(self, question: str, *, interactive: bool = True) -> ExitCode:
        """Ask one question, and put the agent's interrupts to the person if there is one."""
        if self._session.interrupts:
            raise CommandError("The conversation waits for answers. Leave out the question to give them.")
        code = self._run_turn(self._session.send(question))
        while self._session.interrupts and code is not ExitCode.INTERRUPTED:
            if not (interactive and is_person()):
                self._interrupts.show_waiting(self._session.interrupts)
                break
            try:
                code = self._run_turn(self._resume())
            except (SessionReplaced, Quit, EOFError):
                break
        return code

    def converse(self) -> ExitCode:
        """Talk until the person is done. Ctrl-C stops a turn; without one, it quits."""
        code = ExitCode.OK
        if self._view.console.is_terminal and is_person():
            url = public(parsed_url(self._session.client.url))
            self._view.line(f"Talking to {url} · :help lists the commands, :q quits")
        while True:
            try:
                if (turn := self._next_turn()) is not None:
                    code = self._run_turn(turn)
            except SessionReplaced:
                continue
            except Quit:
                return ExitCode.OK
            except (EOFError, KeyboardInterrupt):
                self._view.line("")
                return code
            except CommandError as error:
                if not is_person():
                    raise
                self._view.line(str(error), "error")
                code = error.code

    def _next_turn(self) -> Turn | None:
        """Read what starts the next turn: answers while interrupts are open, else a message. None if it is empty."""
        if self._session.interrupts:
            return self._resume()
        line = self._read_line("> ").strip()
        return self._session.send(line) if line else None

    def _resume(self) -> Turn:
        while True:
            payloads, cancelled = self._interrupts.ask(self._session.interrupts)
            try:
                return self._session.resume(payloads, cancel=cancelled)
            except errors.AgentError as error:  # one has expired meanwhile
                self._view.line(str(error), "error")

    def _read_line(self, prompt: str, initial: str = "") -> str:
        """Read a line. Commands that come instead are carried out; they may raise `Quit` or `SessionReplaced`."""
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
        except (errors.AgentUnreachableError, errors.AgentStatusError, errors.NotAnEventStreamError) as error:
            wrong_path = isinstance(error, errors.AgentStatusError) and error.status in {404, 405}
            hint = " Is this the address of the agent itself, such as …/agent?" if wrong_path else ""
            raise CommandError(f"{error}{hint}", ExitCode.UNREACHABLE) from error
        except errors.RunFailedError:
            return ExitCode.FAILED  # the view has shown why
        except errors.AgentError as error:
            broken = "The stream broke off: " if isinstance(error, errors.StreamInvalidError) else ""
            self._view.line(f"{broken}{error}", "error")
            return ExitCode.FAILED
        finally:
            after = json_text(self._session.state)
            self._view.end_turn(after if after not in (before, "null", "{}") else None, turn.usage)
        return ExitCode.WAITING if self._session.interrupts else ExitCode.OK

    def _show_turn(self, turn: Turn) -> None:
        self._view.begin()
        try:
            with turn:
                for event in turn:
                    if isinstance(event, agui.RunStartedEvent):
                        self._show_local_results()
                    self._view.feed(event)
                    if isinstance(event, agui.RunFinishedEvent):
                        self._local_calls.update(call.id for call in self._session.pending_tool_calls)
        except KeyboardInterrupt:
            for call in self._session.pending_tool_calls:  # the thread cannot continue without results
                self._session.answer(call.id, _STOPPED, error=_STOPPED)
            raise
        finally:
            self._show_local_results()
            self._view.finish()

    def _show_local_results(self) -> None:
        """Show the results of tools that ran here: no event carries them."""
        for message in self._session.messages:
            if isinstance(message, agui.ToolMessage) and message.tool_call_id in self._local_calls:
                self._local_calls.discard(message.tool_call_id)
                self._view.show_result(message.tool_call_id, message.content, failed=bool(message.error))

    def _run_command(self, line: str) -> None:
        """Carry out a command. Raises `CommandError`; `Quit` or `SessionReplaced` where the conversation ends."""
        name, _, argument = line.removeprefix(":").strip().partition(" ")
        match name:
            case "state":
                self._view.show(safe(json_text(self._session.state, indent=2)))
            case "history":
                self._show_history()
            case "reasoning" | "r":
                self._toggle_reasoning()
            case "clear":
                self._session.clear()
                self._view.line("Forgotten. This is a new conversation.")
                raise SessionReplaced
            case "save":
                self._save(argument.strip())
            case "load":
                self.load(Path(argument.strip()))
                self._show_message_count()
                raise SessionReplaced
            case "help":
                self._view.show(safe(HELP))
            case "q" | "quit":
                raise Quit
            case _:
                raise CommandError(f"There is no command :{name}. :help lists the commands.")

    def _show_history(self) -> None:
        lines = [*summarize(self._session.messages, self._view.subagents)]
        for number, (author, content) in enumerate(lines, 1):
            author, content = one_line(author, 40), one_line(content, _MAX_HISTORY_CONTENT)
            self._view.show(Text.assemble((f"{number} {author}: ", "bold"), content))
        if not lines:
            self._view.line("There are no messages.")

    def _toggle_reasoning(self) -> None:
        self._view.unfolded = not self._view.unfolded
        if not self._view.unfolded:
            self._view.line("Reasoning is folded when it ends.")
            return
        messages = self._session.messages
        last = max((at for at, message in enumerate(messages) if isinstance(message, agui.UserMessage)), default=-1)
        for message in messages[last + 1 :]:
            if isinstance(message, agui.ReasoningMessage) and message.content.strip():
                self._view.show(safe(message.content, "thinking"))
        self._view.line("Reasoning stays open from now on.")

    def _save(self, name: str) -> None:
        thread = re.sub(r"[^\w.-]", "_", self._session.thread_id)[:100]
        path = Path(name or f"agui-{thread}.json")
        try:
            path = path.expanduser()
            content = self._session.to_json().encode()  # before the file is opened, which empties it
            path.write_bytes(content)
        except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: no such user; ValueError: a null byte
            raise CommandError(f"{path} could not be written: {getattr(error, 'strerror', None) or error}") from error
        self._view.line(f"Saved in {path}.")

    def _show_message_count(self) -> None:
        self._view.line(f"{len(self._session.messages)} messages; :history shows them.")


class _WarningHandler(logging.Handler):
    """Shows the client's warnings on a view."""

    def __init__(self, view: View) -> None:
        super().__init__(logging.WARNING)
        self._view = view

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning on one line, with the name of its exception."""
        error = record.exc_info[1] if record.exc_info else None
        self._view.line(record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""), "failed")


def _parse_headers(lines: Sequence[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not HEADER_NAME.fullmatch(name.strip()):
            start = HEADER_NAME.match(line.strip())  # what follows may be a secret
            raise CommandError(f"--header {start[0] if start else ''}… must look like 'Name: value'.")
        headers[name.strip()] = value.strip()
    return headers

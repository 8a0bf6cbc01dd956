"""The commands of a conversation: lines that begin with a colon."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    Message,
    ReasoningMessage,
    ToolMessage,
    UserMessage,
)
from rich.text import Text

from langgraph_agui.cli.blocks import safe
from langgraph_agui.cli.errors import CommandError, reason
from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.cli.words import json_text, one_line, plain_text

if TYPE_CHECKING:
    from langgraph_agui.cli.chat import Chat

_WIDEST: Final = 160


class Leave(Exception):  # noqa: N818  # not an error
    """The person wants to go."""


class Anew(Exception):  # noqa: N818  # not an error
    """The conversation is another one: what was asked counts no more."""


HELP: Final = """\
:state            the shared state
:history          what has been said, in short
:reasoning, :r    the reasoning of the last turn; again: whether reasoning stays open
:clear            forget the conversation and begin another one
:save [FILE]      keep the conversation, by default in agui-THREAD.json
:load FILE        go on with one that was kept
:help             this
:q                leave, as Ctrl-D does
Ctrl-C            stop the agent; at the prompt, leave
A line that begins with a space is sent as it is, even if a colon follows."""


class Commands:
    """Carries out commands on a chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._known: dict[str, Callable[[str], None]] = {
            "state": self._state,
            "history": self._history,
            "reasoning": self._reasoning,
            "r": self._reasoning,
            "clear": self._clear,
            "save": self._save,
            "load": self._load,
            "help": self._help,
            "q": self._quit,
            "quit": self._quit,
        }

    def run(self, line: str) -> None:
        """Do what `line` says. Raises `Leave` or `Anew` where the conversation does not just go on."""
        name, _, rest = line.removeprefix(":").strip().partition(" ")
        known = self._known.get(name)
        if known is None:
            self._say(f"There is no command :{name}; :help shows those that there are.", "failed")
        else:
            known(rest.strip())

    def _state(self, _: str) -> None:
        self._chat.view.show(safe(json_text(self._chat.session.state, indent=2)))

    def _history(self, _: str) -> None:
        width = min(self._chat.view.console.width, _WIDEST)
        lines = list(_told(self._chat.session.messages, self._chat.view.speakers))
        for number, (who, what) in enumerate(lines, 1):
            lead = f"{number:>{len(str(len(lines)))}} {one_line(who, 40)}: "
            self._chat.view.show(Text.assemble((lead, "bold"), one_line(what, max(width - len(lead) - 1, 20))))
        if not lines:
            self._say("Nothing has been said.")

    def _reasoning(self, _: str) -> None:
        view = self._chat.view
        view.unfolded = not view.unfolded
        if not view.unfolded:
            self._say("Reasoning is folded when it ends.")
            return
        thoughts = self._last_thoughts()
        for thought in thoughts:
            view.show(safe(thought, "thinking"))
        self._say("Reasoning stays open from now on." if thoughts else "There was none; it stays open from now on.")

    def _last_thoughts(self) -> list[str]:
        """What was thought since the person last said something."""
        messages = self._chat.session.messages
        last = max((at for at, one in enumerate(messages) if isinstance(one, UserMessage)), default=-1)
        found = [one.content for one in messages[last + 1 :] if isinstance(one, ReasoningMessage)]
        return [text for text in found if text.strip()]

    def _clear(self, _: str) -> None:
        self._chat.session.clear()
        self._say("Forgotten. This is another conversation.")
        raise Anew

    def _save(self, name: str) -> None:
        session = self._chat.session
        file = re.sub(r"[^\w.-]", "_", session.thread_id)[:100]
        path = Path(name or f"agui-{file}.json")
        try:
            path = path.expanduser()
            kept = session.to_json().encode()  # before the file is opened: what it held is lost then
            path.write_bytes(kept)
        except (OSError, RuntimeError, ValueError) as error:  # no such user, no such name, nothing to be written
            self._say(f"{path} could not be written: {reason(error)}.", "failed")
        else:
            self._say(f"Saved in {path}.")

    def _load(self, name: str) -> None:
        if not name:
            self._say("Which file? :load FILE", "failed")
            return
        try:
            self._chat.load(Path(name))
        except CommandError as error:
            self._say(str(error), "failed")
            return
        self._say(f"{len(self._chat.session.messages)} messages; :history shows them.")
        raise Anew

    def _help(self, _: str) -> None:
        self._chat.view.show(safe(HELP))

    def _quit(self, _: str) -> None:
        raise Leave

    def _say(self, text: str, style: str = "note") -> None:
        self._chat.view.line(text, style)


def _told(messages: list[Message], speakers: Speakers) -> Iterator[tuple[str, str]]:
    """Yield who has said what; several lines for a message with tool calls."""
    names: dict[str, str] = {}
    for message in messages:
        run = message.subagent_run_id
        who = f"{speakers.who(run)} " if run else ""
        match message:
            case UserMessage(content=content):
                yield "you", plain_text(content)
            case AssistantMessage(content=content, tool_calls=calls):
                if content or not calls:
                    yield who.rstrip() or message.name or "agent", plain_text(content)
                for call in calls or ():
                    names[call.id] = call.function.name
                    yield f"{who}call {call.function.name}", call.function.arguments
            case ReasoningMessage(content=content):
                if content.strip():
                    yield f"{who}thought", content
            case ToolMessage(content=content, error=error):
                name = names.get(message.tool_call_id, "tool")
                yield f"{who}{'failed' if error else 'result'} {name}", plain_text(content) or error or ""
            case ActivityMessage(activity_type=kind, content=what):
                yield f"{who}{kind}", json_text(what)
            case _:
                yield message.role, plain_text(message.content)

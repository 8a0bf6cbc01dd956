"""What must hold after each step: the rules of `docs/guides/threads.md`, word by word, and their
judge.

The judge looks at what the graph keeps, what a fresh `connect` shows, what tabs hold, what the model
was sent, and which tools ran. It knows nothing of how the package works.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    Message,
    ReasoningMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

from tests.faults.conversations.agent import Plain

RULES = {
    "connect": "A fresh `connect` shows what the graph keeps, hidden messages excepted.",
    "tab": "A tab that has run or connected holds the same, in the same order, beside what it held before.",
    "trimmed": "What the graph has trimmed stays in open tabs.",
    "removed": "What was removed, or edited away, leaves each tab with its next run, and never comes back.",
    "lost": "A run takes nothing else from the thread.",
    "heard": "A new message of the user is heard, even if its tab has missed what others did.",
    "sent": "The model is sent what the graph keeps, with one result behind each call.",
    "ids": "No message and no call is there twice.",
    "partial": "Words of an answer that was stopped, or has failed, stay where they were seen, and nowhere else. A call that it has not finished goes with the next run.",
    "draft": "Words that the graph does not keep are withdrawn.",
    "stream": "Each stream is valid, and ends with one terminal event.",
    "tools": "A call runs at most once, and one that needs an approval only with the arguments that were approved.",
    "state": "A tab that has run or connected has the state that a fresh `connect` shows.",
    "open": "It has the same open questions.",
    "nothing": "What is refused, or only connects, runs nothing.",
}


TRIMS, REMOVES = {"trims", "cuts", "clears", "sums"}, {"removes", "refuses", "blocked"}
"""The words of turns that shorten what the model reads, and of turns that take messages back."""


class BrokenRuleError(AssertionError):
    """A rule is broken."""

    def __init__(self, rule: str, why: object) -> None:
        super().__init__(f"{RULES[rule]}\n  {why}")
        self.rule = rule


def require(rule: str, met: object, why: object) -> None:
    if not met:
        raise BrokenRuleError(rule, why)


Key: TypeAlias = tuple[str, str]


def key(message: Plain) -> Key:
    """A message of the graph by id and words: an edited one keeps its id."""
    return message["id"], message["text"]


def keys(messages: Iterable[Plain]) -> set[Key]:
    return {key(message) for message in messages}


def kept_key(message: Message) -> Key:
    """The key of a client's message."""
    content = message.content
    return message.id, content if isinstance(content, str) else ""


def form(message: Message) -> tuple[Any, ...]:
    """A client's message as the judge compares it with what the graph keeps."""
    made = (message.tool_calls if isinstance(message, AssistantMessage) else None) or ()
    calls = tuple((one.function.name, one.function.arguments) for one in made)
    return message.role, message.id, message.content or "", calls


def kept_form(message: Plain) -> tuple[Any, ...]:
    """The same of a message of the graph."""
    role = {"human": "user", "ai": "assistant"}.get(message["type"], message["type"])
    calls = tuple((name, json.dumps(given)) for _, name, given in message["calls"])
    return role, message["id"], message["text"], calls


def base(message_id: str) -> str:
    """The id of the message that reasoning, or a result of ours, belongs to."""
    return message_id.split(":")[0]


def ident(message: Message) -> str:
    """What a message is known by in all tabs: of a result that is its call, because a tab that has
    answered the call itself keeps its own id.
    """
    if isinstance(message, ToolMessage):
        return f"result of {message.tool_call_id}"
    return message.id


def is_own(message: Message) -> bool:
    """Whether a client's message is one that graphs keep."""
    return isinstance(message, UserMessage | AssistantMessage | ToolMessage) and not (
        message.subagent_run_id
    )


@dataclass
class Kept:
    """What the graph keeps of a thread."""

    messages: list[Plain]
    state: dict[str, Any]
    next: list[str]

    @property
    def ids(self) -> set[str]:
        return {message["id"] for message in self.messages}


@dataclass
class Seen:
    """What somebody sees of a thread."""

    messages: Sequence[Message]
    state: Any
    interrupts: Sequence[str] = ()
    is_ordered: bool = True
    """Whether it has the messages in the order of the thread."""

    @property
    def own(self) -> list[Message]:
        return [message for message in self.messages if is_own(message)]

    @property
    def open_calls(self) -> list[str]:
        """The ids of the calls without a result."""
        return [call.id for call in self._open_calls()]

    @property
    def unfinished_calls(self) -> list[str]:
        """The ids of those of which no model has said the end."""
        return [call.id for call in self._open_calls() if not is_json(call.function.arguments)]

    def _open_calls(self) -> list[ToolCall]:
        answered = {one.tool_call_id for one in self.own if isinstance(one, ToolMessage)}
        return [
            call
            for one in self.own
            if isinstance(one, AssistantMessage)
            for call in one.tool_calls or ()
            if call.id not in answered
        ]


def is_json(text: str) -> bool:
    """Whether a text is a whole JSON document."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def told_and_kept(seen: Seen, kept: Kept) -> tuple[list[Any], list[Any]]:
    """What is seen of a thread, and what the graph keeps, in one form.

    Results that say that nobody will answer a call are left out.
    """
    known = kept.ids
    told = [form(one) for one in seen.own if one.id in known or one.role != "tool"]
    return told, [kept_form(one) for one in kept.messages if not one["is_summary"]]


@dataclass
class Happened:
    """What a step has done."""

    before: Kept
    after: Kept
    sent: list[list[Plain]]
    """What the model was sent, each time."""
    words: list[str]
    """The words of the turn that ran."""
    asked_again: str | None = None
    """The id of the message that the user has edited, or asked to be answered again."""
    said: Key | None = None
    """The user's new message, if the step was not refused."""
    is_killed: bool = False
    """Whether the worker was killed meanwhile."""
    may_run: bool = True
    """Whether the step may run anything."""


@dataclass
class Judge:
    """Remembers what became of each message, and judges what is seen after each step."""

    removed: set[Key] = field(default_factory=set)
    trimmed: set[str] = field(default_factory=set)
    ever: set[str] = field(default_factory=set)
    """The ids that the graph has ever kept."""
    is_shortening: bool = False
    """Whether the step takes messages out of the thread."""
    is_trimming: bool = False
    """Whether the step has trimmed the thread."""
    before: set[str] = field(default_factory=set)
    """The ids that the graph kept before the step."""
    unclear: set[str] = field(default_factory=set)
    """The ids of messages of which nobody can tell whether they were trimmed or removed."""
    calls: set[tuple[str, str]] = field(default_factory=set)
    """All calls that anybody has seen, each with its message."""
    shown: set[str] = field(default_factory=set)
    """What a fresh `connect` has shown last."""
    shown_before: set[str] = field(default_factory=set)
    """What it has shown before the step."""
    partial: set[str] = field(default_factory=set)
    """The ids of messages that have begun, and that the graph has never kept."""
    approved: Counter[str] = field(default_factory=Counter)
    """How often each guarded call was approved, by its arguments."""

    def step(self, happened: Happened, ran: Sequence[str]) -> None:
        """Judge what the graph keeps, what the model was sent, and which tools ran.

        Args:
            happened: What the step has done.
            ran: All that tools have ever done.
        """
        before, after = happened.before, happened.after
        taken = {key(message) for request in happened.sent for message in request}
        came, gone = (
            keys(after.messages) - keys(before.messages),
            ((keys(before.messages) | taken) - keys(after.messages)),
        )
        again = happened.asked_again
        back = {one for one in came if one in self.removed and one[0] != again}
        require("removed", not back, f"in the thread again: {back}")
        sent_back = {one for one in taken if one in self.removed and one[0] != again}
        require("removed", not sent_back, f"sent to the model again: {sent_back}")
        if happened.is_killed:  # what it had taken may not have been kept yet
            gone &= keys(before.messages)
        if again is not None:
            self.trimmed.discard(again)  # what becomes of it now is all that counts
        self._sort(gone, happened)
        self.removed -= came
        self.trimmed -= after.ids
        self.before = before.ids
        self.ever |= after.ids | {name for name, _ in taken}
        self._judge_requests(happened)
        self._judge_tools(ran)
        ids = [message["id"] for message in after.messages]
        require("ids", len(set(ids)) == len(ids), f"the graph keeps {ids}")
        drafts = [one["text"] for one in after.messages if "draft-" in json.dumps(one)]
        require("draft", not drafts, f"the graph keeps {drafts}")

    def _sort(self, gone: set[Key], happened: Happened) -> None:
        """Decide what became of the messages that the thread has no more."""
        words, again = happened.words, happened.asked_again
        order = [message["id"] for message in happened.before.messages]
        if again in order:
            place = order.index(again)
            old = {one for one in gone if one[0] in order and order.index(one[0]) >= place}
            self.removed |= old
            gone = gone - old
        self.is_trimming = not TRIMS.isdisjoint(words)
        self.is_shortening = not (TRIMS | REMOVES).isdisjoint(words)
        if self.is_trimming:
            self.trimmed |= {name for name, _ in gone}
            # in another turn of the same run, or by going back to a message that had been trimmed
            if not REMOVES.isdisjoint(words) or (again is not None and again not in order):
                self.unclear |= {name for name, _ in gone}
        elif not REMOVES.isdisjoint(words):
            self.removed |= gone
        elif again is not None:
            # from an earlier checkpoint: what the graph has put there since is gone too
            self.removed |= gone
        else:
            require("lost", not gone, f"gone, though nobody has removed it: {gone}")

    def _judge_requests(self, happened: Happened) -> None:
        for request in happened.sent:
            self._judge_calls(request)
            drafts = [one["text"] for one in request if "draft-" in json.dumps(one)]
            require("draft", not drafts, f"the model was sent {drafts}")
        if not happened.may_run:
            require("nothing", not happened.sent, f"the model was asked {len(happened.sent)} times")
            same = keys(happened.before.messages) == keys(happened.after.messages)
            require("nothing", same, f"the thread is now {happened.after.messages}")
        if happened.said is not None:
            heard = keys(happened.after.messages).union(*map(keys, happened.sent))
            is_heard = happened.said in heard or "blocked" in happened.words
            require("heard", is_heard, f"{happened.said} is nowhere")
        is_plain = not happened.is_killed and (TRIMS | REMOVES).isdisjoint(happened.words)
        if happened.sent and is_plain:
            last = [key(message) for message in happened.sent[-1]]
            kept = [key(message) for message in happened.after.messages]
            require("sent", kept[: len(last)] == last, f"sent {last}, the graph keeps {kept}")

    def _judge_calls(self, request: Sequence[Plain]) -> None:
        waiting: list[str] = []
        for message in request:
            if message["type"] == "tool":
                known = message["answers"] in waiting
                require("sent", known, f"a result of no open call: {message} in {request}")
                waiting.remove(message["answers"])
                continue
            require("sent", not waiting, f"calls without results: {waiting} in {request}")
            waiting = [call_id for call_id, _, _ in message["calls"]]
        require("sent", not waiting, f"calls without results at the end: {waiting} in {request}")

    def _judge_tools(self, ran: Sequence[str]) -> None:
        for item, times in Counter(ran).items():
            require("tools", times == 1, f"{item} ran {times} times")
            if item.startswith("spend"):
                require("tools", self.approved[item], f"{item} ran, approved: {self.approved}")

    # -- what is seen -----------------------------------------------------------------------------

    def fresh(self, seen: Seen, kept: Kept) -> None:
        """Judge what a fresh `connect` shows."""
        self._judge_ids(seen)
        self.shown_before, self.shown = self.shown, {*map(ident, seen.messages)}
        self.calls |= calls_in(seen.messages)
        shown, (told, has) = [form(message) for message in seen.own], told_and_kept(seen, kept)
        require("connect", told == has, f"shows {told},\n  the graph keeps {has}")
        require("connect", len(shown) - len(told) <= self._unanswered(kept), f"shows {shown}")
        require("state", seen.state == kept.state, f"connect {seen.state}, graph {kept.state}")

    @staticmethod
    def _unanswered(kept: Kept) -> int:
        calls = sum(len(message["calls"]) for message in kept.messages)
        return calls - sum(message["type"] == "tool" for message in kept.messages)

    def tab(
        self,
        name: str,
        seen: Seen,
        fresh: Seen,
        held: Sequence[Message],
        *,
        is_cut: bool,
        has_run: bool,
        is_joined: bool,
    ) -> bool:
        """Judge what a tab holds that has run or connected.

        Args:
            name: The tab.
            seen: What it has now.
            fresh: What a fresh `connect` shows.
            held: What it held before.
            is_cut: Whether its run was stopped or has failed: it has no closing snapshot.
            has_run: Whether it has run, and not only connected.
            is_joined: Whether it has joined the run of another tab.

        Returns:
            Whether it has the messages in the order of the thread.
        """
        self._judge_ids(seen)
        self.calls |= calls_in(held)
        names = ids_of_others(seen.messages, fresh.messages, self.calls)
        seen = replace(seen, messages=renamed(seen.messages, names))
        held = renamed(held, names)
        shown = {ident(message): None for message in without_activities(fresh.messages)}
        same = settled(one for one in seen.messages if ident(one) in shown)
        truth = settled(without_activities(fresh.messages))
        mine = [ident(message) for message in held if ident(message) in shown]
        held_ids = {ident(message) for message in held}
        known = [one for one in (*shown, *self.shown_before) if one in self.before]
        is_behind = has_run and any(one not in held_ids for one in known)
        is_ordered = seen.is_ordered and not is_behind and mine == list(shown)[: len(mine)]
        if is_cut:
            # No snapshot tells what is missing, and mends what it held before.
            same = [one for one in same if one["id"] not in held_ids]
            new = {one["id"] for one in same}
            truth = [one for one in truth if one["id"] in new]
        if not is_ordered or is_cut:  # what it has missed comes last
            same, truth = (sorted(one, key=lambda each: str(each["id"])) for one in (same, truth))
        missing = [one for one in truth if one not in same]
        require("tab", same == truth, difference(name, same, truth, missing))
        if is_cut:
            self.cut(one for one in seen.messages if ident(one) not in held_ids)
        shared = any(ident(message) in shown and message.id in self.before for message in held)
        for message in seen.messages:
            if ident(message) in shown or isinstance(message, ActivityMessage):
                continue
            if isinstance(message, ReasoningMessage) or message.subagent_run_id:
                continue
            if base(message.id) in self.partial:
                continue
            if self.is_trimming and ident(message) not in held_ids:
                self.trimmed.add(message.id)
            # No snapshot tells that the graph has removed it before it was stopped.
            is_old = ident(message) in held_ids or message.id in self.trimmed
            is_old = is_old or (is_cut and is_joined)
            require("tab", is_old, f"{name} holds {message}, connect shows {[*shown]}")
            if not shared or not is_ordered or is_cut:
                continue  # what is gone stands behind what is kept: it cannot be told here
            # An older form of what was edited, then trimmed: the thread has trimmed its id.
            gone = kept_key(message) in self.removed and message.id not in self.trimmed
            require("removed", not gone, f"{name} holds {message}")
            is_known = message.id in self.trimmed or message.id not in self.ever
            require("removed", is_known, f"{name} holds {message}, which the graph keeps no more")
        stays = self.trimmed - self.unclear
        lost = [one for one in held if one.id in stays and one not in seen.messages]
        lost = [one for one in lost if is_own(one) and one.id not in {m.id for m in seen.messages}]
        require("trimmed", not lost or not is_ordered, f"{name} has lost {lost}")
        whole = [one for one in seen.messages if base(one.id) not in self.partial]
        half = [one for one in seen.messages if base(one.id) in self.partial]
        answered = {call_id for call_id, _ in calls_in(half)}  # maybe by the tab
        whole = [one for one in whole if getattr(one, "tool_call_id", None) not in answered]
        texts = [one for one in whole if "draft-" in one.model_dump_json()]
        require("draft", not texts, f"{name} holds {texts}")
        same_state = is_cut or seen.state == fresh.state
        require("state", same_state, f"{name} {seen.state}, connect {fresh.state}")
        shown_calls = set(fresh.open_calls)
        begun = [one for one in held if one.id in self.partial and one.id not in shown]
        left = {*Seen(begun, None).unfinished_calls} - shown_calls
        waiting = [one for one in seen.open_calls if one in left]
        may_wait = is_cut or is_joined or fresh.interrupts
        require("partial", may_wait or not waiting, f"{name} waits for {waiting}")
        asked, truly = sorted(seen.interrupts), sorted(fresh.interrupts)
        require("open", is_cut or asked == truly, f"{name} {asked}, connect {truly}")
        return is_ordered and not (is_cut and self.is_shortening)

    def cut(self, messages: Iterable[Message]) -> None:
        """Note what a tab has of an answer that was stopped: the graph has never kept it."""
        self.partial |= {base(one.id) for one in messages if one.id not in self.ever}

    def _judge_ids(self, seen: Seen) -> None:
        ids = Counter(message.id for message in seen.messages)
        calls = Counter(
            call.id
            for message in seen.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls or ()
        )
        results = Counter(
            message.tool_call_id for message in seen.messages if isinstance(message, ToolMessage)
        )
        twice = [name for one in (ids, calls, results) for name, count in one.items() if count > 1]
        require("ids", not twice, f"{twice} in {seen.messages}")


def without_activities(messages: Iterable[Message]) -> list[Message]:
    return [one for one in messages if not isinstance(one, ActivityMessage)]


def calls_in(messages: Iterable[Message]) -> set[tuple[str, str]]:
    """The calls in messages, each with its message."""
    return {
        (call.id, one.id)
        for one in messages
        if isinstance(one, AssistantMessage)
        for call in one.tool_calls or ()
    }


def ids_of_others(
    messages: Iterable[Message], fresh: Iterable[Message], ever: Collection[tuple[str, str]]
) -> dict[str, str]:
    """The ids that calls of a tab have for others.

    A call gets a longer id where another message has a call of its id. The tab, or the others, may
    not have that message: its call gets a name of its own.

    Args:
        messages: The messages of the tab.
        fresh: What a fresh `connect` shows.
        ever: All calls that anybody has seen, each with its message.
    """
    calls = {one.id: one.tool_calls or () for one in fresh if isinstance(one, AssistantMessage)}
    names = {
        call.id: same.id
        for one in messages
        if isinstance(one, AssistantMessage)
        for call, same in zip(one.tool_calls or (), calls.get(one.id, ()), strict=False)
        if call.id != same.id
        and {f"{one.id}:{call.id}", f"{one.id}:{same.id}"} & {call.id, same.id}
        and any(name in (call.id, same.id) and holder != one.id for name, holder in ever)
    }
    return {**{name: f"{name} before" for name in names.values()}, **names}


def renamed(messages: Iterable[Message], names: dict[str, str]) -> list[Message]:
    """Messages with other ids of calls."""
    result: list[Message] = []
    for one in messages:
        if isinstance(one, AssistantMessage) and one.tool_calls:
            own = [
                call.model_copy(update={"id": names.get(call.id, call.id)})
                for call in one.tool_calls
            ]
            result.append(one.model_copy(update={"tool_calls": own}))
        elif isinstance(one, ToolMessage):
            name = names.get(one.tool_call_id, one.tool_call_id)
            result.append(one.model_copy(update={"tool_call_id": name}))
        else:
            result.append(one)
    return result


def settled(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as JSON, and the results of calls behind them: a tab has those as they arrived, and
    some with its snapshot.
    """
    made: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for message in messages:
        dump = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        if not isinstance(message, ToolMessage):
            made.append(dump)
            continue
        # No event tells `error`, and the client's own results have no opaque value in its tab.
        dump.pop("error", None)
        dump.pop("encryptedValue", None)
        dump["id"] = ident(message)
        results.append(dump)
    return [*made, *sorted(results, key=lambda one: str(one["id"]))]


def difference(name: str, same: Any, truth: Any, missing: Collection[Any]) -> str:
    other = [one for one in same if one not in truth]
    return f"{name} holds {other or [one['id'] for one in same]},\n  connect shows {missing or [one['id'] for one in truth]}"

"""What must hold after each step: the rules of `docs/guides/threads.md`, word by word, and their
judge.

The judge looks at what the graph keeps, what a fresh `connect` shows, what tabs hold, what the model
was sent, and which tools ran. It knows nothing of how the package works.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
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

Key: TypeAlias = tuple[str, str]


class BrokenRuleError(AssertionError):
    """A rule is broken."""

    def __init__(self, rule: str, why: object) -> None:
        super().__init__(f"{RULES[rule]}\n  {why}")


def require(rule: str, met: object, why: object) -> None:
    if not met:
        raise BrokenRuleError(rule, why)


def key(message: Plain) -> Key:
    """A message of the graph by id and words: an edited one keeps its id."""
    return message["id"], message["text"]


def keys(messages: Iterable[Plain]) -> set[Key]:
    return {key(message) for message in messages}


def form(message: Message) -> tuple[Any, ...]:
    """A client's message as the judge compares it with what the graph keeps."""
    calls = tuple((one.function.name, one.function.arguments) for one in calls_of(message))
    return message.role, message.id, message.content or "", calls


def kept_form(message: Plain) -> tuple[Any, ...]:
    """The same of a message of the graph."""
    role = {"human": "user", "ai": "assistant"}.get(message["type"], message["type"])
    calls = tuple((name, json.dumps(given)) for _, name, given in message["calls"])
    return role, message["id"], message["text"], calls


def calls_of(message: Message) -> Sequence[ToolCall]:
    return (message.tool_calls if isinstance(message, AssistantMessage) else None) or ()


def calls_in(messages: Iterable[Message]) -> set[tuple[str, str]]:
    """The calls in messages, each with its message."""
    return {(call.id, one.id) for one in messages for call in calls_of(one)}


def base(message_id: str) -> str:
    """The id of the message that reasoning, or a result of ours, belongs to."""
    return message_id.split(":")[0]


def ident(message: Message) -> str:
    """What a message is known by in all tabs: of a result that is its call, because a tab that has
    answered the call itself keeps its own id."""
    is_result = isinstance(message, ToolMessage)
    return f"result of {message.tool_call_id}" if is_result else message.id


def is_own(message: Message) -> bool:
    """Whether a client's message is one that graphs keep."""
    own = isinstance(message, UserMessage | AssistantMessage | ToolMessage)
    return own and not message.subagent_run_id


def is_json(text: str) -> bool:
    """Whether a text is a whole JSON document."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@dataclass
class Kept:
    """What the graph keeps of a thread."""

    messages: list[Plain]
    state: dict[str, Any]

    @property
    def ids(self) -> set[str]:
        return {message["id"] for message in self.messages}


@dataclass
class Seen:
    """What somebody sees of a thread; `is_ordered` if the messages are in its order."""

    messages: Sequence[Message]
    state: Any
    interrupts: Sequence[str] = ()
    is_ordered: bool = True

    @property
    def own(self) -> list[Message]:
        return [message for message in self.messages if is_own(message)]

    def open_calls(self, *, unfinished: bool = False) -> list[str]:
        """The ids of the calls without a result, or of those of which no model has said the
        end."""
        answered = {one.tool_call_id for one in self.own if isinstance(one, ToolMessage)}
        calls = [call for one in self.own for call in calls_of(one) if call.id not in answered]
        return [c.id for c in calls if not (unfinished and is_json(c.function.arguments))]


def told_and_kept(seen: Seen, kept: Kept) -> tuple[list[Any], list[Any]]:
    """What is seen of a thread, and what the graph keeps, in one form, without results that say
    that nobody will answer a call."""
    told = [form(one) for one in seen.own if one.id in kept.ids or one.role != "tool"]
    return told, [kept_form(one) for one in kept.messages if not one["is_summary"]]


@dataclass
class Happened:
    """What a step has done: the thread before and after it, and what the model was sent.

    `words` are those of the turns that ran, `again` is the id of the message that was edited or
    asked again, `said` the user's new message, if the step was not refused.
    """

    before: Kept
    after: Kept
    sent: list[list[Plain]]
    words: list[str]
    again: str | None = None
    said: Key | None = None
    is_killed: bool = False
    may_run: bool = True


class Judge:
    """Remembers what became of each message, and judges what is seen after each step.

    `ever` are the ids that the graph has ever kept, `before` those before the step, `unclear` those
    of which nobody can tell whether they were trimmed or removed, `partial` those of messages that
    have begun, and that the graph has never kept. `calls` are all that anybody has seen, `approved`
    counts the arguments of guarded calls, and `shown` and `shown_before` are what a fresh `connect`
    has shown after the step and before it.
    """

    def __init__(self) -> None:
        self.removed, self.calls = set[Key](), set[tuple[str, str]]()
        self.trimmed, self.unclear, self.partial = set[str](), set[str](), set[str]()
        self.ever, self.before, self.shown, self.shown_before = (set[str]() for _ in range(4))
        self.approved: Counter[str] = Counter()
        self.is_shortening = self.is_trimming = False

    def step(self, happened: Happened, ran: Sequence[str]) -> None:
        """Judge what the graph keeps, what the model was sent, and all that tools have ever run."""
        before, after, again = happened.before, happened.after, happened.again
        taken = {key(message) for request in happened.sent for message in request}
        came = keys(after.messages) - keys(before.messages)
        gone = (keys(before.messages) | taken) - keys(after.messages)
        back = {one for one in self.removed & (came | taken) if one[0] != again}
        require("removed", not back, f"in the thread again, or sent to the model: {back}")
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
        for item, times in Counter(ran).items():
            require("tools", times == 1, f"{item} ran {times} times")
            is_approved = not item.startswith("spend") or self.approved[item]
            require("tools", is_approved, f"{item} ran, approved: {self.approved}")
        ids = [message["id"] for message in after.messages]
        require("ids", len(set(ids)) == len(ids), f"the graph keeps {ids}")
        drafts = [one for one in after.messages if "draft-" in json.dumps(one)]
        require("draft", not drafts, f"the graph keeps {drafts}")

    def _sort(self, gone: set[Key], happened: Happened) -> None:
        """Decide what became of the messages that the thread has no more."""
        words, again = {*happened.words}, happened.again
        order = [message["id"] for message in happened.before.messages]
        if again in order:
            old = {one for one in gone if one[0] in order[order.index(again) :]}
            self.removed |= old
            gone = gone - old
        self.is_trimming, self.is_shortening = bool(words & TRIMS), bool(words & (TRIMS | REMOVES))
        ids = {name for name, _ in gone}
        if self.is_trimming:
            self.trimmed |= ids
            # in another turn of the same run, or by going back to a message that had been trimmed
            if words & REMOVES or (again is not None and again not in order):
                self.unclear |= ids
        elif words & REMOVES or again is not None:
            # or from an earlier checkpoint: what the graph has put there since is gone too
            self.removed |= gone
        else:
            require("lost", not gone, f"gone, though nobody has removed it: {gone}")

    def _judge_requests(self, happened: Happened) -> None:
        before, after, sent = happened.before, happened.after, happened.sent
        for request in sent:
            self._judge_calls(request)
            drafts = [one for one in request if "draft-" in json.dumps(one)]
            require("draft", not drafts, f"the model was sent {drafts}")
        if not happened.may_run:
            require("nothing", not sent, f"the model was asked {len(sent)} times")
            same = keys(before.messages) == keys(after.messages)
            require("nothing", same, f"the thread is now {after.messages}")
        if happened.said is not None:
            heard = keys(after.messages).union(*map(keys, sent))
            is_heard = happened.said in heard or "blocked" in happened.words
            require("heard", is_heard, f"{happened.said} is nowhere")
        if sent and not happened.is_killed and not self.is_shortening:
            last = [key(message) for message in sent[-1]]
            kept = [key(message) for message in after.messages]
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

    def fresh(self, seen: Seen, kept: Kept) -> None:
        """Judge what a fresh `connect` shows."""
        self._judge_ids(seen)
        self.shown_before, self.shown = self.shown, {*map(ident, seen.messages)}
        self.calls |= calls_in(seen.messages)
        told, has = told_and_kept(seen, kept)
        require("connect", told == has, f"shows {told},\n  the graph keeps {has}")
        calls = sum(len(message["calls"]) for message in kept.messages)
        unanswered = calls - sum(message["type"] == "tool" for message in kept.messages)
        require("connect", len(seen.own) - len(told) <= unanswered, f"shows {seen.own}")
        require("state", seen.state == kept.state, f"connect {seen.state}, graph {kept.state}")

    def tab(
        self, name: str, seen: Seen, fresh: Seen, held: Sequence[Message], *,
        is_cut: bool, has_run: bool, is_joined: bool,
    ) -> bool:  # fmt: skip
        """Judge what a tab holds that has run or connected; return whether it has the messages in
        the order of the thread.

        `held` is what it held before. If it `is_cut`, its run was stopped or has failed: it has no
        closing snapshot. It `has_run`, or only connected; it `is_joined` to the run of another tab.
        """
        self._judge_ids(seen)
        self.calls |= calls_in(held)
        names = ids_of_others(seen.messages, fresh.messages, self.calls)
        seen = replace(seen, messages=renamed(seen.messages, names))
        held = renamed(held, names)
        truly = [one for one in fresh.messages if not isinstance(one, ActivityMessage)]
        shown, held_ids = dict.fromkeys(map(ident, truly)), {*map(ident, held)}
        mine = [ident(message) for message in held if ident(message) in shown]
        known = [one for one in (*shown, *self.shown_before) if one in self.before]
        is_behind = has_run and not held_ids.issuperset(known)
        is_ordered = seen.is_ordered and not is_behind and mine == list(shown)[: len(mine)]
        same, truth = settled(one for one in seen.messages if ident(one) in shown), settled(truly)
        if is_cut:
            # No snapshot tells what is missing, and mends what it held before.
            same = [one for one in same if one["id"] not in held_ids]
            new = {one["id"] for one in same}
            truth = [one for one in truth if one["id"] in new]
        if not is_ordered or is_cut:  # what it has missed comes last
            same, truth = (sorted(one, key=lambda each: str(each["id"])) for one in (same, truth))
        other, missing = [m for m in same if m not in truth], [m for m in truth if m not in same]
        holds = other or [one["id"] for one in same]
        require("tab", same == truth, f"{name} holds {holds},\n  connect shows {missing or truth}")
        if is_cut:
            self.cut(one for one in seen.messages if ident(one) not in held_ids)
        shared = any(ident(message) in shown and message.id in self.before for message in held)
        for message in seen.messages:
            if ident(message) in shown or isinstance(message, ActivityMessage | ReasoningMessage):
                continue
            if message.subagent_run_id or base(message.id) in self.partial:
                continue
            is_old = ident(message) in held_ids
            if self.is_trimming and not is_old:
                self.trimmed.add(message.id)
            # No snapshot tells that the graph has removed it before it was stopped.
            is_old = is_old or message.id in self.trimmed or (is_cut and is_joined)
            require("tab", is_old, f"{name} holds {message}, connect shows {[*shown]}")
            if not shared or not is_ordered or is_cut or message.id in self.trimmed:
                continue  # what is gone stands behind what is kept: it cannot be told here
            gone = message.id in self.ever or (message.id, message.content or "") in self.removed
            require("removed", not gone, f"{name} holds {message}, which the graph keeps no more")
        stays, has = self.trimmed - self.unclear, {one.id for one in seen.messages}
        lost = [one for one in held if one.id in stays and is_own(one) and one.id not in has]
        require("trimmed", not lost or not is_ordered, f"{name} has lost {lost}")
        half = [one for one in seen.messages if base(one.id) in self.partial]
        answered = {call_id for call_id, _ in calls_in(half)}  # maybe by the tab
        whole = [one for one in seen.messages if base(one.id) not in self.partial]
        whole = [one for one in whole if getattr(one, "tool_call_id", None) not in answered]
        texts = [one for one in whole if "draft-" in one.model_dump_json()]
        require("draft", not texts, f"{name} holds {texts}")
        same_state = is_cut or seen.state == fresh.state
        require("state", same_state, f"{name} {seen.state}, connect {fresh.state}")
        begun = [one for one in held if one.id in self.partial and one.id not in shown]
        left = {*Seen(begun, None).open_calls(unfinished=True)}.difference(fresh.open_calls())
        waiting = left.intersection(seen.open_calls())
        may_wait = is_cut or is_joined or fresh.interrupts
        require("partial", may_wait or not waiting, f"{name} waits for {waiting}")
        asked, truly_asked = sorted(seen.interrupts), sorted(fresh.interrupts)
        require("open", is_cut or asked == truly_asked, f"{name} {asked}, connect {truly_asked}")
        return is_ordered and not (is_cut and self.is_shortening)

    def cut(self, messages: Iterable[Message]) -> None:
        """Note what a tab has of an answer that was stopped: the graph has never kept it."""
        self.partial |= {base(one.id) for one in messages if one.id not in self.ever}

    def _judge_ids(self, seen: Seen) -> None:
        ids = [message.id for message in seen.messages]
        calls = [call.id for message in seen.messages for call in calls_of(message)]
        results = [one.tool_call_id for one in seen.messages if isinstance(one, ToolMessage)]
        counts = [Counter(one) for one in (ids, calls, results)]
        twice = [name for one in counts for name, count in one.items() if count > 1]
        require("ids", not twice, f"{twice} in {seen.messages}")


def ids_of_others(
    messages: Iterable[Message], fresh: Iterable[Message], ever: Collection[tuple[str, str]]
) -> dict[str, str]:
    """The ids that calls of a tab have for others, where `fresh` is what a fresh `connect` shows,
    and `ever` all calls that anybody has seen.

    A call gets a longer id where another message has a call of its id. The tab, or the others, may
    not have that message: its call gets a name of its own.
    """
    calls = {one.id: calls_of(one) for one in fresh}
    names = {
        call.id: same.id
        for one in messages
        for call, same in zip(calls_of(one), calls.get(one.id, ()), strict=False)
        if call.id != same.id
        and {f"{one.id}:{call.id}", f"{one.id}:{same.id}"} & {call.id, same.id}
        and any(name in (call.id, same.id) and holder != one.id for name, holder in ever)
    }
    return {**{name: f"{name} before" for name in names.values()}, **names}


def renamed(messages: Iterable[Message], names: dict[str, str]) -> list[Message]:
    """Messages with other ids of calls."""

    def fresh(one: Any, name: str) -> Any:
        return one.model_copy(update={name: names.get(getattr(one, name), getattr(one, name))})

    result: list[Message] = []
    for one in messages:
        if own := [fresh(call, "id") for call in calls_of(one)]:
            result.append(one.model_copy(update={"tool_calls": own}))
        else:
            result.append(fresh(one, "tool_call_id") if isinstance(one, ToolMessage) else one)
    return result


def settled(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Messages as JSON, and the results of calls behind them: a tab has those as they arrived, and
    some with its snapshot."""
    made: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for message in messages:
        dump = message.model_dump(by_alias=True, mode="json", exclude_none=True)
        if isinstance(message, ToolMessage):
            # No event tells `error`, and the client's own results have no opaque value in its tab.
            kept = {name: dump[name] for name in dump.keys() - {"error", "encryptedValue"}}
            results.append({**kept, "id": ident(message)})
        else:
            made.append(dump)
    return [*made, *sorted(results, key=lambda one: str(one["id"]))]

"""The oracle: whose each event and message must be, by the words in it, and what is sent about a
subagent itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ag_ui.core import AssistantMessage, Event, Message, ToolMessage

from tests.kit.graphs.subagents import BOSS, Built
from tests.kit.run.agents import RecordedRun

ENDS = ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")
ITEMS = ("TEXT_MESSAGE", "REASONING_MESSAGE", "REASONING", "TOOL_CALL", "STEP")


def tag(recorded: Any) -> str | None:
    return getattr(recorded, "subagent_run_id", None)


def starts(events: Iterable[Any]) -> dict[str, Any]:
    """The subagents that were told to start, by id."""
    return {one.subagent_run_id: one for one in events if one.type.value == "SUBAGENT_STARTED"}


def ends(events: Iterable[Any]) -> dict[str, Any]:
    """How the subagents have ended, by id."""
    return {one.subagent_run_id: one for one in events if one.type.value in ENDS}


def check_all(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """Check a run in mode "attributed" that did not fail; return the subagents' ids by their
    speakers."""
    recorded.check_snapshot()
    owners = check_owners(recorded, built)
    told = starts(recorded.events)
    assert sorted(told[one].name for one in {*told} - {*owners.values()}) == sorted(built.silent)
    return owners


def check_owners(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """The same of a run that failed or was stopped."""
    check_lifecycle(recorded.events)
    check_tags(recorded)
    owners = check_words(recorded, built)
    check_links(recorded, built, owners)
    return owners


def check_lifecycle(events: Sequence[Any]) -> None:
    """Each subagent starts and ends once, within its parent, before and after all that is tagged
    with it."""
    opened: dict[str, str | None] = {}
    items: dict[str, list[tuple[str, str]]] = defaultdict(list)
    ended: set[str] = set()
    for event in events:
        kind, subagent = event.type.value, tag(event)
        item, _, what = kind.rpartition("_")
        if subagent is None:
            continue
        if kind == "SUBAGENT_STARTED":
            assert subagent not in {*opened} | ended, event
            assert event.parent_subagent_run_id in {None, *opened}, event
            opened[subagent] = event.parent_subagent_run_id
        elif kind in ENDS:
            assert subagent not in opened.values(), f"{subagent} ends before its children"
            assert not items[subagent], f"{subagent} ends with open items: {items[subagent]}"
            del opened[subagent]
            ended.add(subagent)
        elif subagent in ended:
            # Whether the root's own state holds a message is known when the node that ran the
            # subagent has ended.
            assert kind == "REASONING_ENCRYPTED_VALUE", f"after the end of its subagent: {event}"
        else:
            assert subagent in opened, f"before the start of its subagent: {event}"
            if item in ITEMS and what in ("START", "STARTED"):
                items[subagent].append(_item(event))
            elif item in ITEMS and what in ("END", "FINISHED"):
                items[subagent].remove(_item(event))
    assert not opened


def _item(event: Any) -> tuple[str, str]:
    own = getattr(event, "step_name", None) or getattr(event, "tool_call_id", None)
    return event.type.value.rpartition("_")[0], own or event.message_id


def check_tags(recorded: RecordedRun) -> None:
    """All events of one item have the same tag; so have a call and its message, and a value and
    what it is of."""
    owners = _owners_of(recorded.input.messages)
    for event in recorded.events:
        kind: str = event.type.value
        one: Any = event
        if kind == "MESSAGES_SNAPSHOT":
            owners |= _owners_of(one.messages)
        if kind == "REASONING_ENCRYPTED_VALUE":
            item = one.entity_id
        elif kind == "TOOL_CALL_RESULT" or kind.startswith(("TEXT_", "REASONING_", "ACTIVITY_")):
            item = one.message_id
        elif kind.startswith("TOOL_CALL_"):
            item = one.tool_call_id
        else:
            continue
        assert owners.setdefault(item, tag(event)) == tag(event), event
        if kind == "TOOL_CALL_START":
            assert owners[one.parent_message_id] == tag(event), event


def _owners_of(messages: Iterable[Message]) -> dict[str, str | None]:
    """The owners of messages and of their calls."""
    owners: dict[str, str | None] = {}
    for message in messages:
        owners[message.id] = tag(message)
        owners |= {call.id: tag(message) for call in getattr(message, "tool_calls", None) or ()}
    return owners


def speaker_of(words: str) -> str:
    """Who said this: a text, or the id of a call."""
    return words.partition(":")[0] if ":" in words else words.rpartition(".")[0]


def sayings(events: Iterable[Any]) -> list[tuple[str, str | None]]:
    """Every text, reasoning, call and result of a stream by its speaker, with its owner."""
    found: list[tuple[str, str | None]] = []
    said: dict[Any, str] = {}
    for event in events:
        kind: str = event.type.value
        item = (kind.partition("_")[0], getattr(event, "message_id", None), tag(event))
        if kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START") and event.role != "user":
            said[item] = ""
        elif kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT") and item in said:
            said[item] += event.delta
        elif kind in ("TOOL_CALL_START", "TOOL_CALL_RESULT"):
            found.append((speaker_of(event.tool_call_id), tag(event)))
    return [*found, *((speaker_of(words), item[2]) for item, words in said.items() if words)]


def written(messages: Iterable[Message]) -> list[tuple[str, str | None]]:
    """The same of messages."""
    found = []
    for message in messages:
        if isinstance(message, ToolMessage):
            found.append((speaker_of(message.tool_call_id), tag(message)))
        elif message.role in ("assistant", "reasoning") and message.content:
            found.append((speaker_of(str(message.content)), tag(message)))
        if isinstance(message, AssistantMessage):
            found += [(speaker_of(call.id), tag(message)) for call in message.tool_calls or ()]
    return found


def check_words(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """A speaker has one subagent, its own; the boss and its team speak as the parent. Returns the
    subagents by speakers."""
    owners: dict[str, str] = {}
    snapshot = recorded.snapshot if recorded.of("MESSAGES_SNAPSHOT") else []
    told = [*sayings(recorded.events), *written(recorded.messages), *written(snapshot)]
    for speaker, owner in told:
        if speaker == BOSS or speaker in built.team:
            assert owner is None, f"{speaker} speaks in {owner}"
        elif owner is not None or speaker not in built.copied:
            assert speaker in built.subagents, f"somebody unknown: {speaker!r}"
            assert owner is not None, f"{speaker} speaks as the parent"
            assert owners.setdefault(speaker, owner) == owner, f"{speaker} speaks in two subagents"
    assert len(set(owners.values())) == len(owners), f"two speakers in one subagent: {owners}"
    return owners


def check_links(recorded: RecordedRun, built: Built, owners: dict[str, str]) -> None:
    """A subagent starts with its name, its parent, and the call that it answers, which is the
    parent's, as the message beside it."""
    told = starts(recorded.events)
    for speaker, subagent in owners.items():
        if subagent not in told:
            continue
        expected, start = built.subagents[speaker], told[subagent]
        parent = owners.get(expected.parent)
        assert (parent is None) == (expected.parent == BOSS)
        assert (start.name, start.description) == (expected.name, expected.description)
        found = start.parent_subagent_run_id, start.parent_tool_call_id
        assert found == (parent, expected.call)
        assert (start.parent_message_id is None) == (expected.call is None)
        if expected.call is not None:
            [calling] = [one for one in recorded.messages if one.id == start.parent_message_id]
            assert expected.call in [call.id for call in calling.tool_calls]
            assert tag(calling) == parent


def check_no_subagents(recorded: RecordedRun) -> None:
    """Nothing in a stream says that there are subagents."""
    assert not recorded.of("SUBAGENT_STARTED", *ENDS)
    for event in recorded.events:
        assert '"subagentRunId":"' not in event.model_dump_json(by_alias=True), event


def interleaved(events: Iterable[Event], one: str | None, other: str | None) -> bool:
    """Whether two subagents speak in turns: one, the other, and the one again."""
    spoken = [tag(event) for event in events if event.type.value.endswith("_CONTENT")]
    order = [who for who in spoken if who in (one, other)]
    return sum(before != after for before, after in pairwise(order)) > 1

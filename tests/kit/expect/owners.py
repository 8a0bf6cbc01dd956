"""The oracle: whose each event and message must be, by the words in it, and what is sent about a
subagent itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import AssistantMessage, Event, Message, ToolMessage

from tests.kit.graphs.subagents import BOSS, Built, ExpectedSubagent
from tests.kit.run.agents import RecordedRun

OPENS = {
    "TEXT_MESSAGE_START",
    "REASONING_MESSAGE_START",
    "REASONING_START",
    "TOOL_CALL_START",
    "STEP_STARTED",
}
CLOSES = {
    "TEXT_MESSAGE_END",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "TOOL_CALL_END",
    "STEP_FINISHED",
}
ENDS = ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")


def tag(recorded: Any) -> str | None:
    return getattr(recorded, "subagent_run_id", None)


def starts(events: Iterable[Event]) -> dict[str, Any]:
    """The subagents that were told to start, by id."""
    return {
        event.subagent_run_id: event for event in events if event.type.value == "SUBAGENT_STARTED"
    }  # type: ignore[union-attr]


def ends(events: Iterable[Event]) -> dict[str, Any]:
    """How the subagents have ended, by id."""
    return {event.subagent_run_id: event for event in events if event.type.value in ENDS}  # type: ignore[union-attr]


def check_all(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """Check a run in mode "attributed" that did not fail; return the subagents' ids by their
    speakers."""
    recorded.check_snapshot()
    check_lifecycle(recorded.events)
    check_tags(recorded)
    owners = check_words(recorded, built)
    check_links(recorded, built.subagent_ids, owners)
    silent = sorted(
        event.name
        for subagent_id, event in starts(recorded.events).items()
        if subagent_id not in owners.values()
    )
    assert silent == sorted(built.silent)
    return owners


def check_lifecycle(events: Sequence[Event]) -> None:
    """Each subagent starts and ends once, within its parent, before and after all that is tagged
    with it."""
    open_subagents: dict[str, str | None] = {}
    open_items: dict[str, list[tuple[str, str]]] = defaultdict(list)
    ended: set[str] = set()
    for event in events:
        kind, subagent_id = event.type.value, tag(event)
        if kind == "SUBAGENT_STARTED":
            assert subagent_id is not None
            assert subagent_id not in open_subagents, event
            assert subagent_id not in ended, event
            parent = event.parent_subagent_run_id  # type: ignore[union-attr]
            assert parent is None or parent in open_subagents, event
            open_subagents[subagent_id] = parent
        elif kind in ENDS:
            assert subagent_id in open_subagents, event
            assert subagent_id not in open_subagents.values(), (
                f"{subagent_id} ends before its children"
            )
            assert not open_items[subagent_id], (
                f"{subagent_id} ends with open items: {open_items[subagent_id]}"
            )
            del open_subagents[subagent_id]
            ended.add(subagent_id)
        elif subagent_id is not None and subagent_id in ended:
            # Whether the root's own state holds a message is known when the node that ran the
            # subagent has ended.
            assert kind == "REASONING_ENCRYPTED_VALUE", (
                f"{kind} after the end of its subagent: {event}"
            )
        elif subagent_id is not None:
            assert subagent_id in open_subagents, (
                f"{kind} before the start of its subagent: {event}"
            )
            if kind in OPENS:
                open_items[subagent_id].append(_item(event))
            elif kind in CLOSES:
                open_items[subagent_id].remove(_item(event))
    assert not open_subagents


def _item(event: Any) -> tuple[str, str]:
    kind = event.type.value.rpartition("_")[0]
    one = (
        getattr(event, "step_name", None)
        or getattr(event, "tool_call_id", None)
        or event.message_id
    )
    return kind, one


def owners_of(messages: Iterable[Message]) -> dict[str, str | None]:
    """The owners of messages and of their calls."""
    owners: dict[str, str | None] = {}
    for message in messages:
        owners[message.id] = tag(message)
        owners |= {call.id: tag(message) for call in getattr(message, "tool_calls", None) or ()}
    return owners


def check_tags(recorded: RecordedRun) -> None:
    """All events of one item have the same tag; so have a call and its message, and a value and
    what it is of."""
    owners = owners_of(recorded.input.messages)
    for event in recorded.events:
        kind: str = event.type.value
        if kind == "MESSAGES_SNAPSHOT":
            owners |= owners_of(event.messages)  # type: ignore[union-attr]
        if kind == "REASONING_ENCRYPTED_VALUE":
            item = event.entity_id  # type: ignore[union-attr]
        elif kind == "TOOL_CALL_RESULT" or kind.startswith(("TEXT_", "REASONING_", "ACTIVITY_")):
            item = event.message_id  # type: ignore[union-attr]
        elif kind.startswith("TOOL_CALL_"):
            item = event.tool_call_id  # type: ignore[union-attr]
        else:
            continue
        assert owners.setdefault(item, tag(event)) == tag(event), event
        if kind == "TOOL_CALL_START":
            assert owners[event.parent_message_id] == tag(event), event  # type: ignore[union-attr]


def speaker_of(words: str) -> str:
    """Who said this: a text, or the id of a call."""
    return words.partition(":")[0] if ":" in words else words.rpartition(".")[0]


def sayings(events: Iterable[Event]) -> list[tuple[str, str | None]]:
    """Every text, reasoning, call and result of a stream by its speaker, with its owner."""
    said: dict[tuple[str, str], list[str]] = {}
    found: list[tuple[str, str | None]] = []
    owners: dict[tuple[str, str], str | None] = {}
    for event in events:
        kind: Any = event.type.value
        item: Any = (kind.partition("_")[0], getattr(event, "message_id", None))
        if (
            kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
            and getattr(event, "role", "") != "user"
        ):
            said[item], owners[item] = [], tag(event)
        elif kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT") and item in said:
            said[item].append(event.delta)  # type: ignore[union-attr]
        elif kind in ("TOOL_CALL_START", "TOOL_CALL_RESULT"):
            found.append((speaker_of(event.tool_call_id), tag(event)))  # type: ignore[union-attr]
    found += [(speaker_of("".join(words)), owners[item]) for item, words in said.items() if words]
    return found


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
    subagent_ids: Mapping[str, ExpectedSubagent] = built.subagent_ids
    snapshot = recorded.snapshot if recorded.of("MESSAGES_SNAPSHOT") else []
    told_owners = [*sayings(recorded.events), *written(recorded.messages), *written(snapshot)]
    for speaker, owner in told_owners:
        in_conversation = speaker == BOSS or speaker in built.team
        assert in_conversation or speaker in subagent_ids, f"somebody unknown: {speaker!r}"
        if in_conversation:
            assert owner is None, f"{speaker} speaks in {owner}"
        elif owner is None and speaker in built.copied:
            continue
        else:
            assert owner is not None, f"{speaker} speaks as the parent"
            assert owners.setdefault(speaker, owner) == owner, f"{speaker} speaks in two subagents"
    assert len(set(owners.values())) == len(owners), f"two speakers in one subagent: {owners}"
    return owners


def check_links(
    recorded: RecordedRun, subagent_ids: Mapping[str, ExpectedSubagent], owners: Mapping[str, str]
) -> None:
    """A subagent starts with its name, its parent, and the call that it answers, which is the
    parent's."""
    speakers = {subagent_id: speaker for speaker, subagent_id in owners.items()}
    for subagent_id, start in starts(recorded.events).items():
        if subagent_id not in speakers:
            continue
        expected = subagent_ids[speakers[subagent_id]]
        parent = owners.get(expected.parent)
        assert (parent is None) == (expected.parent == BOSS)
        assert start.name == expected.name
        assert start.description == expected.description
        assert start.parent_subagent_run_id == parent
        assert start.parent_tool_call_id == expected.call
        check_call(recorded, start, parent)


def check_call(recorded: RecordedRun, start: Any, parent: str | None) -> None:
    """The call that a subagent answers is in the message that is named beside it, and both are the
    parent's."""
    if start.parent_tool_call_id is None:
        assert start.parent_message_id is None
        return
    calling = next(
        message for message in recorded.messages if message.id == start.parent_message_id
    )
    assert isinstance(calling, AssistantMessage)
    assert start.parent_tool_call_id in [call.id for call in calling.tool_calls or ()]
    assert tag(calling) == parent


def check_no_subagents(recorded: RecordedRun) -> None:
    """Nothing in a stream says that there are subagents."""
    assert not recorded.of("SUBAGENT_STARTED", *ENDS)
    for event in recorded.events:
        assert tag(event) is None, event
        assert '"subagentRunId":"' not in event.model_dump_json(by_alias=True), event


def interleaved(events: Iterable[Event], one: str | None, other: str | None) -> bool:
    """Whether two subagents speak in turns: one, the other, and the one again."""
    order: list[str | None] = []
    for event in events:
        if (
            event.type.value.endswith("_CONTENT")
            and tag(event) in (one, other)
            and order[-1:] != [tag(event)]
        ):
            order.append(tag(event))
    return len(order) > 2

"""What comes of a scenario under each package, and what differs, in words."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import jsonpatch

LONGEST = 40
RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}")


class Played(NamedTuple):
    """What came of a scenario: what failed, the turns that ended without an error, what the client
    holds at the end, how many values each key of the state has had, the types of events, of custom
    ones with their names, and the bytes of the event streams."""

    failures: list
    turns: int
    messages: list
    state: dict
    growth: dict
    events: list
    size: int


def play(scenario, front):
    """Play a scenario to its end, or until it cannot go on."""
    failures = []
    try:
        for what, found, expected in scenario.play(front):
            if found != expected:
                failures.append(f"{what} is {said(found)}, not {said(expected)}")
    except Exception as error:
        failures.append(reason(error, front))
    last, wire = front.runs[-1], b"".join(front.wire())
    frames = [json.loads(frame.removeprefix(b"data: ")) for frame in wire.split(b"\n\n") if frame]
    types = {
        f"{one['type']} {one['name']}" if one["type"] == "CUSTOM" else one["type"] for one in frames
    }
    turns = sum(run.error is None and run.runError is None for run in front.runs)
    return Played(
        failures, turns, last.messages, last.state, growth(frames), sorted(types), len(wire)
    )


def growth(frames):
    """Count the values that each key of the state has had, one after the other."""
    state, counts = {}, {}
    for frame in frames:
        before = state
        if frame["type"] == "STATE_SNAPSHOT":
            state = frame["snapshot"]
        elif frame["type"] == "STATE_DELTA":
            state = jsonpatch.apply_patch(state, frame["delta"])
        for key, value in state.items():
            counts[key] = counts.get(key, 0) + (key not in before or before[key] != value)
    return counts


def reason(error, front):
    """Say why a conversation does not go on."""
    last = front.runs[-1] if front.runs else None
    if last and last.error:
        return f"the client raises “{short(last.error, 2 * LONGEST)}”"
    if last and last.runError:
        return f"the run ends with the error “{short(last.runError['message'], 2 * LONGEST)}”"
    text = str(error).partition("\n")[0] if isinstance(error, AssertionError) else repr(error)
    return short(text, 2 * LONGEST)


def short(text, longest=LONGEST):
    """Return text as one line of a table's cell, without random ids."""
    text = RANDOM.sub("…", " ".join(text.split())).replace("|", "\\|")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def said(value):
    """Say a value; messages are as `shape` makes them."""
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return ", ".join(map(said, value))
    if not isinstance(value, tuple):
        return f"`{short(json.dumps(value))}`"
    role, text, calls = value
    if calls:
        return f"the call of {listed(calls, ' and ')}"
    return "a result" if role == "tool" else f"“{short(str(text))}”"


def calls_of(message):
    return message.get("toolCalls") or ()


def described(message, messages):
    """Say which of the messages one is."""
    if message["role"] != "tool":
        names = [call["function"]["name"] for call in calls_of(message)]
        return said((message["role"], message.get("content"), names))
    made = [
        call for one in messages for call in calls_of(one) if call["id"] == message["toolCallId"]
    ]
    return f"the result of {listed([call['function']['name'] for call in made])}"


def listed(names, between=", "):
    return between.join(f"`{name}`" for name in names)


class Differences(NamedTuple):
    """What differs in the messages, in words, and what is on one side alone, by place and side."""

    messages: list
    alone: dict


def differences(there, here):
    alone = {}
    for side, one, other in (("there", there, here), ("here", here, there)):
        alone["messages", side] = without(fields(one), fields(other))
        alone["the state", side] = without(one.state, other.state)
        alone["events", side] = without(one.events, other.events)
    both = {key: value for key, value in there.state.items() if key in here.state}
    changed = [
        f"`{key}` is {said(value)} there, {said(here.state[key])} here"
        for key, value in both.items()
        if here.state[key] != value
    ]
    grown = [
        f"`{key}` has had {count} value{'s' * (count != 1)} there, {here.growth[key]} here"
        for key, count in there.growth.items()
        if key in here.state and here.growth.get(key, count) != count
    ]
    return Differences(
        [*message_differences(there.messages, here.messages), *changed, *grown], alone
    )


def merged(found):
    """Return what differs for any client; what does not for all is followed by their versions."""
    places = sorted({place for one in found.values() for place in one.alone})
    alone = [
        for_all({client: one.alone[place] for client, one in found.items()}) for place in places
    ]
    messages = for_all({client: one.messages for client, one in found.items()})
    return Differences(messages, dict(zip(places, alone, strict=True)))


def for_all(items):
    """Return the items of any client; those that not all have are followed by the clients'
    versions."""
    found = []
    for item in dict.fromkeys(item for own in items.values() for item in own):
        clients = [client for client, own in items.items() if item in own]
        found.append(item if len(clients) == len(items) else f"{item} ({', '.join(clients)})")
    return found


def without(items, others):
    return [item for item in items if item not in others]


def fields(played):
    """Return the fields of messages that have a value."""
    return sorted({key for message in played.messages for key, value in message.items() if value})


def message_differences(there, here):
    """Say which messages only one side has, and how their order differs. Ids do not count."""
    left, right = [*map(plain, there)], [*map(plain, here)]
    sides = (("there", there, left, right), ("here", here, right, left))
    found = [f"{len(there)} messages there, {len(here)} here"] if len(there) != len(here) else []
    for side, held, own, others in sides:
        pairs = zip(held, own, strict=True)
        only = [described(message, held) for message, one in pairs if one not in others]
        found += [f"{', '.join(only)} {side} alone"] if only else []
    late = {side: late_results(held) for side, held, _, _ in sides}
    if late["there"] != late["here"]:
        found += [f"{', '.join(results)} {side}" for side, results in late.items() if results]
    if not found and left != right:
        orders = [
            f"{', '.join(described(one, held) for one in held)} {side}"
            for side, held, _, _ in sides
        ]
        found.append(f"the order is {'; '.join(orders)}")
    return found


def late_results(messages):
    """Say which results do not come right after their calls."""
    found, before = {}, {}
    for message in messages:
        if message["role"] != "tool":
            before = message
        elif message["toolCallId"] not in [call["id"] for call in calls_of(before)]:
            found.setdefault(described(message, messages), []).append(described(before, messages))
    return [f"{result} comes after {' and '.join(places)}" for result, places in found.items()]


def plain(message):
    """Return who says what and calls what, as one comparable value."""
    calls = [call["function"] for call in calls_of(message)]
    made = [(call["name"], json.loads(call["arguments"] or "{}")) for call in calls]
    return json.dumps([message["role"], message.get("content") or "", made], sort_keys=True)

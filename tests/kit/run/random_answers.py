"""Random AG-UI streams that keep the rules, for Hypothesis: items that are cut at random and
interleave."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.kit.run.wire_events import Wire, event

said = st.text('ab \n"{é😀', max_size=8)
metadata = st.sampled_from([None, None, {}, {"a": 1}, {"a": None, "b": {"c": []}}])
spellings: list[Any] = [{}, {"ensure_ascii": False}, {"separators": (",", ":")}]
values = st.one_of(said, st.integers(), st.none(), st.floats())
spelled = st.tuples(st.dictionaries(said, values, max_size=3), st.sampled_from(spellings))
odd = ["", "{", '{"a": 1', '{"a": 1, "a": 2}', "[1]", "null", '"x"', " {} "]
arguments = st.one_of(
    spelled.map(lambda given: json.dumps(given[0], **given[1])), st.sampled_from(odd), said
)


@dataclass(frozen=True)
class Spec:
    """One item: what it says, and what its opener says beside the id."""

    kind: str
    id: str
    text: str
    opener: Wire = field(default_factory=dict)

    @property
    def name(self) -> Wire:
        return {"toolCallId" if self.kind == "TOOL_CALL" else "messageId": self.id}

    def start(self) -> Wire:
        role = {"role": "reasoning"} if self.kind == "REASONING_MESSAGE" else {}
        return event(f"{self.kind}_START", **self.name, **role, **self.opener)

    def more(self, delta: str) -> Wire:
        part = "ARGS" if self.kind == "TOOL_CALL" else "CONTENT"
        return event(f"{self.kind}_{part}", **self.name, delta=delta)

    def end(self) -> Wire:
        return event(f"{self.kind}_END", **self.name)

    def encrypted(self, value: str) -> Wire:
        subtype = "tool-call" if self.kind == "TOOL_CALL" else "message"
        fields = {"subtype": subtype, "entityId": self.id, "encryptedValue": value}
        return event("REASONING_ENCRYPTED_VALUE", **fields)


@st.composite
def pieces(draw: Any, text: str) -> list[str]:
    """`text` cut at random places, by UTF-16 code unit as JSON escapes can cut it."""
    units = text.encode("utf-16-le")
    places = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=4)))
    cut = [units[2 * a : 2 * b] for a, b in pairwise([0, *places, len(units) // 2])]
    return [half.decode("utf-16-le", "surrogatepass") for half in cut]


ABOUT: list[Wire] = [{}, {}, {"name": "Ann"}, {"role": "assistant"}, {"role": "user"}]


@st.composite
def specs(draw: Any, args: Any = arguments) -> list[Spec]:
    """Items with ids of their own; a call's parent is a text of the same owner, a message of calls
    alone, or nobody."""
    found: list[Spec] = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from("trc"), max_size=5))):
        owner = draw(st.sampled_from([None, None, None, "a"]))
        opener: Wire = {} if owner is None else {"subagentRunId": owner}
        if (extra := draw(metadata)) is not None:
            opener["metadata"] = extra
        if kind == "t":
            opener |= draw(st.sampled_from(ABOUT))
            found.append(Spec("TEXT_MESSAGE", f"t{number}", draw(said), opener))
        elif kind == "r":
            found.append(Spec("REASONING_MESSAGE", f"r{number}", draw(said), opener))
        else:
            own = [one for one in found if one.opener.get("subagentRunId") == owner]
            texts = [one for one in own if one.kind == "TEXT_MESSAGE"]
            ids = [one.id for one in texts if one.opener.get("role") != "user"]
            parent = draw(st.sampled_from([None, f"h{owner}", *ids]))
            opener |= {"toolCallName": draw(st.sampled_from("fg"))}
            opener |= {} if parent is None else {"parentMessageId": parent}
            found.append(Spec("TOOL_CALL", f"c{number}", draw(args), opener))
    return draw(st.permutations(found))


@st.composite
def recorded(draw: Any, spec: Spec) -> list[Wire]:
    """The events of one item, opened once or twice, with encrypted values of it in between and
    after."""
    events: list[Wire] = []
    for half in draw(st.sampled_from([[spec.text], [spec.text[:3], spec.text[3:]]])):
        cut = draw(pieces(half)) if half or draw(st.booleans()) else []
        content = [spec.more(piece) for piece in cut]
        if content and (extra := draw(metadata)) is not None:
            content[-1]["metadata"] = extra
        events += [spec.start(), *content, spec.end()]
    for value in draw(st.lists(st.sampled_from(["v1", "v2"]), max_size=2)):
        events.insert(draw(st.integers(1, len(events))), spec.encrypted(value))
    return events


ASIDE = [
    event("STATE_SNAPSHOT", snapshot={"x": 1}),
    event("CUSTOM", name="n", value=None),
    event("RAW", event=None),
    event("REASONING_START", messageId="span"),
    event("REASONING_END", messageId="span"),
]


@st.composite
def streams(draw: Any, args: Any = arguments) -> list[Wire]:
    """The events of several items, interleaved; no run around them."""
    tracks = [draw(recorded(spec)) for spec in draw(specs(args))]
    tracks.append(list(draw(st.sampled_from([[], ASIDE]))))
    events: list[Wire] = []
    while any(tracks):
        events.append(draw(st.sampled_from([track for track in tracks if track])).pop(0))
    return events


@st.composite
def recorded_again(draw: Any, given: list[Spec]) -> list[Wire]:
    """The same items one after the other: each cut at random, as start, content and end or as chunk
    events."""
    events: list[Wire] = []
    for spec in given:
        cut = draw(pieces(spec.text))
        if draw(st.booleans()):
            events += [spec.start(), *map(spec.more, cut), spec.end()]
        else:
            chunk = f"{spec.kind}_CHUNK"
            # A chunk that names nothing would go on with what the parent agent holds open.
            ways = [spec.name] if "subagentRunId" in spec.opener else [{}, spec.name]
            events.append(event(chunk, **spec.name, **spec.opener))
            events += [event(chunk, **draw(st.sampled_from(ways)), delta=delta) for delta in cut]
        events.append(spec.encrypted(f"value of {spec.id}"))
    return events

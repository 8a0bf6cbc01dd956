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
arguments = st.one_of(
    st.dictionaries(
        said, st.one_of(said, st.integers(), st.none(), st.floats()), max_size=3
    ).flatmap(
        lambda value: st.sampled_from(
            [
                json.dumps(value),
                json.dumps(value, ensure_ascii=False),
                json.dumps(value, separators=(",", ":")),
            ]
        )
    ),
    st.sampled_from(["", "{", '{"a": 1', '{"a": 1, "a": 2}', "[1]", "null", '"x"', " {} "]),
    said,
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

    def more(self, delta: str, **fields: Any) -> Wire:
        return event(
            f"{self.kind}_{'ARGS' if self.kind == 'TOOL_CALL' else 'CONTENT'}",
            **self.name,
            delta=delta,
            **fields,
        )

    def end(self) -> Wire:
        return event(f"{self.kind}_END", **self.name)

    def encrypted(self, value: str) -> Wire:
        subtype = "tool-call" if self.kind == "TOOL_CALL" else "message"
        return event(
            "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=self.id, encryptedValue=value
        )


@st.composite
def pieces(draw: Any, text: str) -> list[str]:
    """`text` cut at random places, by UTF-16 code unit as JSON escapes can cut it."""
    units = text.encode("utf-16-le")
    places = sorted(draw(st.lists(st.integers(0, len(units) // 2), max_size=4)))
    cut = [units[2 * a : 2 * b] for a, b in pairwise([0, *places, len(units) // 2])]
    return [half.decode("utf-16-le", "surrogatepass") for half in cut]


@st.composite
def specs(draw: Any, most: int = 5, args: Any = arguments) -> list[Spec]:
    """Items with ids of their own; a call's parent is a text of the same owner, a message of calls
    alone, or nobody."""
    found: list[Spec] = []
    for number, kind in enumerate(draw(st.lists(st.sampled_from("trc"), max_size=most))):
        owner = draw(st.sampled_from([None, None, None, "a"]))
        opener: Wire = {} if owner is None else {"subagentRunId": owner}
        if (recorded := draw(metadata)) is not None:
            opener["metadata"] = recorded
        match kind:
            case "t":
                opener |= draw(
                    st.sampled_from(
                        [{}, {}, {"name": "Ann"}, {"role": "assistant"}, {"role": "user"}]
                    )
                )
                found.append(Spec("TEXT_MESSAGE", f"t{number}", draw(said), opener))
            case "r":
                found.append(Spec("REASONING_MESSAGE", f"r{number}", draw(said), opener))
            case "c":
                texts = [
                    spec.id
                    for spec in found
                    if spec.kind == "TEXT_MESSAGE"
                    and spec.opener.get("role") != "user"
                    and spec.opener.get("subagentRunId") == owner
                ]
                parent = draw(st.sampled_from([None, f"h{owner}", *texts]))
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
        content = (
            [spec.more(piece) for piece in draw(pieces(half))]
            if half or draw(st.booleans())
            else []
        )
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
    tracks = [draw(recorded(spec)) for spec in draw(specs(args=args))] + [
        list(draw(st.sampled_from([[], ASIDE])))
    ]
    events: list[Wire] = []
    while any(tracks):
        track = draw(st.sampled_from([track for track in tracks if track]))
        events.append(track.pop(0))
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
            named = [draw(st.sampled_from(ways)) for _ in cut]
            events.append(event(chunk, **spec.name, **spec.opener))
            events += [
                event(chunk, **name, delta=delta) for name, delta in zip(named, cut, strict=True)
            ]
        events.append(spec.encrypted(f"value of {spec.id}"))
    return events

"""Random AG-UI streams: orderly ones with every feature of the protocol, and damaged ones.

Few ids are in play, so that streams collide, reopen, restate and contradict each other often. Plain
``random`` rather than Hypothesis strategies: a stream is hundreds of choices, and thousands of
streams must come in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.kit.run.wire_events import ERROR, FINISHED, STARTED, Wire, event, message

OWNERS = [None, None, None, None, "a", "b", ""]
MESSAGE_IDS = ["m", "n", "q", "y", "c"]
CALL_IDS = ["c", "d", "m"]
TEXTS = ["", "x", "é🙂", '{"k":', "1}", "\ud83d", "\ude00", "line\n\u2028\r"]
KEYS = ["k", "l", "0", "a/b", "~", ""]
METADATA = [None, None, {}, {"p": None}, {"p": {"z": []}, "ag-ui": 1}]
ROLES = ["user", "assistant", "assistant", "system", "tool", "reasoning", "activity"]
SUSPENDED = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]}
ENDS = [FINISHED, ERROR, {**FINISHED, "outcome": SUSPENDED}]
ENDS += [{**FINISHED, "outcome": {"type": "novelty"}, "result": None}]
OUTCOMES = [None, *({"type": one} for one in ("success", "suspended", "novelty"))]
ASIDES = [
    event("RAW", event=None),
    event("CUSTOM", name="n", value=None),
    event("RAW", event={"messageId": None}, surprise=1),
    event("FUTURE_EVENT", delta=1),
    event("CUSTOM", name="n", value={"type": "x"}, rawEvent=None),
]


class Streams:
    """Draws whole streams, histories and states from one source of randomness."""

    def __init__(self, random: Random) -> None:
        self.random, self.pick = random, random.choice

    def some(self, most: int) -> range:
        return range(self.random.randint(0, most))

    def json(self, depth: int = 2) -> Any:
        kind = self.random.randint(0, 9)
        if depth and kind == 0:
            return [self.json(depth - 1) for _ in self.some(3)]
        if depth and kind < 4:
            return self.record(depth - 1)
        return self.pick([None, True, False, 0, 1, 1.5, "", "v"])

    def record(self, depth: int = 2) -> dict[str, Any]:
        return {self.pick(KEYS): self.json(depth) for _ in self.some(3)}

    def part(self) -> Wire:
        kind = self.pick(["text", "image", "document", "hologram", "binary"])
        if kind == "text":
            return {"type": "text", "text": self.pick(TEXTS)}
        if kind == "binary":
            return {"type": "binary", "mimeType": "image/png", self.pick(["data", "url"]): "u"}
        return {"type": kind, "source": {"type": self.pick(["url", "url", "beam"]), "value": "u"}}

    def call(self, call_id: str) -> Wire:
        function = {"name": "f", "arguments": self.pick(TEXTS)}
        return {"id": call_id, "type": "function", "function": function}

    def message(self) -> Wire:
        role, id_ = self.pick(ROLES), self.pick(MESSAGE_IDS)
        common = present(subagentRunId=self.pick(OWNERS), metadata=self.pick(METADATA))
        if role == "activity":
            return message(role, id_, self.record(), activityType="k", **common)
        common |= present(encryptedValue=self.pick([None, None, "e"]))
        if role == "assistant":
            ids = self.random.sample(CALL_IDS, self.random.randint(0, 2))
            calls = [self.call(call_id) for call_id in ids] or None
            content = present(content=self.pick([None, *TEXTS]), toolCalls=calls)
            return {"id": id_, "role": role, **content, **common}
        common |= {"toolCallId": self.pick(CALL_IDS)} if role == "tool" else {}
        return message(role, id_, self.pick(TEXTS), **common)

    def stated_message(self) -> Wire:
        stated = self.message()
        if stated["role"] in ("user", "tool") and self.random.random() < 0.5:
            stated["content"] = [self.part() for _ in self.some(3)]
        return stated

    def operation(self) -> Wire:
        name = self.pick(["add", "add", "replace", "remove", "test", "move", "copy"])
        operation = {"op": name, "path": self.pointer()}
        if name in ("move", "copy"):
            return {**operation, "from": self.pointer()}
        return operation if name == "remove" else {**operation, "value": self.json(1)}

    def operations(self, most: int) -> list[Wire]:
        return [self.operation() for _ in self.some(most)]

    def pointer(self) -> str:
        keys = [self.pick([*KEYS, "1", "2", "00", "-"]) for _ in range(self.random.randint(1, 3))]
        return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)

    def history(self) -> list[Wire]:
        return [self.message() for _ in self.some(3)]

    def stream(self) -> list[Wire]:
        """One or two runs, whole or damaged."""
        events = [one for _ in range(self.pick([1, 1, 2])) for one in Run(self).events]
        return events if self.random.random() < 0.6 else self.damaged(events)

    def damaged(self, events: list[Wire]) -> list[Wire]:
        for _ in range(self.random.randint(1, 2)):
            if not events:
                break
            place = self.random.randrange(len(events))
            harmed = events[place]
            match self.pick(["drop", "double", "swap", "retag", "rename", "cut"]):
                case "drop":
                    del events[place]
                case "double":
                    events.insert(place, harmed)
                case "swap":
                    events.insert(self.random.randrange(len(events)), events.pop(place))
                case "retag":
                    events[place] = {**harmed, "subagentRunId": self.pick(["a", "b", "", None])}
                case "rename" if "messageId" in harmed:
                    events[place] = {**harmed, "messageId": self.pick(MESSAGE_IDS)}
                case "cut":
                    del events[place:]
        return events


class Run:
    """Draws one run that mostly keeps the rules, keeping track of what is open."""

    def __init__(self, streams: Streams) -> None:
        self.streams, self.pick = streams, streams.pick
        self.open: dict[tuple[str, str], Wire] = {}
        self.steps, self.subagents = list[Wire](), list[str]()
        self.events: list[Wire] = [self.start()]
        common: list[Callable[[], None]] = [self.item, self.grow, self.result]
        rare = [self.encrypted, self.state, self.snapshot, self.activity, self.step, self.subagent]
        aside = [lambda: self.events.append(self.pick(ASIDES))]
        actions = common * self.pick([1, 4]) + rare + aside + [self.chunk] * self.pick([0, 4])
        for _ in streams.some(16):
            self.pick(actions)()
        if self.pick([True, True, True, False]):
            self.close_all()
        self.events.append(self.pick(ENDS))

    def emit(self, type_: str, **fields: Any) -> None:
        self.events.append(event(type_, **present(**fields)))

    def start(self) -> Wire:
        if self.pick([True, True, False]):
            return STARTED
        echo = [self.streams.stated_message() for _ in self.streams.some(2)]
        return {
            **STARTED,
            "input": {"threadId": "t", "runId": "r", "messages": echo, "state": None},
        }

    def extras(self) -> Wire:
        return {"metadata": self.pick(METADATA), "timestamp": self.pick([None, None, 7])}

    def item(self) -> None:
        kind = self.pick(["TEXT_MESSAGE", "TOOL_CALL", "REASONING_MESSAGE", "REASONING"])
        id_ = self.pick(CALL_IDS if kind == "TOOL_CALL" else MESSAGE_IDS)
        if (kind, id_) in self.open:
            self.close(kind, id_)
            return
        key, details = "messageId", dict[str, Any]()
        if kind == "TOOL_CALL":
            key, parent = "toolCallId", self.pick([None, "", *MESSAGE_IDS])
            details = {"toolCallName": self.pick(["f", "g"]), "parentMessageId": parent}
        elif kind == "TEXT_MESSAGE":
            role = self.pick([None, "assistant", "user", "developer"])
            details = {"role": role, "name": self.pick([None, "nm"])}
        elif kind == "REASONING_MESSAGE":
            details = {"role": "reasoning"}
        self.open[kind, id_] = fields = {key: id_, "subagentRunId": self.pick(OWNERS)}
        self.emit(f"{kind}_START", **fields, **details, **self.extras())

    def grow(self) -> None:
        if growing := [key for key in self.open if key[0] != "REASONING"]:
            kind, id_ = self.pick(growing)
            suffix, fields = "ARGS" if kind == "TOOL_CALL" else "CONTENT", self.tagged(kind, id_)
            self.emit(f"{kind}_{suffix}", **fields, delta=self.pick(TEXTS), **self.extras())

    def tagged(self, kind: str, id_: str) -> Wire:
        fields = self.open[kind, id_]
        return fields if self.pick([True, False]) else {**fields, "subagentRunId": None}

    def close(self, kind: str, id_: str) -> None:
        fields = self.tagged(kind, id_)
        del self.open[kind, id_]
        self.emit(f"{kind}_END", **fields, metadata=self.pick(METADATA))

    def chunk(self) -> None:
        kind = self.pick(["TEXT_MESSAGE", "TOOL_CALL", "REASONING_MESSAGE"])
        fields: Wire = {"subagentRunId": self.pick(OWNERS), "delta": self.pick([None, *TEXTS])}
        if self.pick([True, True, False]):
            call = {"toolCallId": self.pick(CALL_IDS), "toolCallName": "f"}
            fields |= call if kind == "TOOL_CALL" else {"messageId": self.pick(MESSAGE_IDS)}
        raw = self.pick([None, None, {"r": 1}])
        self.emit(f"{kind}_CHUNK", **fields, **self.extras(), rawEvent=raw)

    def result(self) -> None:
        content = self.pick([self.pick(TEXTS), [self.streams.part() for _ in self.streams.some(2)]])
        fields: Wire = {"messageId": self.pick(["o", "p", "m"]), "toolCallId": self.pick(CALL_IDS)}
        fields |= {"subagentRunId": self.pick(OWNERS), "role": self.pick([None, "tool"])}
        self.emit("TOOL_CALL_RESULT", **fields, content=content, **self.extras())

    def encrypted(self) -> None:
        subtype = self.pick(["message", "tool-call"])
        entity = self.pick(MESSAGE_IDS if subtype == "message" else CALL_IDS)
        self.emit("REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue="E")

    def state(self) -> None:
        if self.pick([True, False, False]):
            # A bare scalar as state is left out: patching one is an error here and often ignored by
            # the client.
            snapshot = self.pick([self.streams.record(), [self.streams.json()], None])
            self.events.append(event("STATE_SNAPSHOT", snapshot=snapshot))
        else:
            self.emit("STATE_DELTA", delta=self.streams.operations(3))

    def snapshot(self) -> None:
        owned = {"authoritativeActivityTypes": self.pick([None, [], ["k"], ["z"], "odd"])}
        metadata = self.pick([None, None, {"@ag-ui/client": self.pick([owned, {}, None])}])
        stated = [self.streams.stated_message() for _ in self.streams.some(4)]
        self.emit("MESSAGES_SNAPSHOT", messages=stated, metadata=metadata)

    def activity(self) -> None:
        fields: Wire = {"messageId": self.pick(MESSAGE_IDS), "activityType": self.pick(["k", "z"])}
        fields |= {"subagentRunId": self.pick(OWNERS), **self.extras()}
        if self.pick([True, False]):
            replace = self.pick([None, True, False])
            self.emit("ACTIVITY_SNAPSHOT", **fields, content=self.streams.record(), replace=replace)
        else:
            self.emit("ACTIVITY_DELTA", **fields, patch=self.streams.operations(2))

    def step(self) -> None:
        if self.steps and self.pick([True, False]):
            self.emit("STEP_FINISHED", **self.steps.pop())
            return
        step = {"stepName": self.pick(KEYS), "subagentRunId": self.pick(OWNERS)}
        if step not in self.steps:
            self.steps.append(step)
            self.emit("STEP_STARTED", **step)

    def subagent(self) -> None:
        if self.subagents and self.pick([True, False]):
            outcome = self.pick(OUTCOMES)
            self.emit("SUBAGENT_FINISHED", subagentRunId=self.subagents.pop(), outcome=outcome)
        elif "a" not in self.subagents:
            self.subagents.append("a")
            self.emit("SUBAGENT_STARTED", subagentRunId="a", name="n")

    def close_all(self) -> None:
        for kind, id_ in list(self.open):
            self.close(kind, id_)
        while self.steps:
            self.emit("STEP_FINISHED", **self.steps.pop())
        while self.subagents:
            self.emit("SUBAGENT_FINISHED", subagentRunId=self.subagents.pop())


def present(**fields: Any) -> Wire:
    """The fields that have a value."""
    return {key: value for key, value in fields.items() if value is not None}

"""Random graphs' lives, with clients that edit the state: after every event the client holds what
the graph shows.

Programs are made of supersteps: what their nodes emit, what their models say, what they write. One
interpreter here says what a client sees of a program; it knows reducers and previews, and nothing
of the library's views and patches.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections import namedtuple
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

from ag_ui.core import ResumeEntry
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic_core import from_json
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, PredictState, Private, StateOptions, emit_state
from langgraph_agui.protocol import decode
from tests.behaviour.state.clients import THREAD, states
from tests.kit.deep import example_count
from tests.kit.expect.canary import CANARY
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.joining import join_after
from tests.kit.waiting import PATIENCE

VISIBLE = ("doc", "plan", "items", "meta", "cards", "total", "flash", "locked")
HIDDEN = ("secret", "scratch", "inner")
WRITABLE = ("doc", "plan", "items", "meta", "cards", "total")
FOREIGN = ("progress", "a/b~", "")
PACE = 15
"""Turns of the event loop after each action: what it has sent is told by then."""


def by_id(held: list[Any], new: list[Any]) -> list[Any]:
    """Cards replace those with their id."""
    return [*{card["id"]: card for card in [*held, *new]}.values()]


REDUCERS: Any = {"items": operator.add, "meta": operator.or_, "cards": by_id, "total": operator.add}
START_VALUES: Any = {"items": [], "meta": {}, "cards": [], "total": 0}


class Input(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    plan: Any
    items: Annotated[list[Any], operator.add]
    meta: Annotated[dict[str, Any], operator.or_]
    cards: Annotated[list[dict[str, Any]], by_id]
    total: Annotated[int, operator.add]
    secret: Annotated[Any, Private]
    scratch: Any


class Output(Input, total=False):
    flash: Annotated[Any, EphemeralValue]
    locked: Any


class Board(Output, total=False):
    inner: Any
    step: Annotated[int, lambda held, new: max(held, new)]


PREDICT = [
    PredictState("write_doc", "doc"),
    PredictState("write_doc", "title"),
    PredictState("write_plan", None, "plan"),
    PredictState("write_secret", "secret"),
]


class Talk(NamedTuple):
    """A model's turn: the tool and the arguments of its calls, the pieces in which they come, and
    whether it breaks then."""

    calls: list[tuple[str, str]]
    pieces: list[tuple[int, str]]
    breaks: bool

    def chunks(self, prefix: str) -> Iterator[Any]:
        known: set[int] = set()
        for index, text in self.pieces:
            new = (None, None) if index in known else (self.calls[index][0], f"{prefix}-{index}")
            known.add(index)
            yield calling(part(new[0], text, new[1], index))


Write = namedtuple("Write", "key how value")  # how a node makes the new value of a key


class Part(NamedTuple):
    """What one node does in one superstep: emissions (values by key, or a patch) and talks, then
    writes, and results of calls, which are good or not."""

    acts: list[Any]
    writes: list[Write]
    answers: list[bool] | None
    end: str

    @property
    def turns(self) -> int:
        return 1 + sum(1 + len(act.pieces) if isinstance(act, Talk) else 1 for act in self.acts)


@dataclass
class Superstep:
    """Parts by node, and in which order they take their turns."""

    parts: dict[str, Part]
    turns: list[str]
    results: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    turn: int = 0

    def answered(self, names: Any) -> set[str]:
        """The calls that these nodes have answered."""
        return {call_id for name in names for call_id, _ in self.results.get(name, [])}


def altered(how: str, old: Any, value: Any) -> Any:
    """The value that a node returns: a new one, one that shares with the old, or the old one
    changed in place."""
    if how == "place":
        return put(old, value)
    if how == "share" and isinstance(old, dict | list):
        return {**old, "s": value} if isinstance(old, dict) else [*old, value]
    if how == "deep" and isinstance(old, dict | list):  # below a fresh top
        for one in old.values() if isinstance(old, dict) else old:
            if isinstance(one, dict | list):
                put(one, value)
                return old.copy()
    return value


def put(held: Any, value: Any) -> Any:
    if isinstance(held, dict):
        held["p"] = value
    elif isinstance(held, list):
        held.append(value)
    else:
        return value
    return held


def returned(write: Write, state: dict[str, Any]) -> Any:
    """What a node returns for a key; `state` is that of the graph, or the interpreter's copy of
    it."""
    value, old = deepcopy(write.value), state.get(write.key)
    if write.key not in REDUCERS:
        return altered(write.how, old, value)
    if write.how == "place" and write.key in ("items", "meta") and old is not None:
        put(old, value)
        return [] if write.key == "items" else old
    return value


class Paced(Scripted):
    """Waits where its script has something to await."""

    async def _astream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        for piece in list(self._turn(messages)):
            if asyncio.iscoroutinefunction(piece):
                await piece()
                continue
            self.script = lambda _messages, piece=piece: [piece]
            async for chunk in super()._astream(messages, *args, **kwargs):
                yield chunk


class BrokenError(Exception):
    """What fails in programs."""


def exact(value: Any) -> str:
    """JSON text: True is not 1, and 1.0 is not."""
    return json.dumps(value, sort_keys=True)


class Oracle:
    """Interprets programs: what the graph holds, and what its client sees after each thing that
    happens."""

    def __init__(self) -> None:
        self.truth, self.before, self.own = deepcopy(START_VALUES), {}, {}
        self.shown, self.previews, self.open = list[Any](), dict[Any, Any](), dict[str, Any]()
        self.nulls, self.previewed = set[str](), set[str]()
        self.paused_flash, self.passed, self.life = {}, False, ""

    def begin(self, sent: Any) -> bool:
        """The client sends its state; return whether it has changed anything of the graph's."""
        self.shown, self.previews = [deepcopy(sent)], {}
        own = deepcopy(sent) if isinstance(sent, dict) else {}
        # A key that only previews have is none of the client's.
        self.own = {k: v for k, v in own.items() if v is None or k not in self.previewed}
        self.keep_nulls()
        known = [{k: exact(v) for k, v in held.items()} for held in (self.truth, self.before)]
        changed = {
            key: deepcopy(value)
            for key, value in self.own.items()
            if key in WRITABLE and exact(value) not in [held.get(key) for held in known]
        }
        self.before = {}
        self.truth |= changed
        return bool(changed)

    def starts(self, resumed: bool) -> None:
        """The first values of the graph; what was there for one superstep is gone, unless that goes
        on."""
        if resumed:
            self.truth.update(self.paused_flash)
        else:
            self.truth.pop("flash", None)
            self.keep_nulls()
        self.show()

    def keep_nulls(self) -> None:
        """A null of the client's stays where the graph has no value: it says the same."""
        self.nulls = {k for k in VISIBLE if self.own.get(k, 0) is None and k not in self.truth}

    @property
    def visible(self) -> dict[str, Any]:
        """The graph's values, what only the client has, and over both what is previewed."""
        seen = {key: value for key, value in self.own.items() if key not in VISIBLE}
        seen |= dict.fromkeys(self.nulls)
        seen |= {key: self.truth[key] for key in VISIBLE if key in self.truth}
        for (_, key), value in self.previews.items():
            if value is None:
                seen.pop(key, None)
            else:
                seen[key] = value[0]
        return seen

    def show(self) -> None:
        if exact(now := self.visible) != exact(self.shown[-1]):
            self.shown.append(deepcopy(now))

    def superstep(self, step: Superstep, number: int) -> str:
        """Play a superstep, or those of its nodes that had paused; return how it ends."""
        asked, step.paused = step.paused, []
        ended: list[str] = []
        ticks = {name: self.ticks(name, number, step, asked) for name in step.parts}
        for name in step.turns:
            end = next(ticks[name])
            if end == "fail":
                self.end()
                self.before, self.passed = deepcopy(self.truth), bool(ended)
                if ended:
                    self.apply(step, ended)
                return "fail"
            if end == "pause" and name not in asked:
                self.end({*ended, *step.paused, *step.answered(ended)})
                step.paused.append(name)
            elif end:
                ended.append(name)
        written = self.apply(step, ended)
        over = {*step.parts, *step.answered(ended)}
        self.end(over, written)
        self.passed = not step.paused
        return "pause" if step.paused else "return"

    def ticks(self, name: str, number: int, step: Superstep, asked: Any) -> Iterator[str]:
        for position, act in enumerate(step.parts[name].acts):
            if isinstance(act, Talk):
                yield from self.talk(act, f"{self.life}{name}{number}{position}")
            else:
                self.emit(name, act)
                yield ""
        end = step.parts[name].end
        if end == "return" or name in asked:
            for call_id, good in step.results.get(name, []):
                if not good:
                    self.end({call_id})
        yield end

    def talk(self, talk: Talk, prefix: str) -> Iterator[str]:
        mine: dict[str, Any] = {}
        for index, text in talk.pieces:
            new = SimpleNamespace(tool=talk.calls[index][0], text="", due=0)
            one = mine.setdefault(call_id := f"{prefix}-{index}", new)
            one.text += text
            if text and len(one.text) >= one.due:
                self.look(call_id, one)
            yield ""
        for call_id, one in mine.items():
            self.look(call_id, one)
        if talk.breaks:
            self.end({*mine})
        else:
            self.open |= mine
        yield ""

    def look(self, call_id: str, one: Any) -> None:
        one.due = len(one.text) + 1 + len(one.text) // 32
        try:
            received = from_json(one.text, allow_partial="trailing-strings")
        except ValueError:
            return
        if not isinstance(received, dict):
            return
        for known in PREDICT:
            value = received if known.argument is None else received.get(known.argument)
            if known.tool != one.tool or exact(value) in ('""', "[]", "{}", "null"):
                continue
            if exact(self.previews.get((call_id, known.key))) != exact([value]):
                self.preview(call_id, known.key, [value])
        self.show()

    def emit(self, owner: str, what: Any) -> None:
        if isinstance(what, dict):
            for key, value in what.items():
                self.preview(owner, key, [value])
        else:
            patched = deepcopy(self.visible)
            with suppress(KeyError):
                for key in {patch(patched, operation) for operation in deepcopy(what)}:
                    if key in patched:
                        self.preview(owner, key, [patched[key]])
                    elif key in self.visible:
                        self.preview(owner, key, None)
        self.show()

    def preview(self, owner: str, key: str, value: list[Any] | None) -> None:
        if key in HIDDEN:
            return
        self.previews.pop((owner, key), None)
        self.previews[owner, key] = deepcopy(value)
        if key in FOREIGN and value is not None:
            self.previewed.add(key)

    def end(self, owners: set[str] | None = None, keys: Any = ()) -> None:
        """The previews of these owners end, or all, and those of these keys."""
        left = self.previews.items() if owners is not None else ()
        self.previews = {k: v for k, v in left if k[0] not in owners and k[1] not in keys}
        self.show()

    def apply(self, step: Superstep, ended: list[str]) -> set[str]:
        """What nodes have written reaches the channels, in the order of their names; return what
        was touched."""
        returns = {
            name: {write.key: returned(write, self.truth) for write in step.parts[name].writes}
            for name in sorted(ended)
        }
        written: set[str] = set()
        if "flash" in self.truth and (ended or not step.paused):  # the next one has begun
            written.add("flash")
            value = self.truth.pop("flash")
            self.paused_flash = {"flash": value} if step.paused else {}
        for values in returns.values():
            for key, value in values.items():
                written.add(key)
                self.nulls.discard(key)
                reducer = REDUCERS.get(key)
                self.truth[key] = reducer(self.truth[key], value) if reducer else value
        for call_id in step.answered(ended):
            self.open.pop(call_id, None)
        return written


def patch(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """Apply an operation at a key, or at a key in a key; return the first. Raises `KeyError` where
    it does not fit."""
    tokens = operation["path"].split("/")[1:]
    first, *rest = [token.replace("~1", "/").replace("~0", "~") for token in tokens]
    holder, token = (document[first], rest[0]) if rest else (document, first)
    if isinstance(holder, list) and token == "-" and operation["op"] == "add":
        holder.append(operation["value"])
    elif not isinstance(holder, dict) or (operation["op"] != "add" and token not in holder):
        raise KeyError(token)
    elif operation["op"] == "remove":
        del holder[token]
    else:
        holder[token] = operation["value"]
    return first


NAMES = ["a", "b", "id", "p", "s", "x/y", "~", "", "__proto__", "constructor", "prototype"]
keys = st.sampled_from(NAMES)
atoms = st.sampled_from([None, True, False, 0, 1, 2, -1.5, "", "é", "text", "more text " * 6])
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
cards = st.lists(st.fixed_dictionaries({"id": st.sampled_from("xyz"), "v": values}), max_size=3)
KINDS: dict[str, Any] = {
    "items": st.lists(values, max_size=2),
    "meta": st.dictionaries(keys, values, max_size=2),
    "cards": cards.map(lambda given: by_id([], given)),
    "total": st.integers(-2, 2),
    **dict.fromkeys(HIDDEN, st.just(CANARY)),
}


def entries(*among: str) -> Any:
    """Some keys, with values that they may have."""
    chosen = st.lists(st.sampled_from(among), max_size=2, unique=True)
    return chosen.flatmap(lambda n: st.fixed_dictionaries({k: KINDS.get(k, values) for k in n}))


def operation(path: tuple[str, ...], op: str, value: Any) -> Any:
    pointer = "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in path)
    given = {} if op == "remove" else {"value": CANARY if path[0] in HIDDEN else value}
    return {"op": op, "path": pointer, **given}


paths = st.sampled_from(
    [(key,) for key in ("doc", "plan", "locked", *HIDDEN, *FOREIGN)]
    + [("items", "-"), ("meta", "a"), ("meta", "x/y"), ("doc", "a"), ("doc", "-")]
)
operations = st.builds(
    operation, paths, st.sampled_from(["add", "add", "replace", "remove"]), values
)
emissions = entries(*VISIBLE, *HIDDEN, *FOREIGN) | st.lists(operations, min_size=1, max_size=2)
arguments = st.tuples(
    st.sampled_from(["write_doc", "write_doc", "write_plan", "write_secret", "other"]),
    st.fixed_dictionaries(
        {}, optional={"doc": values, "title": values, "secret": st.just("no secret")}
    ).map(lambda given: json.dumps(given, ensure_ascii=False)),
)


@st.composite
def talks(draw: Any) -> Talk:
    calls = draw(st.lists(arguments, min_size=1, max_size=2))
    pieces: list[list[tuple[int, str]]] = []
    for index, (_, text) in enumerate(calls):
        cuts = [0, *sorted(draw(st.sets(st.integers(0, len(text)), max_size=4))), len(text)]
        pieces.append([(index, text[i:j]) for i, j in pairwise(cuts)])
    breaks = draw(st.integers(0, 4)) == 0
    if breaks:
        pieces[-1] = pieces[-1][: draw(st.integers(1, len(pieces[-1])))]
    if draw(st.booleans()):  # at the same time
        order = [one for n in range(6) for side in pieces for one in side[n : n + 1]]
    else:
        order = [one for side in pieces for one in side]
    return Talk(calls, order, breaks)


def writing(key: str) -> Any:
    is_new = key in HIDDEN or key == "flash"
    how = st.just("new") if is_new else st.sampled_from(["new", "share", "place", "deep"])
    return st.builds(Write, st.just(key), how, KINDS.get(key, values))


writes = st.sampled_from([*VISIBLE, "doc", "plan", *HIDDEN]).flatmap(writing)
parts = st.builds(
    Part,
    st.lists(emissions | talks(), max_size=2),
    st.lists(writes, max_size=2),
    st.none() | st.lists(st.booleans(), min_size=1, max_size=3),
    st.sampled_from(["return"] * 12 + ["fail", "pause"]),
)


@st.composite
def supersteps(draw: Any) -> Superstep:
    """Parallel nodes, of which no two write a key that takes one value, or change one in place; at
    most one fails."""
    names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    chosen = {name: draw(parts) for name in names}
    if any(script.end == "pause" for script in chosen.values()):
        # what is written beside a pause: see test_shown
        quiet: Any = {"writes": [], "answers": None, "end": "return"}
        chosen = {n: p if p.end == "pause" else p._replace(**quiet) for n, p in chosen.items()}
    taken: dict[str, bool] = {}
    fails, failing = any(script.end == "fail" for script in chosen.values()), False
    for name, script in chosen.items():
        mine: dict[str, Write] = {}
        for write in script.writes:
            alone = write.key not in REDUCERS or write.how == "place"
            if write.key == "flash" and fails:
                continue  # LangGraph itself does not agree whether it is there afterwards
            if write.key not in taken or not (taken[write.key] or alone):
                mine[write.key] = write
        for key, write in mine.items():
            taken[key] = key not in REDUCERS or write.how == "place"
        if fails:  # what was changed in place is then half there
            mine = {key: write._replace(how="new") for key, write in mine.items()}
        end = "return" if script.end == "fail" and failing else script.end
        failing = failing or end == "fail"
        chosen[name] = script._replace(writes=[*mine.values()], end=end)
    turns = [name for name, script in chosen.items() for _ in range(script.turns)]
    return Superstep(chosen, draw(st.permutations(turns)))


edits = st.lists(
    st.one_of(
        st.tuples(
            st.just("set"), entries(*WRITABLE, *WRITABLE, "flash", "locked", *FOREIGN, "theme")
        ),
        st.tuples(st.just("hidden"), st.sampled_from(HIDDEN)),
        st.tuples(st.just("nested"), st.sampled_from(["doc", "plan", "meta"])),
        st.tuples(st.just("remove"), st.integers(0, 9)),
        st.tuples(st.just("whole"), st.sampled_from([None, [], 3, "text", {}])),
    ),
    max_size=2,
)


def edited(held: Any, changes: list[tuple[str, Any]]) -> Any:
    """What a client sends that holds `held`, after its user has edited it."""
    sent = deepcopy(held)
    for kind, what in changes:
        if kind == "whole":
            sent = deepcopy(what)
        elif not isinstance(sent, dict):
            continue
        elif kind == "set":
            sent |= deepcopy(what)
        elif kind == "hidden":
            sent[what] = "a guess"
        elif kind == "nested" and isinstance(sent.get(what), dict | list):
            put(sent[what], "edited")
        elif kind == "remove" and sent:
            del sent[sorted(sent)[what % len(sent)]]
    return sent


class Thread:
    """A graph whose nodes do what a program says, its client, and what both should hold. If it is
    not `kept`, what the client sends is the graph's input, and goes through its reducers."""

    def __init__(self, send: Any, *, kept: bool = True) -> None:
        self.oracle, self.kept, self.program = Oracle(), kept, list[Superstep]()
        self.held, self.messages, self.asked, self.left = {}, [], [], []
        self.rests, self.routed, self.steps, self.begins_at, self.runs = True, False, 0, 0, 0
        builder = StateGraph(Board, input_schema=Input, output_schema=Output)

        def at(number: int) -> Any:
            return [*self.program[number].parts] if number < len(self.program) else END

        # Asynchronous, because a thread would end its node at a time of its own.
        async def route(state: Any) -> Any:
            return at(state["step"])

        async def enter(state: Any) -> Any:
            return at(self.begins_at)

        builder.add_conditional_edges(START, enter, [*"abc", END])
        for name in "abc":
            builder.add_node(name, self.node(name))
            builder.add_conditional_edges(name, route, [*"abc", END])
        shown: Any = {"exclude": {"scratch"}, "client_keys": {"title"}, "predict": PREDICT}
        graph = builder.compile(InMemorySaver() if kept else None)
        self.agent = LangGraphAgent(graph, state=StateOptions(send=send, **shown))

    def node(self, name: str) -> Any:
        async def node(state: Any) -> dict[str, Any]:
            number = state.get("step", 0)
            step = self.program[number]
            script, said = step.parts[name], list[Any]()

            async def mine() -> None:
                while step.turns[step.turn] != name:
                    await asyncio.sleep(0)

            async def done() -> None:
                for _ in range(PACE):
                    await asyncio.sleep(0)
                step.turn += 1

            for position, act in enumerate(script.acts):
                if isinstance(act, Talk):
                    chunks = act.chunks(f"{self.oracle.life}{name}{number}{position}")
                    pieces = [one for chunk in chunks for one in (mine, chunk, done)]
                    model = Paced([*pieces, mine, *([BrokenError()] if act.breaks else [])])
                    try:
                        said.append(await model.ainvoke("go"))
                    except BrokenError:
                        said.append(AIMessage("then without"))
                else:
                    await mine()
                    emit_state(deepcopy(act))
                await done()
            await mine()
            self.left.append(asyncio.create_task(done()))
            if script.end == "fail":
                raise BrokenError
            if script.end == "pause":
                interrupt("go on?")
            said += [
                ToolMessage("r", tool_call_id=call_id, status="success" if good else "error")
                for call_id, good in step.results.get(name, [])
            ]
            written = {write.key: returned(write, state) for write in script.writes}
            # A client whose list ends with its user's words asks for their answer once more.
            return {**written, "messages": said or [AIMessage("done")], "step": number + 1}

        return node

    def prepare(self, sent: Any, program: list[Superstep], *, speaks: bool) -> tuple[Any, str]:
        """The input of a run, a new message or an echo or answers, and how it should end."""
        oracle, resumed = self.oracle, bool(self.asked)
        if not self.kept:
            oracle.truth, self.steps = deepcopy(START_VALUES), 0
            self.program.clear()
        self.runs += 1
        if not self.routed or len(self.program) <= self.steps + resumed:
            self.program[self.steps + resumed :] = program
        self.begins_at, oracle.life = self.steps, f"r{self.runs}"
        changed = oracle.begin(sent)
        speaks = speaks or not self.rests or self.runs == 1 or not self.kept
        said = [user("go", f"u{self.runs}")] if speaks and not resumed else []
        answers = [
            ResumeEntry(interrupt_id=one, status="resolved", payload="yes") for one in self.asked
        ]
        name = {"thread": "t", "run": oracle.life, "resume": answers or None}
        given, ending = run_input(*self.messages, *said, state=sent, **name), "idle"
        if changed or said or resumed:
            ending = self.expected(resumed)
        else:
            oracle.show()
        return given, ending

    def expected(self, resumed: bool) -> str:
        oracle, ending = self.oracle, "return"
        oracle.starts(resumed)
        while self.steps < len(self.program) and ending == "return":
            step = self.program[self.steps]
            if resumed:  # those that have paused run once more
                step.turns = [name for name in step.paused for _ in range(step.parts[name].turns)]
                step.turn = 0
            else:  # parts that answer calls answer those that are open: each call once
                waiting = [*oracle.open]
                for name, script in step.parts.items():
                    if script.answers and script.end == "return":
                        step.results[name] = list(zip(waiting, script.answers, strict=False))
                        waiting = waiting[len(script.answers) :]
            resumed = False
            ending = oracle.superstep(step, self.steps)
            self.steps += oracle.passed  # where others have failed, with what is stored beside them
            # Nodes that have ended beside a pause have named the next ones already.
            self.routed = ending == "pause" and len(step.paused) < len(step.parts)
        if ending != "fail":
            oracle.end()
        oracle.open = {}
        return ending

    async def record(self, given: Any, *, wire: bool) -> RecordedRun:
        held = given.model_copy(deep=True)  # a node may change its input in place
        if not wire:
            return RecordedRun([event async for event in self.agent.run(given)], held)
        body = b"".join([frames async for frames in self.agent.stream_sse(given)])
        assert CANARY not in body.decode()
        return RecordedRun(list(decode([body])), held)

    def turn(self, sent: Any, program: list[Superstep], *, speaks: bool, wire: bool) -> None:
        given, ending = self.prepare(sent, program, speaks=speaks)
        run = asyncio.run(asyncio.wait_for(self.record(given, wire=wire), PATIENCE))
        assert CANARY not in "".join(event.model_dump_json() for event in run.events)
        assert run.last.type.value == ("RUN_ERROR" if ending == "fail" else "RUN_FINISHED"), (
            run.last
        )
        held = seen_by(run)
        should = [exact(one) for one in self.oracle.shown]
        assert held == should, "\n".join([ending, *held, "should be", *should])
        self.held, self.messages = run.state, run.messages
        self.asked = [one.id for one in run.last.outcome.interrupts] if ending == "pause" else []
        self.rests = ending != "fail"
        truth = self.oracle.truth
        stored = self.agent.graph.get_state(THREAD).values if self.kept else truth
        keys = set(VISIBLE) - ({"flash"} if ending == "fail" else set())
        seen = {key: value for key, value in stored.items() if key in keys}
        assert exact(seen) == exact({key: value for key, value in truth.items() if key in keys})
        if ending != "fail":
            only = {key: value for key, value in self.held.items() if key not in VISIBLE}
            assert exact(self.held) == exact({**only, **dict.fromkeys(self.oracle.nulls), **seen})


def seen_by(run: RecordedRun, but: str = "") -> list[str]:
    """The states that a reader has held, one after the other, without one key."""

    def form(state: Any) -> str:
        is_dict = isinstance(state, dict)
        return exact({k: v for k, v in state.items() if k != but or not but} if is_dict else state)

    held = [before := form(run.input.state)]
    for event, state in states(run):
        # The first event makes {} of null.
        if form(state) != before and event.type.value != "RUN_STARTED":
            held.append(form(state))
        before = form(state)
    return held


programs = st.lists(supersteps(), min_size=1, max_size=3)
turns = st.tuples(edits, programs, st.booleans(), st.booleans())
SENDING = st.sampled_from(["patches", "patches", "patches", "snapshots"])
slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@given(SENDING, st.sampled_from([True, True, False]), st.lists(turns, min_size=2, max_size=4))
@settings(max_examples=example_count(16, 30), suppress_health_check=slow)
def test_a_client_holds_what_the_graph_shows(send: str, kept: bool, turns: list[Any]) -> None:
    thread = Thread(send, kept=kept)
    for changes, program, speaks, wire in turns:
        if not kept:  # only a thread that is kept can pause
            program = [
                replace(step, parts={n: p._replace(end="return") for n, p in step.parts.items()})
                for step in program
            ]
        thread.turn(edited(thread.held, changes), program, speaks=speaks, wire=wire)


@given(
    send=st.sampled_from(["patches", "snapshots"]),
    program=programs,
    after=st.integers(1, 25),
    theirs=st.sampled_from([{}, {"theirs": 1}, {"theirs": {"a": 1}, "plan": "stale"}]),
)
@settings(max_examples=example_count(10, 20), suppress_health_check=slow)
def test_those_who_join_a_run_see_what_its_first_reader_sees(
    send: str, program: list[Superstep], after: int, theirs: Any
) -> None:
    thread = Thread(send)
    asked, ending = thread.prepare({}, program, speaks=True)
    joiner = run_input(thread="t", run="joins", state=theirs)
    joined = asyncio.run(
        asyncio.wait_for(join_after(thread.agent, after, joiner, given=asked), PATIENCE)
    )
    first = seen_by(joined.live)
    assert first == [exact(one) for one in thread.oracle.shown]
    for run in joined.joined:
        _, *held = seen_by(run, but="theirs")
        assert held == first[len(first) - len(held) :], ending
        assert run.state.get("theirs") == theirs.get("theirs")

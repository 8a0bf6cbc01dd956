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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ag_ui.core import ResumeEntry
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic_core import from_json
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, PredictState, Private, StateOptions, emit_state
from langgraph_agui.protocol import Fold, parse_event
from tests.kit.deep import example_count
from tests.kit.models.scripted import Scripted, calling, part
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.joining import join_after
from tests.kit.waiting import PATIENCE

CANARY = "canary-7f3a"
VISIBLE = ("doc", "plan", "items", "meta", "cards", "total", "flash", "locked")
HIDDEN = ("secret", "scratch", "inner")
WRITABLE = ("doc", "plan", "items", "meta", "cards", "total")
FOREIGN = ("progress", "a/b~", "")
TURNS = 15
"""Turns of the event loop after each action: what it has sent is told by then."""


def merge(held: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**held, **new}


def latest(held: int, new: int) -> int:
    return max(held, new)


def by_id(held: list[Any], new: list[Any]) -> list[Any]:
    """Cards replace those with their id."""
    return [*{card["id"]: card for card in [*held, *new]}.values()]


REDUCERS: dict[str, Callable[[Any, Any], Any]] = {
    "items": operator.add,
    "meta": merge,
    "cards": by_id,
    "total": operator.add,
}


class Input(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    plan: Any
    items: Annotated[list[Any], operator.add]
    meta: Annotated[dict[str, Any], merge]
    cards: Annotated[list[dict[str, Any]], by_id]
    total: Annotated[int, operator.add]
    secret: Annotated[Any, Private]
    scratch: Any


class Output(Input, total=False):
    flash: Annotated[Any, EphemeralValue]
    locked: Any


class Board(Output, total=False):
    inner: Any
    step: Annotated[int, latest]


PREDICT = [
    PredictState("write_doc", "doc"),
    PredictState("write_doc", "title"),
    PredictState("write_plan", None, "plan"),
    PredictState("write_secret", "secret"),
]
START_VALUES = {"items": [], "meta": {}, "cards": [], "total": 0}


@dataclass(frozen=True)
class Emit:
    """Values by key, or a patch."""

    what: Any


@dataclass(frozen=True)
class Talk:
    """A model's turn: its calls, the pieces of their arguments in the order in which they come, and
    how it ends."""

    calls: tuple[tuple[str, str], ...]
    pieces: tuple[tuple[int, str], ...]
    breaks: bool = False


@dataclass(frozen=True)
class Write:
    """How a node makes the new value of a key."""

    key: str
    how: str
    value: Any


@dataclass(frozen=True)
class Part:
    """What one node does in one superstep; `answers` are the results of calls: the call, and
    whether it succeeds."""

    acts: tuple[Emit | Talk, ...] = ()
    writes: tuple[Write, ...] = ()
    answers: tuple[bool, ...] | None = None
    end: str = "return"


@dataclass
class Superstep:
    """Parts by node, and in which order they take their turns."""

    parts: dict[str, Part]
    turns: list[str]
    results: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    turn: int = 0


def altered(how: str, old: Any, value: Any) -> Any:
    """The value that a node returns: a new one, one that shares with the old, or the old one
    changed in place."""
    if how == "share":
        return (
            {**old, "s": value}
            if isinstance(old, dict)
            else [*old, value]
            if isinstance(old, list)
            else value
        )
    if how == "place":
        return put(old, value)
    if how == "deep":  # below a fresh top
        inner = (
            list(old.values()) if isinstance(old, dict) else old if isinstance(old, list) else []
        )
        for one in inner:
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


def chunks_of(talk: Talk, prefix: str) -> Iterator[Any]:
    """The chunks of a model's turn, one for each piece of arguments."""
    known: set[int] = set()
    for index, text in talk.pieces:
        name, call_id = (
            (None, None) if index in known else (talk.calls[index][0], f"{prefix}-{index}")
        )
        known.add(index)
        yield calling(part(name, text, call_id, index))


class BrokenError(Exception):
    """What fails in programs."""


class World:
    """A graph whose nodes do what a program says."""

    def __init__(self, saver: Any, *, send: Any = "patches") -> None:
        self.program: list[Superstep] = []
        self.begins_at = 0
        self.life = ""
        self._left: list[asyncio.Task[None]] = []
        builder = StateGraph(Board, input_schema=Input, output_schema=Output)
        for name in "abc":
            builder.add_node(name, self._node(name))
        for name in "abc":
            builder.add_conditional_edges(name, self._route, [*"abc", END])
        builder.add_conditional_edges(START, self._enter, [*"abc", END])
        options = StateOptions(
            exclude={"scratch"}, client_keys={"title"}, send=send, predict=PREDICT
        )
        self.agent = LangGraphAgent(graph=builder.compile(checkpointer=saver), state=options)

    # Asynchronous, because a thread would end its node at a time of its own.
    async def _route(self, state: Any) -> Any:
        return self._next(state["step"])

    async def _enter(self, state: Any) -> Any:
        return self._next(self.begins_at)

    def _next(self, step: int) -> Any:
        return [*self.program[step].parts] if step < len(self.program) else END

    def _node(self, name: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
        async def node(state: Any) -> dict[str, Any]:
            number = state.get("step", 0)
            return await self._play(self.program[number], number, name, state)

        return node

    async def _mine(self, step: Superstep, name: str) -> None:
        while step.turns[step.turn] != name:
            await asyncio.sleep(0)

    async def _done(self, step: Superstep) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        step.turn += 1

    async def _play(self, step: Superstep, number: int, name: str, state: Any) -> dict[str, Any]:
        script, messages = step.parts[name], []
        for position, act in enumerate(script.acts):
            if isinstance(act, Emit):
                await self._mine(step, name)
                emit_state(deepcopy(act.what))
                await self._done(step)
            else:
                messages.append(
                    await self._talk(step, name, act, f"{self.life}{name}{number}{position}")
                )
        await self._mine(step, name)
        self._left.append(asyncio.create_task(self._done(step)))
        if script.end == "fail":
            raise BrokenError
        if script.end == "pause":
            interrupt("go on?")
        results = [
            ToolMessage(
                "done" if good else "failed",
                tool_call_id=call_id,
                status="success" if good else "error",
            )
            for call_id, good in step.results.get(name, [])
        ]
        written = {write.key: returned(write, state) for write in script.writes}
        # A client whose list ends with its user's words asks for their answer once more.
        recorded = [*messages, *results] or [AIMessage("done")]
        return {**written, "messages": recorded, "step": number + 1}

    async def _talk(self, step: Superstep, name: str, talk: Talk, prefix: str) -> AIMessage:
        async def turn() -> None:
            await self._mine(step, name)

        async def done() -> None:
            await self._done(step)

        pieces = [one for chunk in chunks_of(talk, prefix) for one in (turn, chunk, done)]
        model = Paced([*pieces, turn, *([BrokenError()] if talk.breaks else [])])
        try:
            return await model.ainvoke("go")
        except BrokenError:
            return AIMessage("then without")
        finally:
            await self._done(step)


def exact(value: Any) -> str:
    """JSON text: True is not 1, and 1.0 is not."""
    return json.dumps(value, sort_keys=True)


@dataclass
class _OpenCall:
    tool: str
    text: str = ""
    due: int = 0


class Oracle:
    """Interprets programs: what the graph holds, and what its client sees after each thing that
    happens."""

    def __init__(self) -> None:
        self.truth: dict[str, Any] = deepcopy(START_VALUES)
        self.before: dict[str, Any] | None = None
        self.shown: list[Any] = []
        self.open: dict[str, _OpenCall] = {}
        self.passed = False
        self.life = ""
        self._own: dict[str, Any] = {}
        self.nulls: set[str] = set()
        self.previewed: set[str] = set()
        self._previews: list[tuple[str, str, Any]] = []
        self._paused_flash: list[Any] = []

    def begin(self, sent: Any, *, resumed: bool = False) -> bool:
        """The client sends its state; return whether it has changed anything of the graph's."""
        self.shown, self._previews = [deepcopy(sent)], []
        self._own = deepcopy(sent) if isinstance(sent, dict) else {}
        # A key that only previews have is none of the client's.
        self._own = {
            key: value
            for key, value in self._own.items()
            if value is None or key not in self.previewed
        }
        self._keep_nulls()
        known = [held for held in (self.truth, self.before) if held is not None]
        changed = {
            key: deepcopy(value)
            for key, value in self._own.items()
            if key in WRITABLE
            and not any(key in held and exact(held[key]) == exact(value) for held in known)
        }
        self.before = None
        self.truth |= changed
        return bool(changed)

    def starts(self) -> None:
        """The first values of the graph; what was there for one superstep is gone."""
        self.truth.pop("flash", None)
        self._keep_nulls()
        self.show()

    def resumes(self) -> None:
        """A superstep goes on that has paused, with what there was for it."""
        for value in self._paused_flash:
            self.truth["flash"] = value
        self.show()

    def _keep_nulls(self) -> None:
        """A null of the client's stays where the graph has no value: it says the same."""
        self.nulls = {
            key
            for key in VISIBLE
            if key in self._own and self._own[key] is None and key not in self.truth
        }

    @property
    def visible(self) -> dict[str, Any]:
        """The graph's values, what only the client has, and over both what is previewed."""
        seen = {key: value for key, value in self._own.items() if key not in VISIBLE}
        seen |= dict.fromkeys(self.nulls) | {
            key: self.truth[key] for key in VISIBLE if key in self.truth
        }
        for _, key, value in self._previews:
            if value is None:
                seen.pop(key, None)
            else:
                seen[key] = value[0]
        return seen

    def show(self) -> None:
        now = deepcopy(self.visible)
        if exact(now) != exact(self.shown[-1]):
            self.shown.append(now)

    def superstep(self, step: Superstep, number: int) -> str:
        """Play a superstep, or those of its nodes that had paused; return how it ends."""
        asked, step.paused = step.paused, []
        ended: dict[str, Part] = {}
        ticks = {
            name: self._ticks(name, number, script, step, asked)
            for name, script in step.parts.items()
        }
        for name in step.turns:
            state = next(ticks[name], "")
            if state == "fail":
                self.drop()
                self.before = deepcopy(self.truth)
                if ended:
                    self._apply(step, ended)
                self.passed = bool(ended)
                return "fail"
            if state == "pause" and name not in asked:
                self._end({*ended, *step.paused, *answered(step, ended)})
                step.paused.append(name)
            elif state in ("return", "pause"):
                ended[name] = step.parts[name]
        self._commit(step, ended)
        self.passed = not step.paused
        return "pause" if step.paused else "return"

    def _ticks(
        self, name: str, number: int, script: Part, step: Superstep, asked: list[str]
    ) -> Iterator[str]:
        for position, act in enumerate(script.acts):
            if isinstance(act, Emit):
                self._emit(name, act.what)
                yield ""
            else:
                yield from self._talk(act, f"{self.life}{name}{number}{position}")
        if script.end == "return" or name in asked:
            for call_id, good in step.results.get(name, []):
                if not good:
                    self._end({call_id})
        yield script.end

    def _talk(self, talk: Talk, prefix: str) -> Iterator[str]:
        mine: list[str] = []
        for index, text in talk.pieces:
            call_id = f"{prefix}-{index}"
            if call_id not in mine:
                mine.append(call_id)
                self.open[call_id] = _OpenCall(talk.calls[index][0])
            one = self.open[call_id]
            one.text += text
            if text and len(one.text) >= one.due:
                self._look(call_id, one)
            yield ""
        for call_id in mine:
            self._look(call_id, self.open[call_id])
        if talk.breaks:
            self._end(set(mine))
            for call_id in mine:
                del self.open[call_id]
        yield ""

    def _look(self, call_id: str, one: _OpenCall) -> None:
        one.due = len(one.text) + 1 + len(one.text) // 32
        try:
            recorded = from_json(one.text, allow_partial="trailing-strings")
        except ValueError:
            return
        if not isinstance(recorded, dict):
            return
        for known in PREDICT:
            if known.tool == one.tool and (known.argument is None or known.argument in recorded):
                value = recorded if known.argument is None else recorded[known.argument]
                if exact(value) in ('""', "[]", "{}", "null"):
                    continue
                held = [
                    old
                    for owner, key, old in self._previews
                    if (owner, key) == (call_id, known.key)
                ]
                if not held or held[0] is None or exact(held[0][0]) != exact(value):
                    self._preview(call_id, known.key, [value])
        self.show()

    def _emit(self, owner: str, what: Any) -> None:
        if isinstance(what, dict):
            for key, value in what.items():
                self._preview(owner, key, [value])
        else:
            patched = deepcopy(self.visible)
            with suppress(KeyError):
                keys = {patch(patched, operation) for operation in deepcopy(what)}
                for key in keys:
                    if key in patched:
                        self._preview(owner, key, [patched[key]])
                    elif key in self.visible:
                        self._preview(owner, key, None)
        self.show()

    def _preview(self, owner: str, key: str, value: list[Any] | None) -> None:
        if key not in HIDDEN:
            self._previews = [one for one in self._previews if one[:2] != (owner, key)]
            self._previews.append((owner, key, deepcopy(value)))
            if key in FOREIGN and value is not None:
                self.previewed.add(key)

    def _end(self, owners: set[str]) -> None:
        self._previews = [one for one in self._previews if one[0] not in owners]
        self.show()

    def drop(self) -> None:
        self._previews = []
        self.show()

    def _commit(self, step: Superstep, ended: dict[str, Part]) -> None:
        over = {*step.parts, *answered(step, ended)}
        written = self._apply(step, ended)
        self._previews = [
            one for one in self._previews if one[0] not in over and one[1] not in written
        ]
        self.show()

    def _apply(self, step: Superstep, ended: dict[str, Part]) -> set[str]:
        """What nodes have written reaches the channels, in the order of their names; return what
        was touched."""
        returns = {
            name: {write.key: returned(write, self.truth) for write in script.writes}
            for name, script in ended.items()
        }
        written: set[str] = set()
        if "flash" in self.truth and (ended or not step.paused):  # the next one has begun
            written.add("flash")
            value = self.truth.pop("flash")
            self._paused_flash = [value] if step.paused else []
        for name in sorted(returns):
            for key, value in returns[name].items():
                written.add(key)
                self.nulls.discard(key)
                self.truth[key] = (
                    REDUCERS[key](self.truth[key], value) if key in REDUCERS else value
                )
            for call_id, _ in step.results.get(name, []):
                self.open.pop(call_id, None)
        return written


def answered(step: Superstep, ended: dict[str, Part]) -> set[str]:
    """The calls that nodes which have ended have answered."""
    return {call_id for name in ended for call_id, _ in step.results.get(name, [])}


def patch(document: dict[str, Any], operation: dict[str, Any]) -> str:
    """Apply an operation at a key, or at a key in a key; return the first. Raises `KeyError` where
    it does not fit."""
    first, *rest = [
        token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:]
    ]
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


keys = st.sampled_from(
    ["a", "b", "id", "p", "s", "x/y", "~", "", "__proto__", "constructor", "prototype"]
)
atoms = st.sampled_from([None, True, False, 0, 1, 2, -1.5, "", "é", "text", "more text " * 6])
values = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
cards = st.lists(st.fixed_dictionaries({"id": st.sampled_from("xyz"), "v": values}), max_size=3)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "items": st.lists(values, max_size=2),
    "meta": st.dictionaries(keys, values, max_size=2),
    "cards": cards.map(lambda given: by_id([], given)),
    "total": st.integers(-2, 2),
}


def of(key: str) -> st.SearchStrategy[Any]:
    """Values that a key may have."""
    return KINDS.get(key, values if key not in HIDDEN else st.just(CANARY))


def entries(among: tuple[str, ...], most: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    """Some keys, with values that they may have."""
    chosen = st.lists(st.sampled_from(among), max_size=most, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: of(name) for name in names}))


def pointer(*tokens: str) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


paths = st.sampled_from(
    [(key,) for key in ("doc", "plan", "locked", *HIDDEN, *FOREIGN)]
    + [("items", "-"), ("meta", "a"), ("meta", "x/y"), ("doc", "a"), ("doc", "-")]
)
operations = st.builds(
    lambda path, op, value: {
        "op": op,
        "path": pointer(*path),
        **({} if op == "remove" else {"value": CANARY if path[0] in HIDDEN else value}),
    },
    paths,
    st.sampled_from(["add", "add", "replace", "remove"]),
    values,
)
emissions = st.builds(
    Emit, entries((*VISIBLE, *HIDDEN, *FOREIGN)) | st.lists(operations, min_size=1, max_size=2)
)

arguments = st.builds(
    lambda tool, given: (tool, json.dumps(given, ensure_ascii=False)),
    st.sampled_from(["write_doc", "write_doc", "write_plan", "write_secret", "other"]),
    st.fixed_dictionaries(
        {}, optional={"doc": values, "title": values, "secret": st.just("no secret")}
    ),
)


@st.composite
def talks(draw: Any) -> Talk:
    calls = draw(st.lists(arguments, min_size=1, max_size=2))
    pieces: list[list[tuple[int, str]]] = []
    for index, (_, text) in enumerate(calls):
        cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
        pieces.append(
            [(index, text[i:j]) for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        )
    breaks = draw(st.integers(0, 4)) == 0
    if breaks and pieces:
        pieces[-1] = pieces[-1][: draw(st.integers(1, len(pieces[-1])))]
    if len(pieces) == 2 and draw(st.booleans()):  # at the same time
        longer = max(map(len, pieces))
        order = [one for n in range(longer) for side in pieces for one in side[n : n + 1]]
    else:
        order = [one for side in pieces for one in side]
    return Talk(tuple(calls), tuple(order), breaks)


writes = st.sampled_from([*VISIBLE, "doc", "plan", *HIDDEN]).flatmap(
    lambda key: st.builds(
        Write,
        st.just(key),
        st.just("new")
        if key in HIDDEN or key == "flash"
        else st.sampled_from(["new", "share", "place", "deep"]),
        of(key),
    )
)
parts = st.builds(
    Part,
    st.lists(emissions | talks(), max_size=2).map(tuple),
    st.lists(writes, max_size=2).map(tuple),
    st.none() | st.lists(st.booleans(), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["return"] * 12 + ["fail", "pause"]),
)


@st.composite
def supersteps(draw: Any) -> Superstep:
    """Parallel nodes, of which no two write a key that takes one value, or change one in place; at
    most one fails."""
    names = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    chosen = {name: draw(parts) for name in names}
    # beside a pause: see test_previews
    if any(script.end == "pause" for script in chosen.values()):
        chosen = {
            name: script
            if script.end == "pause"
            else replace(script, writes=(), answers=None, end="return")
            for name, script in chosen.items()
        }
    taken: dict[str, str] = {}
    failing = False
    for name, script in chosen.items():
        mine: dict[str, Write] = {}
        for write in script.writes:
            alone = write.key not in REDUCERS or write.how == "place"
            if write.key == "flash" and any(other.end == "fail" for other in chosen.values()):
                continue  # LangGraph itself does not agree whether it is there afterwards
            if write.key not in taken or (taken[write.key] == "shared" and not alone):
                mine[write.key] = write
        for key, write in mine.items():
            taken[key] = "alone" if key not in REDUCERS or write.how == "place" else "shared"
        # what was changed in place is then half there
        if any(other.end == "fail" for other in chosen.values()):
            mine = {key: replace(write, how="new") for key, write in mine.items()}
        end = "return" if script.end == "fail" and failing else script.end
        failing = failing or end == "fail"
        chosen[name] = replace(script, writes=tuple(mine.values()), end=end)
    turns = [name for name, script in chosen.items() for _ in range(lengths(script))]
    return Superstep(chosen, draw(st.permutations(turns)))


def quiet_supersteps() -> st.SearchStrategy[Superstep]:
    """Those that come to their end: only a thread that is kept can pause."""

    def calm(step: Superstep) -> Superstep:
        return replace(
            step, parts={name: replace(part, end="return") for name, part in step.parts.items()}
        )

    return supersteps().map(calm)


def lengths(script: Part) -> int:
    """How many turns a node takes."""
    return 1 + sum(1 if isinstance(act, Emit) else 1 + len(act.pieces) for act in script.acts)


edits = st.lists(
    st.one_of(
        st.tuples(
            st.just("set"), entries((*WRITABLE, *WRITABLE, "flash", "locked", *FOREIGN, "theme"))
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
    """A thread, its client, and what both should hold."""

    def __init__(self, send: str = "patches", saver: Any = ...) -> None:
        self._keeps = saver is not None
        self.world = World(InMemorySaver() if self._keeps else None, send=send)
        self.oracle = Oracle()
        self.messages: list[Any] = []
        self.held: Any = {}
        self.config: Any = {"configurable": {"thread_id": "t"}}
        self.asked: list[str] = []
        self.rests = True
        self.steps = 0
        self._runs = 0
        self._routed = False

    def turn(self, sent: Any, program: list[Superstep], *, speaks: bool, wire: bool) -> None:
        """One run: a new message or an echo, or the answers to what is asked."""
        given, ending = self.prepare(sent, program, speaks=speaks)
        self._check(asyncio.run(asyncio.wait_for(self._record(given, wire=wire), PATIENCE)), ending)

    def prepare(self, sent: Any, program: list[Superstep], *, speaks: bool) -> tuple[Any, str]:
        """The input of a run, and how it should end."""
        oracle, world = self.oracle, self.world
        self._runs += 1
        resumed = bool(self.asked)
        if not self._routed or len(world.program) <= self.steps + resumed:
            del world.program[self.steps + resumed :]
            world.program += program
        world.begins_at, world.life, oracle.life = self.steps, f"r{self._runs}", f"r{self._runs}"
        changed = oracle.begin(sent)
        said = (
            [user("go", f"u{self._runs}")]
            if not resumed and (speaks or not self.rests or self._runs == 1)
            else []
        )
        given = run_input(
            *self.messages,
            *said,
            thread="t",
            run=f"r{self._runs}",
            state=sent,
            resume=[
                ResumeEntry(interrupt_id=one, status="resolved", payload="yes")
                for one in self.asked
            ]
            or None,
        )
        if changed or said or resumed:
            ending = self._expected(resumed)
        else:
            ending = "idle"
            self._idles()
        self._sent = deepcopy(sent)  # a node may change its input in place
        return given, ending

    def _expected(self, resumed: bool) -> str:
        oracle = self.oracle
        if resumed:
            oracle.resumes()
        else:
            oracle.starts()
        ending = "return"
        while self.steps < len(self.world.program) and ending == "return":
            step = self.world.program[self.steps]
            if resumed:  # those that have paused run once more
                step.turns = [
                    name for name in step.paused for _ in range(lengths(step.parts[name]))
                ]
                step.turn = 0
            else:
                self._answers(step)
            resumed = False
            ending = oracle.superstep(step, self.steps)
            self.steps += oracle.passed  # where others have failed, with what is stored beside them
            # Nodes that have ended beside a pause have named the next ones already: the program
            # stays.
            self._routed = ending == "pause" and len(step.paused) < len(step.parts)
        if ending != "fail":
            oracle.drop()
        oracle.open = {}
        return ending

    def _idles(self) -> None:
        """Nothing is run, and the client is told what the thread has."""
        self.oracle.show()

    def _answers(self, step: Superstep) -> None:
        """Let parts that answer calls answer those that are open: each call once."""
        waiting = [*self.oracle.open]
        for name, script in step.parts.items():
            if script.answers and script.end == "return":
                step.results[name] = list(zip(waiting, script.answers, strict=False))
                waiting = waiting[len(script.answers) :]

    async def _record(self, given: Any, *, wire: bool) -> RecordedRun:
        agent = self.world.agent
        if not wire:
            return RecordedRun([event async for event in agent.run(given)], given)
        sent = b"".join([frames async for frames in agent.stream_sse(given)]).decode()
        assert CANARY not in sent
        return RecordedRun(
            [
                parse_event(json.loads(line[6:]))
                for line in sent.splitlines()
                if line.startswith("data: ")
            ],
            given,
        )

    def _check(self, recorded: RecordedRun, ending: str) -> None:
        fold = Fold(recorded.input.messages, self._sent)
        held = exact(self._sent)
        states = [held]
        for event in recorded.events:
            fold.feed(event)
            # which makes {} of null
            if exact(fold.state) != held and event.type.value != "RUN_STARTED":
                states.append(exact(fold.state))
            held = exact(fold.state)
        assert fold.warnings == []
        assert CANARY not in "".join(event.model_dump_json() for event in recorded.events)
        assert recorded.last.type.value == ("RUN_ERROR" if ending == "fail" else "RUN_FINISHED"), (
            recorded.last
        )
        should = [exact(one) for one in self.oracle.shown]
        assert states == should, "\n".join([ending, *states, "should be", *should])
        self.held, self.messages = fold.state, fold.messages
        stored = (
            self.world.agent.graph.get_state(self.config).values
            if self._keeps
            else self.oracle.truth
        )
        self.asked = (
            [one.id for one in recorded.last.outcome.interrupts] if ending == "pause" else []
        )
        self.rests = ending != "fail"
        shown = set(VISIBLE) - ({"flash"} if ending == "fail" else set())
        seen = {key: value for key, value in stored.items() if key in shown}
        assert exact(seen) == exact(
            {key: value for key, value in self.oracle.truth.items() if key in shown}
        )
        if ending != "fail":
            only = {key: value for key, value in self.held.items() if key not in VISIBLE}
            assert exact(self.held) == exact({**only, **dict.fromkeys(self.oracle.nulls), **seen})


class Life(RuleBasedStateMachine):
    """One thread: its client edits, says something, echoes, answers; its graph does whatever graphs
    do."""

    @initialize(send=st.sampled_from(["patches", "patches", "patches", "snapshots"]))
    def begin(self, send: str) -> None:
        self.thread = Thread(send)

    @rule(
        changes=edits,
        program=st.lists(supersteps(), min_size=1, max_size=3),
        speaks=st.booleans(),
        wire=st.booleans(),
    )
    def run(self, changes: list[Any], program: list[Superstep], speaks: bool, wire: bool) -> None:
        self.thread.turn(edited(self.thread.held, changes), program, speaks=speaks, wire=wire)


slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
Life.TestCase.settings = settings(
    max_examples=example_count(10, 20), stateful_step_count=4, suppress_health_check=slow
)
TestLife = Life.TestCase


def seen_by(recorded: RecordedRun) -> list[str]:
    """The states that a reader has held, without what only this one has."""
    fold = Fold(recorded.input.messages, recorded.input.state)
    states = [exact({})]
    for event in recorded.events:
        fold.feed(event)
        if event.type.value != "RUN_STARTED" and isinstance(fold.state, dict):
            state = exact({key: value for key, value in fold.state.items() if key != "theirs"})
            if state != states[-1]:
                states.append(state)
    assert fold.warnings == []
    return states


@given(
    send=st.sampled_from(["patches", "snapshots"]),
    program=st.lists(supersteps(), min_size=1, max_size=2),
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
        asyncio.wait_for(join_after(thread.world.agent, after, joiner, given=asked), PATIENCE)
    )
    first = seen_by(joined.live)
    assert first == [exact(one) for one in thread.oracle.shown]
    for recorded in joined.joined:
        _, *states = seen_by(recorded)
        if (
            states
            and joiner.state
            and states[0] == exact({k: v for k, v in joiner.state.items() if k != "theirs"})
        ):
            states = states[1:]  # until the graph has spoken, a reader holds what it came with
        assert states == first[len(first) - len(states) :], ending
        assert "theirs" not in theirs or recorded.state["theirs"] == theirs["theirs"]


class Stateless(RuleBasedStateMachine):
    """The client holds the thread: what it sends is the graph's input, and goes through its
    reducers."""

    @initialize()
    def begin(self) -> None:
        self.thread = Thread(saver=None)

    @rule(
        changes=edits,
        program=st.lists(quiet_supersteps(), min_size=1, max_size=2),
        wire=st.booleans(),
    )
    def run(self, changes: list[Any], program: list[Superstep], wire: bool) -> None:
        thread = self.thread
        thread.oracle.truth = deepcopy(START_VALUES)
        thread.steps = 0
        thread.world.program.clear()
        thread.turn(edited(thread.held, changes), program, speaks=True, wire=wire)


Stateless.TestCase.settings = settings(
    max_examples=example_count(6, 10), stateful_step_count=3, suppress_health_check=slow
)
TestStateless = Stateless.TestCase

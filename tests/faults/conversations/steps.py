"""The steps of a conversation: plain values, which print as the script that a failing example shows.

A number that points to a tab, a message or a question counts modulo how many there are, so every
list of steps can be played.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.faults.conversations.agent import PLACES, WORDS

# -- while a run waits ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Join:
    """A tab connects while the run goes on; `fresh` is a reload, which forgets what it held."""

    tab: int
    fresh: bool = False


@dataclass(frozen=True)
class Disturb:
    """Another tab says something to the busy thread."""

    tab: int


@dataclass(frozen=True)
class Cancel:
    """The run is cancelled; if `late`, while it goes on."""

    late: bool = False


@dataclass(frozen=True)
class Drop:
    """The connection of the tab that runs breaks."""


@dataclass(frozen=True)
class Kill:
    """The worker of the run is killed, and starts again."""


Meanwhile: TypeAlias = Join | Disturb | Cancel | Drop | Kill

# -- steps ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Say:
    """The user writes a message in a tab, which sends all that it holds; or, if it is `short`, the
    new message alone."""

    tab: int
    words: str
    meanwhile: tuple[Meanwhile, ...] = ()
    note: str | None = None
    short: bool = False


@dataclass(frozen=True)
class Edit:
    """The user changes an earlier message of the tab."""

    tab: int
    which: int
    words: str
    meanwhile: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True)
class Regenerate:
    """The user wants another answer to an earlier message of the tab."""

    tab: int
    which: int
    meanwhile: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The user answers the questions that the tab shows."""

    tab: int
    decisions: tuple[str, ...]
    meanwhile: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True)
class Return:
    """The tab sends the results of the client's calls that it shows as open, or only the first."""

    tab: int
    all: bool = True
    meanwhile: tuple[Meanwhile, ...] = ()


@dataclass(frozen=True)
class Repeat:
    """The tab sends its last request again, word by word."""

    tab: int


@dataclass(frozen=True)
class Connect:
    """The tab connects with what it holds; `fresh` is a reload, which forgets it."""

    tab: int
    fresh: bool = False


@dataclass(frozen=True)
class Restart:
    """A worker is killed while nothing runs, and starts again."""

    worker: int


Step: TypeAlias = Say | Edit | Regenerate | Answer | Return | Repeat | Connect | Restart
DECISIONS = ("approve", "reject", "edit", "respond", "cancel")


@dataclass(frozen=True)
class Plan:
    """A conversation.

    Attributes:
        mode: "stop" or "stay": what a run does when its first reader leaves.
        steps: What happens.
    """

    mode: str
    steps: tuple[Step, ...]


def script(plan: Plan) -> str:
    """The steps, one on a line."""
    lines = "\n".join(f"    {step!r}," for step in plan.steps)
    return f"Plan({plan.mode!r}, (\n{lines}\n))"


# -- what Hypothesis makes up --------------------------------------------------------------------

TABS = 3
tabs = st.integers(0, TABS - 1)
CALLS = (
    *("look", "look", "look+look", "feel", "help", "break", "look+break", "feel+look"),
    *("spend", "spend", "spend+spend", "look+spend"),
    *("pick", "pick+look", "pick+pick", "pick+spend"),
)
tools = st.sampled_from(CALLS)


FATES = tuple(word for word in WORDS if word not in ("think", "same", "draft", "fail"))


@st.composite
def texts(draw: Any) -> tuple[str, bool]:
    """Words, and whether the agent waits somewhere."""
    chosen = draw(st.lists(tools, max_size=2))
    manner = draw(st.sampled_from(["", "", "think", "think", "same", "draft", "fail"]))
    fate = draw(st.sampled_from([*([""] * 8), *FATES]))
    place = draw(st.sampled_from(["", "", *PLACES]))
    if place == "reasoning":
        manner = "think"
    if place in ("arguments", "tool") and not chosen:
        chosen = ["look"]
    if place in ("text", "end"):
        chosen = []
    words = [manner, *chosen, fate, f"wait@{place}" if place else ""]
    return " ".join(dict.fromkeys(filter(None, words))), bool(place)


def meanwhiles(kills: bool) -> st.SearchStrategy[tuple[Meanwhile, ...]]:
    ends: list[st.SearchStrategy[Any]] = [st.builds(Cancel, st.booleans()), st.just(Drop())]
    if kills:
        ends.append(st.just(Kill()))
    beside = st.one_of(st.builds(Join, tabs, st.booleans()), st.builds(Disturb, tabs))
    return st.builds(
        lambda first, last: (*first, *last),
        st.lists(beside, max_size=2),
        st.one_of(st.just(()), st.one_of(ends).map(lambda one: (one,))),
    )


KINDS = {
    "say": 8,
    "edit": 2,
    "regenerate": 2,
    "answer": 4,
    "return": 2,
    "repeat": 1,
    "connect": 2,
}


@st.composite
def steps(draw: Any, kills: bool) -> Step:
    kind = draw(
        st.sampled_from(
            [kind for kind, weight in KINDS.items() for _ in range(weight)] + ["restart"] * kills
        )
    )
    tab = draw(tabs)
    if kind == "say":
        words, waits = draw(texts())
        meanwhile = draw(meanwhiles(kills)) if waits else ()
        note = draw(st.sampled_from([None, None, None, "n1", "n2"]))
        return Say(tab, words, meanwhile, note, draw(st.sampled_from([False, False, False, True])))
    if kind == "edit":
        words, waits = draw(texts())
        meanwhile = draw(meanwhiles(kills)) if waits else ()
        return Edit(tab, draw(st.integers(0, 3)), words, meanwhile)
    if kind == "regenerate":
        return Regenerate(tab, draw(st.integers(0, 3)), draw(meanwhiles(kills)))
    if kind == "answer":
        decisions = draw(st.lists(st.sampled_from(DECISIONS), min_size=1, max_size=2))
        return Answer(tab, tuple(decisions), draw(meanwhiles(kills)))
    if kind == "return":
        return Return(tab, draw(st.booleans()), draw(meanwhiles(kills)))
    if kind == "repeat":
        return Repeat(tab)
    if kind == "restart":
        return Restart(draw(st.integers(0, 1)))
    return Connect(tab, draw(st.booleans()))


def plans(kills: bool) -> st.SearchStrategy[Plan]:
    """Random conversations.

    Args:
        kills: Whether workers are killed.
    """
    made = st.lists(steps(kills), min_size=3, max_size=12).map(tuple)
    return st.builds(Plan, st.sampled_from(["stop", "stay"]), made)

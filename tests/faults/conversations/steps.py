"""The steps of a conversation: plain values, which print as the script that a failing example shows.

A number that points to a tab, a message or a question counts modulo how many there are, so every
list of steps can be played.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.faults.conversations.agent import FATES, MANNERS, PLACES

# While a run waits:
Join = namedtuple("Join", "tab fresh")  # a tab connects; a fresh one is reloaded, and forgets all
Disturb = namedtuple("Disturb", "tab")  # another tab says something to the busy thread
Cancel = namedtuple("Cancel", "late")  # the run is cancelled, at its gate or while it goes on
Drop = namedtuple("Drop", "")  # the connection of the tab that runs breaks
Kill = namedtuple("Kill", "")  # the worker of the run is killed, and starts again
# At rest:
Say = namedtuple("Say", "tab words meanwhile note short")  # sends all, or the new message alone
Edit = namedtuple("Edit", "tab which words meanwhile")  # None wants another answer to the same
Answer = namedtuple("Answer", "tab decisions meanwhile")  # answers the questions that the tab shows
Return = namedtuple("Return", "tab all meanwhile")  # results of all open client's calls, or of one
Repeat = namedtuple("Repeat", "tab")  # the tab sends its last request again, word by word
Connect = namedtuple("Connect", "tab fresh")  # the tab connects with what it holds
Restart = namedtuple("Restart", "worker")  # a worker is killed while nothing runs


class Plan(NamedTuple):
    """A conversation: what a run does when its first reader leaves, "stop" or "stay", and what
    happens."""

    mode: str
    steps: tuple[Any, ...]

    def script(self) -> str:
        """The steps, one on a line."""
        lines = "\n".join(f"    {step!r}," for step in self.steps)
        return f"Plan({self.mode!r}, (\n{lines}\n))"


TABS = 3
CALLS = (
    *("look", "look", "look+look", "feel", "help", "break", "look+break", "feel+look"),
    *("spend", "spend", "spend+spend", "look+spend"),
    *("pick", "pick+look", "pick+pick", "pick+spend"),
)


def script_of(
    manner: str, chosen: list[str], fate: str, waits: tuple[str, Any]
) -> tuple[str, tuple[Any, ...]]:
    """The words of a text, and what happens while the agent waits."""
    place, meanwhile = waits
    if place == "reasoning":
        manner = "think"
    if place in ("arguments", "tool"):
        chosen = chosen or ["look"]
    if place in ("text", "end"):
        chosen = []
    words = [manner, *chosen, fate, f"wait@{place}" if place else ""]
    return " ".join(dict.fromkeys(filter(None, words))), meanwhile if place else ()


def plans(kills: bool) -> st.SearchStrategy[Plan]:
    """Random conversations; in some, workers are killed."""
    tabs, places = st.integers(0, TABS - 1), st.integers(0, 3)
    beside = st.builds(Join, tabs, st.booleans()) | st.builds(Disturb, tabs)
    ends = [st.builds(Cancel, st.booleans()), st.just(Drop()), *[st.just(Kill())] * kills]
    last = st.just(()) | st.one_of(ends).map(lambda one: (one,))
    meanwhile = st.builds(lambda one, two: (*one, *two), st.lists(beside, max_size=2), last)
    texts = st.builds(
        script_of,
        st.sampled_from(["", "", "think", *MANNERS]),
        st.lists(st.sampled_from(CALLS), max_size=2),
        st.sampled_from([*([""] * 8), *FATES]),
        st.tuples(st.sampled_from(["", "", *PLACES]), meanwhile),
    )
    decisions = st.lists(
        st.sampled_from(["approve", "reject", "edit", "respond", "cancel"]), min_size=1, max_size=2
    )
    notes, shorts = (None, None, None, "n1", "n2"), (False, False, False, True)
    more = st.tuples(st.sampled_from(notes), st.sampled_from(shorts))
    says = st.builds(lambda tab, text, more: Say(tab, *text, *more), tabs, texts, more)
    edits = st.builds(lambda tab, which, text: Edit(tab, which, *text), tabs, places, texts)
    kinds = [
        *[says] * 8,
        *[edits] * 2,
        *[st.builds(Edit, tabs, places, st.none(), meanwhile)] * 2,
        *[st.builds(Answer, tabs, decisions.map(tuple), meanwhile)] * 4,
        *[st.builds(Return, tabs, st.booleans(), meanwhile)] * 2,
        st.builds(Repeat, tabs),
        *[st.builds(Connect, tabs, st.booleans())] * 2,
        *[st.builds(Restart, st.integers(0, 1))] * kills,
    ]
    steps = st.sampled_from(kinds).flatmap(lambda kind: kind)
    made = st.lists(steps, min_size=3, max_size=12).map(tuple)
    return st.builds(Plan, st.sampled_from(["stop", "stay"]), made)

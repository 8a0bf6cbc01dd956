"""What figures should be at most: for those who work on this library. The pages for users show the
figures alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from .figures import short, table


@dataclass(frozen=True)
class Goal:
    """A figure with its bound, as they are printed, and whether it is met."""

    about: str
    found: str
    bound: str
    met: bool


def at_most(
    about: str, values: Sequence[float], bound: float, say: Callable[[float], str] = short
) -> Goal:
    """A goal for the median of the rounds: no more than `bound`."""
    found = median(values)
    return Goal(about, say(found), say(bound), found <= bound)


def below(
    about: str, values: Sequence[float], bound: float, say: Callable[[float], str] = short
) -> Goal:
    """A goal for the median of the rounds: less than `bound`."""
    found = median(values)
    return Goal(about, say(found), say(bound), found < bound)


def goals_markdown(goals: Sequence[Goal]) -> str:
    """Every goal beside its figure; nothing if there are none."""
    rows = [[one.about, one.found, one.bound, "met" if one.met else "**missed**"] for one in goals]
    return table(["goal", "found", "bound", ""], rows) if rows else ""

"""Section G: what grows with the history, with the runs at once and with the size of one, and what
does not."""

from dataclasses import dataclass

from .goals import Goal
from .growth_crowd import Crowd, crowd_goals, crowd_markdown, measure_crowd
from .growth_history import History, history_goals, history_markdown, measure_history
from .growth_pauses import Pauses, measure_pauses, pauses_goals, pauses_markdown
from .growth_server_runs import (
    ServerRuns,
    measure_server_runs,
    server_runs_goals,
    server_runs_markdown,
)

KEY = "G"


@dataclass
class Growth:
    """The parts of the section."""

    history: History
    crowd: Crowd
    server: ServerRuns
    pauses: list[Pauses]


async def measure_growth(rounds: int, scale: float = 1.0) -> Growth:
    """All parts, one after the other."""
    return Growth(
        await measure_history(rounds, scale),
        await measure_crowd(rounds, scale),
        await measure_server_runs(rounds, scale),
        await measure_pauses(rounds, scale),
    )


def growth_markdown(found: Growth) -> list[str]:
    """Section G as Markdown."""
    return [
        (
            "**G** What grows with a history, with the number of runs at once and with the size of "
            "one, and what does not:"
        ),
        *history_markdown(found.history),
        *crowd_markdown(found.crowd),
        *server_runs_markdown(found.server),
        *pauses_markdown(found.pauses),
    ]


def growth_goals(found: Growth) -> list[Goal]:
    """The goals of all parts."""
    return [
        *history_goals(found.history),
        *crowd_goals(found.crowd),
        *server_runs_goals(found.server),
        *pauses_goals(found.pauses),
    ]

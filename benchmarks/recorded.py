"""The ratios of the last release, in `recorded.json`: what was measured goes in, slowdowns come out.

Other work on the machine makes ratios larger: less waits together, so more is sent. So what seems
slow is measured again, in more rounds, of which those count in which the base had its CPU. A
slowdown shows each time, and beside each base.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median

from .measure import Result, measure
from .subjects import OURS, Subject
from .workloads import Workload

FILE = Path(__file__).with_name("recorded.json")
SLOWER = 1.10
MORE_ROUNDS = (5, 11)
BUSY = 1.25

Ratios = dict[str, dict[str, float]]
"""By what was measured: the CPU over that of each base."""


@dataclass
class Session:
    """Measures, and compares with what was recorded: `slow` has complaints, `unknown` what seemed
    slow when the machine was busy."""

    rounds: int
    scale: float = 1.0
    recorded: Ratios = field(default_factory=dict)
    found: Ratios = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    async def measure(self, workload: Workload, subjects: Sequence[Subject]) -> Result:
        """Measure a workload, and again if it seems slow."""
        result = await measure(workload, subjects, self.rounds)
        self.found |= ratios_of(result)
        slow = slowdowns(ratios_of(result), self.recorded)
        for rounds in MORE_ROUNDS:
            if slow:
                some = [one for one in subjects if one.base or name_of(workload, one) in slow]
                calm = ratios_of(await measure(workload, some, rounds), BUSY)
                self.unknown += [name for name in slow if not calm[name]]
                slow = slowdowns(calm, self.recorded)
        self.slow += slow.values()
        return result


def name_of(workload: Workload, subject: Subject) -> str:
    """What a ratio is called."""
    return workload.key if subject is OURS else f"{workload.key}, {subject.label}"


def ratios_of(result: Result, busy: float = inf) -> Ratios:
    """The medians of the ratios of ours, where there is a round that counts."""
    found: Ratios = {}
    for subject in result.subjects:
        if subject.ours and not subject.base:
            rounds = {
                base.key: result.ratios(subject, base, busy)
                for base in result.subjects
                if base.base
            }
            medians = {base: round(median(ratios), 3) for base, ratios in rounds.items() if ratios}
            found[name_of(result.workload, subject)] = medians
    return found


def slowdowns(found: Ratios, recorded: Ratios) -> dict[str, str]:
    """A complaint about each that is slower than recorded, by its name."""
    complaints = {}
    for name, ratios in found.items():
        factor, base = _factor(ratios, recorded.get(name, {}))
        if factor > SLOWER:
            complaints[name] = (
                f"{name}: {ratios[base]:.2f} x the CPU of {base}, "
                f"{recorded[name][base]:.2f} x is recorded: {factor - 1:.0%} slower"
            )
    return complaints


def _factor(ratios: Mapping[str, float], recorded: Mapping[str, float]) -> tuple[float, str]:
    """How many times slower, by the base that says least."""
    factors = [(ratio / recorded[base], base) for base, ratio in ratios.items() if base in recorded]
    return min(factors, default=(0.0, ""))


def read(path: Path = FILE) -> Ratios:
    """What is recorded."""
    recorded: Ratios = json.loads(path.read_text("utf-8"))
    return recorded


def record(found: Ratios, path: Path = FILE) -> None:
    """Record what was measured; the rest stays."""
    kept = read(path) if path.exists() else {}
    path.write_text(json.dumps(kept | found, indent=2, ensure_ascii=False) + "\n", "utf-8")

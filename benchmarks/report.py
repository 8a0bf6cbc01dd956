"""Results as Markdown, and their place in benchmarks/README.md."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median

from .measure import Result
from .subjects import FLOOR, INCUMBENT, OURS, RAW

PAGE = Path(__file__).with_name("README.md")
PACKAGES = (
    "langgraph",
    "langchain-core",
    "pydantic",
    "ag-ui-protocol",
    "ag-ui-langgraph",
    "fastapi",
    "uvicorn",
)


def short(value: float) -> str:
    """A number with about three digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def spread(values: Sequence[float], unit: float = 1.0) -> str:
    """The median of the rounds, with the lowest and the highest, in this unit."""
    middle, low, high = (short(pick(values) / unit) for pick in (median, min, max))
    return f"{middle} ({low}..{high})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def machine(rounds: int) -> str:
    """Where the figures come from."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    system = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{rounds} rounds; {system}, Python {platform.python_version()}; {packages}."


def workloads(results: Sequence[Result]) -> list[str]:
    """A row for each workload."""
    if not results:
        return []
    compared = (FLOOR, INCUMBENT, OURS)
    head = ["CPU over raw `astream`", *(one.label for one in compared), "raw, ms", "ours, ms"]
    head += ["first content after raw, ms", f"bytes, {INCUMBENT.label}", "bytes, ours"]
    notes = [f"{one.workload.key}: {note}" for one in results for note in one.notes]
    about = (
        "Medians of the rounds, with the lowest and the highest. Milliseconds and bytes are those "
        "of one run. Every stream of this library was what its script says."
    )
    parts = [table(head, map(_row, results)), about]
    if notes:
        parts.append(f"Streams of {INCUMBENT.label} differ from the script: {'; '.join(notes)}.")
    return parts


def _row(result: Result) -> list[str]:
    row = [f"**{result.workload.key}** {result.workload.title}"]
    row += [spread(result.ratios(one, RAW)) for one in (FLOOR, INCUMBENT, OURS)]
    row += [short(result.cpu(one) * 1e3) for one in (RAW, OURS)]
    row.append(spread(result.later(OURS, RAW), 1e-3))
    return [*row, *(f"{result.size(one):,.0f}" for one in (INCUMBENT, OURS))]


def write(page: Path, part: str, text: str) -> None:
    """Replace a generated part of a page."""
    start, end = f"<!-- generated: {part} -->", f"<!-- generated: end of {part} -->"
    head, rest = page.read_text("utf-8").split(start)
    tail = rest.split(end)[1]
    page.write_text(f"{head}{start}\n\n{text}\n\n{end}{tail}", "utf-8")

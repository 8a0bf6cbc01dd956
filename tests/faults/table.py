"""`python -m tests.faults.table`: the faults that tests inject, as the rows of a Markdown table."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from tests.faults.cases import Case
from tests.tables import line

HEADS = ["fault", "kind of run", "what its client gets", "held by"]


def cases() -> list[tuple[Case, str]]:
    """Every case, and the file of its test."""
    found: list[tuple[Case, str]] = []
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        module = import_module(f"tests.faults.{file.stem}")
        found += [(case, file.name) for case in getattr(module, "CASES", ())]
    return found


def table() -> str:
    """The table."""
    rows = [line(case.fault, case.run, case.client, f"`{file}`") for case, file in cases()]
    return "\n".join([line(*HEADS), line(*["---"] * len(HEADS)), *rows])


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")

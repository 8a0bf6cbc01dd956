"""`python -m tests.faults.table`: write the faults that tests inject into the
README beside them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.kit.expect.faults import Case
from tests.kit.graphs.broken_checkpointer import FAULTS
from tests.kit.tables import line

PAGE = Path(__file__).with_name("README.md")
HEADS = ["fault", "kind of run", "what its client gets", "test"]


def cases() -> list[tuple[Case, str]]:
    """Every case, and the file of its test."""
    found: list[tuple[Case, str]] = []
    for file in sorted(PAGE.parent.glob("*/test_*.py")):
        module = import_module(f"tests.faults.{file.parent.name}.{file.stem}")
        name = f"{file.parent.name}/{file.name}"
        found += [(case, name) for case in getattr(module, "CASES", ())]
    return found


# Faults that tests elsewhere inject.
OTHERS = [
    (
        "the disk is full",
        "an approval",
        "`RUN_ERROR` `state_error`; nothing runs",
        "behaviour/approvals/test_records.py",
    ),
    (
        "the process is killed after the record of an approval, or in its tool",
        "an approval",
        "a closed connection; open questions are asked again under a new id",
        "faults/killed/test_approvals.py",
    ),
    (
        "the server is terminated",
        "any",
        "`RUN_ERROR` `server_stopping`",
        "behaviour/mount/test_life_cycle.py",
    ),
    (
        "the client does not read",
        "any",
        "`RUN_ERROR` `reader_too_slow`",
        "faults/slow/test_readers.py",
    ),
]


def faults() -> str:
    """The table of faults."""
    rows = [(*row, "faults/broken/test_checkpointer.py") for fault in FAULTS for row in fault.rows]
    rows += [(case.fault, case.run, case.client, f"faults/{file}") for case, file in cases()]
    return "\n".join(
        [
            line(*HEADS),
            line(*["---"] * len(HEADS)),
            *(line(*row, f"`{file}`") for *row, file in sorted([*rows, *OTHERS])),
        ]
    )


def page() -> str:
    """The README."""
    return f"""# Faults

What a client gets when something breaks. Each line is a test that breaks it. After each fault, a guarded tool has run
at most once per approval, and the next turn of the thread works. `make results` writes this file.

{faults()}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

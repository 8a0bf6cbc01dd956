"""`python -m tests.faults.table`: write the faults that tests inject into the README beside them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.kit.expect.faults import Case
from tests.kit.tables import line

PAGE = Path(__file__).with_name("README.md")
TEXT = """# Faults

What a client gets when something breaks. Each line is a test that breaks it. After each fault, a guarded tool has run
at most once per approval, and the next turn of the thread works. `make results` writes this file.

"""
HEADS = ["fault", "kind of run", "what its client gets", "test"]
STOPPING, SLOW = "`RUN_ERROR` `server_stopping`", "`RUN_ERROR` `reader_too_slow`"
FULL, KILLED = (
    "the disk is full",
    "the process is killed after the record of an approval, or in its tool",
)
ASKED = "a closed connection; open questions are asked again under a new id"
AN = "an approval"
# Faults that other tests inject.
OTHERS = [
    (FULL, AN, "`RUN_ERROR` `state_error`; nothing runs", "behaviour/approvals/test_used_once.py"),
    (KILLED, AN, ASKED, "faults/killed/test_approvals.py"),
    ("the server is terminated", "any", STOPPING, "behaviour/mount/test_life_cycle.py"),
    ("the client does not read", "any", SLOW, "faults/slow/test_readers.py"),
]


def cases() -> list[tuple[Case, str]]:
    """Every case, and the file of its test."""
    found: list[tuple[Case, str]] = []
    for file in sorted(PAGE.parent.glob("*/test_*.py")):
        module = import_module(f"tests.faults.{file.parent.name}.{file.stem}")
        name = f"{file.parent.name}/{file.name}"
        found += [(case, name) for case in getattr(module, "CASES", ())]
    return found


def page() -> str:
    """The README."""
    rows = [(case.fault, case.run, case.client, f"faults/{file}") for case, file in cases()]
    lines = [line(*row, f"`{file}`") for *row, file in sorted([*rows, *OTHERS])]
    return TEXT + "\n".join([line(*HEADS), line(*["---"] * len(HEADS)), *lines]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""The mistakes of tests/faults/mistakes.md, and what each of them gets."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

PAGE = Path(__file__).with_suffix(".md")
WRITTEN = re.compile(
    r"^(.+):\n\n<!-- run by tests/faults/test_mistakes\.py -->\n"
    r"```python\n((?:.*\n)+?)```\n\n((?:    .*\n|\n(?=    ))+)",
    re.MULTILINE,
)


class Mistake(NamedTuple):
    """A mistake: its name, a program that makes it, and what that prints, logs or raises."""

    title: str
    program: str
    answer: str


def parts() -> dict[str, list[Mistake]]:
    """The mistakes of each part of the page."""
    found = {}
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        mistakes = [
            Mistake(title, program.strip(), dedent(answer).strip())
            for title, program, answer in WRITTEN.findall(part)
        ]
        assert len(mistakes) == part.count("```python"), "a mistake is not in the page's form"
        found[part.partition("\n")[0]] = mistakes
    return found

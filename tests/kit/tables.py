"""Tables that tests write into the docs."""

from __future__ import annotations

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def written(page: str, made: str) -> str:
    """`page` with `made` in the place of its section, or at its end."""
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n{made}\n".lstrip()
    before, _, rest = page.partition(BEGIN)
    return before + made + rest.partition(END)[2]


def rows(page: str) -> list[str]:
    """The lines of the table in the section of `page`."""
    return [one for one in page.split(BEGIN)[1].split(END)[0].splitlines() if one.startswith("|")]

"""What many clients leave in a server: nothing. `make soak` is the long form."""

from __future__ import annotations

from typing import Any

from benchmarks.soak.soak import Soaked, judge, rows_table, soak


async def test_nothing_is_left_of_clients_of_every_kind() -> None:
    """Memory says something in the long form only: a short one ends before the allocator has all it
    wants."""
    result = await soak(16)
    assert judge(result, memory=False) == []
    assert result.rows[-1]["run"] >= 16
    expected = "finish leave stall join cancel answer_twice talk_nonsense interfere show"
    assert {name.partition(":")[0] for name in result.tally} >= set(expected.split())


def rows(**changes: Any) -> list[dict[str, float]]:
    """Rows of a soak in which nothing grows, but for what is given: the first and the last value of
    a line."""
    flat = {
        "memory MB": 120,
        "objects": 150_000,
        "cache entries": 280,
        "tasks": 3,
        "descriptors": 12,
    }
    still = dict.fromkeys(("runs", "thread locks", "kept tasks", "repeated transfers"), 0)
    values = {name: (one, one) for name, one in {**flat, "threads": 4, **still}.items()} | changes

    def at(part: int) -> dict[str, float]:
        return {name: first + (last - first) * part / 40 for name, (first, last) in values.items()}

    return [{"run": 250 * number, **at(number)} for number in range(1, 41)]


def test_what_grows_is_named() -> None:
    assert judge(Soaked(rows(objects=(150_000, 151_000), threads=(4, 20)))) == []
    grown = {"memory MB": (120, 140), "objects": (150_000, 160_000), "cache entries": (280, 310)}
    grown |= {"tasks": (3, 6), "descriptors": (12, 14), "threads": (4, 104)}
    grown |= dict.fromkeys(("runs", "thread locks", "kept tasks", "repeated transfers"), (0, 1))
    for name, values in grown.items():
        [complaint] = judge(Soaked(rows(**{name: values})))
        assert name in complaint
    assert judge(Soaked(rows(), complaints=["join: 500"])) == ["join: 500"]


def test_the_table_shows_each_quarter() -> None:
    head, _, *shown = rows_table(rows()).splitlines()
    assert head.startswith("| runs | memory MB | objects |")
    firsts = ["| 250", "| 2,500", "| 5,000", "| 7,500", "| 10,000"]
    assert [row.split(" | ")[0] for row in shown] == firsts

"""Each benchmark runs and folds to what its script says, and a slowdown is told. Nothing is timed
here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

pytest.importorskip("ag_ui_langgraph", reason="the benchmarks need the incumbent (extra `bench`)")

from benchmarks import recorded
from benchmarks.check import check
from benchmarks.growth import conversation, measure_growth, with_history
from benchmarks.largest import inputs, measure_largest
from benchmarks.measure import Result, Sample, measure
from benchmarks.model import call_args, call_start, finish, plain, thinking
from benchmarks.over_http import served
from benchmarks.recorded import Ratios, Session, ratios_of, slowdowns
from benchmarks.recording import Recording, content_time
from benchmarks.report import PAGE, short, spread, workloads, write
from benchmarks.shared import measure_shared
from benchmarks.subjects import FLOOR, INCUMBENT, OURS, RAW, SUBJECTS, has_content, ours
from benchmarks.workloads import BUILDERS, Workload
from tests.kit.deep import deep

TINY = 0.01
STARTED = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
CONTENT = b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"no"}\n\n'


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key in ("W4", "W5", "W7") else deep) for key in BUILDERS]
)
async def test_every_subject_runs_and_ours_say_what_the_script_says(key: str) -> None:
    result = await measure(BUILDERS[key](TINY), SUBJECTS, rounds=1)  # raises if ours is wrong

    for subject in SUBJECTS:
        [sample] = result.samples[subject.key]
        assert sample.cpu > 0
        assert sample.content > 0
        assert (sample.size > 0) is not subject.base
    assert ratios_of(result).keys() == {key}
    assert f"| **{key}** " in workloads([result])[0]


@pytest.mark.xdist_group("postgres")
async def test_the_section_of_shared_runs_measures_each_store() -> None:
    session = Session(1, TINY)
    _, table = await measure_shared(session)

    names = [f"{key}, {store}" for key in ("W1", "W4") for store in ("Redis", "Postgres")]
    assert list(session.found) == [f"SR {name}" for name in names]
    assert all(f"| {name.replace(',', ':')} |" in table for name in names)


@deep
async def test_the_section_of_growth_measures_histories_and_crowds() -> None:
    session = Session(1, TINY)
    _, histories, _, crowds = await measure_growth(session)

    assert len(session.found) == 7  # two histories are alike when they are small
    assert all(ratios.keys() == {"raw"} for ratios in session.found.values())
    assert len(histories.splitlines()) == len(crowds.splitlines()) == 2 + 3


@deep
async def test_the_section_of_the_largest_requests_measures_each() -> None:
    _, table = await measure_largest(Session(1, TINY))  # raises if a run does not finish

    assert all(f"| {name} |" in table for name in inputs(TINY))


# -- wrong streams -------------------------------------------------------------------------------


async def stream(workload: Workload) -> tuple[Any, bytes]:
    run_input = await workload.prepare()
    return run_input, b"".join([chunk async for chunk in ours(workload)(run_input)])


def complaints(workload: Workload, run_input: Any, body: bytes) -> str:
    return "; ".join(check(workload, run_input, [body[:150], body[150:]], strict=True))


async def test_a_stream_that_is_cut_or_changed_is_noticed() -> None:
    workload = with_history(2, 2, 1)
    run_input, body = await stream(workload)
    snapshot = body.index(b'data: {"type":"MESSAGES_SNAPSHOT"')
    live, closing = body[:snapshot], body[snapshot:]
    finished = body.index(b'data: {"type":"RUN_FINISHED"')

    assert complaints(workload, run_input, body) == ""
    assert "ends within a run" in complaints(workload, run_input, body[:finished])
    changed = live.replace(b"word1", b"word2") + closing
    assert "streamed text differs" in complaints(workload, run_input, changed)
    changed = live + closing.replace(b'"word0 word1 "', b'"word0 word2 "')
    assert "folded text differs" in complaints(workload, run_input, changed)
    changed = live + closing.replace(b"user-0", b"user-1")
    assert "history differs" in complaints(workload, run_input, changed)


async def test_what_is_missing_is_named() -> None:
    workload = BUILDERS["W2"](TINY)
    run_input, body = await stream(workload)
    frames = [frame + b"\n\n" for frame in body.split(b"\n\n") if frame]
    unsigned = [frame for frame in frames if b"ENCRYPTED_VALUE" not in frame]
    kept = [frame for frame in unsigned if b"MESSAGES_SNAPSHOT" not in frame]

    found = complaints(workload, run_input, b"".join(kept))

    assert found == "streamed signed differs; folded signed differs"
    assert complaints(workload, run_input, STARTED) != ""


async def test_texts_of_two_runs_that_change_places_are_noticed() -> None:
    workload = BUILDERS["W6"](TINY)
    (one, body), (other, _) = await stream(workload), await stream(workload)
    ids = ((one.thread_id, other.thread_id), (one.run_id, other.run_id))
    for mine, others in ids:
        body = body.replace(mine.encode(), others.encode())

    assert "text differs" in complaints(workload, other, body)


async def test_a_state_that_is_wrong_is_noticed() -> None:
    workload = BUILDERS["W5"](TINY)
    run_input, body = await stream(workload)
    run_input.state["more"] = 1  # which an adapter may do

    assert check(workload, run_input, [body], strict=False) == []
    changed = body.replace(b'"step 2 of 2"', b'"step 3 of 2"')
    assert check(workload, run_input, [changed], strict=False) == ["the state differs in progress"]


async def test_a_wrong_stream_of_ours_ends_the_benchmark() -> None:
    workload = BUILDERS["W1"](TINY)
    other = Workload("W1", "other", workload.graph, BUILDERS["W2"](TINY).expect)

    with pytest.raises(AssertionError, match=r"W1, .* text differs"):
        await measure(other, [OURS], rounds=1)


async def test_a_client_that_gets_no_stream_ends_the_benchmark() -> None:
    workload = BUILDERS["W7"](TINY)
    async with served(workload, lambda app, workload: None) as drive:  # nothing is there
        recording = Recording(await workload.prepare())
        await drive([recording])

    with pytest.raises(AssertionError, match="a run without content"):
        content_time(recording.pieces)


# -- first content -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (plain("a"), True),
        (plain(""), False),
        (thinking("a"), True),
        (call_start("c", "look"), False),
        (call_args("{"), True),
        (finish(1), False),
    ],
)
def test_a_raw_part_has_content_if_it_has_text_reasoning_or_arguments(
    chunk: AIMessageChunk, expected: bool
) -> None:
    assert has_content(("messages", (chunk, {}))) is expected
    assert has_content(("values", {"messages": [chunk]})) is False


def test_the_first_content_of_a_stream_is_its_first_text_reasoning_or_arguments() -> None:
    arguments = b'data: {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}\n\n'
    reasoning = b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"a"}\n\n'
    for content in (CONTENT, arguments, reasoning):
        assert content_time([(1, STARTED), (2, STARTED + content), (3, CONTENT)]) == 2
        assert content_time([(1, STARTED), (2, content[:20]), (3, content[20:])]) == 3


# -- slowdowns -----------------------------------------------------------------------------------


def made_up(workload: Workload, raw: float, floor: float, wait: float = 1.0) -> Result:
    """Two rounds in which ours takes so many times the CPU of raw and floor."""
    cpus = {RAW: 1 / raw, FLOOR: 1 / floor, INCUMBENT: 2.0, OURS: 1.0}
    samples = {
        one.key: [Sample(cpu * base, cpu * base * wait, 0.01, 7) for base in (1.0, 1.1)]
        for one, cpu in cpus.items()
    }
    return Result(workload, SUBJECTS, samples)


def test_what_is_slower_beside_raw_and_floor_is_told() -> None:
    before: Ratios = {"W1": {"raw": 0.5, "floor": 1.0}}

    assert slowdowns({"W1": {"raw": 0.55, "floor": 1.1}}, before) == {}
    assert slowdowns({"W1": {"raw": 0.9, "floor": 1.05}}, before) == {}
    assert slowdowns({"new": {"raw": 9.0}}, before) == {}
    assert slowdowns({"W1": {"raw": 0.6, "floor": 1.3}}, before) == {
        "W1": "W1: 0.60 x the CPU of raw, 0.50 x is recorded: 20% slower"
    }


@pytest.mark.parametrize(
    ("ratios", "wait", "taken", "slow", "unknown"),
    [
        ([0.5], 1.0, [1], 0, 0),
        ([0.7, 0.5], 1.0, [1, 5], 0, 0),
        ([0.7, 0.6, 0.6], 1.0, [1, 5, 11], 1, 0),
        ([0.7, 0.7], 2.0, [1, 5], 0, 1),
    ],
)
async def test_what_seems_slow_is_measured_again(
    monkeypatch: pytest.MonkeyPatch,
    ratios: Sequence[float],
    wait: float,
    taken: list[int],
    slow: int,
    unknown: int,
) -> None:
    workload, rounds_taken, left = BUILDERS["W1"](TINY), [], iter(ratios)

    async def made(_: Workload, subjects: Iterable[object], rounds: int) -> Result:
        rounds_taken.append(rounds)
        assert (INCUMBENT in subjects) is (rounds == 1)
        ratio = next(left)
        return made_up(workload, ratio, 2 * ratio, wait)

    monkeypatch.setattr(recorded, "measure", made)
    session = Session(1, recorded={"W1": {"raw": 0.5, "floor": 1.0}})
    await session.measure(workload, SUBJECTS)

    assert rounds_taken == taken
    assert (len(session.slow), len(session.unknown)) == (slow, unknown)
    assert session.found == {"W1": {"raw": ratios[0], "floor": 2 * ratios[0]}}


def test_ratios_are_recorded_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    recorded.record({"W1": {"raw": 0.5}, "W2": {"raw": 0.6}}, path)
    recorded.record({"W2": {"raw": 0.7}}, path)

    assert recorded.read(path) == {"W1": {"raw": 0.5}, "W2": {"raw": 0.7}}


def test_every_workload_is_recorded() -> None:
    assert BUILDERS.keys() <= recorded.read().keys()


# -- the report ----------------------------------------------------------------------------------


def test_figures_are_the_medians_of_rounds() -> None:
    result = made_up(BUILDERS["W1"](TINY), 0.5, 1.0)

    [row] = [line for line in workloads([result])[0].splitlines() if "**W1**" in line]
    assert row.startswith("| **W1** one node, 50 text tokens | 0.50 (0.50..0.50) | 1.00 (1.00..")
    assert spread([1.0, 30.0, 1234.5]) == "30.0 (1.00..1,234)"
    assert short(-100) == "-100"


def test_the_report_replaces_its_own_part_only(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- generated: x -->\nstale\n<!-- generated: end of x -->\nb\n")

    write(page, "x", "new")

    assert page.read_text() == (
        "a\n<!-- generated: x -->\n\nnew\n\n<!-- generated: end of x -->\nb\n"
    )


def test_users_see_figures_and_no_goals() -> None:
    assert not re.search(r"\bgoals?\b|\bmissed\b|\(met\)", PAGE.read_text("utf-8"), re.IGNORECASE)


def test_half_of_a_history_has_reasoning() -> None:
    roles = [one.role for one in with_history(4, 2, 1).sent_history]
    assert roles == ["user", "reasoning", "assistant"] * 2
    assert len(conversation(4)) == 4

"""Each benchmark runs and folds to what its script says, and a slowdown is told. Nothing is timed
here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag_ui_langgraph", reason="the benchmarks need the incumbent (extra `bench`)")

from benchmarks import recorded
from benchmarks.check import check
from benchmarks.growth import with_history
from benchmarks.measure import Result, Sample, measure
from benchmarks.model import call_args, call_start, finish, plain, thinking
from benchmarks.recorded import Session, ratios_of, slowdowns
from benchmarks.recording import content_time
from benchmarks.report import PAGE, short, spread, workloads, write
from benchmarks.subjects import FLOOR, INCUMBENT, OURS, RAW, SUBJECTS, has_content, ours
from benchmarks.workloads import BUILDERS, Workload

TINY = 0.01
STARTED = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
TOLD = [("TEXT_MESSAGE_CONTENT", "messageId"), ("TOOL_CALL_ARGS", "toolCallId")]
CONTENTS = [
    f'data: {{"type":"{kind}","{key}":"m","delta":"a"}}\n\n'.encode()
    for kind, key in [*TOLD, ("REASONING_MESSAGE_CONTENT", "messageId")]
]


@pytest.mark.parametrize("key", ["W4", "W5"])  # `make bench` has the others
async def test_every_subject_runs_and_ours_say_what_the_script_says(key: str) -> None:
    result = await measure(BUILDERS[key](TINY), SUBJECTS, rounds=1)  # raises if ours is wrong
    for subject in SUBJECTS:
        [sample] = result.samples[subject.key]
        assert (sample.cpu > 0, sample.content > 0, sample.size > 0) == (
            True,
            True,
            not subject.base,
        )
    assert ratios_of(result).keys() == {key}
    assert f"| **{key}** " in workloads([result])[0]


async def stream(workload: Workload) -> tuple[Any, bytes]:
    run_input = await workload.prepare()
    return run_input, b"".join([chunk async for chunk in ours(workload)(run_input)])


def complaints(workload: Workload, run_input: Any, body: bytes) -> str:
    return "; ".join(check(workload, run_input, [body[:150], body[150:]], strict=True))


async def test_a_wrong_stream_is_noticed() -> None:
    workload = with_history(2, 2, 1)
    run_input, body = await stream(workload)
    snapshot = body.index(b'data: {"type":"MESSAGES_SNAPSHOT"')
    live, closing = body[:snapshot], body[snapshot:]
    other = b'"word0 word2 "'
    for said, changed in {
        "": body,
        "ends within a run": body[: body.index(b'data: {"type":"RUN_FINISHED"')],
        "streamed text differs": live.replace(b"word1", b"word2") + closing,
        "folded text differs": live + closing.replace(b'"word0 word1 "', other),
        "history differs": live + closing.replace(b"user-0", b"user-1"),
    }.items():
        found = complaints(workload, run_input, changed)
        assert (said in found, bool(found)) == (True, bool(said))

    workload = BUILDERS["W2"](TINY)
    run_input, body = await stream(workload)
    frames = [frame + b"\n\n" for frame in body.split(b"\n\n") if frame]
    left_out = (b"ENCRYPTED_VALUE", b"MESSAGES_SNAPSHOT")
    kept = [frame for frame in frames if not any(one in frame for one in left_out)]
    found = complaints(workload, run_input, b"".join(kept))
    assert found == "streamed signed differs; folded signed differs"

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


def test_the_first_content_is_text_reasoning_or_arguments() -> None:
    chunks = [plain("a"), thinking("a"), call_args("{"), plain(""), call_start("c", "f"), finish(1)]
    found = [has_content(("messages", (chunk, {}))) for chunk in chunks]
    assert found == [True, True, True, False, False, False]
    assert not has_content(("values", {"messages": chunks}))
    for content in CONTENTS:
        assert content_time([(1, STARTED), (2, STARTED + content), (3, CONTENTS[0])]) == 2
        assert content_time([(1, STARTED), (2, content[:20]), (3, content[20:])]) == 3
    with pytest.raises(AssertionError, match="a run without content"):
        content_time([(1, STARTED)])


def made_up(workload: Workload, raw: float, floor: float, wait: float = 1.0) -> Result:
    """Two rounds in which ours takes so many times the CPU of raw and floor."""
    cpus = {RAW: 1 / raw, FLOOR: 1 / floor, INCUMBENT: 2.0, OURS: 1.0}
    samples = {
        one.key: [Sample(cpu * base, cpu * base * wait, 0.01, 7) for base in (1.0, 1.1)]
        for one, cpu in cpus.items()
    }
    return Result(workload, SUBJECTS, samples)


def test_what_is_slower_beside_raw_and_floor_is_told() -> None:
    before: Any = {"W1": {"raw": 0.5, "floor": 1.0}}
    assert slowdowns({"W1": {"raw": 0.55, "floor": 1.1}}, before) == {}
    assert slowdowns({"W1": {"raw": 0.9, "floor": 1.05}, "new": {"raw": 9.0}}, before) == {}
    said = {"W1": "W1: 0.60 x the CPU of raw, 0.50 x is recorded: 20% slower"}
    assert slowdowns({"W1": {"raw": 0.6, "floor": 1.3}}, before) == said


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
    assert (rounds_taken, len(session.slow), len(session.unknown)) == (taken, slow, unknown)
    assert session.found == {"W1": {"raw": ratios[0], "floor": 2 * ratios[0]}}


def test_ratios_are_recorded_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    recorded.record({"W1": {"raw": 0.5}, "W2": {"raw": 0.6}}, path)
    recorded.record({"W2": {"raw": 0.7}}, path)
    assert recorded.read(path) == {"W1": {"raw": 0.5}, "W2": {"raw": 0.7}}
    assert BUILDERS.keys() <= recorded.read().keys()


def test_the_report(tmp_path: Path) -> None:
    result = made_up(BUILDERS["W1"](TINY), 0.5, 1.0)
    [row] = [line for line in workloads([result])[0].splitlines() if "**W1**" in line]
    assert row.startswith("| **W1** one node, 50 text tokens | 0.50 (0.50..0.50) | 1.00 (1.00..")
    assert (spread([1.0, 30.0, 1234.5]), short(-100)) == ("30.0 (1.00..1,234)", "-100")
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- generated: x -->\nstale\n<!-- generated: end of x -->\nb\n")
    write(page, "x", "new")
    kept = "a\n<!-- generated: x -->\n\nnew\n\n<!-- generated: end of x -->\nb\n"
    assert page.read_text() == kept
    assert not re.search(r"\bgoals?\b|\bmissed\b|\(met\)", PAGE.read_text("utf-8"), re.IGNORECASE)

"""Each benchmark workload runs and folds to what its script says. Nothing is timed here."""

import pytest
from ag_ui.core import Event

pytest.importorskip("ag_ui_langgraph", reason="the benchmarks need the incumbent (extra `bench`)")

from benchmarks import report, state_size
from benchmarks.check import check
from benchmarks.handler import ALONE, DEAF, OURS, PER_ROUND, Ride, check_ride, measure_handler
from benchmarks.largest import measure_largest
from benchmarks.measure import Result, measure
from benchmarks.model import ScriptedModel, plain
from benchmarks.stalled import TIMES, measure_stalled
from benchmarks.state_size import COMPARED, SHAPES, SIZES, after_whole, measure_state
from benchmarks.subjects import SUBJECTS, Recording, subjects_for
from benchmarks.workloads import BUILDERS, build
from langgraph_agui import AGUICallbackHandler
from tests.deep import deep

TINY = 0.01


@pytest.mark.parametrize("key", [pytest.param(key, marks=() if key in ("W4", "W7") else deep) for key in BUILDERS])
async def test_every_subject_runs_and_ours_say_what_the_script_says(key: str) -> None:
    workload = build(key, TINY)
    subjects = subjects_for(workload)

    result = await measure(workload, subjects, rounds=1)  # raises if a stream of ours is wrong

    assert {name: len(samples) for name, samples in result.samples.items()} == {s.key: 1 for s in subjects}
    adapters = [subject.key for subject in subjects if subject.adapter]
    assert all(sample.size > 0 for key in adapters for sample in result.samples[key])


@deep
async def test_the_state_section_measures_every_shape_at_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [subject.key for subject in COMPARED]
    # At its own sizes the incumbent takes its time.
    monkeypatch.setattr(state_size, "SIZES", [size // 10 for size in SIZES])

    cells = await measure_state(keys, rounds=1, scale=TINY)  # raises if a stream of ours is wrong

    assert len(cells) == len(SHAPES) * len(SIZES)
    for number, cell in enumerate(cells):
        largest = number % len(SIZES) == len(SIZES) - 1
        assert list(cell.taken) == [key for key in keys if not (largest and key == "shipped")]
        adapters = {key: taken for key, taken in cell.taken.items() if key != "raw"}
        assert all(0 < sample.event_bytes < sample.size for taken in adapters.values() for sample in taken)
    text = report.markdown([], 1, cells)
    assert "| one channel | **`stream_sse`** |" in text
    assert "growth" in text
    assert text.count("incumbent as shipped |") == 2 * len(SHAPES)


@deep
async def test_the_handler_section_measures_every_model_in_every_way() -> None:
    rides = await measure_handler(rounds=2, scale=TINY)  # raises if a stream of ours is wrong

    assert [ride.label for ride in rides] == ["`ChatOpenAI`", "`ChatAnthropic`", "in memory"]
    for ride in rides:
        assert {way: len(costs) for way, costs in ride.costs.items()} == dict.fromkeys(
            [ALONE, DEAF, OURS], 2 * PER_ROUND
        )
        assert all(cost.cpu > 0 and cost.wall > 0 for costs in ride.costs.values() for cost in costs)
        assert ride.shares(ALONE, "cpu") == [0] * 2 * PER_ROUND
    text = report.markdown([], 2, rides=rides)
    assert "| `ChatAnthropic` | **`AGUICallbackHandler`** |" in text
    assert "CPU added" in text


@deep
def test_the_section_of_the_largest_requests_measures_each() -> None:
    waits = measure_largest(rounds=1, scale=TINY)  # raises if a run does not finish

    assert all(wait.health[0] > 0 and wait.parsing[0] > 0 for wait in waits)
    text = report.markdown([], 1, waits=waits)
    assert all(f"| {wait.label} |" in text for wait in waits)


@deep
async def test_readers_who_stall_cost_what_the_bound_says() -> None:
    """However much a run writes. Without a bound a reader costs as many times that as the run writes, and more."""
    stalls = await measure_stalled(rounds=1, scale=0.5)

    assert [stall.times for stall in stalls] == list(TIMES)
    assert all(share < 3 for stall in stalls for share in stall.shares)
    assert "| 8 times `max_unread` |" in report.markdown([], 1, stalls=stalls)


async def test_a_handler_that_tells_something_else_is_noticed() -> None:
    recorded: list[Event] = []
    await ScriptedModel(script=lambda _: map(plain, ["one", "two"])).ainvoke(
        "Go.", {"callbacks": [AGUICallbackHandler(recorded.append)]}
    )

    with pytest.raises(AssertionError, match="2 of 3 tokens, 6 characters"):
        check_ride(Ride("none", ScriptedModel(script=lambda _: []), tokens=3), recorded)


def test_state_events_count_once_the_whole_state_is_told() -> None:
    delta = b'data: {"type":"STATE_DELTA","delta":[]}\n\n'
    half = b'data: {"type":"STATE_DELTA","delta":["' + b"x" * 100 + b'"]}\n\n'
    snapshot = b'data: {"type":"STATE_SNAPSHOT","snapshot":{}}\n\n'
    raw = b'data: {"type":"RAW","event":"STATE_DELTA"}\n\n'
    stream = b"".join((snapshot, half, half, raw, delta, delta))

    assert after_whole([stream[:150], stream[150:]], 250) == [len(delta)] * 2
    with pytest.raises(AssertionError, match="for a state of 1,000"):
        after_whole([stream], 1000)


async def test_a_wrong_stream_is_noticed() -> None:
    workload = build("W2", TINY)
    run_input = await workload.prepare()
    chunks = [
        b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
        (
            b'data: {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}\n\n'
            b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"no"}\n\n'
        ),
    ]

    found = " ".join(check(workload, Recording(run_input, chunks)))

    for part in ("streamed text", "streamed reasoning", "folded text", "signature", "ends with TEXT_MESSAGE"):
        assert part in found


async def test_the_report_replaces_the_generated_part_only(tmp_path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.START}\nstale numbers\n{report.END}\nafter\n")
    workload = build("W1", TINY)
    result: Result = await measure(workload, SUBJECTS, rounds=2)

    report.write(page, f"{report.markdown([result], 2)}\n\n{report.summary([result])}")

    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| **W1** one node, 50 text tokens | 0.65 |" in text
    assert "\n| one node, 50 text tokens | 0.65" in text

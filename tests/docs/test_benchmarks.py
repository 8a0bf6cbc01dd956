"""Each benchmark workload runs and folds to what its script says. Nothing is timed here."""

import re

import pytest
from ag_ui.core import Event
from langchain_core.messages import AIMessageChunk

pytest.importorskip("ag_ui_langgraph", reason="the benchmarks need the incumbent (extra `bench`)")

from benchmarks import report, state_size
from benchmarks.check import check
from benchmarks.goals import goals_markdown
from benchmarks.handler import (
    ALONE,
    DEAF,
    OURS,
    PER_ROUND,
    Cost,
    Ride,
    check_ride,
    handler_goals,
    handler_markdown,
    measure_handler,
)
from benchmarks.largest import largest_markdown, measure_largest
from benchmarks.measure import Result, Sample, measure
from benchmarks.model import ScriptedModel, call_args, call_start, finish, plain, thinking
from benchmarks.over_http import serve
from benchmarks.profiling import LINES, profiles, profiles_markdown
from benchmarks.recording import Recording, content_time, content_time_of_reads, drop
from benchmarks.stalled import TIMES, measure_stalled, stalled_markdown
from benchmarks.state_size import (
    COMPARED,
    SHAPES,
    SIZES,
    after_whole,
    measure_state,
    state_markdown,
)
from benchmarks.subjects import RAW, SUBJECTS, has_content, subjects_for
from benchmarks.value_sizes import ANSWERS, length
from benchmarks.workloads import BUILDERS, Workload, build
from langgraph_agui import AGUICallbackHandler
from tests.kit.deep import deep

TINY = 0.01
CONTENT = b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"no"}\n\n'
STARTED = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key in ("W4", "W7", "W8") else deep) for key in BUILDERS]
)
async def test_every_subject_runs_and_ours_say_what_the_script_says(key: str) -> None:
    workload = build(key, TINY)
    subjects = subjects_for(workload)

    result = await measure(workload, subjects, rounds=1)  # raises if a stream of ours is wrong

    assert {name: len(samples) for name, samples in result.samples.items()} == {
        s.key: 1 for s in subjects
    }
    for subject in subjects:
        [sample] = result.samples[subject.key]
        assert (sample.content is None) is (subject.key == "floor")
        assert sample.content is None or 0 < sample.first <= sample.content < sample.wall
        assert all(
            value > 0 for value in (sample.size, sample.events, sample.writes) if subject.adapter
        )


@pytest.mark.parametrize("key", ["W5", "W8"])
async def test_the_client_sends_the_state_and_only_a_thread_that_is_prepared_holds_it(
    key: str,
) -> None:
    workload = build(key, TINY)

    run_input = await workload.prepare()

    held = (
        await workload.graph.aget_state({"configurable": {"thread_id": run_input.thread_id}})
    ).values
    sent = workload.graph_input(run_input)
    assert run_input.state["progress"] == {"step": 0, "label": "step 0 of 2"}
    assert run_input.state == workload.state
    assert run_input.state["s0"] is not workload.state["s0"]
    assert [message.content for message in sent.pop("messages")] == ["Go."]
    messages = held.pop("messages", [])
    assert len(messages) == len(run_input.messages) - 1
    assert (held, sent) == ((run_input.state, {}) if key == "W8" else ({}, run_input.state))


async def test_the_state_that_an_adapter_has_changed_is_not_what_the_client_sent() -> None:
    workload = build("W5", TINY)
    run_input = await workload.prepare()
    run_input.state["more"] = 1

    assert not [note for note in check(workload, Recording(run_input, [STARTED])) if "more" in note]


async def test_slow_subjects_have_fewer_rounds_where_a_workload_is_heavy() -> None:
    workload = build("W5", TINY)
    subjects = [subject for subject in SUBJECTS if subject.key in ("raw", "shipped")]

    result = await measure(workload, subjects, rounds=4)

    assert {key: len(samples) for key, samples in result.samples.items()} == {
        "raw": 4,
        "shipped": 2,
    }
    pairs = zip(result.samples["shipped"], result.samples["raw"][:2], strict=True)
    assert result.ratios("shipped") == [mine.cpu / base.cpu for mine, base in pairs]
    assert "In W5 the incumbent as shipped has 2 of the rounds." in report.markdown([result], 4)


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


async def test_raw_parts_are_looked_at_until_the_first_with_content() -> None:
    workload = build("W1", TINY)
    recording, looked = Recording(await workload.prepare()), []

    def look(part: object) -> bool:
        looked.append(part)
        return len(looked) == 3

    await drop(RAW.bind(workload), look, recording)

    assert len(looked) == 3
    assert recording.content is not None
    assert recording.started < recording.first < recording.content


def test_the_first_content_of_a_stream_is_its_first_text_reasoning_or_arguments() -> None:
    arguments = b'data: {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}\n\n'
    reasoning = b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"a"}\n\n'
    for content in (CONTENT, arguments, reasoning):
        assert content_time([STARTED, STARTED + content, CONTENT], [1, 2, 3]) == 2
        halves = [STARTED + content[:20], content[20:]]
        assert content_time_of_reads([STARTED, *halves], [1, 2, 3]) == 3
    with pytest.raises(AssertionError, match="no content"):
        content_time([STARTED], [1])
    with pytest.raises(AssertionError, match="no content"):
        content_time_of_reads([STARTED], [1])


async def test_a_client_that_gets_no_stream_ends_the_benchmark(
    capfd: pytest.CaptureFixture[str],
) -> None:
    workload = build("W7", TINY)

    async with serve(workload, lambda app, path, workload: None) as drive:  # nothing is there
        with pytest.raises(AssertionError, match="the client has ended"):
            await drive(Recording(await workload.prepare()))

    assert "no content" in capfd.readouterr().err


# -- sections ------------------------------------------------------------------------------------


@deep
async def test_the_state_section_measures_every_shape_at_every_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = [subject.key for subject in COMPARED]
    # At its own sizes the incumbent takes its time.
    monkeypatch.setattr(state_size, "SIZES", [size // 10 for size in SIZES])

    cells = await measure_state(keys, rounds=1, scale=TINY)  # raises if a stream of ours is wrong

    assert len(cells) == len(SHAPES) * len(SIZES)
    for number, cell in enumerate(cells):
        largest = number % len(SIZES) == len(SIZES) - 1
        assert list(cell.taken) == [key for key in keys if not (largest and key == "shipped")]
        adapters = {key: taken for key, taken in cell.taken.items() if key != "raw"}
        assert all(
            0 < sample.event_bytes < sample.size for taken in adapters.values() for sample in taken
        )
    text = "\n".join(state_markdown(cells))
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
        assert all(
            cost.cpu > 0 and cost.wall > 0 for costs in ride.costs.values() for cost in costs
        )
        assert ride.shares(ALONE, "cpu") == [0] * 2 * PER_ROUND
    text = "\n".join(handler_markdown(rides))
    assert "| `ChatAnthropic` | **`AGUICallbackHandler`** |" in text
    [goal] = handler_goals(rides)
    assert "`ChatAnthropic`" in goal.about


@pytest.mark.parametrize(
    ("seconds", "shown", "goal"),
    [
        (1.3, "| 8% (8%..8%) |", ("8%", "10%", True)),
        (1.4, "| 17% (17%..17%) |", ("17%", "10%", False)),
    ],
)
def test_our_handler_is_compared_with_one_that_does_nothing(
    seconds: float, shown: str, goal: tuple[str, str, bool]
) -> None:
    costs = {ALONE: [Cost(1, 1)], DEAF: [Cost(1.2, 1)], OURS: [Cost(seconds, 1)]}
    model = ScriptedModel(script=lambda _: [])

    rides = [Ride("`ChatAnthropic`", model, 1, costs), Ride("other", model, 1, costs)]

    assert "\n".join(handler_markdown(rides)).count(shown) == 2
    assert [(one.found, one.bound, one.met) for one in handler_goals(rides)] == [goal]


@deep
def test_the_section_of_the_largest_requests_measures_each() -> None:
    waits = measure_largest(rounds=1, scale=TINY)  # raises if a run does not finish

    assert all(wait.health[0] > 0 and wait.parsing[0] > 0 for wait in waits)
    text = "\n".join(largest_markdown(waits))
    assert all(f"| {wait.label} |" in text for wait in waits)


@deep
async def test_readers_who_stall_cost_what_the_bound_says() -> None:
    """However much a run writes. Without a bound a reader costs as many times that as the run
    writes, and more."""
    stalls = await measure_stalled(rounds=1, scale=0.5)

    assert [stall.times for stall in stalls] == list(TIMES)
    assert all(share < 3 for stall in stalls for share in stall.shares)
    assert "| 8 times `max_unread` |" in "\n".join(stalled_markdown(stalls))


async def test_a_handler_that_tells_something_else_is_noticed() -> None:
    recorded: list[Event] = []
    await ScriptedModel(script=lambda _: map(plain, ["one", "two"])).ainvoke(
        "Go.", {"callbacks": [AGUICallbackHandler(recorded.append)]}
    )

    with pytest.raises(AssertionError, match="6 characters of 18"):
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

    for part in (
        "streamed text",
        "streamed reasoning",
        "folded text",
        "signature",
        "ends with TEXT_MESSAGE",
    ):
        assert part in found


# -- the report ----------------------------------------------------------------------------------


def made_up(workload: Workload, cpu: float, later: float, size: float) -> Result:
    """Two rounds in which raw takes 1 s and 1.1 s of CPU, and ours `cpu` times that."""
    samples: dict[str, list[Sample]] = {"raw": [], "sse": []}
    for base in (1.0, 1.1):
        samples["raw"].append(
            Sample(base, base, first=0.01, content=0.02, size=0, events=0, writes=0)
        )
        samples["sse"].append(
            Sample(
                base * cpu, base * cpu, first=0, content=0.02 + later, size=size, events=7, writes=5
            )
        )
    subjects = [subject for subject in SUBJECTS if subject.key in samples]
    return Result(workload, subjects, samples, {key: [] for key in samples})


@pytest.mark.parametrize(
    ("cpu", "later", "size", "figures", "verdict"),
    [
        (0.5, 0.0009, 2999, ["0.50", "0.90", "60.0"], "met"),
        (0.53, 0.0011, 3000, ["0.53", "1.10", "60.0"], "**missed**"),
    ],
)
def test_every_goal_stands_beside_its_figure(
    cpu: float, later: float, size: float, figures: list[str], verdict: str
) -> None:
    result = made_up(build("W1", TINY), cpu, later, size)

    *_, ratio, first, each = goals_markdown(report.workload_goals([result])).splitlines()

    assert ratio == f"| W1: CPU over raw `astream` | {figures[0]} | 0.52 | {verdict} |"
    assert (
        first == f"| W1: ms by which the first content is later | {figures[1]} | 1.00 | {verdict} |"
    )
    assert each == f"| W1: bytes per token | {figures[2]} | 60.0 | {verdict} |"


def test_users_see_figures_and_no_goals() -> None:
    result = made_up(build("W1", TINY), 0.53, 0.0011, 3000)

    text = report.markdown([result], 2)

    assert "| 0.53 (0.53..0.53) |" in text
    assert "| 1.10 (1.10..1.10) | 7 | 5 | 3,000 | 60 |" in text
    assert "its highest CPU is above its lowest by W1 10%." in text
    for shown in (text, report.PAGE.read_text("utf-8")):
        assert not re.search(r"\bgoals?\b|\bmissed\b|\(met\)", shown, re.IGNORECASE)


async def test_each_workload_is_profiled() -> None:
    result = made_up(build("W1", TINY), 0.5, 0, 0)
    others_only = Result(
        result.workload, result.subjects, {"raw": result.samples["raw"], "sse": []}
    )

    found = await profiles([result, others_only])

    [profile] = found
    shares = [hot.share for hot in profile.functions]
    assert len(shares) == LINES
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) < 1
    [_, line] = profiles_markdown(found)
    assert line.startswith("- **W1** ")
    assert line.count("% `") == LINES
    assert "built-in" not in line
    assert str(report.ROOT) not in line


async def test_the_report_replaces_the_generated_part_only(tmp_path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{report.START}\nstale numbers\n{report.END}\nafter\n")
    workload = build("W1", TINY)
    result: Result = await measure(workload, SUBJECTS, rounds=2)

    report.write(page, report.markdown([result], 2))

    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| **W1** one node, 50 text tokens | " in text


@pytest.mark.parametrize("name", ANSWERS)
def test_values_are_as_long_as_the_page_of_the_format_says(name: str) -> None:
    assert 200 < length(ANSWERS[name]) < 5_000

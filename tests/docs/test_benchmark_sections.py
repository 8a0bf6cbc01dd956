"""The benchmark's sections RG, C and G run, and notice a stream that is wrong. Nothing is timed
here."""

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

pytest.importorskip("ag_ui_langgraph", reason="the benchmarks need the incumbent (extra `bench`)")

from benchmarks import (
    client,
    growth,
    growth_history,
    growth_pause_graphs,
    growth_pauses,
    growth_server_runs,
    remote,
    shared,
)
from benchmarks.figures import in_turn, minus, over, spread, table
from benchmarks.folded import check_stream
from benchmarks.goals import Goal, at_most, below, goals_markdown
from benchmarks.growth_crowd import OURS as OUR_RUNS
from benchmarks.growth_crowd import RAW as RAW_RUNS
from benchmarks.growth_crowd import (
    TIMES,
    Cost,
    Crowd,
    check_outcome,
    crowd_goals,
    crowd_markdown,
    last_values,
)
from benchmarks.growth_graph import asking_thread, echoing
from benchmarks.growth_pauses import SORTS, TAKERS, Pauses, Ticker, pauses_goals, pauses_markdown
from benchmarks.growth_pauses import Sample as Paused
from benchmarks.growth_server_runs import (
    HTTP,
    Sample,
    ServerRuns,
    server_runs_goals,
    server_runs_markdown,
)
from benchmarks.langgraph_server import serving
from benchmarks.processes import started
from benchmarks.scripted_agent import PATHS, fragments
from langgraph_agui import LangGraphAgent
from tests.kit.deep import deep

TINY = 0.01


# -- the sections --------------------------------------------------------------------------------


@deep
async def test_the_section_of_remote_graphs_measures_each_way() -> None:
    found = await remote.measure_remote(rounds=1, scale=TINY)  # raises if a stream is wrong

    assert {way: len(costs) for way, costs in found.costs.items()} == dict.fromkeys(found.costs, 1)
    assert all(cost.token > 0 for costs in found.costs.values() for cost in costs)
    text = "\n".join(remote.remote_markdown(found))
    assert all(f"| {way} |" in text for way in found.costs)
    assert [goal.bound for goal in remote.remote_goals(found)] == ["1.50"]


@pytest.mark.xdist_group("postgres")
async def test_the_section_of_shared_runs_measures_each_way() -> None:
    found = await shared.measure_shared(rounds=1, scale=TINY)

    assert [one.workload.key for one in found] == ["W1", "W4"]
    assert all(cost > 0 for one in found for costs in one.costs.values() for cost in costs)
    text = "\n".join(shared.shared_markdown(found))
    assert all(
        f"| {key}: {store} |" in text for key in ("W1", "W4") for store in ("Redis", "Postgres")
    )
    assert [goal.bound for goal in shared.shared_goals(found)] == ["1.10"] * 4


async def test_the_section_of_the_client_measures_each_way() -> None:
    found = await client.measure_client(rounds=1, scale=TINY)  # raises if a text is wrong

    assert [(reading.tokens, reading.events) for reading in found] == [(50, 50), (50, 5)]
    text = "\n".join(client.client_markdown(found))
    assert text.count("| **`AGUIClient`**: events verified and folded |") == len(found)
    assert [goal.bound for goal in client.client_goals(found)] == ["3.00", "6.00", "6.00"] * len(
        found
    )


@deep
async def test_the_section_of_growth_measures_each_part() -> None:
    found = await growth.measure_growth(rounds=1, scale=TINY)  # raises if a run is wrong

    assert found.history.sizes == [2, 4, 20]
    assert found.crowd.crowds == [1, 2, 3, 5]
    assert len(found.crowd.crowds) == len(TIMES)
    assert [len(samples) for samples in found.server.taken.values()] == [1, 1, 1]
    assert len(found.pauses) == len(SORTS)
    text = "\n".join(growth.growth_markdown(found))
    assert all(f"**G{number}**" in text for number in range(1, 6))
    assert [goal.about[:2] for goal in growth.growth_goals(found)] == ["G1"] * 3 + ["G2"] * 3 + [
        "G4"
    ] * 2 + ["G5"] * 6


# -- wrong streams -------------------------------------------------------------------------------


@deep
async def test_a_wrong_text_of_a_remote_graph_is_noticed() -> None:
    graphs = {"bench": "benchmarks.remote_graph:served"}
    async with serving(graphs, **{remote.TOKENS_OF_SERVER: "3"}) as address:
        recorded = [
            chunk async for chunk in remote._body(remote.get_client(url=address), remote.RECORDED)
        ]
        for way in remote._ways(address, 3, recorded).values():
            with pytest.raises(AssertionError, match=r"RG: .* characters of 5"):
                await way(["other"])


async def test_a_wrong_text_of_a_client_is_noticed() -> None:
    async with started("benchmarks.scripted_agent", 20) as port:
        for path, merged in PATHS.items():
            deltas = fragments(20, merged)
            for way in client._ways(f"http://127.0.0.1:{port}{path}", deltas).values():
                assert await client._take(way, "".join(deltas)) > 0
                with pytest.raises(AssertionError, match=r"C: .* characters of 5"):
                    await client._take(way, "other")


async def test_a_wrong_run_on_a_history_is_noticed() -> None:
    kept = growth_history.told(4)
    sent = growth_history.langchain_messages_to_agui(kept)
    graph = growth_history.graphs.one_node(growth_history.speaker(["a ", "b"]))
    agent = LangGraphAgent(graph)
    assert [one.role for one in sent] == ["user", "reasoning", "assistant"] * 2
    assert all(one.encrypted_value for one in sent if one.role == "reasoning")

    for way in (
        partial(growth_history._raw, graph, kept),
        partial(growth_history._ours, agent, kept, sent),
    ):
        assert await way("a b") > 0
        with pytest.raises(AssertionError, match="characters of 5"):
            await way("other")


async def streamed(*texts: str) -> tuple[list[bytes], Any]:
    """A stream of `stream_sse` that says these texts, and its input."""
    run_input = asking_thread()
    agent = LangGraphAgent(growth_history.graphs.one_node(growth_history.speaker(texts)))
    return [chunk async for chunk in agent.stream_sse(run_input)], run_input


async def test_a_stream_that_is_cut_or_changed_is_noticed() -> None:
    chunks, run_input = await streamed("a ", "b")
    body = b"".join(chunks)
    check_stream("whole", [body], run_input, "a b")

    for ending in (b'data: {"type":"RUN_FINISHED"', b'data: {"type":"MESSAGES_SNAPSHOT"'):
        with pytest.raises(AssertionError, match="cut: The stream ends within a run"):
            check_stream("cut", [body[: body.index(ending)]], run_input, "a b")
    snapshot = body.index(b'data: {"type":"MESSAGES_SNAPSHOT"')
    live, closing = body[:snapshot], body[snapshot:]
    for changed in (
        live.replace(b'"b"', b'"c"') + closing,
        live + closing.replace(b'"a b"', b'"a c"'),
    ):
        assert changed != body
        with pytest.raises(AssertionError, match="changed: 3 characters of 3, or others"):
            check_stream("changed", [changed], run_input, "a b")
    forgotten = closing.replace(run_input.thread_id.encode(), b"other", 1)
    with pytest.raises(AssertionError, match="the messages that were sent differ"):
        check_stream("history", [live + forgotten], run_input, "a b")


async def test_texts_of_two_runs_that_change_places_are_noticed() -> None:
    graph = echoing(3)
    agent, inputs = LangGraphAgent(graph), [asking_thread(), asking_thread()]
    streams = [[chunk async for chunk in agent.stream_sse(one)] for one in inputs]
    one = inputs[0]
    byte = b'"delta":"' + one.thread_id[:1].encode()
    mixed = [chunk.replace(byte, byte[:-1] + b"x") for chunk in streams[0]]
    graph = echoing(3)
    raw = [await last_values(graph, run_input) for run_input in inputs]

    for run_input, outcome in zip(inputs * 2, [*streams, *raw], strict=True):
        check_outcome("own", run_input, outcome, 3)
    for outcome in (streams[1], mixed, raw[1]):
        with pytest.raises(AssertionError, match="mixed: "):
            check_outcome("mixed", one, outcome, 3)


@deep
async def test_texts_over_http_that_change_places_are_noticed() -> None:
    async with started("benchmarks.growth_server", 3) as port:
        clients = growth_server_runs._OverHTTP(port, 3)
        await clients.begin(3)
        assert await clients.go() > 0
        await clients.check()
        clients._received.reverse()
        with pytest.raises(AssertionError, match="G3: "):
            await clients.check()


@deep
@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.make.__name__)
async def test_a_wrong_end_of_a_long_run_is_noticed(sort: growth_pauses.Sort) -> None:
    for take in TAKERS.values():
        assert await take(await sort.make(4), Ticker()) > 0
        with pytest.raises(AssertionError, match="the answer differs"):
            await take(replace(await sort.make(4), text="other"), Ticker())
        with pytest.raises(AssertionError, match="the state differs in other"):
            await take(replace(await sort.make(4), state={"other": 1}), Ticker())


async def test_a_text_of_a_subagent_that_is_lost_is_noticed() -> None:
    load = await growth_pause_graphs.subagents(2)
    with pytest.raises(AssertionError, match="2 texts of subagents, or others"):
        await TAKERS[growth_pauses.OURS](
            replace(load, subagents=(*load.subagents, "other")), Ticker()
        )


# -- figures -------------------------------------------------------------------------------------


async def test_contestants_are_taken_in_turn() -> None:
    order: list[str] = []

    async def take(name: str) -> int:
        order.append(name)
        return len(order)

    taken = await in_turn({name: partial(take, name) for name in "abc"}, rounds=2)

    assert "".join(order) == "abcbcacab"
    assert taken == {"a": [6, 8], "b": [4, 9], "c": [5, 7]}


def test_figures_are_formed_round_by_round() -> None:
    assert minus([3, 5], [1, 2]) == [2, 3]
    assert over([3, 5], [1, 2]) == [3, 2.5]
    assert spread([1.0, 30.0, 1234.5]) == "30.0 (1.00..1,234)"
    assert table(["a", "b"], [["1"]]) == "| a | b |\n| --- | --: |\n| 1 |  |"


async def test_the_ticker_notes_the_longest_pause() -> None:
    async with Ticker() as ticker:
        await asyncio.sleep(0)
        time.sleep(0.1)
        await asyncio.sleep(0.01)
        assert ticker.pause >= 0.1


def test_a_goal_that_is_missed_is_marked() -> None:
    """Of the crowd the work counts, of pauses what the raw stream does not have, of memory what is
    over HTTP too."""
    alone, many = Cost(all=10e-6, collector=1e-6), Cost(all=40e-6, collector=20e-6)
    crowd = Crowd(
        [1, 9],
        5,
        {
            (way, runs): [alone if runs == 1 else many]
            for way in (RAW_RUNS, OUR_RUNS)
            for runs in (1, 9)
        },
    )
    assert crowd_markdown(crowd)[1].endswith("| 2.22 (2.22..2.22) |")
    assert verdicts(crowd_goals(crowd)) == [("2.22", "1.25", False)]

    samples = {growth_pauses.RAW: [Paused(1, 0.080)], growth_pauses.OURS: [Paused(1, 0.120)]}
    pauses = Pauses("a run", samples, samples)
    assert "| 40 | 1,000 (1,000..1,000) |" in pauses_markdown([pauses])[1]
    assert verdicts(pauses_goals([pauses])) == [("40", "50", True), ("1.00", "2.50", True)]
    pauses.whole[growth_pauses.OURS][0] = Paused(1, 0.140)
    assert verdicts(pauses_goals([pauses])) == [("60", "50", False), ("1.00", "2.50", True)]

    runs = ServerRuns(
        1, 1, {way: [Sample(300_000, 1, 1)] for way in (growth_server_runs.RAW, HTTP)}
    )
    assert f"| {growth_server_runs.RAW} | 300 (300..300) |" in server_runs_markdown(runs)[1]
    assert f"| {HTTP} | 300 (300..300) |" in server_runs_markdown(runs)[1]
    assert verdicts(server_runs_goals(runs)) == [("300", "200", False)]
    history = growth_history.History(
        [2, 4, 20],
        9,
        {(growth_history.OURS, size): [cost] for size, cost in ((2, 1.0), (4, 1.2), (20, 1.3))},
        {(growth_history.OURS, size): [cost] for size, cost in ((2, 1.0), (4, 1.2), (20, 3.7))},
    )
    assert verdicts(growth_history.history_goals(history)) == [
        ("1.20", "1.25", True),
        ("1.30", "1.25", False),
        ("1.50", "1.25", False),
    ]


def test_goals_are_printed_with_their_verdict() -> None:
    printed = goals_markdown(
        [at_most("a", [2.0], 2), at_most("b", [2.1], 2), below("c", [2.0], 2), below("d", [1], 2)]
    )

    assert printed.splitlines()[2:] == [
        "| a | 2.00 | 2.00 | met |",
        "| b | 2.10 | 2.00 | **missed** |",
        "| c | 2.00 | 2.00 | **missed** |",
        "| d | 1.00 | 2.00 | met |",
    ]
    assert goals_markdown([]) == ""


def verdicts(goals: list[Goal]) -> list[tuple[str, str, bool]]:
    return [(goal.found, goal.bound, goal.met) for goal in goals]

"""Two versions of this package on one store, as in a rolling deploy: what one does not know of the
other disturbs nobody."""

from __future__ import annotations

import json

import psycopg
import pytest
from redis.asyncio import Redis

from langgraph_agui.protocol.sse import encode
from langgraph_agui.translate.lifecycle import run_started
from langgraph_agui.workers import Entry, RedisRunStore
from langgraph_agui.workers.signals import mark_event
from tests.contracts.run_stores.test_following import gated, mark_of, pair_on, rest_of, until_joined
from tests.contracts.run_stores.test_namesakes import warnings
from tests.kit.processes.stores import Server, postgres
from tests.kit.run.agents import RecordedRun, dumped
from tests.kit.run.joining import read
from tests.kit.waiting import eventually

SIGNALS = [
    *("", " ", "pause", "pause  ", "pause name mark", "pause name mark and more", "pause 1 2 3 4"),
    *("ping", "ping ", "ping   ", "ping    and more", "follow", "follow 0123abcd"),
]


async def test_signals_of_other_versions(
    each_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Earlier ones have fewer fields, later ones have more, and kinds that are not known here."""
    async with pair_on(each_server, model := gated(4)) as pair:
        live = await pair.begin()
        await model.hung.wait()
        key = pair.two._workers._key("t", "live")  # type: ignore[union-attr]
        run = await pair.stores[1].find(key)
        assert run is not None
        for text in SIGNALS:
            assert await pair.stores[1].signal(run, text)
        assert await pair.stores[1].signal(run, "follow  a-mark more and more")
        reader, own = pair.join()
        first = await until_joined(reader)
        log = await pair.stores[1].read(run, 0)
        assert any(b"a-mark" in entry.data for entry in log)
        assert await pair.stores[1].signal(run, "cancel   more")
        truth = RecordedRun(await read(live), pair.given)
        assert truth.last.outcome.type == "cancelled"
        assert dumped((await rest_of(reader, first, own)).messages) == dumped(truth.messages)
        assert warnings(caplog) == []


def frame(**fields: object) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


async def test_events_of_a_later_version(
    each_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Who follows gets all that is known here; what is not is logged once, for all runs."""
    async with pair_on(each_server, gated(0)) as pair:
        workers, store = pair.two._workers, pair.stores[0]
        assert workers is not None
        for number in range(2):
            signals, run = list[str](), f"later{number}"
            await store.begin(run, signals.append)
            await store.enter(workers._key("t"), run)
            reader, own = pair.join()
            mark = mark_event(await mark_of(signals))
            beginning = encode(run_started(pair.given)) + frame(type="MOOD", mood="fine")
            await store.begin_log(run, Entry(1, beginning + encode(mark)), 1)
            first = await until_joined(reader)
            text = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a1", "delta": "Hi", "mood": "fine"}
            odd = [frame(type="MOOD", mood=str(number)) for number in range(100)]
            await store.append(run, Entry(2, b"".join([*odd, frame(**text)])))
            end = {"type": "RUN_FINISHED", "threadId": "t", "runId": "live", "mood": "fine"}
            await store.append(run, Entry(3, frame(**end)))
            followed = await rest_of(reader, first, own)
            assert [message.content for message in followed.messages] == ["Hi"]
            assert followed.last.type.value == "RUN_FINISHED"
            await store.finish(run)
        logged = warnings(caplog)
        assert len(logged) == len({*logged}) == 3
        assert all("another version" in text for text in logged)
        assert sum("MOOD" in text for text in logged) == 1


async def test_keys_of_a_later_version_in_redis(redis_url: str) -> None:
    async with (
        RedisRunStore(redis_url) as own,
        RedisRunStore(redis_url) as other,
        Redis.from_url(redis_url) as client,
    ):
        await own.begin("run", print)
        await own.enter("thread", "run")
        await own.begin_log("run", Entry(1, b"data: 1\n\n"), 1)
        await client.hset("langgraph-agui:beginning:run", "mood", "fine")
        await client.xadd("langgraph-agui:stream:run", {"mood": "", "data": "data: 2\n\n"}, "2-0")
        await client.set("langgraph-agui:mood:run", "fine")
        assert [*await other.read("run", 0)] == [
            Entry(1, b"data: 1\n\n"),
            Entry(2, b"data: 2\n\n"),
        ]
        assert await other.find("thread") == "run"
        await own.finish("run")
        assert await other.find("thread") is None


@pytest.mark.xdist_group("postgres")
async def test_tables_of_other_versions_in_postgres(fresh_database: str) -> None:
    """Those of an earlier version get what is missing from `setup`, and a later one may have added
    columns."""
    async with await psycopg.AsyncConnection.connect(fresh_database, autocommit=True) as client:
        await client.execute(
            "CREATE UNLOGGED TABLE langgraph_agui_runs (run text, name text DEFAULT '', worker int8 "
            "NOT NULL, since timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, name))"
        )
        model = gated(4)
        async with pair_on(postgres(fresh_database), model) as pair:
            for table in ("runs", "log"):
                await client.execute(
                    f"ALTER TABLE langgraph_agui_{table} ADD mood text NOT NULL DEFAULT ''".encode()
                )
            # a worker of an earlier version, whose keys are other texts
            signals = list[str]()
            await pair.stores[0].begin("0123456789abcdef" * 2, signals.append)
            live = await pair.begin()
            await model.hung.wait()
            reader, own = pair.join()
            first = await until_joined(reader)
            model.gate.set()
            truth = RecordedRun(await read(live), pair.given)
            assert dumped((await rest_of(reader, first, own)).messages) == dumped(truth.messages)


async def test_a_run_of_an_earlier_version(
    each_server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Its key does not say what its graph is: nobody says that it is another one."""
    async with pair_on(each_server, gated(0)) as pair:
        workers, signals = pair.two._workers, list[str]()
        assert workers is not None
        run = "0123456789abcdef" * 2
        await pair.stores[0].begin(run, signals.append)
        for name in (workers._key("t"), workers._key("t", "live")):
            await pair.stores[0].enter(name, run)
        async with pair.join()[0]:
            await mark_of(signals)
        signals.clear()
        assert await pair.two.cancel("t", "live")
        await eventually(lambda: signals, "it is stopped")
        assert signals[0].split() == ["cancel"]
        assert warnings(caplog) == []

"""Two versions of this package on one store, as in a rolling deploy: what one does not know of the
other disturbs nobody."""

from __future__ import annotations

import psycopg
import pytest

from tests.contracts.run_stores.pair import (
    MadeRun,
    Server,
    ending,
    followed,
    gated,
    pair_on,
    postgres,
)
from tests.contracts.run_stores.test_namesakes import warnings
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import event, sse
from tests.kit.waiting import eventually

SIGNALS = [
    *("", " ", "pause", "pause  ", "pause name mark", "pause name mark and more", "pause 1 2 3 4"),
    *("ping", "ping ", "ping   ", "ping    and more", "follow", "follow 0123abcd"),
]
OLD_KEY = "0123456789abcdef" * 2


async def test_signals_of_other_versions(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Earlier ones have fewer fields, later ones have more, and kinds that are not known here."""
    async with followed(server) as (pair, live, _):
        store = pair.stores[1]
        run = await store.find(pair.key("t", "live"))
        for text in [*SIGNALS, "follow  a-mark more and more"]:
            assert await store.signal(run, text)
        follower = await pair.follow().join()
        assert any(b"a-mark" in entry.data for entry in await store.read(run, 0))
        assert await store.signal(run, "cancel   more")
        truth = await pair.truth(live)
        assert ending(truth) == "cancelled"
        assert dumped((await follower.rest()).messages) == dumped(truth.messages)
        assert warnings(caplog) == []


async def test_events_of_a_later_version(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Who follows gets all that is known here; what is not is logged once, for all runs."""
    odd = [event("MOOD", mood=str(number)) for number in range(100)]
    said = event("TEXT_MESSAGE_CHUNK", messageId="a1", delta="Hi", mood="fine")
    end = event("RUN_FINISHED", threadId="t", runId="live", mood="fine")
    async with pair_on(server, gated()) as pair:
        for key in ("later0", "later1"):
            run = await MadeRun(pair, key).begin(pair.key("t"))
            follower = pair.follow()
            mark = await run.mark()
            run.beginning += sse(event("MOOD", mood="fine")) + mark
            await run.write(1)
            await follower.join()
            await run.write(2, sse(*odd, said))
            await run.write(3, sse(end))
            rest = await follower.rest()
            assert [one.content for one in rest.messages] == ["Hi"]
            assert rest.last.type.value == "RUN_FINISHED"
            await run.store.finish(key)
        logged = warnings(caplog)
        assert len(logged) == len({*logged}) == 3
        assert all("another version" in text for text in logged)
        assert sum("MOOD" in text for text in logged) == 1


@pytest.mark.xdist_group("postgres")
async def test_tables_of_other_versions_in_postgres(fresh_database: str) -> None:
    """Those of an earlier version get what is missing from `setup`, and a later one may have added
    columns."""
    async with await psycopg.AsyncConnection.connect(fresh_database, autocommit=True) as client:
        await client.execute(
            "CREATE UNLOGGED TABLE langgraph_agui_runs (run text, name text DEFAULT '', worker int8 "
            "NOT NULL, since timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run, name))"
        )
        async with pair_on(postgres(fresh_database), model := gated()) as pair:
            for table in (b"runs", b"log"):
                mood = b"ADD mood text NOT NULL DEFAULT ''"
                await client.execute(b"ALTER TABLE langgraph_agui_%s %s" % (table, mood))
            await MadeRun(pair, OLD_KEY).begin()
            live = await pair.begin()
            await model.hung.wait()
            follower = await pair.follow().join()
            model.go()
            truth = await pair.truth(live)
            assert dumped((await follower.rest()).messages) == dumped(truth.messages)


async def test_a_run_of_an_earlier_version(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Its key does not say what its graph is: nobody says that it is another one."""
    async with pair_on(server, gated()) as pair:
        run = await MadeRun(pair, OLD_KEY).begin(pair.key("t"), pair.key("t", "live"))
        async with pair.follow().reader:
            await run.mark()
        run.signals.clear()
        assert await pair.two.cancel("t", "live")
        await eventually(lambda: run.signals, "it is stopped")
        assert run.signals[0].split() == ["cancel"]
        assert warnings(caplog) == []

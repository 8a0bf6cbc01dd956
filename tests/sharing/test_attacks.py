"""What has gone wrong when workers shared their runs: each test has failed once."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver

from tests.adapter.streams import RecordedRun
from tests.sharing.stores import Server
from tests.sharing.test_following import Pair, gated, rest_of, until_joined
from tests.threads.joins import read
from tests.threads.test_join import ordered


async def test_a_run_id_that_comes_again_in_a_thread(server: Server) -> None:
    """Each of the two runs is followed from its own beginning to its own end."""
    saver = InMemorySaver()
    async with server() as one, server() as two:
        for _ in range(2):
            pair = Pair([one, two], model := gated(4), saver=saver)
            live = await pair.begin()
            await model.hung.wait()
            reader, own = pair.join()
            first = await until_joined(reader)
            model.gate.set()
            truth = RecordedRun(await read(live), pair.given)
            followed = await rest_of(reader, first, own)
            assert followed.last.type.value == "RUN_FINISHED"
            assert ordered(followed.messages)[-len(truth.messages) :] == ordered(truth.messages)
            await pair.end()


async def test_a_run_id_that_comes_again_at_once(server: Server) -> None:
    """The end of the first run is not that of the second."""
    async with server() as one, server() as two:
        pairs = [Pair([one, two], gated(4), saver=None) for _ in range(2)]
        lives = [await pair.begin() for pair in pairs]
        pairs[0].one._running[0].stop()
        assert (await read(lives[0]))[-1].outcome.type == "cancelled"
        await pairs[0].end()
        assert await pairs[1].two.cancel("t", "live")
        assert (await read(lives[1]))[-1].outcome.type == "cancelled"
        await pairs[1].end()

"""The graph of section RG, here and on the LangGraph server, whose process imports this module."""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.outputs import ChatGenerationChunk

from benchmarks import graphs
from benchmarks.folded import speaker
from benchmarks.model import ScriptedModel
from benchmarks.workloads import words

TOKENS = "BENCHMARK_TOKENS"
"""The environment variable that says how many tokens the model streams."""

PACE = 0.002


class Paced(ScriptedModel):
    """Gives each token the time to arrive alone. How many arrive together decides what reading
    costs."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await asyncio.sleep(PACE)


def local_graph(tokens: int) -> graphs.Graph:
    """The graph with a checkpointer in memory."""
    return graphs.one_node(Paced(script=speaker(words(tokens)).script))


# The server brings its own checkpointer.
served = local_graph(int(os.environ.get(TOKENS, "2"))).copy({"checkpointer": None})

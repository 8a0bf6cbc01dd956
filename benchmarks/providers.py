"""The scripted provider server in a process of its own: ``python -m benchmarks.providers TOKENS``.

It answers like OpenAI's chat completions and like Anthropic, prints its port, and runs until its
input ends. Its CPU is no part of what is measured.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.processes import started
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn

WORD = 6


def said(tokens: int) -> str:
    """What every model says: one word per token, all of one length."""
    return "".join(f"wd{number % 1000:03d} " for number in range(tokens))


@asynccontextmanager
async def serve(tokens: int) -> AsyncIterator[str]:
    """Run the server; gives its address."""
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    async with started("benchmarks.providers", tokens) as port:
        yield f"http://127.0.0.1:{port}"


def main(tokens: int) -> None:
    """Answer every request with a text of ``tokens`` deltas."""
    answer = turn(Text(said(tokens)), chunk=WORD)
    with ProviderServer() as server:
        for provider in ("openai-chat", "anthropic"):
            server.respond(provider, lambda _: answer)
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))

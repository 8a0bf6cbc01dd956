"""A scripted AG-UI server in a process of its own: ``python -m benchmarks.scripted_agent TOKENS``.

It prints its port and answers each POST with a run that says the same text: `/each` in one event
per token, `/merged` in fragments of `MERGED` tokens. Each event is a chunk of its own, as fast as
the event loop turns.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ag_ui import core as agui

from benchmarks.workloads import words
from langgraph_agui.protocol import encode

MERGED = 10
PATHS = {"/each": 1, "/merged": MERGED}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"


def fragments(tokens: int, merged: int) -> list[str]:
    """The text in the deltas of its events."""
    said = words(tokens)
    return ["".join(said[at : at + merged]) for at in range(0, tokens, merged)]


def run(asked: dict[str, Any], deltas: list[str]) -> Iterator[bytes]:
    """The frames of a run that answers this input."""
    thread, run_id, answer = asked["threadId"], asked["runId"], f"answer-{asked['runId']}"
    told = agui.AssistantMessage(id=answer, content="".join(deltas))
    given = agui.RunAgentInput.model_validate(asked)
    yield encode(agui.RunStartedEvent(thread_id=thread, run_id=run_id))
    yield encode(agui.TextMessageStartEvent(message_id=answer, role="assistant"))
    for delta in deltas:
        yield encode(agui.TextMessageContentEvent(message_id=answer, delta=delta))
    yield encode(agui.TextMessageEndEvent(message_id=answer))
    yield encode(agui.MessagesSnapshotEvent(messages=[*given.messages, told]))
    yield encode(agui.RunFinishedEvent(thread_id=thread, run_id=run_id))


async def _answer(tokens: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(
        int(line.split(":")[1])
        for line in head.splitlines()
        if line.lower().startswith("content-length")
    )
    asked = json.loads(await reader.readexactly(length))
    frames = list(run(asked, fragments(tokens, PATHS[head.split(" ")[1]])))
    writer.write(HEAD)
    with suppress(OSError):
        for frame in [*frames, b""]:
            writer.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()
        await writer.wait_closed()


async def main(tokens: int) -> None:
    """Serve until the input ends."""
    server = await asyncio.start_server(
        lambda reader, writer: _answer(tokens, reader, writer), "127.0.0.1", 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

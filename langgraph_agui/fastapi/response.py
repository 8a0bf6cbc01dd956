"""A run as an SSE response. A reader's frames enter; they and keep-alive comments leave (AG-UI
1.0, HTTP binding).
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeAlias

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from langgraph_agui.fastapi.agents import AgentEvents
from langgraph_agui.protocol.schema import summary
from langgraph_agui.readers.subscription import Subscription

Reader: TypeAlias = Subscription | AgentEvents

_HEADERS = {
    "cache-control": "no-cache, no-transform",
    "connection": "keep-alive",
    "x-accel-buffering": "no",  # nginx would collect the stream otherwise
}
# Seconds that a stream which the server cuts has to send the end of its run.
_LAST_EVENTS = 2.0
_COMMENT = b": keep-alive\n\n"


class EventStreamResponse(Response):
    """Sends SSE frames, and leaves the run at once when the client disconnects.

    Starlette's own streaming response notices a disconnect only when it next sends; a model may
    think for minutes.
    """

    media_type = "text/event-stream"

    def __init__(self, reader: Reader, keep_alive: float | None, notes: Sequence[str]) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._reader = reader
        self._keep_alive = keep_alive
        # A client skips comments; who looks at the stream sees what of the input was ignored.
        self._first = f": ignored: {summary(notes)}\n\n".encode() if notes else b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request (ASGI)."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # the server stops, and the application ends its runs: that is still sent
            await asyncio.wait(
                {sending, leaving}, timeout=_LAST_EVENTS, return_when=asyncio.FIRST_COMPLETED
            )
            if not sending.done():
                raise
        finally:
            for task in (sending, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task

    async def _send(self, send: Send) -> None:
        """Send what the reader gets, and a comment whenever it gets nothing for `keep_alive`
        seconds.
        """
        async with self._reader as reader:
            if self._first:
                await send({"type": "http.response.body", "body": self._first, "more_body": True})
            while True:
                try:
                    async with asyncio.timeout(self._keep_alive):
                        frames = await reader.take_frames()
                except TimeoutError:
                    frames = _COMMENT
                if not frames:
                    break
                await send({"type": "http.response.body", "body": frames, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""Work on a connection to Postgres that ends when it is cancelled, also if the server is silent."""

import asyncio
import os
import socket
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, TypeVar

from psycopg import AsyncConnection, OperationalError

from langgraph_agui.kernel.aio import ignore_error, result_of

T = TypeVar("T")


async def or_hang_up(connection: AsyncConnection[Any], work: Awaitable[T]) -> T:
    """Return the result of work on a connection. If that is cancelled, hang up.

    psycopg itself asks the server to cancel the statement, and waits for the answer. With a libpq
    older than 17 the whole process does.
    """
    task = asyncio.ensure_future(work)
    try:
        return await result_of(task)
    except asyncio.CancelledError:
        task.add_done_callback(ignore_error)
        with (
            suppress(OSError, OperationalError),
            socket.socket(fileno=os.dup(connection.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)
        await asyncio.wait({task})
        connection.pgconn.finish()  # the work may have ended just before
        raise

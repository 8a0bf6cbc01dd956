"""Our judgement of streams beside the reference client's: one verdict, and the same messages and
state in the end.

Every stream that a test verifies is recorded here (`record_stream`). When many are recorded, and
after the last test of a process, all of them go through the client over SSE. A difference is an
error that names the test which made the stream. Streams that differ only in their UUIDs and
encrypted values count as one.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest
from ag_ui.core import BaseEvent, Message
from pydantic import TypeAdapter

from langgraph_agui.protocol import (
    Fold,
    ProtocolError,
    SSEDecoder,
    Verifier,
    encode,
    schema,
    to_jsonable,
)
from tests.kit.processes.node_client import NodeClient

if TYPE_CHECKING:
    from tests.kit.processes.node_client import ClientRun

Wire: TypeAlias = dict[str, Any]
_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
_OPAQUE = re.compile(
    r'"encryptedValue":"(?:[^"\\]|\\.)*"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
)
_MANY, _LARGE = 200, 8_000_000
"""How many streams, or characters, wait at most for the client once a test is over."""


class Outcome:
    """What we make of a stream, up to its first fault."""

    def __init__(self, events: Iterable[Wire], history: list[Wire], state: Any) -> None:
        verifier, self.fold = Verifier(), Fold(_MESSAGES.validate_python(history), state)
        self.error: ProtocolError | None = None
        self.notes: list[str] = []
        self.types: list[str] = []
        with _logged_to(self.notes):
            try:
                for wire in events:
                    for item in verifier.feed(wire):
                        self.types.append(item.type.value)
                        self.fold.feed(item)
            except ProtocolError as error:
                self.error = error

    @property
    def messages(self) -> list[Any]:
        return [message.model_dump(by_alias=True, warnings=False) for message in self.fold.messages]


@contextmanager
def _logged_to(notes: list[str]) -> Iterator[None]:
    """Have what the schema stage warns of in `notes` instead of the log."""
    logger, handler = logging.getLogger(schema.__name__), logging.Handler()
    handler.emit = lambda record: notes.append(record.getMessage())  # type: ignore[method-assign]
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def difference(ours: Outcome, client: ClientRun) -> str | None:
    """Where our judgement of a stream differs from the client's; `None` if it does not."""
    # It speaks of a version once in its life; our strict verifier refuses all but 1.0.
    warnings = [text for text in client.warnings if not text.startswith("[ag-ui] The producer")]
    judged = sum(text.startswith("[ag-ui]") for text in warnings)
    applied = sum(not text.startswith(("[ag-ui]", "Agent execution failed")) for text in warnings)
    both = f"client {client.error} {client.warnings}; ours {ours.error!r} {ours.fold.warnings} {ours.notes}"
    if client.accepted != (ours.error is None):
        return f"verdict: {both}"
    # Of a chunk that expands into several events, one of which is refused, the client shows the
    # first ones.
    told = client.events if client.accepted else client.events[: len(ours.types)]
    if told != ours.types:
        return f"events: {client.events} {ours.types}"
    for what, theirs, own in (
        ("messages", client.messages, ours.messages),
        ("state", client.state, ours.fold.state),
    ):
        if canonical(theirs) != canonical(own):
            return f"{what}: {canonical(theirs)} {canonical(own)}"
    if client.accepted and (applied, judged) != (len(ours.fold.warnings), len(ours.notes)):
        return f"warnings: {both}"
    return None


def canonical(value: Any) -> str:
    """JSON text in which 1 and 1.0 are the same, as they are in JavaScript, and 1 and true are
    not."""
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value


class _Stream(NamedTuple):
    """A stream as a client reads it, what that held before, and the test that made it."""

    body: str
    messages: list[Wire]
    state: Any
    test: str

    @property
    def key(self) -> bytes:
        """What two streams share if the client cannot treat them differently."""
        numbers: dict[str, str] = {}
        before = json.dumps([self.messages, self.state], separators=(",", ":"))
        plain = _OPAQUE.sub(
            lambda found: numbers.setdefault(found[0], f"#{len(numbers)}"), self.body + before
        )
        return blake2b(plain.encode()).digest()

    def compared(self, client: ClientRun) -> str | None:
        decoder = SSEDecoder()
        events = [*decoder.feed(self.body.encode()), *decoder.finish()]
        found = difference(Outcome(events, self.messages, self.state), client)
        return found or (f"warnings: {client.warnings}" if client.warnings else None)


class Agreement:
    """The streams that the client has yet to see."""

    def __init__(self) -> None:
        self._streams: list[_Stream] = []
        self._size = 0
        self._known: set[bytes] = set()

    def record(
        self,
        events: Iterable[BaseEvent | Wire],
        messages: Iterable[Message] = (),
        state: Any = None,
    ) -> None:
        """Keep a stream, and what the client held before it, for the comparison with the client."""
        body = b"".join(
            encode(one) if isinstance(one, BaseEvent) else f"data: {json.dumps(one)}\n\n".encode()
            for one in events
        )
        held = [message.model_dump(by_alias=True, mode="json") for message in messages]
        test = os.environ.get("PYTEST_CURRENT_TEST", "no test")
        stream = _Stream(body.decode(), held, to_jsonable(state), test)
        if (key := stream.key) not in self._known:
            self._known.add(key)
            self._streams.append(stream)
            self._size += len(stream.body)

    def compare(self, *, everything: bool) -> int:
        """Compare what waits, if it is much or this is the end; return how many streams that was,
        or raise an `AssertionError` that lists the differences."""
        is_much = everything or len(self._streams) >= _MANY or self._size >= _LARGE
        if not self._streams or not is_much:
            return 0
        streams, self._streams, self._size = self._streams, [], 0
        runs = reference_client().runs(
            {"sse": one.body, "messages": one.messages, "state": one.state} for one in streams
        )
        found = [(stream, stream.compared(run)) for stream, run in zip(streams, runs, strict=True)]
        faults = [f"{stream.test}: {fault}\n{stream.body}" for stream, fault in found if fault]
        if faults:
            faults.insert(0, "The reference client disagrees about streams.")
            raise AssertionError("\n".join(faults))
        return len(streams)


_of_all_tests = Agreement()
record_stream = _of_all_tests.record


@cache
def reference_client() -> NodeClient:
    """The client of this test process."""
    return NodeClient()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Compare what the tests have streamed, now and then and after the last one."""
    yield
    _of_all_tests.compare(everything=nextitem is None)


def pytest_unconfigure() -> None:
    """End the reference client, if there is one."""
    if reference_client.cache_info().currsize:
        reference_client().close()

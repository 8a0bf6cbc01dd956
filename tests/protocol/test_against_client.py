"""Random streams, orderly and damaged, through the reference client and through us: one verdict, one outcome."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from ag_ui.core import Message
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from langgraph_agui.protocol import Fold, ProtocolError, Verifier
from langgraph_agui.protocol.schema import examine
from tests.protocol.generated import Streams
from tests.protocol.streams import Wire, in_run, state_delta

if TYPE_CHECKING:
    from tests.node_client import ClientRun, NodeClient

Case: TypeAlias = tuple[list[Wire], list[Wire], Any]
_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


class Outcome:
    """What we make of a stream, up to its first fault."""

    def __init__(self, events: list[Wire], history: list[Wire], state: Any) -> None:
        verifier, self.fold = Verifier(), Fold(_MESSAGES.validate_python(history), state)
        self.error: ProtocolError | None = None
        self.notes: list[str] = []
        self.types: list[str] = []
        for wire in events:
            try:
                self.notes += examine(wire)[1]
                expanded = verifier.feed(wire)
            except ProtocolError as error:
                self.error = error
                return
            for item in expanded:
                self.types.append(item.type.value)
                self.fold.feed(item)

    @property
    def messages(self) -> list[Any]:
        return [message.model_dump(by_alias=True, warnings=False) for message in self.fold.messages]


@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_random_streams(node_client: NodeClient, seed: int) -> None:
    streams = Streams(Random(seed))
    cases = [(streams.stream(), streams.history(), streams.record()) for _ in range(150)]
    for case, difference in zip(cases, differences(node_client, cases), strict=True):
        if difference is not None:
            smallest = shrunk(node_client, case)
            pytest.fail(f"{differences(node_client, [smallest])[0]}\n{json.dumps(smallest)}")


def differences(client: NodeClient, cases: list[Case]) -> list[str | None]:
    """What sets us apart from the client, for each case."""
    runs = client.runs(
        {"events": events, "messages": history, "state": state, "paced": True} for events, history, state in cases
    )
    return [difference(Outcome(*case), run) for case, run in zip(cases, runs, strict=True)]


def difference(ours: Outcome, client: ClientRun) -> str | None:
    judged = [text for text in client.warnings if text.startswith("[ag-ui]")]
    applied = [text for text in client.warnings if not text.startswith(("[ag-ui]", "Agent execution failed"))]
    told = f"client {client.error} {client.warnings}; ours {ours.error!r} {ours.fold.warnings} {ours.notes}"
    if client.accepted != (ours.error is None):
        return f"verdict: {told}"
    # Of a chunk that expands into several events, one of which is refused, the client shows the first ones.
    if client.events[: len(ours.types)] != ours.types or (client.accepted and client.events != ours.types):
        return f"events: {client.events} {ours.types}"
    if canonical(client.messages) != canonical(ours.messages):
        return f"messages: {canonical(client.messages)} {canonical(ours.messages)}"
    if canonical(client.state) != canonical(ours.fold.state):
        return f"state: {canonical(client.state)} {canonical(ours.fold.state)}"
    if client.accepted and (len(applied), len(judged)) != (len(ours.fold.warnings), len(ours.notes)):
        return f"warnings: {told}"
    return None


def shrunk(client: NodeClient, case: Case) -> Case:
    """The case without whatever does not matter to its difference."""
    events, history, state = case
    while True:
        fewer: list[Case] = [(events[:i] + events[i + 1 :], history, state) for i in range(len(events))]
        fewer += [(events, history[:i] + history[i + 1 :], state) for i in range(len(history))]
        found = next((one for one, told in zip(fewer, differences(client, fewer), strict=True) if told), None)
        if found is None:
            return events, history, state
        events, history, state = found


def canonical(value: Any) -> str:
    """JSON text in which 1 and 1.0 are the same, as they are in JavaScript, and 1 and true are not."""
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return [_numbers(item) for item in value] if isinstance(value, list) else value


_STATE = {"l": [[1], [2]], "d": {"": 1, "0": 2}, "t": True, "n": None, "one": 1}
_PATCHES: list[list[Wire]] = [
    [{"op": "test", "path": "/one", "value": True}],
    [{"op": "test", "path": "/t", "value": 1}],
    [{"op": "test", "path": "/one", "value": 1.0}],
    [{"op": "test", "path": "/n", "value": None}],
    [{"op": "test", "path": "/z", "value": None}],
    [{"op": "test", "path": "/l", "value": [[1], [2]]}],
    [{"op": "test", "path": "/l", "value": [[1], [3]]}],
    [{"op": "test", "path": "/l", "value": [[1]]}],
    [{"op": "test", "path": "/l", "value": [[1], [2], []]}],
    [{"op": "test", "path": "/l", "value": {"0": [1], "1": [2]}}],
    [{"op": "test", "path": "/d", "value": {"0": 2, "": 1}}],
    [{"op": "test", "path": "/d", "value": {"0": 2}}],
    [{"op": "test", "path": "/d", "value": {"0": 2, "": 1, "z": 1}}],
    [{"op": "test", "path": "/l/00", "value": [1]}],
    [{"op": "test", "path": "/l/-", "value": [1]}],
    [{"op": "test", "path": "/l/01/0", "value": 2}],
    [{"op": "replace", "path": "/l/00/0", "value": 9}],
    [{"op": "replace", "path": "/l/1/0", "value": 9}],
    [{"op": "replace", "path": "/l/2", "value": 9}],
    [{"op": "replace", "path": "/d/", "value": 9}],
    [{"op": "replace", "path": "", "value": [1]}, {"op": "add", "path": "/-", "value": 2}],
    [{"op": "remove", "path": ""}],
    [{"op": "remove", "path": ""}, {"op": "add", "path": "/a", "value": 1}],
    [{"op": "remove", "path": "/l/0"}, {"op": "remove", "path": "/l/1"}],
    [{"op": "remove", "path": "/l/00"}],
    [{"op": "add", "path": "/l/00", "value": 9}],
    [{"op": "add", "path": "/l/", "value": 9}],
    [{"op": "add", "path": "/l/2", "value": 9}],
    [{"op": "add", "path": "/l/3", "value": 9}],
    [{"op": "add", "path": "/l/00/0", "value": 9}],
    [{"op": "add", "path": "/n/a", "value": 9}],
    [{"op": "add", "path": "/one/a/b", "value": 9}],
    [{"op": "move", "from": "/l/0", "path": "/l/9"}],
    [{"op": "move", "from": "/l/1", "path": "/l/0"}],
    [{"op": "move", "from": "/l/0", "path": "/l/00/0"}],
    [{"op": "move", "from": "/l", "path": "/l"}],
    [{"op": "move", "from": "/l", "path": "/l/0"}],
    [{"op": "move", "from": "/l/-", "path": "/z"}],
    [{"op": "move", "from": "/l", "path": ""}],
    [{"op": "move", "from": "/z", "path": "/y"}],
    [{"op": "copy", "from": "/l/0", "path": "/l/0"}],
    [{"op": "copy", "from": "/l/00", "path": "/z"}],
    [{"op": "copy", "from": "/l", "path": "/m"}, {"op": "add", "path": "/m/0/-", "value": 9}],
    [{"op": "copy", "from": "/l", "path": "/m"}, {"op": "add", "path": "/l/0/-", "value": 9}],
    [{"op": "copy", "from": "/d", "path": "/d/own"}],
    [{"op": "add", "path": "/__proto__", "value": 9}],
    [{"op": "add", "path": "/constructor/prototype", "value": 9}],
    [{"op": "add", "path": "/prototype", "value": 9}],
]


def test_patches_come_out_as_in_the_client(node_client: NodeClient) -> None:
    streams = [in_run(state_delta(*patch)) for patch in _PATCHES]
    told = differences(node_client, [(stream, [], _STATE) for stream in streams])
    assert [(patch, one) for patch, one in zip(_PATCHES, told, strict=True) if one] == []

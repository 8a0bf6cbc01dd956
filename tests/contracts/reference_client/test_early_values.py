"""An encrypted value may come as soon as its message or call has begun. `@ag-ui/client` 1.0.0 takes
each place alike; so do both verifiers, the fold and `compact`."""

from __future__ import annotations

import pytest

from langgraph_agui.protocol import ProtocolError, compact, fold, verify
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.wire_events import Wire, call, encrypted, event, in_run, reasoning, result, text

THOUGHT = event("REASONING_MESSAGE_CHUNK", delta="b")
CALL = call("c", "{", "}", parentMessageId="m")
# Each item with its value; what follows has begun before the value that comes last of all.
ITEMS: dict[str, tuple[list[Wire], Wire]] = {
    "text": (text("m", "a", "b"), encrypted("m")),
    "reasoning": ([*reasoning("m", "a", "b"), *text("answer", "c")], encrypted("m")),
    "call": ([*CALL, result("c")], encrypted("c", "tool-call")),
    "message of a call": ([*CALL, result("c")], encrypted("m")),
    "chunks": ([{**THOUGHT, "messageId": "m"}, THOUGHT], encrypted("m")),
}


def holders(messages: list[Wire]) -> list[str]:
    """Ids of the messages and calls with the value."""
    calls = [made for message in messages for made in message.get("toolCalls", ())]
    return [one["id"] for one in [*messages, *calls] if one.get("encryptedValue") == "E"]


@pytest.mark.parametrize("name", ITEMS)
def test_a_value_counts_from_the_start_of_its_entity_on(name: str, node_client: NodeClient) -> None:
    events, value = ITEMS[name]
    streams = [in_run(*events[:at], value, *events[at:]) for at in range(len(events) + 1)]
    runs = node_client.runs({"events": stream} for stream in streams)
    for place, (stream, client) in enumerate(zip(streams, runs, strict=True)):
        assert (client.error, client.warnings) == (None, [])
        ours = fold(verify(stream))
        assert [one.model_dump(by_alias=True) for one in ours.messages] == client.messages
        assert holders(client.messages) == [value["entityId"]][:place]
        assert fold(compact(verify(stream))).messages == ours.messages
        if place:
            verify(stream, strict=True)
    with pytest.raises(ProtocolError) as caught:
        verify(streams[0], strict=True)
    assert caught.value.code == "unknown-entity"

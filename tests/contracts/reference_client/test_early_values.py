"""An encrypted value may come as soon as its message or call has begun: before its content, within
it, after its end.

`@ag-ui/client` 1.0.0 takes each place alike; so do both verifiers, the fold and `compact`.
"""

from __future__ import annotations

import pytest

from langgraph_agui.protocol import ProtocolError, compact, fold, verify
from tests.kit.expect.agreement import record_stream
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.wire_events import Wire, call, event, in_run, reasoning, result, text


def value(entity_id: str, subtype: str = "message") -> Wire:
    """The encrypted value of a message or a call."""
    return event(
        "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity_id, encryptedValue="E"
    )


# Each item with its value; what follows has begun before the value that comes last of all.
ITEMS: dict[str, tuple[list[Wire], Wire, list[Wire]]] = {
    "text": (text("m", "a", "b"), value("m"), []),
    "reasoning": (reasoning("m", "a", "b"), value("m"), text("answer", "c")),
    "call": (call("c", "{", "}", parentMessageId="m"), value("c", "tool-call"), [result("c")]),
    "message of a call": (call("c", "{", "}", parentMessageId="m"), value("m"), [result("c")]),
}
CASES = [
    (name, place)
    for name, (item, _, rest) in ITEMS.items()
    for place in range(1, len(item) + len(rest) + 1)
]


def stream_of(name: str, place: int) -> list[Wire]:
    item, attached, rest = ITEMS[name]
    events = [*item, *rest]
    return in_run(*events[:place], attached, *events[place:])


def holders(messages: list[Wire]) -> list[str]:
    """Ids of the messages and calls with the value."""
    calls = [made for message in messages for made in message.get("toolCalls", ())]
    return [one["id"] for one in [*messages, *calls] if one.get("encryptedValue") == "E"]


@pytest.mark.parametrize(("name", "place"), CASES)
def test_a_value_is_taken_from_the_start_of_its_entity_on(
    name: str, place: int, node_client: NodeClient
) -> None:
    stream = stream_of(name, place)
    ours = fold(verify(stream, strict=True))
    record_stream(stream)
    client = node_client.run(events=stream)
    assert (client.error, client.warnings) == (None, [])
    folded = [message.model_dump(by_alias=True) for message in ours.messages]
    assert folded == client.messages
    assert holders(folded) == [ITEMS[name][1]["entityId"]]
    assert fold(compact(verify(stream))).messages == ours.messages


@pytest.mark.parametrize("name", ITEMS)
def test_a_value_of_what_has_not_begun_is_lost(name: str, node_client: NodeClient) -> None:
    stream = stream_of(name, 0)
    client = node_client.run(events=stream)
    assert client.accepted
    assert holders(client.messages) == []
    assert [
        message.model_dump(by_alias=True) for message in fold(verify(stream)).messages
    ] == client.messages
    with pytest.raises(ProtocolError) as caught:
        verify(stream, strict=True)
    assert caught.value.code == "unknown-entity"


def test_a_value_closes_no_chunks(node_client: NodeClient) -> None:
    def chunk(delta: str, **fields: str) -> Wire:
        return event("REASONING_MESSAGE_CHUNK", delta=delta, **fields)

    stream = in_run(chunk("a", messageId="m"), value("m"), chunk("b"))
    record_stream(stream)
    [held] = fold(verify(stream, strict=True)).messages
    assert (held.content, held.encrypted_value) == ("ab", "E")  # type: ignore[union-attr]
    assert node_client.run(events=stream).messages == [held.model_dump(by_alias=True)]

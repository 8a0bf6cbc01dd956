"""The envelope format, byte by byte: clients keep `encryptedValue` strings, so every release of this
version must read and write them.

`envelopes.json` holds, for each case, the messages as a client keeps them and the envelopes in their
values by holder, `<role>:<id>`. Never change an entry; add new ones. The docs describe the format
(`reference/reasoning-format.md`).
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import (
    ReasoningOptions,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)
from tests.kit.paths import ROOT
from tests.rooms.messages.envelope_cases import (
    CASES,
    KEY,
    KEY_ID,
    PLAIN,
    THREAD,
    Json,
    answer,
    call,
)

STORED: dict[str, Json] = json.loads(
    Path(__file__).with_name("envelopes.json").read_text(encoding="utf-8")
)


def to_client(messages: list[BaseMessage], options: ReasoningOptions = PLAIN) -> list[Json]:
    """Return the messages as the client's JSON."""
    converted = langchain_messages_to_agui(messages, reasoning=options, thread_id=THREAD)
    return [
        json.loads(message.model_dump_json(by_alias=True, exclude_none=True))
        for message in converted
    ]


def from_client(messages: list[Json], options: ReasoningOptions = PLAIN) -> list[BaseMessage]:
    # The entries are from before media were judged, and their pictures are none.
    return agui_messages_to_langchain(
        messages, reasoning=options, thread_id=THREAD, media_urls=None
    )


def values(messages: list[Json]) -> dict[str, str]:
    """Return the values of messages by their holder, `<role>:<id>`, as the seal names it."""
    return {
        f"{message['role']}:{message['id']}": message["encryptedValue"]
        for message in messages
        if message.get("encryptedValue") is not None
    }


def without_values(messages: list[Json]) -> list[Json]:
    return [
        {key: value for key, value in message.items() if key != "encryptedValue"}
        for message in messages
    ]


def decoded(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


def opened(value: str, holder: str) -> str:
    """Return the JSON text in a value, by the documented layout and not by our code."""
    data = decoded(value)
    if data.startswith(b'{"v":'):
        return data.decode()
    header, nonce, box = data[:5], data[5:17], data[17:]
    assert header == b"\x01" + KEY_ID
    thread = THREAD.encode()
    context = header + len(thread).to_bytes(4, "big") + thread + holder.encode()
    return AESGCM(KEY).decrypt(nonce, box, context).decode()


def envelopes(name: str) -> dict[str, str]:
    """Return the JSON text of each envelope of a case by its holder."""
    stored: dict[str, object] = STORED[name]["envelopes"]
    return {
        holder: json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
        for holder, envelope in stored.items()
    }


def check_rebuilt(
    client: list[Json], messages: list[BaseMessage], options: ReasoningOptions = PLAIN
) -> None:
    rebuilt = from_client(client, options)
    assert rebuilt == messages
    assert [*map(repr, rebuilt)] == [*map(repr, messages)]  # compares the order of keys too


@pytest.mark.parametrize("name", CASES)
def test_messages_are_written_as_stored(name: str) -> None:
    case, stored = CASES[name], STORED[name]["messages"]
    made = to_client(case.messages, case.options)
    if case.options.seal is None:
        assert made == stored
    assert without_values(made) == without_values(stored)
    made_values, stored_values = values(made), values(stored)
    assert {holder: opened(value, holder) for holder, value in made_values.items()} == envelopes(
        name
    )
    assert {holder: len(value) for holder, value in made_values.items()} == {
        holder: len(value) for holder, value in stored_values.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_stored_messages_are_read(name: str) -> None:
    case, stored = CASES[name], STORED[name]["messages"]
    check_rebuilt(stored, case.back, case.options)
    check_stored(name)


def check_stored(name: str) -> None:
    """Check that the values of a case hold its envelopes."""
    stored = values(STORED[name]["messages"])
    assert {holder: opened(value, holder) for holder, value in stored.items()} == envelopes(name)


def test_the_docs_show_an_envelope() -> None:
    page = ROOT / "docs" / "reference" / "reasoning-format.md"
    [shown] = re.findall(r"```json\n(.*)\n```", page.read_text("utf-8"))
    content = [
        {
            "type": "thinking",
            "thinking": "The weather first.",
            "signature": "EqQBCkYIARgCKkBsaWduZWQ=",
            "index": 0,
        },
        {"type": "text", "text": "Let me look that up.", "index": 1},
        {
            "type": "tool_use",
            "id": "call_paris",
            "name": "get_weather",
            "input": {"city": "Paris"},
            "index": 2,
        },
    ]
    message = answer("msg_1", "anthropic", content, call("call_paris", "Paris"))
    [[holder, value]] = values(to_client([message])).items()
    assert opened(value, holder) == shown


@pytest.mark.parametrize("name", ["sealed", "sealed and hidden"])
def test_sealed_values_have_the_documented_layout(name: str) -> None:
    case = CASES[name]
    first, second = (
        values(to_client(case.messages, case.options)),
        values(to_client(case.messages, case.options)),
    )
    assert [*first] == [*envelopes(name)]
    for holder, text in envelopes(name).items():
        one, two = decoded(first[holder]), decoded(second[holder])
        assert one[:5] == two[:5] == b"\x01" + KEY_ID
        assert one[5:17] != two[5:17]
        assert len(one) == len(two) == 1 + 4 + 12 + len(text.encode()) + 16
        assert first[holder].startswith("AXOuu-")


def test_messages_of_subagents_are_read() -> None:
    """`in_thread` keeps a message for the agent's model, or not. Without it, a `subagentRunId` means
    not."""
    check_stored("subagents")
    check_rebuilt(
        STORED["subagents"]["messages"],
        [
            HumanMessage("Ask the guide.", id="u1"),
            answer(
                "kept",
                "deepseek",
                "Fog in the morning.",
                additional_kwargs={"reasoning_content": "It is damp in London."},
            ),
            HumanMessage("A note for all.", id="kept-user"),
            AIMessage("Done.", id="msg_1"),
        ],
    )


def test_ids_that_the_client_knows_another_for_are_read() -> None:
    """LangChain's id of an assistant message, and the id of the call that a result answers."""
    check_stored("other ids")
    check_rebuilt(
        STORED["other ids"]["messages"],
        [
            AIMessage("One moment please.", id="lc_1", tool_calls=[call("call_1", "Rome")]),
            ToolMessage("Sunny in Rome", tool_call_id="call_1", name="get_weather", id="t1"),
        ],
    )

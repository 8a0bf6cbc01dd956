"""The envelope format, byte by byte: clients keep `encryptedValue` strings, so every release must
read and write them.

`envelopes.json` (as written today), `envelopes_v2.json` (as written before calls were bound) and
`envelopes_v1.json` (as written before version 2) hold, for each case, the messages as a client
keeps them and the envelopes in their values by holder, `<role>:<id>`. Never change an entry; add
new ones. The docs describe the format (`reference/reasoning-format.md`).
"""

from __future__ import annotations

import json
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
from tests.messages import golden
from tests.messages.envelope_cases import (
    CASES,
    KEY,
    KEY_ID,
    PLAIN,
    THREAD,
    Json,
    answer,
    call,
)

FILES: dict[int, dict[str, Json]] = {
    version: json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for version, name in ((1, "envelopes_v1.json"), (2, "envelopes_v2.json"), (3, "envelopes.json"))
}


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
    """Return the values of messages and tool calls by their holder, `<role>:<id>`, as the seal
    names it."""
    found: dict[str, str] = {}
    for message in messages:
        for holder in (message, *message.get("toolCalls", ())):
            if (value := holder.get("encryptedValue")) is not None:
                found[f"{holder.get('role', 'call')}:{holder['id']}"] = value
    return found


def without_values(messages: list[Json]) -> list[Json]:
    copies: list[Json] = json.loads(json.dumps(messages))
    for message in copies:
        for holder in (message, *message.get("toolCalls", ())):
            holder.pop("encryptedValue", None)
    return copies


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


def envelopes(name: str, version: int = 3) -> dict[str, str]:
    """Return the JSON text of each envelope of a case by its holder."""
    stored: dict[str, object] = FILES[version][name]["envelopes"]
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
    case, stored = CASES[name], FILES[3][name]["messages"]
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


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for version, stored in FILES.items() for name in CASES if name in stored],
)
def test_stored_messages_are_read(name: str, version: int) -> None:
    case, stored = CASES[name], FILES[version][name]["messages"]
    check_rebuilt(stored, case.back, case.options)
    stored_values = values(stored)
    assert {holder: opened(value, holder) for holder, value in stored_values.items()} == envelopes(
        name, version
    )


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


def test_the_values_of_golden_become_those_of_today() -> None:
    client = [
        golden.USER,
        golden.THOUGHT,
        golden.REDACTED,
        golden.CLAUDE,
        golden.RESULT,
        golden.ITEM,
        golden.GPT,
    ]
    client += [golden.GEMINI, golden.RAW_THOUGHT, golden.BEDROCK]
    messages = from_client(client)
    today = to_client(messages)
    assert without_values(today) == without_values(client)
    assert from_client(today) == messages


def test_messages_of_subagents_are_read() -> None:
    """`t: 1` keeps a message for the agent's model, `t: 0` does not. Without `t`, a `subagentRunId`
    means 0."""
    stored = FILES[1]["subagents"]["messages"]
    assert {holder: opened(value, holder) for holder, value in values(stored).items()} == envelopes(
        "subagents", 1
    )
    check_rebuilt(
        stored,
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
    """`i` is LangChain's id of an assistant message, and the id of the call that a result
    answers."""
    stored = FILES[1]["other ids"]["messages"]
    assert {holder: opened(value, holder) for holder, value in values(stored).items()} == envelopes(
        "other ids", 1
    )
    check_rebuilt(
        stored,
        [
            AIMessage("One moment please.", id="lc_1", tool_calls=[call("call_1", "Rome")]),
            ToolMessage("Sunny in Rome", tool_call_id="call_1", name="get_weather", id="t1"),
        ],
    )

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

from langgraph_agui import ReasoningOptions, agui_messages_to_langchain, langchain_messages_to_agui
from tests.kit.paths import ROOT
from tests.rooms.messages.envelope_cases import (
    CASES,
    FOG,
    KEY,
    KEY_ID,
    PLAIN,
    THREAD,
    Json,
    answer,
    block,
    call,
    text,
)

STORED: dict[str, Json] = json.loads(
    Path(__file__).with_name("envelopes.json").read_text(encoding="utf-8")
)


def to_client(messages: list[BaseMessage], options: ReasoningOptions = PLAIN) -> list[Json]:
    shown = langchain_messages_to_agui(messages, reasoning=options, thread_id=THREAD)
    return [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in shown]


def values(messages: list[Json]) -> dict[str, str]:
    """The values of messages by their holder, `<role>:<id>`, as the seal names it."""
    return {
        f"{one['role']}:{one['id']}": one["encryptedValue"]
        for one in messages
        if one.get("encryptedValue") is not None
    }


def without_values(messages: list[Json]) -> list[Json]:
    return [{key: one[key] for key in one if key != "encryptedValue"} for one in messages]


def decoded(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


def opened(values: dict[str, str]) -> dict[str, str]:
    """The JSON text in each value, by the documented layout and not by our code."""
    found = {}
    for holder, value in values.items():
        data = decoded(value)
        if not data.startswith(b'{"v":'):
            header, nonce, box = data[:5], data[5:17], data[17:]
            assert header == b"\x01" + KEY_ID
            context = len(THREAD).to_bytes(4, "big") + THREAD.encode() + holder.encode()
            data = AESGCM(KEY).decrypt(nonce, box, header + context)
        found[holder] = data.decode()
    return found


def envelopes(name: str) -> dict[str, str]:
    """The JSON text of each envelope of a case by its holder."""
    stored: dict[str, object] = STORED[name]["envelopes"]
    return {
        holder: json.dumps(one, ensure_ascii=False, separators=(",", ":"))
        for holder, one in stored.items()
    }


def check_read(name: str, back: list[BaseMessage], options: ReasoningOptions = PLAIN) -> None:
    stored = STORED[name]["messages"]
    assert opened(values(stored)) == envelopes(name)
    # The entries are from before media were judged, and their pictures are none.
    rebuilt = agui_messages_to_langchain(
        stored, reasoning=options, thread_id=THREAD, media_urls=None
    )
    assert rebuilt == back
    assert [*map(repr, rebuilt)] == [*map(repr, back)]  # compares the order of keys too


@pytest.mark.parametrize("name", CASES)
def test_messages_are_written_as_stored_and_read(name: str) -> None:
    case, stored = CASES[name], STORED[name]["messages"]
    made = to_client(case.messages, case.options)
    assert case.options.seal or made == stored
    assert without_values(made) == without_values(stored)
    assert opened(values(made)) == envelopes(name)
    lengths = [
        {holder: len(value) for holder, value in values(one).items()} for one in (made, stored)
    ]
    assert lengths[0] == lengths[1]
    check_read(name, case.back, case.options)


def test_the_docs_show_an_envelope() -> None:
    page = ROOT / "docs" / "reference" / "reasoning-format.md"
    [shown] = re.findall(r"```json\n(.*)\n```", page.read_text("utf-8"))
    signature, paris = "EqQBCkYIARgCKkBsaWduZWQ=", {"city": "Paris"}
    content = [
        block("thinking", thinking="The weather first.", signature=signature, index=0),
        text("Let me look that up.", index=1),
        block("tool_use", id="call_paris", name="get_weather", input=paris, index=2),
    ]
    message = answer("msg_1", "anthropic", content, call("call_paris", "Paris"))
    assert [*opened(values(to_client([message]))).values()] == [shown]


def test_messages_of_subagents_are_read() -> None:
    """`in_thread` keeps a message for the agent's model, or not. Without it, a `subagentRunId` means
    not."""
    asked, note = HumanMessage("Ask the guide.", id="u1"), HumanMessage("A note for all.")
    note.id, kept = "kept-user", FOG.model_copy(update={"id": "kept"})
    check_read("subagents", [asked, kept, note, AIMessage("Done.", id="msg_1")])


def test_ids_that_the_client_knows_another_for_are_read() -> None:
    """LangChain's id of an assistant message, and the id of the call that a result answers."""
    asked = AIMessage("One moment please.", id="lc_1", tool_calls=[call("call_1", "Rome")])
    found = ToolMessage("Sunny in Rome", tool_call_id="call_1", name="get_weather", id="t1")
    check_read("other ids", [asked, found])

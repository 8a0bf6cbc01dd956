"""Opaque values: one that is not ours, whole, of today's version and in its place is not used."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.kernel.seal import ReasoningSeal, RejectReason
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec, Holder
from langgraph_agui.messages.envelope import GEMINI_SIGNATURES
from langgraph_agui.options import ReasoningOptions
from tests.kit.models.shapes import OPAQUE, decoded, encoded

Json = dict[str, Any]

ONE, TWO = bytes(range(32)), bytes(range(32, 64))
PLAIN = ReasoningOptions()
SEALED = ReasoningOptions(seal=ReasoningSeal([ONE]))


def back(
    held: list[Json], options: ReasoningOptions = PLAIN, thread: str = "t"
) -> list[BaseMessage]:
    return agui_messages_to_langchain(held, reasoning=options, thread_id=thread)


# What is not used

TOLD: list[BaseMessage] = [
    HumanMessage([{"type": "text", "text": "Weather?"}], id="user_1"),
    AIMessage(
        [
            {"type": "thinking", "thinking": "The weather first.", "signature": OPAQUE},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {}, "caller": OPAQUE},
        ],
        additional_kwargs={GEMINI_SIGNATURES: {"call_1": OPAQUE}},
        response_metadata={"model_provider": "anthropic", "container": OPAQUE},
        tool_calls=[{"name": "look", "args": {}, "id": "call_1"}],
        id="msg_1",
    ),
    ToolMessage(["Sunny"], tool_call_id="call_1", name="look", id="tool_1"),
    AIMessage(
        "Sunny.", response_metadata={"model_provider": "anthropic", "container": OPAQUE}, id="msg_2"
    ),
]
HOLDERS = ("user_1", "msg_1:reasoning:0", "tool_1", "msg_2")


def held_by_client(options: ReasoningOptions = SEALED, thread: str = "t") -> list[Json]:
    shown = langchain_messages_to_agui(TOLD, reasoning=options, thread_id=thread)
    return [json.loads(message.model_dump_json(by_alias=True)) for message in shown]


def entity(held: list[Json], message_id: str) -> Json:
    return next(message for message in held if message["id"] == message_id)


def check_plain(
    held: list[Json],
    entity_id: str,
    caplog: pytest.LogCaptureFixture,
    options: ReasoningOptions = SEALED,
    why: RejectReason | None = None,
    thread: str = "t",
) -> None:
    """The message that the damaged value belongs to is plain, the others are whole, and there is
    one warning."""
    caplog.clear()
    rebuilt = back(held, options, thread)
    damaged = "msg_1" if entity_id == HOLDERS[1] else entity_id
    assert len(rebuilt) == len(TOLD)
    for message, whole in zip(rebuilt, TOLD, strict=True):
        if message.id == damaged:
            assert isinstance(message.content, str)
            assert message.additional_kwargs == message.response_metadata == {}
            assert OPAQUE not in repr(message)
        else:
            assert message == whole
        assert message.type == whole.type
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert OPAQUE not in record.getMessage()
    assert why is None or record.getMessage().endswith(f": 1 {why.value}.")


@pytest.mark.parametrize("options", [PLAIN, SEALED], ids=["clear", "sealed"])
def test_undamaged_values_are_used(
    options: ReasoningOptions, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client(options)
    assert [entity(held, holder)["encryptedValue"][:7] == "eyJ2Ijo" for holder in HOLDERS] == [
        options is PLAIN
    ] * 4
    assert back(held, options) == TOLD
    assert not caplog.records


anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@anywhere
@given(said=st.data())
@pytest.mark.parametrize("holder", HOLDERS)
def test_one_character_of_a_sealed_value_is_another(
    holder: str, said: st.DataObject, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client()
    value = entity(held, holder)["encryptedValue"]
    place = said.draw(st.integers(0, len(value) - 1))
    drawn = said.draw(st.sampled_from("ABCXYZabcxyz0189-_+/ \n!é\ud800"))
    # not a filter: a sealed value is another each time
    other = drawn if drawn != value[place] else "~"
    entity(held, holder)["encryptedValue"] = value[:place] + other + value[place + 1 :]
    check_plain(held, holder, caplog)


@anywhere
@given(said=st.data())
@pytest.mark.parametrize("holder", HOLDERS)
def test_one_bit_of_a_sealed_value_is_another(
    holder: str, said: st.DataObject, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client()
    data = bytearray(decoded(entity(held, holder)["encryptedValue"]))
    bit = said.draw(st.integers(0, len(data) * 8 - 1))
    data[bit // 8] ^= 1 << bit % 8
    entity(held, holder)["encryptedValue"] = encoded(bytes(data))
    why = (
        RejectReason.UNSEALED
        if bit < 8
        else RejectReason.UNKNOWN_KEY
        if bit < 40
        else RejectReason.ALTERED
    )
    check_plain(held, holder, caplog, why=why)


@anywhere
@given(said=st.data())
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_sealed_value_is_cut_or_longer(
    holder: str, said: st.DataObject, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client()
    value = entity(held, holder)["encryptedValue"]
    cut = value[: said.draw(st.integers(1, len(value) - 1))]
    entity(held, holder)["encryptedValue"] = said.draw(
        st.sampled_from([cut, value + "A", "A" + value, value * 2])
    )
    check_plain(held, holder, caplog)


def of_another_thread(held: list[Json], holder: str) -> None:
    entity(held, holder)["encryptedValue"] = entity(held_by_client(thread="u"), holder)[
        "encryptedValue"
    ]


def of_another_message(held: list[Json], holder: str) -> None:
    found = entity(held, holder)
    envelope = json.loads(decoded(entity(held_by_client(PLAIN), holder)["encryptedValue"]))
    found["encryptedValue"] = EncryptedValueCodec(SEALED, "t").encode(
        found["role"], f"{holder}x", envelope
    )


def of_another_kind(held: list[Json], holder: str) -> None:
    found = entity(held, holder)
    envelope = json.loads(decoded(entity(held_by_client(PLAIN), holder)["encryptedValue"]))
    others: dict[str, Holder] = {
        "user": "assistant",
        "assistant": "tool",
        "tool": "user",
        "reasoning": "assistant",
    }
    other = others[found["role"]]
    found["encryptedValue"] = EncryptedValueCodec(SEALED, "t").encode(other, holder, envelope)


def not_sealed(held: list[Json], holder: str) -> None:
    entity(held, holder)["encryptedValue"] = entity(held_by_client(PLAIN), holder)["encryptedValue"]


def bare(held: list[Json], holder: str) -> None:
    entity(held, holder)["encryptedValue"] = OPAQUE


def unsealed_json(held: list[Json], holder: str) -> None:
    entity(held, holder)["encryptedValue"] = encoded({"v": 3})


def under_another_key(held: list[Json], holder: str) -> None:
    other = held_by_client(ReasoningOptions(seal=ReasoningSeal([TWO])))
    entity(held, holder)["encryptedValue"] = entity(other, holder)["encryptedValue"]


def sealed_newer(held: list[Json], holder: str) -> None:
    sealed_as(held, holder, {"v": 4})


def sealed_older(held: list[Json], holder: str) -> None:
    sealed_as(held, holder, {"v": 2, "h": "", "a": {}})


def sealed_nonsense(held: list[Json], holder: str) -> None:
    sealed_as(held, holder, ["v", 1])


def sealed_as(held: list[Json], holder: str, envelope: Any) -> None:
    found = entity(held, holder)
    found["encryptedValue"] = EncryptedValueCodec(SEALED, "t").encode(
        found["role"], holder, envelope
    )


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (of_another_thread, RejectReason.ALTERED),
        (of_another_message, RejectReason.ALTERED),
        (of_another_kind, RejectReason.ALTERED),
        (not_sealed, RejectReason.UNSEALED),
        (unsealed_json, RejectReason.UNSEALED),
        (bare, RejectReason.UNSEALED),
        (under_another_key, RejectReason.UNKNOWN_KEY),
        (sealed_newer, RejectReason.NEWER),
        (sealed_older, RejectReason.OLDER),
        (sealed_nonsense, RejectReason.MALFORMED),
    ],
)
def test_a_seal_takes_only_its_own(
    damage: Callable[[list[Json], str], None],
    why: RejectReason,
    holder: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = held_by_client()
    damage(held, holder)
    check_plain(held, holder, caplog, why=why)


def test_the_thread_is_another_for_all(caplog: pytest.LogCaptureFixture) -> None:
    rebuilt = back(held_by_client(), SEALED, "u")
    assert OPAQUE not in repr(rebuilt)
    [record] = caplog.records
    assert record.getMessage().endswith(f": 4 {RejectReason.ALTERED.value}.")


def test_thread_and_message_do_not_run_into_each_other() -> None:
    value = EncryptedValueCodec(SEALED, "a").encode("user", "b/user:c", {"v": 3})
    assert value is not None
    assert EncryptedValueCodec(SEALED, "a").decode("user", "b/user:c", value) == {"v": 3}
    assert (
        EncryptedValueCodec(SEALED, "auser:b/").decode("user", "c", value) is RejectReason.ALTERED
    )


def test_keys_are_rotated(caplog: pytest.LogCaptureFixture) -> None:
    old = held_by_client()
    assert back(old, ReasoningOptions(seal=ReasoningSeal([TWO, ONE]))) == TOLD
    rotated = held_by_client(ReasoningOptions(seal=ReasoningSeal([TWO, ONE])))
    assert back(rotated, ReasoningOptions(seal=ReasoningSeal([TWO]))) == TOLD
    assert not caplog.records
    assert OPAQUE not in repr(back(rotated, SEALED))
    [record] = caplog.records
    assert record.getMessage().endswith(f": 4 {RejectReason.UNKNOWN_KEY.value}.")


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_sealed_value_needs_a_seal(holder: str, caplog: pytest.LogCaptureFixture) -> None:
    held = held_by_client(PLAIN)
    entity(held, holder)["encryptedValue"] = entity(held_by_client(), holder)["encryptedValue"]
    check_plain(held, holder, caplog, PLAIN, RejectReason.NO_SEAL)


def longer(value: str) -> str:
    envelope = json.loads(decoded(value))
    return encoded({**envelope, "more": "x" * 1_000_000})


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (longer, RejectReason.TOO_LARGE),
        (lambda value: encoded({**json.loads(decoded(value)), "v": 4}), RejectReason.NEWER),
        (lambda value: encoded({**json.loads(decoded(value)), "v": 10**400}), RejectReason.NEWER),
        (lambda value: encoded({**json.loads(decoded(value)), "v": 2}), RejectReason.OLDER),
        (lambda _: encoded({"v": 1, "p": "openai", "b": {}}), RejectReason.OLDER),
        (lambda value: encoded({**json.loads(decoded(value)), "v": 0}), RejectReason.MALFORMED),
        (lambda value: encoded({**json.loads(decoded(value)), "v": 1.0}), RejectReason.MALFORMED),
        (lambda value: encoded({**json.loads(decoded(value)), "v": True}), RejectReason.MALFORMED),
        (lambda value: encoded({**json.loads(decoded(value)), "v": None}), RejectReason.MALFORMED),
        (lambda value: value[:-1], None),
        (lambda value: value[:-4], RejectReason.MALFORMED),
        (lambda value: value + " ", RejectReason.MALFORMED),
        (lambda value: value[:8] + "\n" + value[8:], RejectReason.MALFORMED),
        (lambda value: value + "é", RejectReason.MALFORMED),
        (lambda _: encoded(b'{"v":3,"message":' + b"[" * 100_000), RejectReason.MALFORMED),
        (lambda _: encoded(b'{"v":3,"message":"\xff"}'), RejectReason.MALFORMED),
        (lambda _: encoded({"v": 3}), RejectReason.DAMAGED),
        (lambda _: OPAQUE, RejectReason.BARE),
        (lambda _: encoded([1]), RejectReason.BARE),
        (lambda _: encoded({"other": 1}), RejectReason.BARE),
        (lambda _: "\ud800", RejectReason.BARE),
    ],
)
def test_a_clear_value_is_another(
    change: Callable[[str], str],
    why: RejectReason | None,
    holder: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = held_by_client(PLAIN)
    value = change(entity(held, holder)["encryptedValue"])
    entity(held, holder)["encryptedValue"] = value
    check_plain(held, holder, caplog, PLAIN, why)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_message_without_its_value_is_plain(
    holder: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client()
    del entity(held, holder)["encryptedValue"]
    rebuilt = {message.id: message for message in back(held, SEALED)}
    assert OPAQUE not in repr(rebuilt["msg_1" if holder == HOLDERS[1] else holder])
    assert not caplog.records


@pytest.mark.parametrize("holder", HOLDERS)
def test_padding_is_taken_and_no_other_spelling(
    holder: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client(PLAIN)
    for one in HOLDERS:
        data = decoded(entity(held, one)["encryptedValue"])
        entity(held, one)["encryptedValue"] = urlsafe_b64encode(data).decode()
    assert back(held) == TOLD
    assert not caplog.records
    found = entity(held, holder)
    data = decoded(found["encryptedValue"]).replace(
        OPAQUE.encode(), "\U0001f000\u00ff\u00be".encode()
    )
    standard = b64encode(data).decode()
    if "+" not in standard and "/" not in standard:
        standard = b64encode(data[:-1] + b',"\xc3\xbb\xc3\xbf\xef\xbf\xbf":1}').decode()
    assert "+" in standard or "/" in standard
    found["encryptedValue"] = standard
    check_plain(held, holder, caplog, PLAIN, RejectReason.MALFORMED)


def test_spare_bits_are_refused() -> None:
    assert EncryptedValueCodec().decode("user", "u", "eyJ2IjozfQ") == {"v": 3}
    assert EncryptedValueCodec().decode("user", "u", "eyJ2IjozfQ==") == {"v": 3}
    for last in "RSTUVWXYZabcdef":
        assert (
            EncryptedValueCodec().decode("user", "u", f"eyJ2Ijozf{last}") is RejectReason.MALFORMED
        )


def test_members_that_are_new_are_ignored() -> None:
    held = held_by_client(PLAIN)
    for holder in HOLDERS:
        found = entity(held, holder)
        found["encryptedValue"] = encoded(
            {"zz": [], **json.loads(decoded(found["encryptedValue"])), "new": "$?"}
        )
    assert back(held) == TOLD


# The length of a value


LONG = OPAQUE + "x" * 1000


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [
        (0, "content", [{"type": "text", "text": "Weather?", "cache_control": LONG}]),
        (1, "content", [{"type": "thinking", "thinking": "The weather first.", "signature": LONG}]),
        (1, "response_metadata", {"container": LONG}),
        (1, "additional_kwargs", {GEMINI_SIGNATURES: {"call_1": LONG}}),
        (2, "additional_kwargs", {"cache": LONG}),
        (3, "response_metadata", {"container": LONG}),
    ],
    ids=["user", "reasoning", "assistant", "call", "result", "assistant without reasoning"],
)
def test_a_value_that_is_too_long_to_go_out(
    place: int, field: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = deepcopy(TOLD)
    setattr(recorded[place], field, value)
    options = ReasoningOptions(max_bytes=1000, seal=ReasoningSeal([ONE]))
    shown = langchain_messages_to_agui(recorded, reasoning=options)
    [record] = caplog.records
    assert "max_bytes" in record.getMessage()
    rebuilt = agui_messages_to_langchain(shown, reasoning=options)
    assert [message == whole for message, whole in zip(rebuilt, TOLD, strict=True)] == [
        n != place for n in range(len(TOLD))
    ]
    assert OPAQUE not in repr(rebuilt[place])


def test_the_limit_is_exact() -> None:
    value = EncryptedValueCodec().encode("user", "u", {"v": 3, "c": "x" * 100})
    assert value is not None
    exact, less = (
        EncryptedValueCodec(ReasoningOptions(max_bytes=len(value) - by)) for by in (0, 1)
    )
    assert exact.encode("user", "u", {"v": 3, "c": "x" * 100}) == value
    assert less.encode("user", "u", {"v": 3, "c": "x" * 100}) is None
    assert exact.decode("user", "u", value) == {"v": 3, "c": "x" * 100}
    assert less.decode("user", "u", value) is RejectReason.TOO_LARGE


@given(
    envelope=st.dictionaries(st.text(), st.integers() | st.text(), max_size=3),
    entity_id=st.text(),
    thread=st.text(),
)
@pytest.mark.parametrize("options", [PLAIN, SEALED], ids=["clear", "sealed"])
def test_what_is_written_is_read(
    options: ReasoningOptions, envelope: Any, entity_id: str, thread: str
) -> None:
    values = EncryptedValueCodec(options, thread)
    whole = {**envelope, "v": 3}
    value = values.encode("reasoning", entity_id, whole)
    assert value is not None
    assert value.isascii()
    assert set(value) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert values.decode("reasoning", entity_id, value) == whole


@given(
    value=st.text()
    | st.text("ABCDEFeyJ2Ijoz-_=+/0123", max_size=40)
    | st.binary(max_size=60).map(encoded)
)
@pytest.mark.parametrize("options", [PLAIN, SEALED], ids=["clear", "sealed"])
def test_any_string_is_read(options: ReasoningOptions, value: str) -> None:
    read = EncryptedValueCodec(options).decode("reasoning", "r", value)
    assert isinstance(read, RejectReason | dict)
    assert options is PLAIN or isinstance(read, RejectReason)

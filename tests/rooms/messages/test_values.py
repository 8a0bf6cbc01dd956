"""Opaque values: one that is not ours, whole, of today's version and in its place is not used."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import agui_messages_to_langchain, langchain_messages_to_agui
from langgraph_agui.kernel.seal import ReasoningSeal, RejectReason
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.envelope import GEMINI_SIGNATURES
from langgraph_agui.options import ReasoningOptions
from tests.kit.models.shapes import OPAQUE, decoded, encoded

Json = dict[str, Any]

PLAIN = ReasoningOptions()
SEALED, OTHER = (ReasoningOptions(seal=ReasoningSeal([bytes([n]) * 32])) for n in (1, 2))
both_options = pytest.mark.parametrize("options", [PLAIN, SEALED], ids=["clear", "sealed"])

CONTAINED = {"model_provider": "anthropic", "container": OPAQUE}
TOLD: list[BaseMessage] = [
    HumanMessage([{"type": "text", "text": "Weather?"}], id="user_1"),
    AIMessage(
        [
            {"type": "thinking", "thinking": "The weather first.", "signature": OPAQUE},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "call_1", "name": "look", "input": {}, "caller": OPAQUE},
        ],
        additional_kwargs={GEMINI_SIGNATURES: {"call_1": OPAQUE}},
        response_metadata=CONTAINED,
        tool_calls=[{"name": "look", "args": {}, "id": "call_1"}],
        id="msg_1",
    ),
    ToolMessage(["Sunny"], tool_call_id="call_1", name="look", id="tool_1"),
    AIMessage("Sunny.", response_metadata=CONTAINED, id="msg_2"),
]
HOLDERS = ("user_1", "msg_1:reasoning:0", "tool_1", "msg_2")
each_holder = pytest.mark.parametrize("holder", HOLDERS)


def back(held: list[Json], options: ReasoningOptions) -> list[BaseMessage]:
    return agui_messages_to_langchain(held, reasoning=options, thread_id="t")


def held_by_client(options: ReasoningOptions = SEALED) -> list[Json]:
    shown = langchain_messages_to_agui(TOLD, reasoning=options, thread_id="t")
    return [json.loads(message.model_dump_json(by_alias=True)) for message in shown]


def message_of(holder: str) -> str:
    return holder.partition(":")[0]


def entity(held: list[Json], message_id: str) -> Json:
    return next(message for message in held if message["id"] == message_id)


def check_plain(
    holder: str, change: Callable[[Json, str], Any], caplog: pytest.LogCaptureFixture,
    options: ReasoningOptions = SEALED, why: RejectReason | None = None,
) -> None:  # fmt: skip
    """The message whose value is changed is plain, the others are whole, and one warning says so."""
    caplog.clear()
    held = held_by_client(options)
    found = entity(held, holder)
    found["encryptedValue"] = change(found, found["encryptedValue"])
    for message, whole in zip(back(held, options), TOLD, strict=True):
        if message.id == message_of(holder):
            assert isinstance(message.content, str)
            assert message.additional_kwargs == message.response_metadata == {}
            assert OPAQUE not in repr(message)
        else:
            assert message == whole
        assert message.type == whole.type
    [record] = caplog.records
    assert (record.levelname, OPAQUE in record.getMessage()) == ("WARNING", False)
    assert why is None or record.getMessage().endswith(f": 1 {why.value}.")


@both_options
def test_undamaged_values_are_used(
    options: ReasoningOptions, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client(options)
    clear = [entity(held, holder)["encryptedValue"][:7] == "eyJ2Ijo" for holder in HOLDERS]
    assert clear == [options is PLAIN] * 4
    assert back(held, options) == TOLD
    for holder in HOLDERS * (options is PLAIN):  # members that are new, and padding
        found = entity(held, holder)
        whole = {"zz": [], **json.loads(decoded(found["encryptedValue"])), "new": "$?"}
        found["encryptedValue"] = urlsafe_b64encode(json.dumps(whole).encode()).decode()
    assert back(held, options) == TOLD
    assert not caplog.records


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(draw=st.data())
@each_holder
def test_one_character_of_a_sealed_value_is_another_or_some_are_missing_or_more(
    holder: str, draw: st.DataObject, caplog: pytest.LogCaptureFixture
) -> None:
    def change(_: Json, value: str) -> str:
        place = draw.draw(st.integers(1, len(value) - 1))
        drawn = draw.draw(st.sampled_from("ABCXYZabcxyz0189-_+/ \n!é\ud800"))
        # not a filter: a sealed value is another each time
        other = value[:place] + (drawn if drawn != value[place] else "~") + value[place + 1 :]
        changes = [other, value[:place], value + "A", "A" + value, value * 2]
        return draw.draw(st.sampled_from(changes))

    check_plain(holder, change, caplog)


def sealed(role: Any, holder: str, whole: Any, thread: str = "t", by: Any = SEALED) -> Any:
    return EncryptedValueCodec(by, thread).encode(role, holder, whole)


WHY = RejectReason
OLD_ENVELOPE = {"v": 1, "p": "openai", "b": {}}


def versioned(v: Any) -> Callable[[str], str]:
    return lambda value: encoded({**json.loads(decoded(value)), "v": v})


@each_holder
def test_a_seal_takes_only_its_own(holder: str, caplog: pytest.LogCaptureFixture) -> None:
    whole = json.loads(decoded(entity(held_by_client(PLAIN), holder)["encryptedValue"]))
    for make, why in (
        (lambda role: sealed(role, holder, whole, "u"), WHY.ALTERED),  # of another thread
        (lambda role: sealed(role, f"{holder}x", whole), WHY.ALTERED),
        (lambda role: sealed(f"not {role}", holder, whole), WHY.ALTERED),
        (lambda role: encoded(whole), WHY.UNSEALED),
        (lambda role: OPAQUE, WHY.UNSEALED),
        (lambda role: sealed(role, holder, whole, by=OTHER), WHY.UNKNOWN_KEY),
        (lambda role: sealed(role, holder, {"v": 4}), WHY.NEWER),
        (lambda role: sealed(role, holder, {"v": 2, "h": ""}), WHY.OLDER),
        (lambda role: sealed(role, holder, ["v", 1]), WHY.MALFORMED),
    ):
        check_plain(holder, lambda found, _, make=make: make(found["role"]), caplog, why=why)


def test_thread_and_message_do_not_run_into_each_other() -> None:
    value = sealed("user", "b/user:c", {"v": 3}, "a")
    for thread, message, read in (("a", "b/user:c", {"v": 3}), ("auser:b/", "c", WHY.ALTERED)):
        assert EncryptedValueCodec(SEALED, thread).decode("user", message, value) == read


@each_holder
def test_a_clear_value_is_another(holder: str, caplog: pytest.LogCaptureFixture) -> None:
    for change, why in (
        (lambda value: sealed("user", "user_1", {"v": 3}), WHY.NO_SEAL),
        (lambda value: encoded(decoded(value) + b" " * 1_000_000), WHY.TOO_LARGE),
        *((versioned(v), WHY.NEWER) for v in (4, 10**400)),
        *((versioned(2), WHY.OLDER), (lambda _: encoded(OLD_ENVELOPE), WHY.OLDER)),
        *((versioned(v), WHY.MALFORMED) for v in (0, 1.0, True, None)),
        (lambda value: value[:-1], None),
        (lambda value: value[:-4], WHY.MALFORMED),
        (lambda value: value + " ", WHY.MALFORMED),
        (lambda value: value[:8] + "\n" + value[8:], WHY.MALFORMED),
        (lambda value: value[:9] + "+" + value[10:], WHY.MALFORMED),
        (lambda value: value + "é", WHY.MALFORMED),
        (lambda _: encoded(b'{"v":3,"message":' + b"[" * 100_000), WHY.MALFORMED),
        (lambda _: encoded(b'{"v":3,"message":"\xff"}'), WHY.MALFORMED),
        (lambda _: encoded({"v": 3}), WHY.DAMAGED),
        *((lambda _, bare=bare: bare, WHY.BARE) for bare in (OPAQUE, "\ud800")),
        *((lambda _, bare=bare: encoded(bare), WHY.BARE) for bare in ([1], {"other": 1})),
    ):
        check_plain(holder, lambda _, value, change=change: change(value), caplog, PLAIN, why)


@each_holder
def test_a_message_without_its_value_is_plain(
    holder: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = held_by_client()
    del entity(held, holder)["encryptedValue"]
    rebuilt = {message.id: message for message in back(held, SEALED)}
    assert OPAQUE not in repr(rebuilt[message_of(holder)])
    assert not caplog.records


def test_spare_bits_are_refused() -> None:
    for last in "QRSTUVWXYZabcdef":
        read = EncryptedValueCodec().decode("user", "u", f"eyJ2Ijozf{last}")
        assert read == ({"v": 3} if last == "Q" else RejectReason.MALFORMED)


LONG = OPAQUE + "x" * 1000
QUESTION = {"type": "text", "text": "Weather?", "cache_control": LONG}
THOUGHT = {"type": "thinking", "thinking": "The weather first.", "signature": LONG}


@pytest.mark.parametrize(
    ("place", "field", "value"),
    [
        pytest.param(0, "content", [QUESTION], id="user"),
        pytest.param(1, "content", [THOUGHT], id="reasoning"),
        pytest.param(1, "response_metadata", {"container": LONG}, id="assistant"),
        pytest.param(1, "additional_kwargs", {GEMINI_SIGNATURES: {"call_1": LONG}}, id="call"),
        pytest.param(2, "additional_kwargs", {"cache": LONG}, id="result"),
        pytest.param(3, "response_metadata", {"container": LONG}, id="without reasoning"),
    ],
)
def test_a_value_that_is_too_long_to_go_out(
    place: int, field: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorded = deepcopy(TOLD)
    setattr(recorded[place], field, value)
    options = ReasoningOptions(max_bytes=1000, seal=SEALED.seal)
    shown = langchain_messages_to_agui(recorded, reasoning=options)
    [record] = caplog.records
    assert "max_bytes" in record.getMessage()
    rebuilt = agui_messages_to_langchain(shown, reasoning=options)
    assert [n for n, message in enumerate(rebuilt) if message != TOLD[n]] == [place]
    assert OPAQUE not in repr(rebuilt[place])


def test_the_limit_is_exact() -> None:
    whole = {"v": 3, "c": "x" * 100}
    value = EncryptedValueCodec().encode("user", "u", whole)
    size = len(value)
    for max_bytes, written, read in ((size, value, whole), (size - 1, None, WHY.TOO_LARGE)):
        codec = EncryptedValueCodec(ReasoningOptions(max_bytes=max_bytes))
        assert codec.encode("user", "u", whole) == written
        assert codec.decode("user", "u", value) == read


@given(st.dictionaries(st.text(), st.integers() | st.text(), max_size=3), st.text(), st.text())
def test_what_is_written_is_read(envelope: Any, entity_id: str, thread: str) -> None:
    whole = {**envelope, "v": 3}
    for options in (PLAIN, SEALED):
        codec = EncryptedValueCodec(options, thread)
        value = codec.encode("reasoning", entity_id, whole)
        assert value.replace("-", "").replace("_", "").encode().isalnum()
        assert codec.decode("reasoning", entity_id, value) == whole


@given(st.text() | st.text("ABCDEFeyJ2Ijoz-_=+/0123", max_size=40) | st.binary().map(encoded))
def test_any_string_is_read(value: str) -> None:
    for options in (PLAIN, SEALED):
        read = EncryptedValueCodec(options).decode("reasoning", "r", value)
        assert isinstance(read, RejectReason) or (options is PLAIN and isinstance(read, dict))

"""`read_decision`: which payloads let a call run. Deny by default, whatever a client sends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from ag_ui.core import Interrupt
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from langgraph_agui.interrupts.decisions import ALL_DECISIONS, Action, answer_schema, read_decision
from langgraph_agui.interrupts.used_answers import fingerprint
from langgraph_agui.protocol.response_schema import InvalidAnswer
from langgraph_agui.protocol.wire import has_expired
from tests.kit.run.dialogues import resolved

ACTION = Action("spend", {"amount": 1}, "c1")

KEYS = [*("approved", "type", "editedArgs", "edited_action", "message"), "Approved", "name", "args"]
WORDS = ["approve", "edit", "reject", "respond", "true", "yes", "Approve", "spend", "delete"]
SCALARS = st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, *WORDS]) | st.text(max_size=3)
PAYLOADS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
ALLOWED = st.lists(st.sampled_from(ALL_DECISIONS), min_size=1, unique=True).map(tuple)


def is_approval(payload: Any) -> bool:
    """Whether a payload is a strict yes, written as directly as can be."""
    if payload is True:
        return True
    if not isinstance(payload, dict):
        return False
    if "type" not in payload:
        return payload.get("approved") is True
    if payload.get("approved") not in (None, True):
        return False
    if {key: value for key, value in payload.items() if key != "approved"} == {"type": "approve"}:
        return True
    edited = payload.get("edited_action")
    return payload["type"] == "edit" and isinstance(edited, dict) and edited.get("name") == "spend"


@given(PAYLOADS, ALLOWED)
@example({"approved": 1}, ALL_DECISIONS)
@example({"approved": "true"}, ALL_DECISIONS)
@example({"approved": True, "type": "reject"}, ALL_DECISIONS)
@example({"type": "edit", "edited_action": {"name": "delete", "args": {}}}, ALL_DECISIONS)
def test_only_a_strict_yes_lets_a_call_run(payload: Any, allowed: tuple[str, ...]) -> None:
    try:
        decision = read_decision(payload, Action("spend", {"amount": 1}, "c1", allowed))
    except InvalidAnswer:
        return
    assert decision.type in allowed
    assert decision.value["type"] == decision.type
    if decision.type in ("approve", "edit"):
        assert is_approval(payload)
    else:
        assert payload is not True
    assert (decision.edited_args is not None) == (decision.type == "edit")


@given(PAYLOADS.filter(lambda payload: isinstance(payload, dict)), ALLOWED)
@example({"approved": True}, ALL_DECISIONS)
@example({"approved": False, "message": "no"}, ("approve", "reject"))
@example({"type": "respond", "message": "no"}, ("respond",))
def test_what_is_taken_fits_the_schema_that_is_shown(
    payload: Any, allowed: tuple[str, ...]
) -> None:
    try:
        read_decision(payload, Action("spend", {"amount": 1}, "c1", allowed))
    except InvalidAnswer:
        return
    schema = answer_schema(allowed)
    Draft202012Validator.check_schema(schema)
    given = {key: value for key, value in payload.items() if value is not None}
    if "approved" in schema["properties"] and "type" in given:  # LangChain's own form is taken too
        given.setdefault("approved", given["type"] in ("approve", "edit"))
    Draft202012Validator(schema).validate(given)


@pytest.mark.parametrize(
    "allowed", [ALL_DECISIONS, ("approve", "reject"), ("approve", "edit", "respond")]
)
def test_front_ends_can_draw_the_schema(allowed: tuple[str, ...]) -> None:
    """What assistant-ui builds its buttons from: no other keyword, nothing else required,
    `approved` any boolean."""
    schema = answer_schema(allowed)
    assert {*schema} == {"type", "properties", "required"}
    assert schema["required"] == ["approved"]
    assert {*schema["properties"]["approved"]} <= {"type", "description"}


EDIT = {"type": "edit", "edited_action": {"name": "spend", "args": {"amount": 5}}}
YES, NO = {"type": "approve"}, {"type": "reject"}
DONE = {"type": "respond", "message": "done"}


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (True, YES),
        (False, NO),
        ({"approved": True, "message": "fine"}, YES),
        ({"approved": True, "editedArgs": None}, YES),
        ({"approved": True, "editedArgs": {"amount": 1}}, YES),
        ({"approved": True, "editedArgs": {"amount": 5}}, EDIT),
        ({"approved": False, "editedArgs": {"amount": 5}}, NO),
        ({"approved": False, "message": "no"}, {**NO, "message": "no"}),
        ({"approved": False, **DONE}, DONE),
        ({"approved": True, **YES}, YES),
        *((own, own) for own in (YES, EDIT, NO, {**NO, "message": "no"}, DONE)),
    ],
)
def test_payloads_and_their_decisions(payload: Any, value: dict[str, object]) -> None:
    assert read_decision(payload, ACTION).value == value


@pytest.mark.parametrize(
    "payload",
    [
        *({"type": "respond"}, {"type": "edit"}, {"type": "edit", "edited_action": {}}, {1: 2}),
        *({"approved": True, **NO}, {"approved": False, **YES}, {"approved": 1, **YES}),
        {"approved": True, **DONE},
    ],
)
def test_half_a_decision_or_a_contradiction_is_none(payload: Any) -> None:
    with pytest.raises(InvalidAnswer):
        read_decision(payload, ACTION)


def test_a_refusal_says_where_and_never_what() -> None:
    with pytest.raises(InvalidAnswer) as refused:
        read_decision({"approved": "hunter2", "hunter3": "hunter4"}, ACTION)
    words = ("approved", "hunter2", "hunter4")
    assert [word for word in words if word in str(refused.value)] == ["approved"]


def test_when_an_answer_comes_too_late() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)

    late = ["2029-12-31T23:59:59Z", "2030-01-01T00:00:00", "2030-01-01T00:30:00+01:00"]
    for end in [*late, "2030-01-01T00:00:01Z", "tomorrow", None]:
        asked = Interrupt(id="i", reason="x", expires_at=end)
        assert has_expired(asked, now) == (end in late), end  # without a zone: UTC


def test_a_fingerprint_knows_no_order_but_everything_else() -> None:
    one, two = resolved(("a", {"x": 1, "y": 2}), ("b", True))
    assert fingerprint([one, two]) == fingerprint([two, *resolved(("a", {"y": 2, "x": 1}))])
    others = [*resolved(("b", 1), ("b", "True")), two.model_copy(update={"status": "cancelled"})]
    known = [[one], [one, two], *([one, other] for other in others)]
    assert len({fingerprint(entries) for entries in known}) == 5

"""Conversations that are saved and loaded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import Interrupt, TextPart, UserMessage
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.client import AGUISession
from langgraph_agui.protocol import Fold
from tests.kit.graphs.frontend_tools import client_tool
from tests.kit.run.agents import dumped
from tests.kit.run.random_answers import streams
from tests.kit.run.wire_events import Wire, event, in_run

NOWHERE = "http://127.0.0.1:1/agent"


def objects(inner: Any, size: int) -> Any:
    return st.dictionaries(st.text(max_size=3), inner, max_size=size)


floats = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | floats | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | objects(inner, 3),
    max_leaves=6,
)
interrupts = st.lists(
    st.builds(
        Interrupt,
        id=st.text(min_size=1, max_size=3),
        reason=st.sampled_from(["tool_call", "confirmation"]),
        message=st.none() | st.text(max_size=3),
        tool_call_id=st.sampled_from([None, "c0"]),
        response_schema=st.sampled_from([None, {"type": "object"}]),
        metadata=st.none() | objects(values, 2),
    ),
    max_size=2,
)


@given(streams(), values, interrupts, st.lists(st.sampled_from(["c0", "c1"]), unique=True))
def test_a_saved_session_holds_the_same(
    recorded: list[Wire], state: Any, open_: list[Interrupt], calls: list[str]
) -> None:
    fold = Fold([UserMessage(id="u", content=[TextPart(text="x")])])
    act = event("ACTIVITY_SNAPSHOT", messageId="act", activityType="a", content={"n": None})
    for one in in_run(*recorded, act):
        fold.feed(one)
    tools = [client_tool("f"), client_tool("g")]
    session = AGUISession[Any](NOWHERE, messages=fold.messages, tools=tools)
    session.state, session.interrupts, session._open_calls = state, open_, calls
    text = session.to_json()
    again = AGUISession[Any].from_json(text, NOWHERE, tools=tools)
    assert again.to_json() == text
    assert dumped(again.messages) == dumped(session.messages)
    assert again.state == session.state
    assert (again.thread_id, again.interrupts) == (session.thread_id, session.interrupts)
    assert again.pending_tool_calls == session.pending_tool_calls
    requests = [one._input((), ()).model_dump(exclude={"run_id"}) for one in (again, session)]
    assert requests[0] == requests[1]


@pytest.mark.parametrize(
    "saved", ["", "[]", "{}", '{"version": 2}', "null", '{"version": 1, "threadId": "t"}']
)
def test_what_is_no_saved_session(saved: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        AGUISession[Any].from_json(saved, NOWHERE)


def test_the_saved_form() -> None:
    """Documented, and read by later versions: a change of it needs a new number."""
    session = AGUISession[Any](
        NOWHERE, thread_id="t", messages=[UserMessage(id="u", content="é")], state={"a": None}
    )
    assert json.loads(session.to_json()) == {
        "version": 1,
        "threadId": "t",
        "messages": [{"id": "u", "role": "user", "content": "é"}],
        "state": {"a": None},
        "typedState": None,
        "interrupts": [],
        "openToolCallIds": [],
    }

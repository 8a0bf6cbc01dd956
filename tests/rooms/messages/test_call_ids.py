"""The client's ids of calls, and the model's again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.messages.content import free_call_id, own_call_id

ids = st.text("ab.:0", min_size=1, max_size=4)


@given(st.lists(st.tuples(ids, ids), max_size=12))
def test_each_call_has_an_id_of_its_own_and_gets_the_models_back(
    calls: list[tuple[str, str]],
) -> None:
    taken: dict[str, None] = {}
    last: dict[tuple[str, str], str] = {}
    for message_id, own_id in calls:
        made = free_call_id(own_id, message_id, taken, last.get((message_id, own_id)))
        assert made not in taken
        assert made == own_id or made.startswith(f"{message_id}:")
        if not own_id.startswith((":", f"{message_id}:")):
            assert own_call_id(made, message_id) == own_id
        taken[made] = None
        last[message_id, own_id] = made

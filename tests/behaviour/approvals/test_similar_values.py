"""Values of `interrupt()` that look like a batched approval and are none: they are asked as any
other question."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.interrupts.decisions import ALL_DECISIONS
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending

ONE, REVIEW = (
    {"name": "pay", "args": {}},
    {"action_name": "pay", "allowed_decisions": ["approve", "reject"]},
)
LOOKALIKES: dict[str, dict[str, Any]] = {
    "no name": {"action_requests": [{"action": "pay", "args": {}}], "review_configs": [REVIEW]},
    "no args": {"action_requests": [{"name": "pay"}], "review_configs": [REVIEW]},
    "args of another name": {
        "action_requests": [{"name": "pay", "arguments": {}}],
        "review_configs": [REVIEW],
    },
    "args that are none": {
        "action_requests": [{"name": "pay", "args": "all"}],
        "review_configs": [REVIEW],
    },
    "a name that is none": {
        "action_requests": [{"name": 1, "args": {}}],
        "review_configs": [REVIEW],
    },
    "no mappings": {"action_requests": ["pay"], "review_configs": ["pay"]},
    "too few reviews": {"action_requests": [ONE, ONE], "review_configs": [REVIEW]},
    "too many reviews": {"action_requests": [ONE], "review_configs": [REVIEW, REVIEW]},
    "nothing": {"action_requests": [], "review_configs": []},
    "no reviews": {"action_requests": [ONE], "review_configs": []},
    "one good, one bad": {
        "action_requests": [ONE, {"name": "pay"}],
        "review_configs": [REVIEW, REVIEW],
    },
}
ALL = pytest.mark.parametrize("value", LOOKALIKES.values(), ids=LOOKALIKES)


def client_of(value: object, **options: Any) -> tuple[Client, list[object]]:
    answers: list[object] = []

    async def node(state: Chat) -> Any:
        answers.append(interrupt(value))
        return {"messages": [AIMessage("Thanks.")]}

    return Client(LangGraphAgent(chain_of(node, checkpointer=InMemorySaver()), **options)), answers


@ALL
async def test_it_is_asked_as_it_is_and_answered_with_any_value(value: dict[str, Any]) -> None:
    client, answers = client_of(value)
    (one,) = await client.ask("go")
    assert (one.reason, one.tool_call_id) == ("input_required", None)
    assert one.metadata == {"value": value, "langgraph": {"raw": value}}
    shown = await client.connect()
    assert [again.model_dump() for again in asked(shown)] == [one.model_dump()]
    done = await client.send(resume=resolved((one.id, {"decisions": "mine"})))
    assert ending(done) == "success"
    assert answers == [{"decisions": "mine"}]


@ALL
async def test_it_can_be_cancelled(value: dict[str, Any]) -> None:
    client, answers = client_of(value)
    (one,) = await client.ask("go")
    assert ending(await client.send(resume=cancelled(one.id))) == "cancelled"
    assert answers == []
    (two,) = await client.ask("again")
    assert ending(await client.send(resume=resolved((two.id, "yes")))) == "success"
    assert answers == ["yes"]


@ALL
async def test_it_is_an_interrupt_in_the_convention_too(value: dict[str, Any]) -> None:
    client, answers = client_of(value, approvals=ApprovalOptions(ask_by="tool_call"))
    recorded = await client.send("go")
    (one,) = asked(recorded)
    assert recorded.of("TOOL_CALL_START") == []
    await client.send(resume=resolved((one.id, "yes")))
    assert answers == ["yes"]


@pytest.mark.parametrize(
    "value", [{"type": "tool_approval", "name": "pay"}, {"type": "tool_approval", "args": {}}]
)
async def test_a_per_call_approval_of_another_shape_can_be_answered(value: dict[str, Any]) -> None:
    """Whether it counts as an approval or as a question: the thread goes on."""
    client, answers = client_of(value)
    (one,) = await client.ask("go")
    assert [again.id for again in asked(await client.connect())] == [one.id]
    done = await client.send(resume=resolved((one.id, {"approved": True})))
    assert (ending(done), len(answers)) == ("success", 1)


APPROVE_OR_REJECT = {
    "oneOf": [{"properties": {"type": {"const": kind}}} for kind in ("approve", "reject")]
}


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        (
            {"type": "tool_approval", **ONE, "responseSchema": APPROVE_OR_REJECT},
            ["approve", "reject"],
        ),
        (
            {"type": "tool_approval", **ONE, "response_schema": APPROVE_OR_REJECT},
            ["approve", "reject"],
        ),
        ({"type": "tool_approval", **ONE, "tool_call_id": 7}, list(ALL_DECISIONS)),
        (
            {"action_requests": [ONE], "review_configs": [{"allowed_decisions": None}]},
            list(ALL_DECISIONS),
        ),
        (
            {"action_requests": [ONE], "review_configs": [{"allowed_decisions": "approve"}]},
            list(ALL_DECISIONS),
        ),
    ],
)
async def test_an_approval_that_is_not_quite_the_middlewares_is_an_approval(
    value: dict[str, Any], allowed: list[str]
) -> None:
    client, answers = client_of(value)
    (one,) = await client.ask("go")
    assert (one.reason, one.tool_call_id, (one.metadata or {})["allowedDecisions"]) == (
        "tool_call",
        None,
        allowed,
    )
    assert ending(await client.send(resume=resolved((one.id, "yes")))) == "interrupt_invalid"
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"a": 1}}}
    assert ending(await client.send(resume=resolved((one.id, edit)))) == (
        "success" if "edit" in allowed else "interrupt_invalid"
    )
    assert len(answers) == ("edit" in allowed)


async def test_an_approval_that_allows_nothing_takes_no_answer() -> None:
    review = {"action_name": "pay", "allowed_decisions": []}
    client, answers = client_of({"action_requests": [ONE], "review_configs": [review]})
    (one,) = await client.ask("go")
    assert (one.reason, (one.metadata or {})["allowedDecisions"]) == ("tool_call", [])
    for payload in (True, {"type": "approve"}, {"decisions": [{"type": "approve"}]}, "yes", None):
        refused = await client.send(resume=resolved((one.id, payload)))
        assert ending(refused) == "interrupt_invalid"
    assert ending(await client.send(resume=cancelled(one.id))) == "cancelled"
    assert answers == []

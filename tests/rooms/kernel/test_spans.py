"""A span for each run: what it says, what its parent is, and what its children are."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from opentelemetry import baggage, context, trace
from opentelemetry.trace import StatusCode

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, used
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.rooms.kernel.conftest import Seen

tracer = trace.get_tracer("application")
tenant = ContextVar("tenant", default="nobody's")


async def test_success(seen: Seen) -> None:
    agent = agent_of(
        talker(Scripted(["a", used(12, 7)]), "one"),
        talker(Scripted(["b", used(3, 1)]), "two"),
        name=seen.agent,
    )
    await record_run(agent, run_input("hi", thread="t", run="r"))
    attributes = seen.attributes
    assert len(attributes.pop("agui.correlation_id")) == 36
    assert attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": seen.agent,
        "gen_ai.conversation.id": "t",
        "agui.run.id": "r",
        "agui.run.outcome": "success",
        "agui.run.interrupts": 0,
        "gen_ai.usage.input_tokens": 15,
        "gen_ai.usage.output_tokens": 8,
    }
    (span,) = seen.spans
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())
    assert getattr(span.instrumentation_scope, "name", None) == "langgraph_agui"


async def test_interrupts_and_their_answers(seen: Seen) -> None:
    async def one(state: Chat) -> Any:
        return {"messages": [("ai", interrupt("one?"))]}

    async def two(state: Chat) -> Any:
        interrupt("two?")

    builder = StateGraph(Chat).add_node("one", one).add_node("two", two)
    builder.add_edge(START, "one").add_edge(START, "two")
    agent = LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), name=seen.agent)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    answers = [
        ResumeEntry(interrupt_id=each.id, status="resolved", payload="yes")
        for each in recorded.last.outcome.interrupts
    ]
    assert seen.value("agui.interrupts") == 2
    await record_run(agent, run_input(thread="t", resume=answers))
    told = [dict(span.attributes or {}) for span in seen.spans]
    outcomes = [(one["agui.run.outcome"], one["agui.run.interrupts"]) for one in told]
    assert outcomes == [("interrupt", 2), ("success", 0)]


@pytest.mark.parametrize("expose_errors", [False, True])
async def test_an_error_is_its_code_and_no_more(seen: Seen, expose_errors: bool) -> None:
    agent = agent_of(
        talker(Scripted(["some words", ConnectionError("password=secret")])),
        name=seen.agent,
        expose_errors=expose_errors,
    )
    recorded = await record_run(agent, run_input("my question"))
    assert seen.attributes["agui.run.outcome"] == "error"
    assert seen.attributes["error.type"] == recorded.last.code == "model_error"
    assert seen.values("agui.errors", "error.type") == {"model_error": 1}
    assert seen.attributes["agui.correlation_id"] == recorded.last.metadata["correlationId"]
    (span,) = seen.spans
    assert (span.status.status_code, span.status.description, span.events) == (
        StatusCode.ERROR,
        None,
        (),
    )
    assert not [word for word in ("secret", "some words", "my question") if word in seen.dump()]


@pytest.mark.parametrize("how", ["cancel", "leave", "never begun"])
async def test_cancelled(seen: Seen, how: str) -> None:
    model, given = Scripted(["first", 60.0, "never"]), run_input("hi")
    agent = agent_of(talker(model), name=seen.agent)
    events: Any = agent.run(given)
    received = [await anext(events)]
    assert seen.value("agui.runs.active") == 1
    if how != "never begun":
        while received[-1].type.value != "TEXT_MESSAGE_CONTENT":
            received.append(await anext(events))
        await model.hung.wait()
    if how == "leave":
        await events.aclose()
    else:
        assert await agent.cancel(given.thread_id, given.run_id)
        RecordedRun([*received, *await collect(events)], given)
    assert seen.attributes["agui.run.outcome"] == "cancelled"
    assert "error.type" not in seen.attributes
    assert seen.value("agui.runs.active") == 0


async def test_a_run_is_a_child_of_the_request_and_has_what_it_has_set(seen: Seen) -> None:
    found: list[tuple[str, Any]] = []

    def node(state: Chat) -> None:
        found.append((tenant.get(), baggage.get_baggage("user")))

    tenant.set("ours")
    token = context.attach(baggage.set_baggage("user", "Ann"))
    with tracer.start_as_current_span("request") as request:
        await record_run(agent_of(node, name=seen.agent), run_input("hi"))
        assert trace.get_current_span() is request  # the run's own stays inside the run
    context.detach(token)
    (span,) = seen.spans
    assert span.parent == request.get_span_context()
    assert found == [("ours", "Ann")]


async def test_spans_in_nodes_their_threads_and_of_agents_in_them_are_children(seen: Seen) -> None:
    inner = agent_of(talker(Scripted(["a"])), name="inner")

    async def here(state: Chat) -> None:
        with tracer.start_as_current_span("in a node"):
            await asyncio.sleep(0)
        await record_run(inner, run_input("hi"))

    def there(state: Chat) -> None:
        with tracer.start_as_current_span("in a thread"):
            pass

    given = run_input("hi", thread="x" * 100_000, run="a\nb")  # hostile ids are cut and printable
    await record_run(agent_of(here, there, name=seen.agent), given)
    for name in ("in a node", "in a thread", "invoke_agent inner"):
        parent, own = seen.parent(name)
        assert (parent.trace_id, parent.span_id) == (own.trace_id, own.span_id)
    (child,), own = seen.named("invoke_agent inner"), seen.attributes
    assert (child.attributes or {})["agui.correlation_id"] != own["agui.correlation_id"]
    assert (len(own["gen_ai.conversation.id"]), own["agui.run.id"]) == (301, "a\\nb")


async def test_runs_at_once_have_a_span_each(seen: Seen) -> None:
    async def node(state: Chat) -> None:
        with tracer.start_as_current_span(f"for {state['messages'][0].content}"):
            await asyncio.sleep(0.01)

    agent = agent_of(node, name=seen.agent)
    await asyncio.gather(
        *(record_run(agent, run_input(name, run=name)) for name in ("a", "b", "c"))
    )
    spans = {str((span.attributes or {})["agui.run.id"]): span for span in seen.spans}
    assert sorted(spans) == ["a", "b", "c"]
    assert len({(span.attributes or {})["agui.correlation_id"] for span in spans.values()}) == 3
    for name, span in spans.items():
        (child,) = seen.named(f"for {name}")
        assert (child.parent and child.parent.span_id) == (span.context and span.context.span_id)

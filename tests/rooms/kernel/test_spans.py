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
    assert span.instrumentation_scope
    assert span.instrumentation_scope.name == "langgraph_agui"


async def test_interrupts_and_their_answers(seen: Seen) -> None:
    async def one(state: Chat) -> Any:
        return {"messages": [("ai", interrupt("one?"))]}

    async def two(state: Chat) -> Any:
        interrupt("two?")

    graph = _side_by_side(one, two)
    agent = LangGraphAgent(graph, name=seen.agent)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert seen.attributes["agui.run.outcome"] == "interrupt"
    assert seen.attributes["agui.run.interrupts"] == 2
    asked = recorded.last.outcome.interrupts
    answers = [
        ResumeEntry(interrupt_id=each.id, status="resolved", payload="yes") for each in asked
    ]
    await record_run(agent, run_input(thread="t", resume=answers))
    outcomes = [(span.attributes or {})["agui.run.outcome"] for span in seen.spans]
    assert outcomes == ["interrupt", "success"]


def _side_by_side(*nodes: Any) -> Any:
    builder = StateGraph(Chat)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    return builder.compile(checkpointer=InMemorySaver())


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
    assert seen.attributes["agui.correlation_id"] == recorded.last.metadata["correlationId"]
    (span,) = seen.spans
    assert (span.status.status_code, span.status.description, span.events) == (
        StatusCode.ERROR,
        None,
        (),
    )
    assert not [word for word in ("secret", "some words", "my question") if word in seen.dump()]


async def test_a_refused_input_is_an_error_too(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["a"])), checkpointer=InMemorySaver(), name=seen.agent)
    answer = ResumeEntry(interrupt_id="x", status="resolved", payload="yes")
    recorded = await record_run(agent, run_input("hi", resume=[answer]))
    assert seen.attributes["error.type"] == recorded.last.code == "interrupt_unknown"


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


async def test_the_span_of_the_request_is_the_parent(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["a"])), name=seen.agent)
    with tracer.start_as_current_span("request"):
        await record_run(agent, run_input("hi"))
        current = trace.get_current_span()
    request, (span,) = seen.other("request"), seen.spans
    assert current.get_span_context() == request.context  # the run's own stays inside the run
    assert request.context
    assert span.parent
    assert span.parent.span_id == request.context.span_id


async def test_what_the_request_has_set_is_there_in_nodes(seen: Seen) -> None:
    found: list[tuple[str, Any]] = []

    def node(state: Chat) -> None:
        found.append((tenant.get(), baggage.get_baggage("user")))

    tenant.set("ours")
    token = context.attach(baggage.set_baggage("user", "Ann"))
    await record_run(agent_of(node, name=seen.agent), run_input("hi"))
    context.detach(token)
    assert found == [("ours", "Ann")]


async def test_spans_of_nodes_are_children_also_from_their_threads(seen: Seen) -> None:
    async def here(state: Chat) -> None:
        with tracer.start_as_current_span("in a node"):
            await asyncio.sleep(0)

    def there(state: Chat) -> None:
        with tracer.start_as_current_span("in a thread"):
            pass

    await record_run(agent_of(here, there, name=seen.agent), run_input("hi"))
    (span,) = seen.spans
    assert span.context
    for name in ("in a node", "in a thread"):
        parent = seen.other(name).parent
        assert parent
        assert (parent.trace_id, parent.span_id) == (span.context.trace_id, span.context.span_id)


async def test_runs_at_once_have_a_span_each(seen: Seen) -> None:
    async def node(state: Chat) -> None:
        with tracer.start_as_current_span(f"for {state['messages'][0].content}"):
            await asyncio.sleep(0.01)

    agent = agent_of(node, name=seen.agent)
    await asyncio.gather(
        *(record_run(agent, run_input(name, run=name)) for name in ("a", "b", "c"))
    )
    spans = {(span.attributes or {})["agui.run.id"]: span for span in seen.spans}
    assert sorted(map(str, spans)) == ["a", "b", "c"]
    assert len({(span.attributes or {})["agui.correlation_id"] for span in spans.values()}) == 3
    for name, span in spans.items():
        parent = seen.other(f"for {name}").parent
        assert parent
        assert span.context
        assert parent.span_id == span.context.span_id


async def test_an_agent_in_a_node_of_another_one(seen: Seen) -> None:
    inner = agent_of(talker(Scripted(["a"])), name="inner")

    async def ask(state: Chat) -> None:
        given = run_input("hi")
        RecordedRun(await collect(inner.run(given)), given)

    await record_run(agent_of(ask, name=seen.agent), run_input("hi"))
    child, (span,) = seen.other("invoke_agent inner"), seen.spans
    assert child.parent
    assert span.context
    assert child.parent.span_id == span.context.span_id
    assert (child.attributes or {})["agui.correlation_id"] != seen.attributes["agui.correlation_id"]


async def test_hostile_ids_are_cut_and_printable(seen: Seen) -> None:
    agent = agent_of(talker(Scripted(["a"])), name=seen.agent)
    await record_run(agent, run_input("hi", thread="x" * 100_000, run="a\nb"))
    assert len(seen.attributes["gen_ai.conversation.id"]) == 301
    assert seen.attributes["agui.run.id"] == "a\\nb"

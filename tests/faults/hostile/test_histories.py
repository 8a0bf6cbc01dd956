"""Whatever history a client sends: one terminal event, a stream that fits the protocol, and no
failure of ours."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, ClientOptions, LangGraphAgent, TrustOptions
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.verify import Verifier
from langgraph_agui.protocol.wire import ProtocolError
from tests.kit.deep import example_count
from tests.kit.models.media_files import PNG, encoded
from tests.kit.run.agents import RecordedRun

# Few, so that they meet.
IDS = st.sampled_from(
    [*["a", "b", "c", "u1", "approval:x", "a:reasoning:0", "", "x" * 300] * 8, "\0", "\ud800"]
)
TEXTS = st.sampled_from(
    ["", "hi", "ask", "{}", "[", "\0", "\ud83d", "😀", "<think>a</think>", "[" * 150, "null"]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ENVELOPES = st.fixed_dictionaries(
    {"v": st.sampled_from([1, 2, 3, True, "1"])},
    optional=dict.fromkeys(
        ("p", "h", "r", "c", "k", "m", "x", "i", "n", "t", "b", "s", "of", "a"), JSON
    ),
)
VALUES = (
    st.none()
    | TEXTS
    | ENVELOPES.map(lambda one: urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode())
)
PICTURE = f"data:image/png;base64,{encoded(PNG)}"
URLS = st.sampled_from(
    [
        "https://e.com/a",
        "http://127.0.0.1/",
        PICTURE,
        "data:image/png;base64,aGk=",
        "/etc/crontab",
        "gs://b/a",
        "data:",
        "",
    ]
)
SOURCES = st.fixed_dictionaries(
    {"type": st.sampled_from(["url", "data", "file", "odd"]), "value": URLS | TEXTS},
    optional={"mimeType": st.sampled_from(["image/png", "x", ""]), "provider": TEXTS},
)
PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["image", "audio", "video", "document", "odd"]),
            "source": SOURCES,
        },
        optional={"metadata": JSON, "id": IDS},
    ),
    st.fixed_dictionaries(
        {"type": st.just("binary"), "mimeType": TEXTS},
        optional={"data": TEXTS, "url": URLS, "id": IDS},
    ),
)
CALLS = st.fixed_dictionaries(
    {
        "id": IDS,
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {"name": TEXTS | st.just("request_approval"), "arguments": TEXTS | JSON.map(json.dumps)}
        ),
    },
    optional={"encryptedValue": VALUES},
)
OPTIONAL = {"encryptedValue": VALUES, "subagentRunId": IDS, "name": TEXTS}
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"id": IDS, "role": st.just("user"), "content": TEXTS | st.lists(PARTS, max_size=4)},
        optional=OPTIONAL,
    ),
    st.fixed_dictionaries(
        {"id": IDS, "role": st.just("assistant")},
        optional={**OPTIONAL, "content": TEXTS, "toolCalls": st.lists(CALLS, max_size=4)},
    ),
    st.fixed_dictionaries(
        {
            "id": IDS,
            "role": st.just("tool"),
            "toolCallId": IDS,
            "content": TEXTS | st.lists(PARTS, max_size=2),
        },
        optional={"error": TEXTS, "encryptedValue": VALUES, "subagentRunId": IDS},
    ),
    st.fixed_dictionaries(
        {"id": IDS, "role": st.just("reasoning"), "content": TEXTS},
        optional={"encryptedValue": VALUES},
    ),
    st.fixed_dictionaries(
        {"id": IDS, "role": st.sampled_from(["system", "developer", "odd"]), "content": TEXTS}
    ),
    st.fixed_dictionaries(
        {
            "id": IDS,
            "role": st.just("activity"),
            "activityType": TEXTS,
            "content": st.dictionaries(TEXTS, JSON, max_size=2),
        }
    ),
)
RESUME = st.lists(
    st.fixed_dictionaries(
        {"interruptId": IDS, "status": st.sampled_from(["resolved", "cancelled"])},
        optional={"payload": JSON.filter(lambda one: one is not None)},
    ),
    max_size=2,
)
INPUTS = st.fixed_dictionaries(
    {"threadId": st.just("t"), "runId": st.just("r"), "messages": st.lists(MESSAGES, max_size=7)},
    optional={
        "protocolVersion": st.just("1.0"),
        "state": st.none()
        | st.dictionaries(st.sampled_from(["note", "odd", "messages"]), JSON, max_size=3),
        "resume": RESUME,
        "forwardedProps": st.fixed_dictionaries(
            {},
            optional={
                "command": st.fixed_dictionaries(
                    {"resume": JSON}, optional={"interruptEvent": JSON}
                )
            },
        ),
    },
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "approvals": st.builds(
            ApprovalOptions,
            ask_by=st.sampled_from(["auto", "tool_call"]),
            when_paused=st.sampled_from(["refuse", "cancel"]),
        ),
        "trust": st.builds(
            TrustOptions,
            history=st.sampled_from(["import", "ignore"]),
            instructions=st.sampled_from(["ignore", "accept"]),
            media_urls=st.sampled_from(["public", "any", "none"]),
        ),
        "clients": st.builds(
            ClientOptions, subagents=st.sampled_from(["attributed", "inline", "hidden"])
        ),
    },
)

# What a client may be told that sends nonsense. All else is a fault of the adapter, or of the
# graph.
REFUSALS = {"invalid_input", "approval_refused", "state_refused", "state_invalid"}
REFUSALS |= {
    f"interrupt_{name}" for name in ("unanswered", "unknown", "duplicate", "expired", "invalid")
}


class State(MessagesState):
    note: str


def make_agent(saved: bool, options: dict[str, Any]) -> LangGraphAgent:
    def answer(state: State) -> Any:
        asked = saved and state["messages"] and state["messages"][-1].content == "ask"
        return {"messages": [AIMessage(str(interrupt("Which?")) if asked else "ok")]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return LangGraphAgent(
        builder.compile(checkpointer=InMemorySaver() if saved else None), **options
    )


async def test_half_of_a_surrogate_pair_in_a_key() -> None:
    """JSON spells it, and no checkpointer takes it: such arguments are kept as text."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "look", "arguments": '{"a": {"\\ud83d": null}}'},
    }
    message = {"id": "a", "role": "assistant", "toolCalls": [call]}
    agent = make_agent(True, {})
    run_input = parse_input({"threadId": "t", "runId": "r", "messages": [message]})
    recorded = RecordedRun([event async for event in agent.run(run_input)], run_input)
    assert recorded.last.type.value == "RUN_FINISHED"
    [kept] = [one for one in recorded.messages if one.id == "a"]
    assert kept.tool_calls[0].function.arguments == call["function"]["arguments"]  # type: ignore[union-attr, index]


async def test_an_empty_id_in_a_thread_is_not_shown_to_another_client() -> None:
    call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    empty = {"id": "", "role": "assistant", "toolCalls": [call]}
    agent = make_agent(True, {})
    for message in (empty, {"id": "u9", "role": "user", "content": "hello"}):
        run_input = parse_input(
            {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [message]}
        )
        recorded = RecordedRun([event async for event in agent.run(run_input)], run_input)
        assert recorded.last.type.value == "RUN_FINISHED"
    assert all(one.id for one in recorded.messages)


@given(turns=st.lists(INPUTS, min_size=1, max_size=3), saved=st.booleans(), options=OPTIONS)
@settings(
    max_examples=example_count(60, 375), deadline=None, suppress_health_check=list(HealthCheck)
)
async def test_any_history(
    turns: list[dict[str, Any]], saved: bool, options: dict[str, Any]
) -> None:
    agent = make_agent(saved, options)
    for turn in turns:
        try:
            run_input = parse_input(turn)
        except ProtocolError:
            continue  # a 422
        for events in (agent.run(run_input), agent.connect(run_input)):
            verifier, seen = Verifier(), list[Any]()
            async for one in events:
                verifier.feed(one)
                seen.append(one)
            verifier.finish()
            assert [one.type.value for one in seen].count("RUN_STARTED") == 1
            last = seen[-1]
            event(getattr(last, "code", None) or "finished")
            assert last.type.value == "RUN_FINISHED" or last.code in REFUSALS, last

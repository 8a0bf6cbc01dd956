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
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, ClientOptions, LangGraphAgent, TrustOptions
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.verify import Verifier
from langgraph_agui.protocol.wire import ProtocolError
from tests.kit.deep import example_count
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.media_files import PNG, encoded

choice, made = st.sampled_from, st.fixed_dictionaries
# Few, so that they meet.
IDS = choice(
    [*["a", "b", "c", "u1", "approval:x", "a:reasoning:0", "", "x" * 300] * 8, "\0", "\ud800"]
)
TEXTS = choice(
    ["", "hi", "ask", "{}", "[", "\0", "\ud83d", "😀", "<think>a</think>", "[" * 150, "null"]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = [*"phrckmxintbsa", "of"]
ENVELOPES = made({"v": choice([1, 2, 3, True, "1"])}, optional=dict.fromkeys(FIELDS, JSON)).map(
    lambda one: urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode()
)
VALUES = st.none() | TEXTS | ENVELOPES
PICTURE, NO_PICTURE = f"data:image/png;base64,{encoded(PNG)}", "data:image/png;base64,aGk="
FILES = ["/etc/crontab", "gs://b/a", "data:", ""]
URLS = choice(["https://e.com/a", "http://127.0.0.1/", PICTURE, NO_PICTURE, *FILES])
SOURCES = made(
    {"type": choice(["url", "data", "file", "odd"]), "value": URLS | TEXTS},
    optional={"mimeType": choice(["image/png", "x", ""]), "provider": TEXTS},
)
MEDIA = choice(["image", "audio", "video", "document", "odd"])
BINARY = {"data": TEXTS, "url": URLS, "id": IDS}
PARTS = st.one_of(
    made({"type": st.just("text"), "text": TEXTS}),
    made({"type": MEDIA, "source": SOURCES}, optional={"metadata": JSON, "id": IDS}),
    made({"type": st.just("binary"), "mimeType": TEXTS}, optional=BINARY),
)
ARGUMENTS = TEXTS | JSON.map(json.dumps)
FUNCTIONS = made({"name": TEXTS | st.just("request_approval"), "arguments": ARGUMENTS})
CALLS = made(
    {"id": IDS, "type": st.just("function"), "function": FUNCTIONS},
    optional={"encryptedValue": VALUES},
)
CALLING = {"content": TEXTS, "toolCalls": st.lists(CALLS, max_size=4)}
CONTENT = TEXTS | st.lists(PARTS, max_size=4)


def messages(*roles: str, optional: Any = None, **fields: Any) -> st.SearchStrategy[Any]:
    return made({"id": IDS, "role": choice(roles), **fields}, optional=optional)


OF_ALL = {"encryptedValue": VALUES, "subagentRunId": IDS, "name": TEXTS}
MESSAGES = st.one_of(
    messages("user", content=CONTENT, optional=OF_ALL),
    messages("assistant", optional={**OF_ALL, **CALLING}),
    messages("tool", toolCallId=IDS, content=CONTENT, optional={**OF_ALL, "error": TEXTS}),
    messages("reasoning", content=TEXTS, optional={"encryptedValue": VALUES}),
    messages("system", "developer", "odd", content=TEXTS),
    messages("activity", activityType=TEXTS, content=st.dictionaries(TEXTS, JSON, max_size=2)),
)
RESUME = made(
    {"interruptId": IDS, "status": choice(["resolved", "cancelled"])},
    optional={"payload": JSON.filter(lambda one: one is not None)},
)
COMMAND = made({"resume": JSON}, optional={"interruptEvent": JSON})
KEYS = choice(["note", "odd", "messages"])
INPUTS = made(
    {"threadId": st.just("t"), "runId": st.just("r"), "messages": st.lists(MESSAGES, max_size=7)},
    optional={
        "protocolVersion": st.just("1.0"),
        "state": st.none() | st.dictionaries(KEYS, JSON, max_size=3),
        "resume": st.lists(RESUME, max_size=2),
        "forwardedProps": made({}, optional={"command": COMMAND}),
    },
)


def options_of(group: Any, **values: list[str]) -> st.SearchStrategy[Any]:
    return st.builds(group, **{name: choice(one) for name, one in values.items()})


ASKS = {"ask_by": ["auto", "tool_call"], "when_paused": ["refuse", "cancel"]}
TRUST = {"history": ["import", "ignore"], "instructions": ["ignore", "accept"]}
SUBAGENTS = ["attributed", "inline", "hidden"]
OPTIONS = made(
    {},
    optional={
        "approvals": options_of(ApprovalOptions, **ASKS),
        "trust": options_of(TrustOptions, **TRUST, media_urls=["public", "any", "none"]),
        "clients": options_of(ClientOptions, subagents=SUBAGENTS),
    },
)

# What a client may be told that sends nonsense. All else is a fault of the adapter, or of the
# graph.
REFUSALS = {"invalid_input", "approval_refused", "state_refused", "state_invalid"}
REFUSALS |= {
    f"interrupt_{name}" for name in ("unanswered", "unknown", "duplicate", "expired", "invalid")
}


class State(Chat):
    note: str


def make_agent(saved: bool, options: dict[str, Any]) -> LangGraphAgent:
    def answer(state: State) -> Any:
        asked = saved and state["messages"] and state["messages"][-1].content == "ask"
        return {"messages": [AIMessage(str(interrupt("Which?")) if asked else "ok")]}

    graph = chain_of(answer, state=State, checkpointer=InMemorySaver() if saved else None)
    return LangGraphAgent(graph, **options)


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

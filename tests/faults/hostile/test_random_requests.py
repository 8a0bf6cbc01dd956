"""Whatever a client sends: a clear refusal, or a stream that fits the protocol and has one terminal
event; no failure of ours."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, ClientOptions, LangGraphAgent, TrustOptions, agui_router
from langgraph_agui.protocol import ProtocolError, Verifier
from langgraph_agui.protocol.schema import parse_input
from tests.faults.hostile.requests import REFUSALS, check_answer, post, resolved, user
from tests.kit.deep import example_count
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.media_files import PNG, encoded
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.serving import Served, serving

choice, made = st.sampled_from, st.fixed_dictionaries
# Few, so that they meet.
IDS = choice(
    [*["a", "b", "c", "u1", "approval:x", "a:reasoning:0", "", "x" * 300] * 8, "\0", "\ud800"]
)
TEXTS = choice(
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
FIELDS = [*"phrckmxintbsa", "of"]
ENVELOPES = made({"v": choice([1, 2, 3, True, "1"])}, optional=dict.fromkeys(FIELDS, JSON)).map(
    lambda one: urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode()
)
VALUES = st.none() | TEXTS | ENVELOPES
PICTURES = [f"data:image/png;base64,{encoded(PNG)}", "data:image/png;base64,aGk="]
URLS = choice(
    [*PICTURES, "https://e.com/a", "http://127.0.0.1/", "/etc/crontab", "gs://b/a", "data:"]
)
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
NAMES = TEXTS | choice(["request_approval", "spend"])
FUNCTIONS = made({"name": NAMES, "arguments": TEXTS | JSON.map(json.dumps)})
CALL = {"id": IDS, "type": st.just("function"), "function": FUNCTIONS}
CALLS = st.lists(made(CALL, optional={"encryptedValue": VALUES}), max_size=4)
CONTENT = TEXTS | st.lists(PARTS, max_size=4)


def messages(*roles: str, optional: Any = None, **fields: Any) -> st.SearchStrategy[Any]:
    return made({"id": IDS, "role": choice(roles), **fields}, optional=optional)


OF_ALL = {"encryptedValue": VALUES, "subagentRunId": IDS, "name": TEXTS}
MESSAGES = st.one_of(
    messages("user", content=CONTENT, optional=OF_ALL),
    messages("assistant", optional={**OF_ALL, "content": TEXTS, "toolCalls": CALLS}),
    messages("tool", toolCallId=IDS, content=CONTENT, optional={**OF_ALL, "error": TEXTS}),
    messages("reasoning", content=TEXTS, optional={"encryptedValue": VALUES, "subagentRunId": IDS}),
    messages("system", "developer", "odd", content=TEXTS),
    messages("activity", activityType=TEXTS, content=st.dictionaries(TEXTS, JSON, max_size=2)),
)
ENTRIES = made(
    {"interruptId": IDS, "status": choice(["resolved", "cancelled"])},
    optional={"payload": JSON.filter(lambda one: one is not None)},
)
COMMAND = made({"resume": JSON}, optional={"interruptEvent": JSON})
KEYS = choice(["note", "amount", "odd", "messages"])
INPUTS = made(
    {"threadId": st.just("t"), "runId": st.just("r"), "messages": st.lists(MESSAGES, max_size=7)},
    optional={
        "protocolVersion": st.just("1.0"),
        "state": st.none() | st.dictionaries(KEYS, JSON, max_size=3),
        "tools": st.lists(
            made({"name": NAMES, "description": TEXTS, "parameters": JSON}), max_size=2
        ),
        "context": st.lists(made({"description": TEXTS, "value": TEXTS}), max_size=2),
        "resume": st.lists(ENTRIES, max_size=2),
        "forwardedProps": made({}, optional={"command": COMMAND}),
    },
)


def options_of(group: Any, **values: list[str]) -> st.SearchStrategy[Any]:
    return st.builds(group, **{name: choice(one) for name, one in values.items()})


ASKS = {"ask_by": ["auto", "tool_call"], "when_paused": ["refuse", "cancel"]}
TRUST = {"history": ["import", "ignore"], "instructions": ["ignore", "accept"]}
OPTIONS = made(
    {},
    optional={
        "approvals": options_of(ApprovalOptions, **ASKS),
        "trust": options_of(TrustOptions, **TRUST, media_urls=["public", "any", "none"]),
        "clients": options_of(ClientOptions, subagents=["attributed", "inline", "hidden"]),
    },
)


class State(Chat):
    note: str


@given(turns=st.lists(INPUTS, min_size=1, max_size=3), saved=st.booleans(), options=OPTIONS)
@settings(
    max_examples=example_count(40, 375), deadline=None, suppress_health_check=list(HealthCheck)
)
async def test_any_history(turns: list[Any], saved: bool, options: dict[str, Any]) -> None:
    def answer(state: State) -> Any:
        asked = saved and state["messages"] and state["messages"][-1].content == "ask"
        return {"messages": [AIMessage(str(interrupt("Which?")) if asked else "ok")]}

    graph = chain_of(answer, state=State, checkpointer=InMemorySaver() if saved else None)
    agent = LangGraphAgent(graph, **options)
    for turn in turns:
        try:
            run_input = parse_input(turn)
        except ProtocolError:
            continue  # a 422
        for events in (agent.run(run_input), agent.connect(run_input)):
            ids = [one.id for one in run_input.messages]
            verifier, seen = Verifier(len(ids) == len({*ids}), input=run_input), list[Any]()
            async for one in events:
                verifier.feed(one)
                seen.append(one)
            verifier.finish()
            assert [one.type.value for one in seen].count("RUN_STARTED") == 1
            last = seen[-1]
            event(getattr(last, "code", None) or "finished")
            assert last.type.value == "RUN_FINISHED" or last.code in REFUSALS, last


numbers = count()


class Noted(AgentState[Any]):
    note: str
    amount: int


@tool
def spend(amount: int) -> str:
    """Spend."""
    return f"spent {amount}"


def script(messages: list[BaseMessage]) -> Any:
    if messages and "spend" in messages[-1].text and not isinstance(messages[-1], ToolMessage):
        return [call("spend", f"call-{next(numbers)}", amount=1)]
    return ["Well, ", "yes."]


APP = FastAPI()
for name, saver in (("stored", InMemorySaver()), ("plain", None)):
    guards = [HumanInTheLoopMiddleware({"spend": True})] if saver else []
    options: Any = {"middleware": guards, "state_schema": Noted, "checkpointer": saver}
    graph = create_agent(Scripted(script=script), [spend], **options)
    APP.include_router(agui_router(LangGraphAgent(graph=graph), f"/{name}"))
PATHS = ("/stored", "/plain", "/stored/connect", "/plain/connect")


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(APP) as served:
        yield served


def places(value: Any) -> list[tuple[Any, Any]]:
    pairs = (
        [*value.items()]
        if isinstance(value, dict)
        else [*enumerate(value)]
        if isinstance(value, list)
        else []
    )
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """An input in which something, anywhere, is something else."""
    value = deepcopy(draw(INPUTS))
    holder, key = draw(choice(places(value)))
    holder[key] = draw(JSON)
    return value


@settings(max_examples=example_count(30, 375))
@given(
    requests=st.lists(st.tuples(choice(PATHS), INPUTS | damaged()), min_size=1, max_size=3),
    answers=st.lists(choice([{"approved": True}, {"approved": False}, None]) | JSON, max_size=3),
    begin=choice(["spend", "chat", None]),
)
def test_every_request_is_answered_in_order(
    served: Served, requests: list[Any], answers: list[Any], begin: str | None
) -> None:
    """Requests of one example share a thread, and answer what is open in it, each time with
    something else."""
    ids = {"threadId": f"fuzz-{next(numbers)}", "runId": "r"}
    open_now: list[Any] = []
    first = [("/stored", {**ids, "messages": [user(begin, "u0")]})] if begin else []
    for number, (path, body) in enumerate([*first, *requests]):
        if isinstance(body, dict):
            body["threadId"] = ids["threadId"]
            if open_now and answers:
                payload = answers[number % len(answers)]
                others = body.get("resume") if isinstance(body.get("resume"), list) else ()
                body["resume"] = [*(resolved(one.id, payload) for one in open_now), *others]
        open_now = check_answer(post(served, path, body), body) or open_now
    cancelled = [{"interruptId": one.id, "status": "cancelled"} for one in open_now]
    last = {**ids, "messages": [user("chat", "u9")], "resume": cancelled}
    check_answer(post(served, "/stored", last), last)

"""How much a request may hold: what is more is refused by the name of the limit, before anything
runs."""

from __future__ import annotations

import json
import logging
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from ag_ui.core import RunAgentInput, RunFinishedEvent
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from langgraph_agui import (
    InputLimits,
    LangGraphAgent,
    ReasoningOptions,
    RunLimits,
    add_langgraph_fastapi_endpoint,
    agui_router,
)
from langgraph_agui.kernel.seal import RejectReason
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.protocol.json import check_json, parse_json
from langgraph_agui.protocol.wire import ProtocolError
from tests.kit.processes.raw_http import Answer, ask
from tests.kit.processes.serving import Served, serving

LIMITS = InputLimits(max_bytes=200_000, max_depth=20, max_items=30, max_values=3_000)


class Kept(MessagesState):
    number: Any


def answering(state: type[Any]) -> StateGraph[Any]:
    builder: StateGraph[Any] = StateGraph(state)
    builder.add_node("answer", lambda _: {"messages": [("ai", "heard")]})
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    builder, keeping = answering(MessagesState), answering(Kept)
    app = FastAPI()
    small = LangGraphAgent(builder.compile(), limits=RunLimits(input=LIMITS))
    app.include_router(
        agui_router(LangGraphAgent(keeping.compile(checkpointer=InMemorySaver())), "/kept")
    )
    app.include_router(agui_router(small, "/small"))
    app.include_router(agui_router(LangGraphAgent(builder.compile()), "/default"))
    with serving(app) as served:
        yield served


def user(content: object = "hello", number: object = 1) -> dict[str, Any]:
    return {"id": f"u{number}", "role": "user", "content": content}


def calling(count: int = 1, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "look", "arguments": arguments}
    calls = [{"id": f"c{i}", "type": "function", "function": function} for i in range(count)]
    return {"id": "a", "role": "assistant", "toolCalls": calls}


def nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def wire(**changes: Any) -> dict[str, Any]:
    return {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": [user()],
        **changes,
    }


def post(served: Served, path: str, body: object) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(served.port, "POST", path, data)


TEXT = {"type": "text", "text": "x"}
TOO_MUCH: dict[str, tuple[dict[str, Any], str]] = {
    "depth of state": (wire(state={"x": nested(19)}), "max_depth"),
    "depth of props": (wire(forwardedProps=nested(20)), "max_depth"),
    "depth of an answer": (
        wire(
            resume=[
                {
                    "interruptId": "i",
                    "status": "resolved",
                    "payload": {"editedArgs": {"x": nested(16)}},
                }
            ]
        ),
        "max_depth",
    ),
    "depth of a tool": (
        wire(tools=[{"name": "f", "description": "", "parameters": {"x": nested(18)}}]),
        "max_depth",
    ),
    "depth of arguments": (
        wire(messages=[calling(1, '{"x":' + "[" * 20 + "]" * 20 + "}"), user()]),
        "max_depth",
    ),
    "messages": (wire(messages=[user(number=i) for i in range(31)]), "`messages` has 31"),
    "tools": (
        wire(tools=[{"name": f"f{i}", "description": "", "parameters": {}} for i in range(31)]),
        "`tools` has 31",
    ),
    "context": (wire(context=[{"description": "d", "value": "v"}] * 31), "`context` has 31"),
    "answers": (
        wire(resume=[{"interruptId": f"{i}", "status": "cancelled"} for i in range(31)]),
        "`resume` has 31",
    ),
    "parts": (wire(messages=[user([TEXT] * 31)]), "`content` of a message has 31"),
    "calls": (wire(messages=[calling(31), user()]), "`toolCalls` of a message has 31"),
    "values": (wire(state={"x": [0] * 3_000}), "max_values"),
    "values in arguments": (
        wire(messages=[calling(2, json.dumps({"x": [0] * 1_500})), user()]),
        "max_values",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_is_refused_by_name(name: str, served: Served) -> None:
    body, detail = TOO_MUCH[name]
    answer = post(served, "/small", body)
    assert answer.status == 422, answer.body
    assert detail in answer.json["detail"]
    assert post(served, "/default", body).status == 200


def test_too_many_bytes_are_refused(served: Served) -> None:
    answer = post(served, "/small", wire(messages=[user("x" * 200_000)]))
    assert (answer.status, "max_bytes" in answer.json["detail"]) == (413, True)


@pytest.mark.parametrize("levels", [100, 400, 40_000])
def test_a_hundred_levels_are_too_many(levels: int, served: Served) -> None:
    body = b'{"state":' + b"[" * levels + b"]" * levels + b"}"
    answer = post(served, "/default", body)
    assert answer.status == 422
    assert (
        answer.json["detail"]
        == f"The input is nested {levels + 1} levels deep; at most 100 are allowed (max_depth)."
    )


def test_what_the_limits_allow_is_served(served: Served) -> None:
    state = {"x": nested(18), "brackets": "[{" * 500 + '"\\', "numbers": [0] * 1_000}
    answer = post(served, "/small", wire(state=state, messages=[user(number=i) for i in range(30)]))
    assert answer.status == 200, answer.body
    assert b"RUN_FINISHED" in answer.body


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_only_utf8_is_json(encoding: str, served: Served) -> None:
    """In other encodings, the quotes that the limits look for are parts of other characters."""
    body = json.dumps(wire(state={"\u2222é": nested(300)}), ensure_ascii=False)
    answer = post(served, "/default", body.encode(encoding, "replace"))
    assert answer.status in (400, 422), answer.body


class Other:
    """An agent of another class."""

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


@pytest.mark.parametrize("mount", [agui_router, add_langgraph_fastapi_endpoint])
def test_a_router_still_takes_the_limits_of_an_agent(mount: Any) -> None:
    agent, app = LangGraphAgent(answering(MessagesState).compile()), FastAPI()
    place = [app] if mount is add_langgraph_fastapi_endpoint else []
    remedy = re.escape("use LangGraphAgent(limits=RunLimits(input=InputLimits(...)))")
    with pytest.warns(DeprecationWarning, match=remedy) as caught:
        router = mount(*place, agent, "/small", limits=LIMITS)
    assert [one.filename for one in caught] == [__file__]
    if router is not None:
        app.include_router(router)
    check_limits(app, "/small")


def test_an_agent_of_another_class_has_its_limits_at_the_router(
    recwarn: pytest.WarningsRecorder,
) -> None:
    app = FastAPI()
    app.include_router(agui_router(Other(), "/other", limits=LIMITS))
    assert not recwarn
    check_limits(app, "/other")


def check_limits(app: FastAPI, path: str) -> None:
    with TestClient(app) as client:
        for count, status in ((30, 200), (31, 422)):
            sent = wire(messages=[user(number=i) for i in range(count)])
            assert client.post(path, json=sent).status_code == status


def test_limits_of_another_kind_are_refused() -> None:
    wrong: Any = RunLimits()
    with pytest.raises(TypeError, match="limits must be InputLimits, not RunLimits"):
        agui_router(Other(), limits=wrong)


def test_strings_are_told_from_json_wherever_they_are_cut() -> None:
    """The text is looked at in pieces; a quote may stand at any place of one."""
    for lead in range(4):
        text = b'["' + b"x" * (128 * 1024 - 4 + lead) + b'\\\\\\"[[", "[", 1, {"[": []}]'
        assert check_json(text, InputLimits(max_depth=3, max_values=5)) == 5
        with pytest.raises(ProtocolError):
            check_json(text, InputLimits(max_depth=2))


def test_a_large_input_is_read_in_a_thread_and_told_in_one_warning(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """What is wrong is told where it is found, so the record names the thread."""
    unknown = {f"unknown{i}\n\x1b[31m": 1 for i in range(2_000)}
    history = [
        {"id": f"a{i}", "role": "assistant", "content": "hi", "encryptedValue": "eyJ2IjoxfQ"}
        for i in range(6_000)
    ]
    with caplog.at_level(logging.WARNING):
        answer = post(served, "/default", wire(messages=[*history, {**user(), **unknown}]))
    assert answer.status == 200
    ours = [record for record in caplog.records if record.name.startswith("langgraph_agui")]
    assert [record.name.rpartition(".")[2] for record in ours] == ["schema", "to_langchain"]
    assert all((record.threadName or "").startswith("langgraph-agui-input") for record in ours)
    assert "(2000 in all)" in ours[0].getMessage()
    assert all(
        record.getMessage().isprintable() and len(record.getMessage()) < 2_000 for record in ours
    )


@pytest.mark.parametrize(
    "number", ["1" * 20, "-" + "1" * 20, "9" * 300, str(2**64 - 1), str(-(2**63))]
)
def test_integers_are_stored(number: str, served: Served) -> None:
    """Checkpointers take 64 bits. Other integers become doubles, as they are for JavaScript."""
    body = json.dumps(wire(threadId=number, state={"number": "?"})).replace('"?"', number)
    answer = post(served, "/kept", body.encode())
    assert answer.status == 200
    assert b"RUN_FINISHED" in answer.body, answer.body


def test_integers_that_no_number_holds_are_refused(served: Served) -> None:
    answer = post(served, "/kept", b'{"state":{"number":' + b"9" * 4_000 + b"}}")
    detail = "An integer of 4000 digits is too large for a double."
    assert (answer.status, answer.json["detail"]) == (422, detail)


TEXTS = {
    "values": "[0" + ",0" * 50_000 + "]",
    "depth": "[" * 101 + "]" * 101,
    "length": '["' + "x" * 1024 * 1024 + '"]',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_json_in_texts_is_limited_too(text: str) -> None:
    with pytest.raises(ProtocolError, match="max_"):
        parse_json(text)


@pytest.mark.parametrize("name", ["values", "depth"])
def test_envelopes_are_limited_too(name: str) -> None:
    inner = TEXTS[name].replace(",0", ",0" * 5)
    value = urlsafe_b64encode(('{"v":1,"x":' + inner + "}").encode()).decode().rstrip("=")
    assert (
        EncryptedValueCodec(ReasoningOptions(), "t").decode("assistant", "a", value)
        is RejectReason.MALFORMED
    )

"""How much a request may hold: what is more is refused by the name of the limit, before anything
runs."""

from __future__ import annotations

import json
import logging
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from ag_ui.core import RunAgentInput, RunFinishedEvent
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver

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
from tests.faults.hostile.requests import caller, post, resolved, tool, user, wire
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.serving import Served, serving

LIMITS = InputLimits(max_bytes=200_000, max_depth=20, max_items=30, max_values=3_000)


class Kept(Chat):
    number: Any


def agent(**options: Any) -> LangGraphAgent:
    return agent_of(lambda _: {"messages": [("ai", "heard")]}, **options)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    app = FastAPI()
    app.include_router(agui_router(agent(state=Kept, checkpointer=InMemorySaver()), "/kept"))
    app.include_router(agui_router(agent(limits=RunLimits(input=LIMITS)), "/small"))
    app.include_router(agui_router(agent(), "/default"))
    with serving(app) as served:
        yield served


def nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def ids(count: int) -> list[str]:
    return [f"i{number}" for number in range(count)]


DEEP = '{"x":' + "[" * 20 + "]" * 20 + "}"
MANY, CANCELLED = json.dumps({"x": [0] * 1_500}), {"status": "cancelled"}
EDITED, CONTEXT = {"editedArgs": {"x": nested(16)}}, [{"description": "d", "value": "v"}] * 31


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (wire(state={"x": nested(19)}), "max_depth"),
        (wire(resume=[resolved("i", EDITED)]), "max_depth"),
        (wire(caller("c", arguments=DEEP), user()), "max_depth"),
        (wire(*(user(id_=one) for one in ids(31))), "`messages` has 31"),
        (wire(tools=[tool(one) for one in ids(31)]), "`tools` has 31"),
        (wire(context=CONTEXT), "`context` has 31"),
        (wire(resume=[{"interruptId": one, **CANCELLED} for one in ids(31)]), "`resume` has 31"),
        (wire(user([{"type": "text", "text": "x"}] * 31)), "`content` of a message has 31"),
        (wire(caller(*ids(31)), user()), "`toolCalls` of a message has 31"),
        (wire(state={"x": [0] * 3_000}), "max_values"),
        (wire(caller("c", "d", arguments=MANY), user()), "max_values"),
    ],
)
def test_too_much_is_refused_by_name(body: Any, detail: str, served: Served) -> None:
    answer = post(served, "/small", body)
    assert (answer.status, detail in answer.json["detail"]) == (422, True), answer.body
    assert post(served, "/default", body).status == 200


def test_what_the_limits_allow_is_served(served: Served) -> None:
    state = {"x": nested(18), "brackets": "[{" * 500 + '"\\', "numbers": [0] * 1_000}
    answer = post(served, "/small", wire(*(user(id_=one) for one in ids(30)), state=state))
    assert (answer.status, b"RUN_FINISHED" in answer.body) == (200, True), answer.body
    answer = post(served, "/small", wire(user("x" * 200_000)))
    assert (answer.status, "max_bytes" in answer.json["detail"]) == (413, True)


@pytest.mark.parametrize("levels", [100, 40_000])
def test_a_hundred_levels_are_too_many(levels: int, served: Served) -> None:
    answer = post(served, "/default", b'{"state":' + b"[" * levels + b"]" * levels + b"}")
    said = f"The input is nested {levels + 1} levels deep; at most 100 are allowed (max_depth)."
    assert (answer.status, answer.json["detail"]) == (422, said)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32", "latin-1"])
def test_only_utf8_is_json(encoding: str, served: Served) -> None:
    """In other encodings, the quotes that the limits look for are parts of other characters."""
    body = json.dumps(wire(state={"\u2222é": nested(300)}), ensure_ascii=False)
    assert post(served, "/default", body.encode(encoding, "replace")).status in (400, 422)


class Other:
    """An agent of another class."""

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


@pytest.mark.parametrize("made", [agent, Other])
def test_a_router_takes_limits_too(made: Any) -> None:
    """Those of an agent of another class; of our own they have another place now."""
    remedy = re.escape("use LangGraphAgent(limits=RunLimits(input=InputLimits(...)))")
    app, warns = FastAPI(), pytest.warns(DeprecationWarning, match=remedy)
    with warns if made is agent else nullcontext() as caught:
        app.include_router(agui_router(made(), "/small", limits=LIMITS))
        add_langgraph_fastapi_endpoint(app, made(), "/other", limits=LIMITS)
    assert {one.filename for one in caught or ()} <= {__file__}
    with TestClient(app) as client:
        for path, count, status in (("/small", 30, 200), ("/small", 31, 422), ("/other", 31, 422)):
            sent = wire(*(user(id_=one) for one in ids(count)))
            assert client.post(path, json=sent).status_code == status
    with pytest.raises(TypeError, match="limits must be InputLimits, not RunLimits"):
        agui_router(Other(), limits=RunLimits())  # type: ignore[arg-type]


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
    said = {"role": "assistant", "content": "hi", "encryptedValue": "eyJ2IjoxfQ"}
    with caplog.at_level(logging.WARNING):
        history = [{"id": one, **said} for one in ids(6_000)]
        assert post(served, "/default", wire(*history, user(**unknown))).status == 200
    ours = [record for record in caplog.records if record.name.startswith("langgraph_agui")]
    assert [record.name.rpartition(".")[2] for record in ours] == ["schema", "to_langchain"]
    assert "(2000 in all)" in ours[0].getMessage()
    for record in ours:
        assert (record.threadName or "").startswith("langgraph-agui-input")
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 2_000


def test_integers_are_stored(served: Served) -> None:
    """Checkpointers take 64 bits. Other integers become doubles, as they are for JavaScript."""
    for number in ("1" * 20, "-" + "1" * 20, "9" * 300, str(2**64 - 1), str(-(2**63))):
        body = json.dumps(wire(threadId=number, state={"number": "?"})).replace('"?"', number)
        answer = post(served, "/kept", body.encode())
        assert (answer.status, b"RUN_FINISHED" in answer.body) == (200, True), answer.body
    answer = post(served, "/kept", b'{"state":{"number":' + b"9" * 4_000 + b"}}")
    detail = "An integer of 4000 digits is too large for a double."
    assert (answer.status, answer.json["detail"]) == (422, detail)


VALUES, LEVELS = "[0" + ",0" * 250_000 + "]", "[" * 101 + "]" * 101


@pytest.mark.parametrize("text", [VALUES, LEVELS, '["' + "x" * 1024 * 1024 + '"]'])
def test_json_in_texts_and_envelopes_is_limited_too(text: str) -> None:
    with pytest.raises(ProtocolError, match="max_"):
        parse_json(text)
    if "x" not in text:
        value = urlsafe_b64encode(b'{"v":1,"x":' + text.encode() + b"}").decode().rstrip("=")
        codec = EncryptedValueCodec(ReasoningOptions(), "t")
        assert codec.decode("assistant", "a", value) is RejectReason.MALFORMED

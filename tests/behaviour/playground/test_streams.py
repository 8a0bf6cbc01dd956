"""The page against streams that no graph gives: broken, refused, rare, long and of chunks."""

from __future__ import annotations

import json

import pytest
from ag_ui.core import AgentCapabilities, Event
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from pydantic import TypeAdapter

from langgraph_agui.devtools import playground_router
from langgraph_agui.fastapi import agui_router
from langgraph_agui.protocol import fold
from tests.behaviour.playground.sites import (
    END,
    SAID,
    START,
    answer,
    ask,
    frames,
    held_state,
    opened,
    outline,
    see,
    status,
    tab,
    text_events,
)
from tests.kit.deep import deep
from tests.kit.processes.serving import serving


@pytest.fixture
def page(browser, site):
    with opened(browser, site, logs=True) as page:
        yield page


@deep
@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"body": frames(START)}, "The stream ended before the run did."),
        ({"body": ""}, "The stream ended before the run did."),
        ({"body": "{}", "content_type": "application/json"}, "Expected an event stream, got application/json"),
        ({"body": "not you", "status": 403}, "HTTP 403: not you"),
        ({"body": "data: {\n\n"}, "JSON"),
        ({"body": frames({"type": ""})}, "An event carries no type."),
    ],
)  # fmt: skip
def test_answers_that_are_no_run(page, response, message):
    answer(page, **response)
    ask(page, then="Failed")
    expect(page.get_by_role("alert")).to_contain_text(message)


def chunk(family, **fields):
    return {"type": f"{family}_CHUNK", **fields}


TEXT, REASONING, CALL = "TEXT_MESSAGE", "REASONING_MESSAGE", "TOOL_CALL"
TAG = {"subagentRunId": "s"}
RARE = [
    START,
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN", "content": {"steps": []}},
    {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "PLAN", "patch": [{"op": "add", "path": "/steps/-", "value": "one"}]},
    {"type": "SUBAGENT_STARTED", "name": "scout", **TAG},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant", **TAG},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look", "parentMessageId": "m1", **TAG},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Looking", "metadata": {"x": 1}},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1", "metadata": {"y": 2}},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "SUBAGENT_FINISHED", **TAG},
    {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "orphan"},
    {"type": "TOOL_CALL_END", "toolCallId": "c2"},
    *text_events("m2", "Found"),
    {"type": "TOOL_CALL_RESULT", "messageId": "t1", "toolCallId": "c1", "content": [{"type": "text", "text": "seen"}]},
    {"type": "TOOL_CALL_RESULT", "messageId": "t2", "toolCallId": "unknown", "content": "loose"},
    {"type": "REASONING_MESSAGE_START", "messageId": "r1", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_END", "messageId": "r1"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r1", "encryptedValue": "AAA"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c1", "encryptedValue": "BBB"},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "nobody", "encryptedValue": "CCC"},
    {"type": "STATE_SNAPSHOT", "snapshot": {"list": [1, 2]}},
    {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/list/0"}]},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/list/-", "value": None}]},
    {"type": "FROM_THE_FUTURE", "value": 1},
    {"type": "CUSTOM", "name": "n", "value": 1},
]  # fmt: skip


def text(message_id, content, role="assistant"):
    return {"id": message_id, "role": role, "content": content}


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        pytest.param([text("m2", "restated"), text("new", "new")], marks=deep),
        pytest.param([text("r1", "mine", "reasoning"), text("m1", "kept")], marks=deep),
        pytest.param([], marks=deep),
    ],
)
def test_the_page_holds_what_the_python_fold_holds(page, snapshot):
    restated = {"type": "MESSAGES_SNAPSHOT", "messages": snapshot}
    events = [*RARE[1:], *([] if snapshot is None else [restated])]
    inputs = answer(page, *events)
    ask(page)
    if snapshot is None:
        see(
            page,
            {
                ".activity": '…{ "steps": [ "one" ] }',
                ".reasoning summary": "Thought (not shown)sealed",
            },
        )
        see(page, {".subagent > summary > :is(.name, .pill)": ["scout", "done"]})
        see(page, {".subagent .text": "Looking", ".subagent .tool > summary > .name": "look"})
    ask(page, "again")
    first, second = inputs
    user = {key: first["messages"][0][key] for key in ("id", "role", "content")}
    held = fold([{**START, "input": {**first, "messages": [user]}}, *events, END])
    messages = [message.model_dump(mode="json", by_alias=True) for message in held.messages]
    assert second["messages"][:-1] == [one for one in messages if one["role"] != "activity"]
    assert second["state"] == held.state == {"list": [2, None]}


def test_a_failing_state_patch_is_told_and_the_run_goes_on(page):
    delta = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/absent"}]}
    answer(page, {"type": "STATE_SNAPSHOT", "snapshot": {"kept": 1}}, delta)
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("A state change could not be applied")
    assert held_state(page) == {"kept": 1}


def test_a_page_under_a_prefix_finds_its_files_and_its_agent():
    inner, outer = FastAPI(), FastAPI()
    router = playground_router("/agent", title="<i>", suggestions=["<b>"])
    inner.include_router(router, prefix="/ui")
    outer.mount("/sub", inner)
    client = TestClient(outer, base_url="http://test/sub/ui/")
    page, script = client.get(""), client.get("playground/app.js")
    for part in ('content="/sub/agent"', 'src="/sub/ui/playground/app.js"', "&lt;i&gt;"):
        assert part in page.text
    assert "<b>" not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert script.headers["content-type"].startswith("text/javascript")
    assert client.get("playground/__init__.py").status_code == 404


CHUNKS = [
    START,
    chunk(REASONING, messageId="r", delta="Because"),
    chunk(REASONING, delta=" I"),
    chunk(REASONING, delta=" can."),
    chunk(TEXT, messageId="m", role="assistant", delta="Let me "),
    chunk(TEXT, delta="look."),
    chunk(CALL, toolCallId="c", toolCallName="look", parentMessageId="m", delta='{"what":'),
    chunk(CALL, delta=' "it"}'),
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "seen"},
    {"type": "SUBAGENT_STARTED", "name": "scout", **TAG},
    chunk(TEXT, messageId="a", delta="Far", **TAG),
    chunk(TEXT, messageId="b", delta="Mean"),
    chunk(TEXT, delta=" away", **TAG),
    chunk(TEXT, delta="while."),
    {"type": "SUBAGENT_FINISHED", **TAG},
    END,
]
SHOWN = ["(Because I can.)", "Let me look.", ["look()", "done"], ["scout", "done", ["Far away"]]]


class Recorded:
    """An agent that is no graph, and shows no threads."""

    async def run(self, run_input):
        run = {"threadId": run_input.thread_id, "runId": run_input.run_id}
        for event in CHUNKS:
            mine = {**event, **(run if "threadId" in event else {})}
            yield TypeAdapter(Event).validate_python(mine)

    async def get_capabilities(self):
        return AgentCapabilities()


BROKEN = """
    window.broken = [];
    const note = ({ violatedDirective, blockedURI }) => broken.push([violatedDirective, blockedURI]);
    document.addEventListener("securitypolicyviolation", note);
"""


@deep
def test_chunks_of_every_family(browser, node_client):
    app, inputs = FastAPI(), []
    app.include_router(agui_router(Recorded(), "/agent"))
    app.include_router(playground_router("/agent"))
    with serving(app) as served, opened(browser, served.url(), logs=True) as page:
        page.on(
            "request", lambda one: one.url.endswith("/agent") and inputs.append(one.post_data_json)
        )
        page.add_init_script(BROKEN)
        page.reload()
        ask(page)
        assert outline(page) == ["hello", *SHOWN, "Meanwhile."]
        assert page.evaluate("broken") == []  # of the content security policy
        tab(page, "Events")
        rows = page.locator(".insp-rows > li", has_text="_CHUNK")
        kinds, texts = (
            rows.locator(f".insp-{part}").all_inner_texts() for part in ("type", "preview")
        )
        assert [*dict.fromkeys(kinds)] == [f"{one}_CHUNK" for one in (REASONING, TEXT, CALL)]
        said = [text for kind, text in zip(kinds, texts, strict=True) if kind == f"{TEXT}_CHUNK"]
        assert said == ["Let me look.", "Far away", "Meanwhile."]
        expect(page.locator(".insp-verdict").first).to_have_text("The stream keeps every rule.")
        tab(page, "Timing")
        for timed in ("first reasoning", "first text", "tool call look"):
            see(page, {".insp-run": f"…{timed}"})
        page.get_by_label("Event of the run").fill("3")
        see(page, {".reasoning .body": "Because I", SAID: 0})
        page.reload()  # the page itself keeps the threads of such an agent
        status(page)
        assert outline(page) == ["hello", *SHOWN, "Meanwhile."]
        ask(page, "again")
    client = node_client.run(events=CHUNKS, messages=inputs[0]["messages"])
    assert client.accepted
    assert inputs[1]["messages"][:-1] == client.messages


CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
REFUSED = [
    ({**CONTENT, "delta": 5}, "delta: Invalid input: expected string, received number"),
    ({**CONTENT, "messageId": "nobody"}, "Cannot send 'TEXT_MESSAGE_CONTENT' event: No active"),
    ({"type": "MESSAGES_SNAPSHOT", "messages": [None]}, ""),
    (chunk(TEXT, delta="x"), "First TEXT_MESSAGE"),
]


@deep
def test_a_refused_event_is_told_and_the_thread_stays_usable(browser, site):
    with opened(browser, site) as page:
        said, alert = page.locator(f"{SAID} .body"), page.get_by_role("alert")
        answer(page, *text_events("m", "Good")[:2], START, end=None)
        ask(page, then="Failed")  # within one read: all before the refused event is shown
        expect(alert).to_contain_text("@ag-ui/client refuses event 4: Cannot send")
        see(page, {f"{SAID} .body": "Good", ".streaming": 0})
        for at, (wrong, problem) in enumerate(REFUSED):
            answer(page, *text_events(f"n{at}", "Fine"), wrong)
            ask(page, "again", "Failed")
            expect(alert.last).to_contain_text(f"@ag-ui/client refuses event 5: {problem}")
            expect(said).to_have_count(at + 2)
        page.unroute("**/agent")
        ask(page)
        expect(said.last).to_contain_text("You wrote")


COUNT_CLONES = """() => {
    const clone = window.structuredClone;
    window.cloned = 0;
    window.structuredClone = (...given) => {
        window.cloned += 1;
        return clone(...given);
    };
}"""


@deep
def test_a_long_answer_is_applied_in_few_steps(browser, site):
    words, call = [f"word{number} " for number in range(5000)], {"toolCallId": "c"}
    args = ["[", *(f"{number}," for number in range(5000)), "0]"]
    parts = [{"type": "TOOL_CALL_ARGS", **call, "delta": delta} for delta in args]
    begun, ended = (
        {"type": "TOOL_CALL_START", **call, "toolCallName": "add"},
        {"type": "TOOL_CALL_END", **call},
    )
    with opened(browser, site) as page:
        page.evaluate(COUNT_CLONES)
        answer(page, *text_events("m", *words), begun, *parts, ended)
        ask(page)
        see(page, {SAID: "…word4999", ".tool .arguments": "…4999"})
        assert page.evaluate("window.cloned") < 500
        assert json.loads(page.locator(".tool .arguments").text_content()) == [*range(5000), 0]

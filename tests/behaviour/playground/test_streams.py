"""The page against answers that the demo never gives: broken, refused, and rare ones."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from langgraph_agui.protocol import fold
from tests.behaviour.playground.sites import ask, held_state
from tests.behaviour.playground.streams import END, START_EVENT, answer, frames
from tests.kit.deep import deep


@pytest.fixture
def page(browser, site):
    context = browser.new_context()
    page = context.new_page()
    page.goto(site)
    yield page
    context.close()


@deep
@pytest.mark.parametrize(
    ("response", "message"),
    [
        ({"body": frames(START_EVENT)}, "The stream ended before the run did."),
        ({"body": ""}, "The stream ended before the run did."),
        (
            {"body": "{}", "content_type": "application/json"},
            "Expected an event stream, got application/json",
        ),
        ({"body": "not you", "status": 403}, "HTTP 403: not you"),
        ({"body": "data: {\n\n"}, "JSON"),
        ({"body": frames({"type": ""})}, "An event carries no type."),
    ],
)
def test_answers_that_are_no_run(page, response, message):
    answer(page, **response)
    ask(page, status="Failed")
    expect(page.get_by_role("alert")).to_contain_text(message)


def test_nobody_answers(page):
    page.route("**/agent", lambda route: route.abort())
    ask(page, status="Failed")
    expect(page.get_by_role("alert").last).to_contain_text("The last message has no answer.")
    page.unroute("**/agent")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator(".text[data-role=assistant]")).to_contain_text("You wrote: hello")


ADD_STEP = {"op": "add", "path": "/steps/-", "value": "one"}
TAG = {"subagentRunId": "s"}
RARE = [
    START_EVENT,
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN", "content": {"steps": []}},
    {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "PLAN", "patch": [ADD_STEP]},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant", **TAG},
    {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look", "parentMessageId": "m1", **TAG},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Looking", "metadata": {"x": 1}},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m1", "metadata": {"y": 2}},
    {"type": "TOOL_CALL_END", "toolCallId": "c1"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
    {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "orphan"},
    {"type": "TOOL_CALL_END", "toolCallId": "c2"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m2"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m2", "delta": "Found"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m2"},
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
    END,
]  # fmt: skip


def test_the_page_holds_what_the_python_fold_holds(page):
    inputs = answer(page, frames(*RARE))
    ask(page)
    expect(page.locator(".activity")).to_contain_text('{ "steps": [ "one" ] }')
    scout = page.locator(".subagent")
    expect(scout.locator("> summary > :is(.name, .pill)")).to_have_text(["scout", "done"])
    expect(scout.locator(".text")).to_have_text("Looking")
    expect(scout.locator(".tool > summary > .name")).to_have_text("look")
    expect(page.locator(".reasoning summary")).to_have_text("Thought (not shown)sealed")
    ask(page, "again")
    held = fold(RARE)
    expected = [message.model_dump(mode="json", by_alias=True) for message in held.messages]
    second = inputs[1]
    assert second["messages"][1:-1] == [
        message for message in expected if message["role"] != "activity"
    ]
    assert second["state"] == held.state == {"list": [2, None]}


SNAPSHOTS = [
    [
        {"id": "m2", "role": "assistant", "content": "restated"},
        {"id": "new", "role": "assistant", "content": "new"},
    ],
    [
        {"id": "r1", "role": "reasoning", "content": "mine"},
        {"id": "m1", "role": "assistant", "content": "kept"},
    ],
    [],
]


@deep
@pytest.mark.parametrize("messages", SNAPSHOTS)
def test_a_messages_snapshot_restates(page, messages):
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    events = [*RARE[:-1], snapshot, END]
    inputs = answer(page, frames(*events))
    ask(page)
    ask(page, "again")
    user = {key: inputs[0]["messages"][0][key] for key in ("id", "role", "content")}
    held = fold([{**START_EVENT, "input": {**inputs[0], "messages": [user]}}, *events[1:]])
    expected = [message.model_dump(mode="json", by_alias=True) for message in held.messages]
    assert inputs[1]["messages"][:-1] == [
        message for message in expected if message["role"] != "activity"
    ]


def test_a_failing_state_patch_is_told_and_the_run_goes_on(page):
    delta = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/absent"}]}
    answer(
        page, frames(START_EVENT, {"type": "STATE_SNAPSHOT", "snapshot": {"kept": 1}}, delta, END)
    )
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("A state change could not be applied")
    assert held_state(page) == {"kept": 1}


def test_a_page_under_a_prefix_finds_its_files_and_its_agent():
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from langgraph_agui.devtools.playground import playground_router

    inner, outer = FastAPI(), FastAPI()
    inner.include_router(
        playground_router("/agent", title="<i>", suggestions=["<b>"]), prefix="/ui"
    )
    outer.mount("/sub", inner)
    client = TestClient(outer)
    page = client.get("/sub/ui/")
    assert 'content="/sub/agent"' in page.text
    assert 'src="/sub/ui/playground/app.js"' in page.text
    assert "&lt;i&gt;" in page.text
    assert "<b>" not in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert (
        client.get("/sub/ui/playground/app.js")
        .headers["content-type"]
        .startswith("text/javascript")
    )
    assert client.get("/sub/ui/playground/__init__.py").status_code == 404

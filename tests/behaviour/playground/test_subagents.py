"""Subagents and activities: real graphs behind a real server, and rare events."""

from __future__ import annotations

import json
import re
import threading

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from tests.behaviour.playground.sites import (
    WAITS,
    answer,
    ask,
    opened,
    outline,
    press,
    see,
    shown,
    status,
    text_events,
)
from tests.kit.deep import deep
from tests.kit.graphs.subagents import (
    GRAPHS,
    agent_of,
    agent_tool,
    boss_of,
    deep_of,
    failing,
    guarded,
    until,
)
from tests.kit.models.voices import gated, voice

pytestmark = deep


def delegated(which):
    """The call of `deep` that a subagent answers, which asks another one."""
    mid, leaf = f"mid_{which}", f"leaf_{which}"
    inner = ["task()", "done", [[leaf, "done", [f"({leaf}: hm)", f"{leaf}: ends 1"]]]]
    said = [f"({mid}: hm)", f"{mid}: begins 1", inner, f"({mid}: hm)", f"{mid}: ends 1"]
    return ["task()", "done", [[mid, "done", said]]]


ENDS = ["(boss: hm)", "boss: ends 1"]
DEEP = ["(boss: hm)", "boss: begins 1", delegated("a"), delegated("b"), *ENDS]
ASKERS = ["Asked by mid_a › leaf_a", "Asked by mid_b › leaf_b"]
CALLS = ".tool > summary > .pill"


def box(page, name):
    return page.locator(".subagent").filter(has=page.locator(f"xpath=./summary/strong[.='{name}']"))


def states(page, **wants):
    for name, want in wants.items():
        see(box(page, name), {"> summary > .pill": want})


def test_each_speaks_in_a_box_under_the_call_that_runs_it(browser):
    with shown(browser, GRAPHS["deep"](InMemorySaver()).graph) as page:
        ask(page)
        assert outline(page) == ["hello", *DEEP]
        see(box(page, "mid_a"), {"> summary > .task": "do a"})
        lines, names = page.locator("#transcript > .team > summary"), ("mid_a", "mid_b")
        see(lines, {".agents": [*names]})
        said = [box(page, name).get_by_text(f"{name}: ends 1").first for name in names]
        for at, words in enumerate(said):
            expect(words).to_be_hidden()
            lines.nth(at).click()
            expect(words).to_be_visible()
        box(page, "mid_a").locator("> summary").click()
        # The next turn sends all of it, and is told all of it again; what is folded stays so.
        ask(page, "again")
        expect(said[0]).to_be_hidden()
        expect(said[1]).to_be_visible()
        assert outline(page) == ["hello", *DEEP, "again", "(boss: hm)", "boss: ends 2"]


FIVE = ["ann", "bob", "cid", "dan", "eve"]


def test_five_at_once_read_as_a_team(browser):
    gates = {who: threading.Event() for who in FIVE}
    tools = [agent_tool(who, agent_of(gated(who, gates[who].is_set), name=who)) for who in FIVE]
    graph, _ = boss_of(InMemorySaver(), tools, *((who, {"question": "q"}) for who in FIVE))
    with shown(browser, graph) as page:
        ask(page, then="Running")
        lines = page.locator(".team > summary")
        see(lines, {".agents": FIVE, ".pill": ["running"] * 5, ".line": ["Thinking…"] * 5})
        gates["cid"].set()
        see(lines.nth(2), {".pill": "done", ".line": "cid: ends 1"})
        # Each has a time; that of one who works goes on.
        watched = lines.nth(4).locator(".elapsed")
        expect(watched).to_have_text(re.compile(r"^\d+\.\d s$"))
        expect(watched).not_to_have_text(watched.inner_text())
        tops = lines.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert tops == sorted(set(tops))
        see(page, {".team[open]": 0})
        for line, who in zip(lines.all(), FIVE, strict=True):
            assert line.inner_text().split().count(who) == 1  # although its tool has the same name
        lines.nth(2).click()
        see(box(page, "cid"), {".text": True})
        for gate in gates.values():
            gate.set()
        status(page)
        see(page, {".team > summary .pill": ["done"] * 5, ".team[open]": 1})


def test_what_a_subagent_says_is_not_repeated_as_the_result_of_its_call(browser):
    tools = [agent_tool("ann", agent_of(voice("ann"), name="ann"))]
    graph, _ = boss_of(InMemorySaver(), tools, ("ann", {"question": "q"}))
    with shown(browser, graph) as page:
        ask(page)
        words = page.locator("#transcript").get_by_text("ann: ends 1")
        result = "#transcript > .tool > .part .result"
        expect(words).to_have_count(1)
        see(page, {result: False})
        # Nothing keeps the words of this subagent but the result.
        page.reload()
        see(page, {result: "ann: ends 1"})
        expect(words).to_have_count(1)


WORKERS = [["worker", "done", [f"(work-{one}: hm)", f"work-{one}: ends 1"]] for one in "xy"]
INSIDE = ["inside", "done", ["(inner: hm)", "inner: ends 0"]]
QUIET = ["quiet()", "done", [["quiet", "done"]]]


@pytest.mark.parametrize(
    ("graph", "said", "teams"),
    [
        pytest.param("sent", [*WORKERS, *ENDS], 2, id="without a call, in place"),
        pytest.param(
            "declared_apart",
            [["part", "done", ["(outer: hm)", "outer: ends 0", INSIDE]], *ENDS],
            0,
            id="one within the other without a call",
        ),
        pytest.param("nostream", [*DEEP[:2], QUIET, *ENDS], 0, id="one that says nothing"),
    ],
)
def test_where_a_box_stands(browser, graph, said, teams):
    with shown(browser, GRAPHS[graph](InMemorySaver()).graph) as page:
        ask(page)
        assert outline(page) == ["hello", *said]
        see(page, {"#transcript > .team": teams})


@pytest.mark.parametrize("handled", [True, False])
def test_failures(browser, handled):
    with shown(browser, failing(handled=handled).graph) as page:
        ask(page, then="Finished" if handled else "Failed")
        states(page, outer="failed", inner="failed")
        for name in ("outer", "inner"):
            see(box(page, name), {"> .problem": "The model could not answer."})
        inner = ["inner", "failed", ["(inner: hm)", "inner: begins"]]
        assert inner in outline(page)[3][2][0][2][-1][2]
        assert "a secret" not in page.content()


def test_a_run_is_joined_again_and_stopped_while_one_speaks(browser):
    gate = threading.Event()
    leaves = [
        agent_of(gated("leaf_a", gate.is_set), name="leaf_a"),
        agent_of(voice("leaf_b"), name="leaf_b"),
    ]
    with shown(browser, deep_of(InMemorySaver(), *leaves).graph, on_disconnect="continue") as page:
        ask(page, then="Running")
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        states(page, mid_b="done")
        page.reload()
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        gate.set()
        status(page)
        assert outline(page) == ["hello", *DEEP]
        gate.clear()
        press(page, "New thread")
        ask(page, then="Running")
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        press(page, "Stop")
        status(page, "Stopped")
        states(page, leaf_a="stopped", mid_a="stopped")
        gate.set()


def paused(done):
    return guarded(InMemorySaver(), "per_call", done, both=True).graph


def approve(page):
    for card in page.locator(".question").all():
        press(card, "Approve")
    status(page)


def test_an_approval_says_who_asks(browser):
    done = []
    with shown(browser, paused(done)) as page:
        ask(page, then=WAITS)
        see(page, {".question-asker": ASKERS, CALLS: ["waiting for you"] * 6})
        states(page, **dict.fromkeys(("mid_a", "mid_b", "leaf_a", "leaf_b"), "waiting for you"))
        approve(page)
        see(page, {".subagent > summary > .pill": ["done"] * 4, CALLS: ["done"] * 6})
        said = outline(page)
    assert sorted(done) == ["leaf_a0", "leaf_b0"]
    leaf = ["(leaf_a: hm)", "leaf_a: begins 1", ["deploy()", "done"]]
    leaf += ["(leaf_a: hm)", "leaf_a: ends 1"]
    assert said[3][2][0][2][2] == ["task()", "done", [["leaf_a", "done", leaf]]]


def test_only_those_wait_that_ask(browser):
    with shown(browser, guarded(InMemorySaver(), "per_call", []).graph) as page:
        ask(page, then=WAITS)
        see(page, {".question-asker": ASKERS[:1]})
        states(page, leaf_a="waiting for you", leaf_b="done")
        press(page.locator(".question"), "More", "Cancel")
        status(page)
        expect(page.locator(".pill", has_text="waiting for you")).to_have_count(0)


@pytest.mark.parametrize("same_browser", [True, False])
def test_a_page_that_is_loaded_again_while_one_waits(browser, same_browser):
    done = []
    with shown(browser, paused(done)) as page:
        ask(page, then=WAITS)
        if not same_browser:  # it knows no names
            page.evaluate("addEventListener('pagehide', () => localStorage.clear())")
        page.reload()
        status(page, WAITS)
        see(page, {".question-asker": ASKERS if same_browser else ["Asked by subagent"] * 2})
        waiting = f".{'subagent' if same_browser else 'tool'} > summary > .pill"
        see(page, {waiting: ["waiting for you"] * 2})
        approve(page)
        assert sorted(done) == ["leaf_a0", "leaf_b0"]
        for one in "ab":
            leaf = box(page, f"mid_{one}").locator(box(page, f"leaf_{one}"))
            expect(leaf).to_contain_text(f"leaf_{one}: ends 1")


def worker(who, may_end):
    """A subagent whose tool tells its output, and goes on when it may."""

    @tool
    async def work(fail: bool, runtime: ToolRuntime) -> str:
        """Work."""
        for part in (f"{who} ", "begins\n", {"percent": 50}, "<b>more</b>"):
            runtime.emit_output_delta(part)
        await until(may_end.is_set)
        if fail:
            raise ValueError("a secret")
        return "worked"

    return create_agent(voice(who, ("work", {"fail": who == "bob"})), [work], name=who)


def test_output_appears_live_at_its_call(browser):
    gates = {who: threading.Event() for who in ("ann", "bob")}
    tools = [agent_tool(who, worker(who, gate)) for who, gate in gates.items()]
    graph, _ = boss_of(None, tools, *((who, {"question": "q"}) for who in gates))
    with shown(browser, graph) as page:
        ask(page, then="Running")
        for who in gates:
            part = box(page, who).locator(".tool > .part:has(.output)")
            output = f'{who} begins\n{{"percent":50}}\n<b>more</b>'
            see(part, {".pill": "running", ".output": output})
        gates["ann"].set()
        see(box(page, "ann"), {".tool .result": "worked", ".tool .label > .pill": "done"})
        gates["bob"].set()
        status(page, "Failed")
        see(box(page, "bob"), {".tool .label > .pill": "failed"})
        see(page, {".activity": 0})
        assert "a secret" not in page.content()


MARKUP = "<img src=x onerror=alert(1)>"
CALL = [
    {"type": kind, "toolCallId": "c", "toolCallName": "look"}
    for kind in ("TOOL_CALL_START", "TOOL_CALL_END")
]
OUTPUTS = [{"toolCallId": "unknown", "output": ["x"]}, {"toolCallId": "c"}]


def event(run, kind="STARTED", **fields):
    return {"type": f"SUBAGENT_{kind}", "subagentRunId": run, "name": run, **fields}


def words(run, text):
    start, *rest = text_events(text, text)
    return [{**start, "subagentRunId": run}, *rest]


def test_rare_events(browser, site):
    ends = [event(run, "FINISHED") for run in "ab"]
    with opened(browser, site, logs=True) as page:

        def said(*events):
            answer(page, *events)
            ask(page)
            return outline(page)[1:]

        # one that was never announced
        assert said(*words("s", "Hi")) == [["subagent", "", ["Hi"]]]
        see(page, {".subagent > summary > .pill": False})
        press(page, "New thread")
        # those of one call stand as they began
        starts = [event(run, parentToolCallId="c") for run in "ab"]
        inside = [["a", "done", ["second"]], ["b", "done", ["first"]]]
        spoken = said(*CALL, *starts, *words("b", "first"), *words("a", "second"), *ends)
        assert spoken == [["look()", "unanswered", inside]]
        press(page, "New thread")
        # names are text
        hostile = event("s", name=MARKUP, description=MARKUP)
        assert said(hostile, event("s", "ERROR", message=MARKUP)) == [[MARKUP, "failed"]]
        see(page, {".subagent .task": MARKUP, "#transcript img": 0})
        press(page, "New thread")
        # two that are each other's parents
        suspended = [event(run, "FINISHED", outcome={"type": "suspended"}) for run in "ba"]
        said(event("a"), event("b", parentSubagentRunId="a"), *suspended)
        said(event("b"), event("a", parentSubagentRunId="b"), *words("a", "Hi"), *ends)
        press(page, "New thread")
        # output that belongs to no call is JSON
        activity = {"type": "ACTIVITY_SNAPSHOT", "activityType": "langgraph:tool_output"}
        ids = [{"messageId": f"o{at}", "subagentRunId": "a"} for at in range(len(OUTPUTS))]
        pairs = zip(ids, OUTPUTS, strict=True)
        outputs = [{**activity, **id_, "content": content} for id_, content in pairs]
        said(*CALL, event("a"), *outputs, ends[0])
        texts = page.locator(".subagent .activity pre").all_inner_texts()
        assert [json.loads(text) for text in texts] == OUTPUTS

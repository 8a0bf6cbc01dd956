"""Subagents and activities in a real browser: real graphs behind a real server."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from tests.behaviour.playground.sites import ask, outline, shown
from tests.behaviour.playground.streams import END, START_EVENT, frames, text_events
from tests.behaviour.playground.streams import answer as sent
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

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


def delegated(which: str) -> list[Any]:
    """The call of `deep` that a subagent answers, which asks another one."""
    mid, leaf = f"mid_{which}", f"leaf_{which}"
    inner = ["task()", "done", [[leaf, "done", [f"({leaf}: hm)", f"{leaf}: ends 1"]]]]
    said = [f"({mid}: hm)", f"{mid}: begins 1", inner, f"({mid}: hm)", f"{mid}: ends 1"]
    return ["task()", "done", [[mid, "done", said]]]


DEEP = ["(boss: hm)", "boss: begins 1", delegated("a"), delegated("b")]
DEEP += ["(boss: hm)", "boss: ends 1"]
TWO = ("mid_a", "mid_b")
ASKERS = ["Asked by mid_a › leaf_a", "Asked by mid_b › leaf_b"]


def box(page: Page, name: str) -> Locator:
    return page.locator(".subagent").filter(has=page.locator(f"xpath=./summary/strong[.='{name}']"))


def state(page: Page, name: str) -> Locator:
    return box(page, name).locator("> summary > .pill")


def member(page: Page, name: str) -> Locator:
    """The line of a team that stands for the subagent `name`, and what opens below it."""
    return page.locator(".team").filter(has=page.locator(f"xpath=./summary/*[.='{name}']"))


def test_each_speaks_in_a_box_under_the_call_that_runs_it(browser: Browser) -> None:
    with shown(browser, GRAPHS["deep"](InMemorySaver()).graph) as page:
        ask(page)
        assert outline(page) == ["hello", *DEEP]
        expect(box(page, "mid_a").locator("> summary > .task")).to_have_text("do a")
        agents = page.locator("#transcript > .team > summary .agents")
        expect(agents).to_have_text(["mid_a", "mid_b"])
        said = {name: box(page, name).get_by_text(f"{name}: ends 1").first for name in TWO}
        for name in TWO:
            expect(said[name]).to_be_hidden()
            member(page, name).locator("> summary").click()
            expect(said[name]).to_be_visible()
        box(page, "mid_a").locator("> summary").click()
        # The next turn sends all of it, and is told all of it again; what is folded stays so.
        ask(page, "again")
        expect(said["mid_a"]).to_be_hidden()
        expect(said["mid_b"]).to_be_visible()
        assert outline(page) == ["hello", *DEEP, "again", "(boss: hm)", "boss: ends 2"]


FIVE = ("ann", "bob", "cid", "dan", "eve")


def test_five_at_once_read_as_a_team(browser: Browser) -> None:
    gates = {who: threading.Event() for who in FIVE}
    tools = [agent_tool(who, agent_of(gated(who, gates[who].is_set), name=who)) for who in FIVE]
    graph, _ = boss_of(InMemorySaver(), tools, *((who, {"question": "q"}) for who in FIVE))
    with shown(browser, graph) as page:
        ask(page, status="Running")
        lines = page.locator(".team > summary")
        expect(lines.locator(".agents")).to_have_text(list(FIVE))
        expect(lines.locator(".pill")).to_have_text(["running"] * 5)
        expect(lines.locator(".line")).to_have_text(["Thinking…"] * 5)
        gates["cid"].set()
        expect(lines.nth(2).locator(".pill")).to_have_text("done")
        expect(lines.nth(2).locator(".line")).to_have_text("cid: ends 1")
        # Each has a time; that of one who works goes on.
        watched = lines.nth(4).locator(".elapsed")
        expect(watched).to_have_text(re.compile(r"^\d+\.\d s$"))
        before = watched.inner_text()
        expect(watched).not_to_have_text(before)
        tops = lines.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
        assert tops == sorted(set(tops))
        expect(page.locator(".team[open]")).to_have_count(0)
        for line, who in zip(lines.all(), FIVE, strict=True):
            assert line.inner_text().split().count(who) == 1  # although its tool has the same name
        lines.nth(2).click()
        expect(box(page, "cid").locator(".text")).to_be_visible()
        for gate in gates.values():
            gate.set()
        expect(page.locator("#status")).to_have_text("Finished")
        expect(lines.locator(".pill")).to_have_text(["done"] * 5)
        expect(page.locator(".team[open]")).to_have_count(1)


def test_what_a_subagent_says_is_not_repeated_as_the_result_of_its_call(browser: Browser) -> None:
    tools = [agent_tool("ann", agent_of(voice("ann"), name="ann"))]
    graph, _ = boss_of(InMemorySaver(), tools, ("ann", {"question": "q"}))
    with shown(browser, graph) as page:
        ask(page)
        words = page.locator("#transcript").get_by_text("ann: ends 1")
        result = page.locator("#transcript > .tool > .part .result")
        expect(words).to_have_count(1)
        expect(result).to_be_hidden()
        # Nothing keeps the words of this subagent but the result.
        page.reload()
        expect(result).to_have_text("ann: ends 1")
        expect(words).to_have_count(1)


@deep
def test_those_that_no_call_runs_stand_in_place(browser: Browser) -> None:
    workers = [
        ["worker", "done", [f"(work-{which}: hm)", f"work-{which}: ends 1"]] for which in "xy"
    ]
    with shown(browser, GRAPHS["sent"](InMemorySaver()).graph) as page:
        ask(page)
        assert outline(page) == ["hello", *workers, "(boss: hm)", "boss: ends 1"]
        expect(page.locator(".subagent.team")).to_have_count(2)


@deep
def test_one_within_the_other_without_a_call(browser: Browser) -> None:
    inside = ["inside", "done", ["(inner: hm)", "inner: ends 0"]]
    part = ["part", "done", ["(outer: hm)", "outer: ends 0", inside]]
    with shown(browser, GRAPHS["declared_apart"](InMemorySaver()).graph) as page:
        ask(page)
        assert outline(page) == ["hello", part, "(boss: hm)", "boss: ends 1"]


@deep
def test_one_that_says_nothing_has_a_box(browser: Browser) -> None:
    with shown(browser, GRAPHS["nostream"](None).graph) as page:
        ask(page)
        assert ["quiet()", "done", [["quiet", "done"]]] in outline(page)


@deep
@pytest.mark.parametrize("handled", [True, False])
def test_failures(browser: Browser, handled: bool) -> None:
    with shown(browser, failing(handled=handled).graph) as page:
        ask(page, status="Finished" if handled else "Failed")
        for name in ("outer", "inner"):
            expect(state(page, name)).to_have_text("failed")
            problem = box(page, name).locator("> .problem")
            expect(problem).to_have_text("The model could not answer.")
        inner = ["inner", "failed", ["(inner: hm)", "inner: begins"]]
        assert inner in outline(page)[3][2][0][2][-1][2]
        assert "a secret" not in page.content()


@deep
def test_a_stopped_run_leaves_none_running(browser: Browser) -> None:
    leaf, never = threading.Event(), threading.Event()
    leaves = [
        agent_of(gated("leaf_a", never.is_set, leaf.set), name="leaf_a"),
        agent_of(voice("leaf_b")),
    ]
    with shown(browser, deep_of(None, *leaves).graph) as page:
        ask(page, status="Running")
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("Stopped")
        for name in ("leaf_a", "mid_a"):
            expect(state(page, name)).to_have_text("stopped")


def paused(done: list[str]) -> Any:
    return guarded(InMemorySaver(), "per_call", done, both=True).graph


def answer(page: Page, button: str = "Approve") -> None:
    for card in page.locator(".question").all():
        if button == "Cancel":
            card.get_by_role("button", name="More").click()
        card.get_by_role("button", name=button, exact=True).click()


def test_an_approval_says_who_asks(browser: Browser) -> None:
    done: list[str] = []
    with shown(browser, paused(done)) as page:
        ask(page, status="Waiting for you")
        expect(page.locator(".question-asker")).to_have_text(ASKERS)
        for name in ("mid_a", "mid_b", "leaf_a", "leaf_b"):
            expect(state(page, name)).to_have_text("waiting for you")
        expect(page.locator(".tool > summary > .pill")).to_have_text(["waiting for you"] * 6)
        answer(page)
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".subagent > summary > .pill")).to_have_text(["done"] * 4)
        expect(page.locator(".tool > summary > .pill")).to_have_text(["done"] * 6)
        said = outline(page)
    assert sorted(done) == ["leaf_a0", "leaf_b0"]
    leaf = ["(leaf_a: hm)", "leaf_a: begins 1", ["deploy()", "done"]]
    leaf += ["(leaf_a: hm)", "leaf_a: ends 1"]
    assert said[3][2][0][2][2] == ["task()", "done", [["leaf_a", "done", leaf]]]


@deep
def test_only_those_wait_that_ask(browser: Browser) -> None:
    with shown(browser, guarded(InMemorySaver(), "per_call", []).graph) as page:
        ask(page, status="Waiting for you")
        expect(page.locator(".question-asker")).to_have_text(["Asked by mid_a › leaf_a"])
        expect(state(page, "leaf_a")).to_have_text("waiting for you")
        expect(state(page, "leaf_b")).to_have_text("done")
        answer(page, "Cancel")
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".pill", has_text="waiting for you")).to_have_count(0)


@deep
@pytest.mark.parametrize("same_browser", [True, False])
def test_a_page_that_is_loaded_again_while_one_waits(browser: Browser, same_browser: bool) -> None:
    done: list[str] = []
    with shown(browser, paused(done)) as page:
        ask(page, status="Waiting for you")
        if not same_browser:  # it knows no names
            page.evaluate("addEventListener('pagehide', () => localStorage.clear())")
        page.reload()
        expect(page.locator("#status")).to_have_text("Waiting for you")
        askers = ASKERS if same_browser else ["Asked by subagent"] * 2
        expect(page.locator(".question-asker")).to_have_text(askers)
        waiting = page.locator(f".{'subagent' if same_browser else 'tool'} > summary > .pill")
        expect(waiting).to_have_text(["waiting for you"] * 2)
        answer(page)
        expect(page.locator("#status")).to_have_text("Finished")
        assert sorted(done) == ["leaf_a0", "leaf_b0"]
        for which in "ab":
            leaf = box(page, f"mid_{which}").locator(box(page, f"leaf_{which}"))
            expect(leaf).to_contain_text(f"leaf_{which}: ends 1")


def test_a_page_that_is_loaded_again_while_one_speaks(browser: Browser) -> None:
    gate = threading.Event()
    leaves = [
        agent_of(gated("leaf_a", gate.is_set), name="leaf_a"),
        agent_of(voice("leaf_b"), name="leaf_b"),
    ]
    with shown(browser, deep_of(InMemorySaver(), *leaves).graph, on_disconnect="continue") as page:
        ask(page, status="Running")
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        expect(state(page, "mid_b")).to_have_text("done")
        page.reload()
        expect(box(page, "leaf_a")).to_contain_text("Thinking…")
        gate.set()
        expect(page.locator("#status")).to_have_text("Finished")
        assert outline(page) == ["hello", *DEEP]


class Worker:
    """A subagent whose tool tells its output, and goes on when it may."""

    def __init__(self, who: str) -> None:
        self.may_end = threading.Event()

        @tool
        async def work(fail: bool, runtime: ToolRuntime) -> str:
            """Work."""
            for part in (f"{who} ", "begins\n", {"percent": 50}, "<b>more</b>"):
                runtime.emit_output_delta(part)
            await until(self.may_end.is_set)
            if fail:
                raise ValueError("a secret")
            return "worked"

        self.agent = create_agent(voice(who, ("work", {"fail": who == "bob"})), [work], name=who)


@deep
def test_output_appears_live_at_its_call(browser: Browser) -> None:
    workers = {who: Worker(who) for who in ("ann", "bob")}
    tools = [agent_tool(who, worker.agent) for who, worker in workers.items()]
    graph, _ = boss_of(None, tools, *((who, {"question": "q"}) for who in workers))
    with shown(browser, graph) as page:
        ask(page, status="Running")
        for who in workers:
            part = box(page, who).locator(".tool > .part:has(.output)")
            expect(part.locator(".pill")).to_have_text("running")
            expect(part.locator(".output")).to_have_text(
                f'{who} begins\n{{"percent":50}}\n<b>more</b>'
            )
        workers["ann"].may_end.set()
        ann = box(page, "ann").locator(".tool")
        expect(ann.locator(".result")).to_have_text("worked")
        expect(ann.locator(".label > .pill")).to_have_text("done")
        workers["bob"].may_end.set()
        expect(page.locator("#status")).to_have_text("Failed")
        expect(box(page, "bob").locator(".tool .label > .pill")).to_have_text("failed")
        expect(page.locator(".activity")).to_have_count(0)
        assert "a secret" not in page.content()


MARKUP = "<img src=x onerror=alert(1)>"
CALL = [
    {"type": kind, "toolCallId": "c", "toolCallName": "look"}
    for kind in ("TOOL_CALL_START", "TOOL_CALL_END")
]


def begun(run: str, **fields: Any) -> dict[str, Any]:
    return {"type": "SUBAGENT_STARTED", "subagentRunId": run, "name": run, **fields}


def ended(run: str) -> dict[str, Any]:
    return {"type": "SUBAGENT_FINISHED", "subagentRunId": run}


def words(run: str, text: str) -> list[dict[str, Any]]:
    start, *rest = text_events(text, text)
    return [{**start, "subagentRunId": run}, *rest]


@pytest.fixture
def rare(browser: Browser, site: str) -> Any:
    """Returns what a page shows whose agent answers with these events."""
    context = browser.new_context()
    page = context.new_page()

    def show(*events: dict[str, Any]) -> Page:
        sent(page, frames(START_EVENT, *events, END))
        page.goto(site)
        ask(page)
        return page

    yield show
    context.close()


@deep
def test_one_that_was_never_announced(rare: Any) -> None:
    page = rare(*words("s", "Hi"))
    assert outline(page)[1:] == [["subagent", "", ["Hi"]]]
    expect(page.locator(".subagent > summary > .pill")).to_be_hidden()


@deep
def test_those_of_one_call_stand_as_they_began(rare: Any) -> None:
    starts = [begun(run, parentToolCallId="c") for run in "ab"]
    spoken = [*words("b", "first"), *words("a", "second")]
    page = rare(*CALL, *starts, *spoken, ended("a"), ended("b"))
    assert outline(page)[1:] == [
        ["look()", "unanswered", [["a", "done", ["second"]], ["b", "done", ["first"]]]]
    ]


@deep
def test_names_are_text(rare: Any) -> None:
    page = rare(
        begun("s", name=MARKUP, description=MARKUP),
        {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": MARKUP},
    )
    assert outline(page)[1:] == [[MARKUP, "failed"]]
    expect(page.locator(".subagent .task")).to_have_text(MARKUP)
    assert page.locator("img").count() == 0


@deep
def test_subagents_that_are_each_others_parents_do_no_harm(rare: Any) -> None:
    suspended = [{**ended(run), "outcome": {"type": "suspended"}} for run in "ba"]
    page = rare(begun("a"), begun("b", parentSubagentRunId="a"), *suspended)
    page.unroute("**/agent")
    again = [begun("b"), begun("a", parentSubagentRunId="b"), *words("a", "Hi")]
    sent(page, frames(START_EVENT, *again, ended("a"), ended("b"), END))
    ask(page, "again")


@deep
def test_output_that_belongs_to_no_call_is_json(rare: Any) -> None:
    contents: list[Any] = [{"toolCallId": "unknown", "output": ["x"]}, {"toolCallId": "c"}]
    activity = {"type": "ACTIVITY_SNAPSHOT", "activityType": "langgraph:tool_output"}
    outputs = [
        {**activity, "messageId": f"a{at}", "content": content, "subagentRunId": "s"}
        for at, content in enumerate(contents)
    ]
    page = rare(*CALL, begun("s"), *outputs, ended("s"))
    texts = page.locator(".subagent .activity pre").all_inner_texts()
    assert [json.loads(text) for text in texts] == contents

"""The recipe assistant: the same conversation with patches and with snapshots, here and in the
reference client."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from examples.recipe_assistant.cook import SOUP, Cook
from examples.recipe_assistant.main import make_agent
from langgraph_agui import LangGraphAgent
from tests.kit.deep import deep
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.run.agents import RecordedRun, record_run, run_input, user

STATE = ("STATE_SNAPSHOT", "STATE_DELTA")
BASIL = {"name": "basil", "amount": "a handful"}
CHANGED = {**SOUP, "servings": 6, "ingredients": [*SOUP["ingredients"], BASIL]}
WISH, CHANGE, EDITED = (
    "A tomato soup, please.",
    "Please make it for six and add basil.",
    "I have changed the time.",
)
Send = Literal["patches", "snapshots"]


def assistant(send: Send) -> LangGraphAgent:
    return make_agent(send, Cook(delay=0))


async def turn(
    agent: LangGraphAgent, text: str, before: RecordedRun | None = None, **fields: Any
) -> RecordedRun:
    messages = before.messages if before else []
    fields.setdefault("state", before.state if before else {})
    recorded = await record_run(agent, run_input(*messages, text, thread="soup", **fields))
    recorded.check_snapshot()
    return recorded


def text(recorded: RecordedRun) -> str:
    return "".join(event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT"))


@pytest.mark.parametrize("send", ["patches", "snapshots"])
async def test_the_recipe_grows_while_it_is_written_and_is_summed_up(send: Send) -> None:
    recorded = await turn(assistant(send), WISH)
    assert recorded.state == {"recipe": SOUP}
    assert not recorded.last.outcome.pending_tool_call_ids
    assert text(recorded).startswith("Tomato soup for 4, in 35 minutes")

    first, end = recorded.types.index("STATE_SNAPSHOT"), recorded.types.index("TOOL_CALL_END")
    shown = [number for number, kind in enumerate(recorded.types) if kind in STATE]
    assert first < end
    assert sum(number < end for number in shown) > 20
    assert max(shown) < recorded.types.index("TEXT_MESSAGE_START")
    if send == "snapshots":
        titles = [event.snapshot["recipe"].get("title") for event in recorded.of("STATE_SNAPSHOT")]
        assert any(title and title != "Tomato soup" for title in titles)
        assert not recorded.of("STATE_DELTA")
    else:
        assert recorded.of("STATE_DELTA")


@pytest.mark.parametrize("send", ["patches", "snapshots"])
async def test_a_change_is_one_event(send: Send) -> None:
    agent = assistant(send)
    recorded = await turn(agent, CHANGE, await turn(agent, WISH))
    assert recorded.state == {"recipe": CHANGED}
    (event,) = recorded.of(*STATE)
    if send == "snapshots":
        assert event.snapshot == {"recipe": CHANGED}
    else:
        operations = sorted((one.op, one.path, one.value) for one in event.delta)
        assert operations == [
            ("add", "/recipe/ingredients/-", BASIL),
            ("replace", "/recipe/servings", 6),
        ]
    assert text(recorded).startswith("Tomato soup for 6, in 35 minutes")
    assert "basil" in text(recorded)


@pytest.mark.parametrize("send", ["patches", "snapshots"])
async def test_the_graph_sees_what_the_user_edits(send: Send) -> None:
    agent = assistant(send)
    second = await turn(agent, CHANGE, await turn(agent, WISH))
    edited = copy.deepcopy(second.state)
    edited["recipe"]["minutes"] = 20
    third = await turn(agent, EDITED, second, state=edited)
    assert not third.of(*STATE)
    assert third.state == {"recipe": {**CHANGED, "minutes": 20}}
    assert text(third).startswith("Tomato soup for 6, in 20 minutes")

    fourth = await turn(agent, "Now for two.", third)  # on top of the edit, which is stored
    assert fourth.state == {"recipe": {**CHANGED, "minutes": 20, "servings": 2}}
    assert len(fourth.of(*STATE)) == 1


async def test_what_is_no_recipe_is_refused_and_one_that_is_cleared_is_written_anew() -> None:
    agent = assistant("patches")
    first = await turn(agent, WISH)
    wrong = await record_run(
        agent,
        run_input(
            *first.messages, EDITED, thread="soup", state={"recipe": {**SOUP, "servings": 0}}
        ),
    )
    assert wrong.last.code == "state_invalid"
    assert not wrong.of("STEP_STARTED")

    again = await turn(agent, WISH, first, state={"recipe": None})
    assert again.of("TOOL_CALL_START")[0].tool_call_name == "Recipe"
    assert again.state == {"recipe": SOUP}


@pytest.fixture(params=["agent", pytest.param("snapshots", marks=deep)])
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """What the README serves: its name in main.py, and its URL."""
    with running("serve", f"examples.recipe_assistant.main:{request.param}", cwd=ROOT) as url:
        yield request.param, url


def test_in_the_reference_client(served: tuple[str, str], node_client: NodeClient) -> None:
    name, url = served

    def say(question: str, messages: list[Any], state: Any) -> ClientRun:
        asked = user(question).model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="soup", messages=[*messages, asked], state=state)
        assert run.accepted
        assert run.warnings == []
        assert not run.pendingToolCallIds
        assert run.input is not None
        assert run.input["state"] == state
        return run

    first = say(WISH, [], {})
    assert first.state == {"recipe": SOUP}
    second = say(CHANGE, first.messages, first.state)
    assert second.state == {"recipe": CHANGED}
    kind = "STATE_DELTA" if name == "agent" else "STATE_SNAPSHOT"
    assert [event for event in second.events if event in STATE] == [kind]

    edited = {"recipe": {**CHANGED, "minutes": 20}}
    third = say(EDITED, second.messages, edited)
    assert third.state == edited
    assert not set(third.events) & set(STATE)
    assert "in 20 minutes" in third.messages[-1]["content"]
    assert [message["role"] for message in third.messages].count("user") == 3


def test_it_runs_from_a_clone() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.recipe_assistant"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    _, delta, snapshot = done.stdout.split("== send=")
    patch = re.search(
        r"STATE_DELTA (\d+) bytes: replace /recipe/servings, add /recipe/ingredients/-\n", delta
    )
    whole = re.search(r"^  STATE_SNAPSHOT (\d+) bytes\n", snapshot, re.MULTILINE)
    assert patch is not None
    assert whole is not None
    assert int(patch[1]) * 3 < int(whole[1])
    assert "STATE_DELTA" not in snapshot
    recorded = [
        [line for line in part.splitlines() if line.startswith("  state: ")]
        for part in (delta, snapshot)
    ]
    assert recorded[0] == recorded[1]
    assert len(recorded[0]) == 3
    assert done.stdout.count("no event of state") == 2

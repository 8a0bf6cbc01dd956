"""Clients that drop whose a message is, or that come back while two subagents ask about calls of
the same id."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.behaviour.subagents.test_next_turn import client_of, graphs, plain, without_us
from tests.kit.expect.owners import tag
from tests.kit.graphs.subagents import Build, agent_tool, boss_of
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

WHY = {"question": "why"}


@graphs
async def test_words_whose_owner_the_client_drops_are_none_of_the_parents(build: Build) -> None:
    built = build(None)
    client = client_of(built)
    for text in ("hi", "again"):
        await client.send(text)
        client.held = [
            message.model_copy(update={"subagent_run_id": None}) for message in client.held
        ]
    expected = await without_us(build, "hi", "again")
    assert [plain(messages) for messages in built.boss.seen] == [
        plain(messages) for messages in expected
    ]


def two_that_ask(done: list[str]) -> Any:
    """Two agents at once that ask before they deploy; both call that `deploy:0`."""
    tools = []
    for who in ("ann", "bob"):

        @tool
        def deploy(env: str) -> str:
            """Deploy."""
            done.append(env)
            return f"deployed {env}"

        model = Scripted([call("deploy", "deploy:0", env=who)], [text_chunk(f"{who}: done")])
        guard = HumanInTheLoopMiddleware({"deploy": True})
        tools.append(agent_tool(who, create_agent(model, [deploy], middleware=[guard], name=who)))
    graph, _ = boss_of(InMemorySaver(), tools, ("ann", WHY), ("bob", WHY))
    return graph


def named(recorded: RecordedRun) -> dict[str, tuple[str | None, str | None]]:
    """The calls that are asked about, and who asks, by the question."""
    return {one.id: (one.tool_call_id, one.subagent_run_id) for one in asked(recorded)}


async def test_an_approval_that_is_connected_to_names_the_call_as_the_client_knows_it() -> None:
    done: list[str] = []
    client = Client(LangGraphAgent(graph=two_that_ask(done)))
    recorded = await client.send("hi")
    calls = {
        (event.tool_call_id, tag(event)) for event in recorded.of("TOOL_CALL_START") if tag(event)
    }
    assert len({call_id for call_id, _ in calls}) == 2
    assert set(named(recorded).values()) == calls
    given = run_input(*client.held, thread=client.thread)
    back = RecordedRun(await collect(client.agent.connect(given)), given)
    assert named(back) == named(recorded)
    answers = [(question, {"approved": True}) for question in named(back)]
    after = await client.send(resume=resolved(*answers))
    after.check_snapshot()
    assert sorted(done) == ["ann", "bob"]
    results = {
        (event.tool_call_id, tag(event)) for event in after.of("TOOL_CALL_RESULT") if tag(event)
    }
    assert results == calls

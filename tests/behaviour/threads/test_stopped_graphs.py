"""Threads that a graph's own faults have left in the middle: they go on with what is said next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.dying_checkpointer import Dying
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import collect, run_input, user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending

# -- a step whose writes do not fit together ------------------------------------------------------


class Fault:
    """A graph whose two parallel nodes write what cannot be combined, until it is mended."""

    def __init__(self, saver: Any) -> None:
        self.broken = True
        self.saver = saver

    def sums(self, left: int, right: int) -> int:
        if self.broken and right == 2:
            raise ValueError("two is too much")
        return (left or 0) + right

    def graph(self, kind: str) -> Any:
        channel: Any = int if kind == "one value" else Annotated[int, self.sums]
        state = type("State", (Chat,), {"__annotations__": {"number": channel}})

        async def first(state: Any) -> Any:
            return {"number": 1}

        async def second(state: Any) -> Any:
            return {"number": 2} if self.broken else {}

        async def last(state: Any) -> Any:
            return {"messages": [AIMessage(f"re {state['messages'][-1].text}")]}

        builder: Any = StateGraph(state)
        for node in (first, second, last):
            builder.add_node(node.__name__, node)
        for name in ("first", "second"):
            builder.add_edge(START, name)
        builder.add_edge(["first", "second"], "last")
        return builder.compile(checkpointer=self.saver)


@pytest.mark.parametrize("turns", [0, 1], ids=["first_run", "later_run"])
@pytest.mark.parametrize("kind", ["one value", "reducer"])
async def test_a_step_whose_writes_do_not_fit_together(saver: Any, kind: str, turns: int) -> None:
    fault = Fault(saver)
    client = Client(LangGraphAgent(fault.graph(kind)))
    said = []
    if turns:
        fault.broken = False
        assert ending(await client.send(user("one", "u1"))) == "success"
        said = ["one", "re one"]
    fault.broken = True
    failed = await client.send(user("go", "u"))
    assert failed.last.type.value == "RUN_ERROR"
    fault.broken = False
    assert ending(await client.connect()) == "success"
    recorded = await client.send(user("go", "u"), user("hello", "v"))
    assert (ending(recorded), recorded.messages[-1].content) == ("success", "re hello")
    assert [message.text for message in await client.stored()] == [*said, "go", "hello", "re hello"]
    shown = await client.connect()
    assert [message.content for message in shown.messages] == [*said, "go", "hello", "re hello"]
    # Nothing of the step that failed comes back.
    more = await client.send(user("more", "w"))
    assert (ending(more), more.messages[-1].content) == ("success", "re more")


@pytest.mark.parametrize("kind", ["one value", "reducer"])
async def test_as_long_as_the_fault_is_there_every_run_fails_and_says_so(
    saver: Any, kind: str
) -> None:
    fault = Fault(saver)
    client = Client(LangGraphAgent(fault.graph(kind)))
    codes = {ending(await client.send(user(text, text))) for text in ("one", "two", "three")}
    assert codes == {"graph_error"}
    fault.broken = False
    assert ending(await client.send(user("four", "four"))) == "success"


# -- stopped in a graph with breakpoints ---------------------------------------------------------


class Stopping:
    """A graph of nodes in a row, one of which may hang; what the others do is in `done`."""

    def __init__(self, *nodes: str, **breaks: Sequence[str]) -> None:
        self.hangs: str | None = None
        self.begun = asyncio.Event()
        self.done: list[str] = []
        self.saver = Dying()
        graph = chain_of(*map(self.node, nodes), checkpointer=self.saver, **breaks)
        self.client = Client(LangGraphAgent(graph))

    def node(self, name: str) -> Any:
        async def node(state: Chat) -> Any:
            if self.hangs == name:
                self.begun.set()
                await asyncio.sleep(30)
            self.done.append(name)
            return {}

        node.__name__ = name
        return node

    async def stop(self, name: str, how: str, *new: Any, **fields: Any) -> None:
        """Run until the node `name`, and stop there: on purpose, or as a process that dies."""
        self.hangs = name
        given = run_input(*self.client.held, *new, thread="t", run="r", **fields)
        running = asyncio.create_task(collect(self.client.agent.run(given)))
        await self.begun.wait()
        self.saver.alive = how != "killed"
        assert await self.client.agent.cancel("t", "r")
        await running
        self.saver.alive, self.hangs = True, None
        self.begun.clear()
        self.done.clear()


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("after", [["slow"], ["last"], ["slow", "last"]], ids="_".join)
async def test_a_stop_elsewhere_is_no_breakpoint(after: list[str], how: str) -> None:
    stopping = Stopping("first", "slow", "last", interrupt_after=after)
    await stopping.stop("slow", how, user("hi", "u1"))
    assert ending(await stopping.client.connect()) == "success"
    recorded = await stopping.client.send(user("hi", "u1"), user("hello", "u2"))
    (question,) = asked(recorded) if after != ["last"] else [None]
    if question is not None:  # this time it comes to its breakpoint
        assert question.metadata == {"next": ["last"]}
        assert stopping.done == ["first", "slow"]
        recorded = await stopping.client.send(resume=resolved((question.id, True)))
    assert ending(recorded) == "success"
    assert stopping.done == ["first", "slow", "last"]
    assert [message.text for message in await stopping.client.stored()] == ["hi", "hello"]


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_a_stop_behind_an_approved_breakpoint_is_none(how: str) -> None:
    stopping = Stopping("first", "middle", "slow", "last", interrupt_after=["first"])
    (one,) = await stopping.client.ask(user("hi", "u1"))
    await stopping.stop("slow", how, resume=resolved((one.id, True)))
    assert ending(await stopping.client.connect()) == "success"
    (two,) = await stopping.client.ask(user("hello", "u2"))
    assert two.metadata == {"next": ["middle"]}
    assert stopping.done == ["first"]


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("breaks", ["*", ["slow"]], ids=["all", "one"])
async def test_a_stop_in_the_first_node_is_behind_none(breaks: Any, how: str) -> None:
    stopping = Stopping("slow", "last", interrupt_after=breaks)
    await stopping.stop("slow", how, user("hi", "u1"))
    assert ending(await stopping.client.connect()) == "success"
    (one,) = await stopping.client.ask(user("hi", "u1"), user("hello", "u2"))
    assert one.metadata == {"next": ["last"]}
    assert stopping.done == ["slow"]


@pytest.mark.parametrize("answer", ["approved", "cancelled"])
async def test_a_breakpoint_behind_a_node_is_still_one(answer: str) -> None:
    stopping = Stopping("first", "slow", "last", interrupt_after=["slow"])
    (one,) = await stopping.client.ask(user("hi", "u1"))
    assert one.metadata == {"next": ["last"]}
    assert [again.id for again in asked(await stopping.client.connect())] == [one.id]
    assert ending(await stopping.client.send("hello")) == "interrupt_unanswered"
    yes = answer == "approved"
    recorded = await stopping.client.send(
        resume=resolved((one.id, True)) if yes else cancelled(one.id)
    )
    assert ending(recorded) == ("success" if yes else "cancelled")
    assert stopping.done == ["first", "slow", *(["last"] if yes else [])]

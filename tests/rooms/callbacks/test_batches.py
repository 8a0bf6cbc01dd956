"""Many runs through one handler at once: their streams come one after the other, each whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable

from langgraph_agui import AGUICallbackHandler
from tests.kit.models.scripted import Piece, Scripted
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.handlers import ReceivedEvents, checked, contents, deltas, into_client, runs_of

EIGHT = [str(number) for number in range(8)]


def echoing() -> Scripted:
    """Answers "<question>a <question>b"; the smaller the question, the longer it takes."""

    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        asked = messages[-1].text
        return [0.002 * (8 - int(asked)), f"{asked}a ", 0.002 * (8 - int(asked)), f"{asked}b"]

    return Scripted(script=script)


def bare() -> tuple[Runnable[Any, Any], list[Any]]:
    return echoing(), EIGHT


def chain() -> tuple[Runnable[Any, Any], list[Any]]:
    prompt = ChatPromptTemplate.from_messages([("user", "{q}")])
    return prompt | echoing() | StrOutputParser(), [{"q": asked} for asked in EIGHT]


def agent() -> tuple[Runnable[Any, Any], list[Any]]:
    return create_agent(echoing(), []), [{"messages": [("user", asked)]} for asked in EIGHT]


kinds = pytest.mark.parametrize("make", [bare, chain, agent])


async def all_by(way: str, runnable: Runnable[Any, Any], inputs: list[Any], config: Any) -> None:
    if way == "batch":
        await asyncio.to_thread(runnable.batch, inputs, config)
    else:
        await runnable.abatch(inputs, config)


@kinds
@pytest.mark.parametrize("way", ["batch", "abatch"])
@pytest.mark.parametrize("at_once", [None, 2])
async def test_each_run_is_told_whole(
    make: Any, way: str, at_once: int | None, node_client: NodeClient
) -> None:
    received = ReceivedEvents()
    runnable, inputs = make()
    await all_by(way, runnable, inputs, {**received.config, "max_concurrency": at_once})
    messages = received.check()
    runs = runs_of(received.events)
    assert len(runs) == 8
    asked = [deltas(run)[0][0] for run in runs]
    assert sorted(asked) == EIGHT
    assert [deltas(run) for run in runs] == [[f"{one}a ", f"{one}b"] for one in asked]
    assert contents(messages) == [f"{one}a {one}b" for one in asked]
    assert len({run[0].run_id for run in runs}) == 8  # type: ignore[union-attr]
    held = into_client(node_client, received.events).messages
    assert [(message["id"], message["content"]) for message in held] == [
        (message.id, message.content) for message in messages
    ]


async def test_runs_are_told_in_the_order_in_which_they_began() -> None:
    received = ReceivedEvents()
    await echoing().abatch(EIGHT, received.config)
    assert contents(received.check()) == [f"{one}a {one}b" for one in EIGHT]


async def test_the_first_run_is_told_while_the_others_wait() -> None:
    """Only what cannot be told yet is held back."""
    received, model = ReceivedEvents(), Scripted(["a", 0.5, "b"])
    first = asyncio.create_task(model.ainvoke("hi", received.config))
    await model.hung.wait()
    assert deltas(received.events) == ["a"]
    await Scripted(["c"]).ainvoke("hi", received.config)
    assert deltas(received.events) == ["a"]
    await first
    assert deltas(received.events) == ["a", "b", "c"]
    assert contents(received.check()) == ["ab", "c"]


async def test_a_run_that_fails_is_one_of_the_batch() -> None:
    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        asked = messages[-1].text
        return [asked, RuntimeError("CANARY")] if asked == "1" else [asked]

    received = ReceivedEvents()
    got = await Scripted(script=script).abatch(EIGHT[:3], received.config, return_exceptions=True)
    assert [isinstance(one, RuntimeError) for one in got] == [False, True, False]
    assert contents(received.check()) == ["0", "1", "2"]
    ends = [run[-1].type.value for run in runs_of(received.events)]
    assert ends == ["RUN_FINISHED", "RUN_ERROR", "RUN_FINISHED"]
    assert "CANARY" not in "".join(event.model_dump_json() for event in received.events)


class ReaderError(Exception):
    """What an `on_event` raises."""


class Picky:
    """An `on_event` that raises at the first event of a type in one of the runs."""

    def __init__(self, type_: str, run: int) -> None:
        self.events: list[Event] = []
        self.error = ReaderError()
        self._type, self._run = type_, run
        self._seen = 0

    def __call__(self, event: Event) -> None:
        self._seen += event.type.value == "RUN_STARTED"
        self.events.append(event)
        if (self._seen, event.type.value) == (self._run, self._type):
            raise self.error


@pytest.mark.parametrize(
    "make", [bare, agent]
)  # a sequence starts and ends all runs of a batch outside of them
@pytest.mark.parametrize("way", ["batch", "abatch"])
@pytest.mark.parametrize("type_", ["RUN_STARTED", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"])
async def test_what_on_event_raises_is_raised_by_that_run(make: Any, way: str, type_: str) -> None:
    picky = Picky(type_, run=2)
    runnable, inputs = make()
    config: Any = {"callbacks": [AGUICallbackHandler(picky, thread_id="t")], "max_concurrency": 1}
    if way == "batch":
        got = await asyncio.to_thread(runnable.batch, inputs[:3], config, return_exceptions=True)
    else:
        got = await runnable.abatch(inputs[:3], config, return_exceptions=True)
    assert [one is picky.error for one in got] == [False, True, False]
    first, second, third = runs_of(picky.events)
    assert second[-1].type.value == type_  # nothing more was told of it
    assert contents(checked(first)) == ["0a 0b"]
    assert contents(checked(third)) == ["2a 2b"]


@kinds
async def test_runs_behind_one_whose_reader_failed_are_told(make: Any) -> None:
    picky = Picky("TEXT_MESSAGE_CONTENT", run=1)
    runnable, inputs = make()
    config: Any = {"callbacks": [AGUICallbackHandler(picky, thread_id="t")]}
    got = await runnable.abatch(inputs[:4], config, return_exceptions=True)
    assert [one is picky.error for one in got] == [True, False, False, False]
    failed, *others = runs_of(picky.events)
    assert failed[-1].type.value == "TEXT_MESSAGE_CONTENT"
    assert [contents(checked(run)) for run in others] == [["1a 1b"], ["2a 2b"], ["3a 3b"]]

"""Mistakes that users make: each is made, and the whole text of what it gets is compared."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, redirect_stdout
from functools import partial, wraps
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Annotated, Any, cast

import httpx
import httpx2
import langgraph.types
import pytest
from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

import langgraph_agui
from langgraph_agui import compat
from langgraph_agui.client import AGUIClient, AGUISession, RemoteAgent
from langgraph_agui.devtools import playground_router
from langgraph_agui.workers import RedisRunStore
from tests.contracts.optional_packages.test_missing_extras import run_without
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import run_input

PAGE = Path(__file__).with_name("mistakes.md")
WRITTEN = re.compile(
    r"^(.+):\n\n<!-- run by tests/faults/test_mistakes\.py -->\n"
    r"```python\n((?:.*\n)+?)```\n\n((?:    .*\n|\n(?=    ))+)",
    re.MULTILINE,
)
# The mistakes of each part of the page: a title, a program that makes it, and what that prints, logs
# or raises.
PARTS = {
    part.partition("\n")[0]: [
        pytest.param(program.strip(), dedent(answer).strip(), id=title)
        for title, program, answer in WRITTEN.findall(part)
    ]
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]
}
EXTRAS = PARTS.pop("Extras")


def test_each_mistake_is_in_the_form_of_the_page() -> None:
    programs = PAGE.read_text("utf-8").count("```python")
    assert sum(map(len, [*PARTS.values(), EXTRAS])) == programs


class Notes(AgentState[Any]):
    notes: str


def pay(euros: int) -> None:
    """Pay."""


def confirm(question: str) -> str:
    """Ask the user."""
    return str(interrupt(question))


def current_user() -> str:
    return "Ada"


def ask(state: MessagesState) -> None:
    interrupt("Really?")


def make_graph() -> Any:
    return chain_of(ask, state=MessagesState)


async def make_graph_later() -> Any:
    return make_graph()


def names() -> dict[str, Any]:
    """What the programs use."""
    builder = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask")

    class WithNotes(MessagesState):
        notes: str

    app = FastAPI()
    used: list[Any] = [
        *(AgentState, AGUIClient, AGUISession, HumanInTheLoopMiddleware, InMemorySaver, Notes),
        *(MessagesState, PostgresSaver, RemoteAgent, RunAgentInput, SqliteSaver, confirm, pay),
        *(create_agent, current_user, make_graph, make_graph_later, playground_router),
    ]
    return {
        **{one.__name__: one for one in used},
        **{name: getattr(langgraph_agui, name) for name in dir(langgraph_agui)},
        "app": app,
        "builder": builder,
        "client": httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://agent"),
        "connection": None,
        "graph": make_graph(),
        "httpx": httpx,
        "model": Scripted(["Hello"]),
        "notes": chain_of(ask, state=WithNotes),
        "run_input": run_input("Hello"),
        "store": RedisRunStore("redis://localhost"),
    }


@pytest.mark.filterwarnings("ignore:coroutine 'make_graph_later' was never awaited")
@pytest.mark.parametrize(("program", "answer"), [one for part in PARTS.values() for one in part])
async def test_a_mistake_says_what_to_do(
    program: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = ""
    with redirect_stdout(StringIO()) as printed:
        try:
            code = compile(program, "mistake", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, names())
            if inspect.iscoroutine(result):
                await result
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    assert (found or printed.getvalue().strip()) == answer


BLOCKED = [
    *("fastapi", "starlette", "uvicorn", "httpx2", "typer", "rich", "langchain", "cryptography"),
    *("jsonschema", "ag_ui_a2ui_toolkit"),
]
STARS = """
from langgraph_agui import *
from langgraph_agui.client import *
"""
EXTRA_NAMES = ("AGUIClient", "AGUIMiddleware", "agui_router")


def test_without_extras_they_are_named_and_stars_leave_them_out() -> None:
    code = f"""
from langgraph_agui.devtools.cli import main
from langgraph_agui.protocol.response_schema import check_schema
{STARS}
found = []
modules = [f"import langgraph_agui.{{name}}" for name in ("fastapi", "fastapi.router", "middleware")]
for program in {[one.values[0] for one in EXTRAS]!r} + modules:
    try:
        exec(program)
        found.append("nothing")
    except BaseException as error:
        found.append(f"{{type(error).__name__}}: {{error}}")
print(json.dumps([found, [*globals()]]))
"""
    found, imported = cast("list[list[str]]", run_without(BLOCKED, code))
    needed = [("fastapi", "fastapi"), ("fastapi", "fastapi"), ("langchain", "middleware")]
    remedy = 'ModuleNotFoundError: {} is missing: pip install "langgraph-agui[{}]"'
    assert found == [one.values[1] for one in EXTRAS] + [remedy.format(*one) for one in needed]
    assert {"LangGraphAgent", "MessageChunks", "ReasoningSeal"} <= set(imported)
    assert not set(imported).intersection(EXTRA_NAMES)
    with_extras: dict[str, object] = {}
    exec(STARS, with_extras)
    assert {"LangGraphAgent", "MessageChunks", *EXTRA_NAMES} <= with_extras.keys()


def test_names_for_migration_are_imported_by_name_only() -> None:
    names = set(dir(compat))
    assert not names & {*dir(langgraph_agui), *langgraph_agui.__all__}
    assert all(getattr(langgraph_agui, name) is getattr(compat, name) for name in names)


@pytest.mark.parametrize("late", [False, True])
def test_approvals_need_their_checkpointer_when_the_application_starts(late: bool) -> None:
    guard = HumanInTheLoopMiddleware({"pay": True})
    graph = create_agent(names()["model"], [pay], middleware=[guard])

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        graph.checkpointer = InMemorySaver() if late else None
        yield

    app = FastAPI(lifespan=lifespan)
    agent = langgraph_agui.LangGraphAgent(graph)
    langgraph_agui.add_langgraph_fastapi_endpoint(app, agent, "/agent")
    with (
        nullcontext() if late else pytest.raises(ValueError, match="compile it with one"),
        TestClient(app) as client,
    ):
        assert client.get("/agent/ready").status_code == 200


def module_name(question: str) -> str:
    """Ask."""
    return str(langgraph.types.interrupt(question))


async def awaited(question: str) -> str:
    """Ask."""
    from langgraph.types import interrupt as asked

    def inner() -> str:
        return str(asked(question))

    return inner()


def closure(ask: Any) -> Any:
    def closed(question: str) -> str:
        """Ask."""
        return str(ask(question))

    return closed


wrapped: Any = wraps(confirm)(lambda question: confirm(question))


SIGNAL: Any = SimpleNamespace(interrupt=str)


def own_method(question: str) -> str:
    """Answer."""
    from langgraph.types import Command

    return str(SIGNAL.interrupt(Command[Any](resume=question)))


def own_words(question: str) -> str:
    """Answer."""
    interrupt = str
    return interrupt(question)


def problem_of(graph: Any) -> str | None:
    return langgraph_agui.LangGraphAgent(graph)._context.graph.checkpointer_problem()


@pytest.mark.parametrize("function", [module_name, awaited, closure(interrupt), wrapped])
def test_each_way_to_write_interrupt_is_found(function: Any) -> None:
    agent, found = create_agent(names()["model"], [function]), "interrupt() in the {} '{}'"
    assert found.format("tool", function.__name__) in str(problem_of(agent))
    for node in (function, partial(function, question="Sure?")):
        builder = StateGraph(MessagesState).add_node("step", node).add_edge(START, "step")
        assert found.format("node", "step") in str(problem_of(builder.compile()))
    around = chain_of(agent, state=MessagesState)
    assert found.format("tool", function.__name__) in str(problem_of(around))
    around = chain_of(agent, state=MessagesState, checkpointer=InMemorySaver())
    assert problem_of(around) is None


class MayAsk(AgentMiddleware[Any, Any, Any]):
    def after_model(self, state: Any, runtime: Any) -> None:
        if state.get("risky"):
            interrupt("Really?")


class DecidesItself(HumanInTheLoopMiddleware):
    def after_model(self, state: Any, runtime: Any) -> None:
        """Approve."""


def test_what_may_never_ask_needs_no_checkpointer() -> None:
    model = names()["model"]
    guards: list[Any] = [
        *(MayAsk(), DecidesItself({"pay": True})),
        *(HumanInTheLoopMiddleware(on) for on in ({"pay": False}, {})),
    ]
    guarded = create_agent(model, [pay], middleware=[HumanInTheLoopMiddleware({"pay": True})])

    def delegate(task: str) -> str:
        """Delegate."""
        return str(guarded.invoke({"messages": [("user", task)]}))

    inner = create_agent(model, [confirm], checkpointer=InMemorySaver())
    for graph in (
        *(create_agent(model, [pay], middleware=[guard]) for guard in guards),
        create_agent(model, [delegate]),
        create_agent(model, [own_words, own_method, closure(str)]),
        chain_of(inner, state=MessagesState),
    ):
        assert problem_of(graph) is None


def test_a_key_of_messages_is_named_if_it_was_probably_meant(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Talk(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]

    graph = chain_of(ask, state=Talk)
    langgraph_agui.LangGraphAgent(graph)
    assert caplog.messages[0].endswith(
        "If they belong in 'talk', write LangGraphAgent(graph, messages_key='talk')."
    )
    caplog.clear()
    langgraph_agui.LangGraphAgent(graph, messages_key="talk")
    assert caplog.messages == []


def test_a_saver_of_ones_own_is_judged_by_its_methods() -> None:
    class Own(SqliteSaver):
        async def aget_tuple(self, config: Any) -> Any:
            return self.get_tuple(config)

    class Wrapper(BaseCheckpointSaver[str]):
        def __getattribute__(self, name: str) -> Any:
            return getattr(saver, name) if name != "__class__" else Wrapper

    class Poor(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise NotImplementedError

    builder, saver = names()["builder"], InMemorySaver()
    langgraph_agui.LangGraphAgent(builder.compile(checkpointer=Own(sqlite3.connect(":memory:"))))
    langgraph_agui.LangGraphAgent(builder.compile(checkpointer=Wrapper()))
    text = "Poor is synchronous, and runs are not: use an asynchronous one"
    with pytest.raises(TypeError, match=text):
        langgraph_agui.LangGraphAgent(builder.compile(checkpointer=Poor()))


def test_json() -> None:
    sent = [{"id": "1", "role": "user", "content": "Hello"}]
    for text in (json.dumps(sent), json.dumps(sent).encode(), json.dumps({"messages": sent})):
        assert [one.content for one in langgraph_agui.agui_messages_to_langchain(text)] == ["Hello"]

"""Uses one extra, named on the command line, in an environment that has nothing else."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions, version
from pathlib import Path
from threading import Thread
from typing import Any

from ag_ui.core import ResumeEntry, RunAgentInput, Tool, UserMessage
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

import langgraph_agui
from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import decode, fold, verify
from langgraph_agui.testing import ScriptedChatModel, record_run

bound: list[str] = []


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: list, **kwargs: object) -> "Model":
        bound.extend(getattr(tool, "name", None) or tool["function"]["name"] for tool in tools)
        return self


def saying(*messages: AIMessage | str) -> Model:
    made = [AIMessage(one) if isinstance(one, str) else one for one in messages]
    return Model(messages=iter(made), disable_streaming=True)


def calling(name: str, **args: object) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id="c", type="tool_call")])


def graph_of(node: Any, state: Any = MessagesState, checkpointer: Any = None) -> Any:
    builder = StateGraph(state).add_node("node", node).add_edge(START, "node")
    return builder.compile(checkpointer=checkpointer)


def talker(model: Any) -> Any:
    async def node(state: MessagesState) -> MessagesState:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return graph_of(node)


def given(run: str = "r", **fields: Any) -> RunAgentInput:
    ids = {"protocol_version": "1.0", "thread_id": "t", "run_id": run}
    return RunAgentInput(**ids, **{"messages": [UserMessage(id=run, content="Hello")], **fields})


async def events_of(agent: Any, run: str = "r", **fields: Any) -> list:
    return verify([event async for event in agent.run(given(run, **fields))], strict=True)


def said(events: Any) -> list:
    """What the client holds in the end."""
    return fold(events, given().messages).messages


async def core() -> None:
    """Run a graph on a scripted model, verify its stream, and convert its history."""
    model = ScriptedChatModel("Hello you.", "Hello again.", "Hello at last.")
    agent, asked = LangGraphAgent(talker(model)), given()
    held = said(await events_of(agent))
    assert [message.content for message in held] == ["Hello", "Hello you."], held
    converted = langgraph_agui.agui_messages_to_langchain(held)
    assert langgraph_agui.langchain_messages_to_agui(converted) == held
    frames = [frames async for frames in agent.stream_sse(asked)]
    assert said(verify(decode(frames)))[-1].content == "Hello again."
    assert (await record_run(agent, "Hello")).text == "Hello at last."


async def fastapi() -> None:
    """The routes answer, and the playground's page is there; no server and no HTTP client is
    needed."""
    from fastapi import FastAPI

    from langgraph_agui import add_langgraph_fastapi_endpoint
    from langgraph_agui.devtools.playground import playground_router

    app = FastAPI()
    agent = LangGraphAgent(talker(ScriptedChatModel("Hello you.")))
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    app.include_router(playground_router("/agent"))

    async def ask(method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Call the application as a server does."""
        requests = iter([{"type": "http.request", "body": body, "more_body": False}])
        sent: list[dict] = []

        async def receive() -> dict:
            return next(requests, None) or await asyncio.Future()  # the client stays

        async def send(message: dict) -> None:
            sent.append(message)

        headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "path": path}
        scope |= {"method": method, "raw_path": path.encode(), "root_path": "", "scheme": "http"}
        scope |= {"query_string": b"", "headers": headers, "server": ("localhost", 80)}
        await app({**scope, "client": ("127.0.0.1", 1)}, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    status, body = await ask("POST", "/agent", given().model_dump_json(by_alias=True).encode())
    assert status == 200, body
    assert said(verify(decode([body])))[-1].content == "Hello you.", body
    for path, mark in (("/", b"<title>"), ("/playground/app.js", b"import")):
        status, page = await ask("GET", path)
        assert (status, mark in page) == (200, True), page
    assert (await ask("POST", "/agent", b"{}"))[0] == 422


async def middleware() -> None:
    """An agent of `create_agent` calls a tool of the client's."""
    from langchain.agents import create_agent

    model = saying(calling("show", what="map"))
    graph = create_agent(model, middleware=[langgraph_agui.AGUIMiddleware()])
    parameters = {"type": "object", "properties": {}}
    tool = Tool(name="show", description="Show it.", parameters=parameters)
    last = (await events_of(LangGraphAgent(graph), tools=[tool]))[-1]
    assert (bound, last.outcome.pending_tool_call_ids) == (["show"], ["c"]), last


async def client() -> None:
    """The client reads an agent of this library, which the standard library's server serves."""
    from langgraph_agui.client import AGUIChatModel, AGUISession

    agent = LangGraphAgent(talker(saying("Hello you.", "Hello again.")))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None: ...

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["content-length"]))

            async def stream() -> bytes:
                run_input = RunAgentInput.model_validate_json(asked)
                return b"".join([frames async for frames in agent.stream_sse(run_input)])

            body = asyncio.run(stream())
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    session = AGUISession(url)
    types = [event.type.value async for event in session.send("Hello")]
    assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED"), types
    assert session.messages[-1].content == "Hello you."
    assert (await AGUIChatModel(url=url).ainvoke("Hello")).text == "Hello again."
    server.shutdown()


async def seal() -> None:
    """Reasoning is sealed for the client, comes back whole, and not into another thread."""
    from langgraph_agui import ReasoningOptions, ReasoningSeal, agui_messages_to_langchain

    key = ReasoningSeal.new_key()
    options = ReasoningOptions(visibility="hidden", seal=ReasoningSeal(keys=[key]))
    thought = {"type": "thinking", "thinking": "A secret thought.", "signature": "c2ln"}
    blocks = [thought, {"type": "text", "text": "Yes."}]
    message = AIMessage(blocks, id="m", response_metadata={"model_provider": "anthropic"})
    held = langgraph_agui.langchain_messages_to_agui([message], reasoning=options, thread_id="t")
    wire = json.dumps([message.model_dump(mode="json", by_alias=True) for message in held])
    assert ("secret" in wire, "c2ln" in wire) == (False, False)
    back, other = (
        agui_messages_to_langchain(held, reasoning=options, thread_id=thread)
        for thread in ("t", "other")
    )
    assert (back[0].content, "secret" in str(other)) == (blocks, False)


async def interrupts() -> None:
    """Answers to an interrupt are checked by its response schema."""
    schema = {"type": "integer", "minimum": 0}

    def ask(state: MessagesState) -> MessagesState:
        age = interrupt({"message": "How old?", "responseSchema": schema})
        return {"messages": [("ai", f"{age}")]}

    agent = LangGraphAgent(graph_of(ask, checkpointer=InMemorySaver()))
    [question] = (await events_of(agent))[-1].outcome.interrupts

    async def answered(payload: int) -> list:
        answer = ResumeEntry(interrupt_id=question.id, status="resolved", payload=payload)
        return await events_of(agent, resume=[answer])

    refused = (await answered(-1))[-1]
    assert refused.code == "interrupt_invalid", refused
    assert said(await answered(36))[-1].content == "36"


async def a2ui() -> None:
    """A model designs a surface inside a tool."""
    from langchain.agents import create_agent

    from langgraph_agui import A2UI_OPERATIONS_KEY, get_a2ui_tools

    root = {"id": "root", "component": "Text", "text": "Hello"}
    designer = saying(calling("render_a2ui", surfaceId="s1", components=[root]))
    model = saying(calling("generate_a2ui", intent="create"), "Here it is.")
    agent = LangGraphAgent(create_agent(model, [get_a2ui_tools({"model": designer})]))
    *_, result, answer = said(await events_of(agent))
    assert A2UI_OPERATIONS_KEY in result.content, result
    assert answer.content == "Here it is."


def waiter() -> tuple[asyncio.Event, asyncio.Event, Any]:
    """A node that waits, with what tells that it does and what ends that."""
    entered, leave = asyncio.Event(), asyncio.Event()

    async def wait(state: MessagesState) -> MessagesState:
        entered.set()
        await leave.wait()
        return {"messages": [("ai", "Hello you.")]}

    return entered, leave, wait


async def postgres(dsn: str) -> None:
    """Two agents, as two workers have them, share a thread in Postgres: one run at a time."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg_pool import AsyncConnectionPool

    entered, leave, wait = waiter()
    options = {"autocommit": True, "prepare_threshold": 0}
    async with AsyncExitStack() as stack:
        made = (AsyncConnectionPool(dsn, min_size=1, kwargs=options, open=False) for _ in "ab")
        savers = [AsyncPostgresSaver(await stack.enter_async_context(pool)) for pool in made]
        await savers[0].setup()
        first, second = (LangGraphAgent(graph_of(wait, checkpointer=one)) for one in savers)
        running = asyncio.create_task(events_of(first, "r1"))
        await entered.wait()
        refused = (await events_of(second, "r2"))[-1]
        assert refused.code == "thread_busy", refused
        leave.set()
        assert {one.content for one in fold(await running).messages} == {"Hello", "Hello you."}
        assert (await events_of(second, "r3"))[-1].type.value == "RUN_FINISHED"


async def redis(url: str) -> None:
    """Two agents, as two workers have them, share their runs in Redis: one follows and stops a run
    of the other."""
    from langgraph_agui.workers import RedisRunStore

    entered, _, wait = waiter()
    async with RedisRunStore(url) as one, RedisRunStore(url) as other:
        graph = graph_of(wait, checkpointer=InMemorySaver())
        first, second = (LangGraphAgent(graph, name="a", run_store=store) for store in (one, other))
        running = asyncio.create_task(events_of(first, "r1"))
        await entered.wait()
        was_cancelled, followed = False, []
        while not was_cancelled:  # the store may not have the run yet
            followed = []
            async for event in second.connect(given("r2")):
                followed.append(event)
                if event.type.value == "STEP_STARTED":
                    was_cancelled = await second.cancel("t", "r1")
        for events in (verify(followed, strict=True), await running):
            assert events[-1].outcome.type == "cancelled", events[-1]


async def telemetry() -> None:
    """The API alone: a run begins its span with the provider of the application."""
    from opentelemetry import trace

    begun = []

    class Tracer(trace.NoOpTracer):
        def start_span(self, name: str, *args: Any, **options: Any) -> trace.Span:
            begun.append(name)
            return super().start_span(name, *args, **options)

    class Provider(trace.NoOpTracerProvider):
        def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
            return Tracer()

    trace.set_tracer_provider(Provider())
    agent = LangGraphAgent(talker(ScriptedChatModel("Hello you.")), name="assistant")
    assert (await events_of(agent))[-1].type == "RUN_FINISHED"
    assert begun == ["invoke_agent assistant"], begun


async def cli() -> None:
    """The command serves an agent and talks to it."""
    from typer.testing import CliRunner

    from langgraph_agui.devtools.cli.app import app

    for words in ([], ["serve"], ["chat"], ["demo"], ["doctor"]):
        assert "Usage" in CliRunner().invoke(app, [*words, "--help"]).output
    process = await asyncio.create_subprocess_exec(
        *(Path(sys.executable).with_name("langgraph-agui"), "demo", "--port", "0", "--ask", "Hi"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    seen = ""
    while "tokens: " not in seen:
        line = await process.stdout.readline()
        assert line, seen
        seen += line.decode()
    process.terminate()
    await process.wait()


def playground() -> None:
    from langgraph_agui.devtools.playground import playground_router  # noqa: F401


def checked() -> None:
    from langgraph_agui.protocol.response_schema import check_schema

    check_schema(1, {"type": "integer"}, "a question")


def command() -> None:
    from langgraph_agui.devtools import cli

    sys.argv[1:] = ["--help"]
    try:
        cli.main()
    except SystemExit as error:
        if error.code:
            raise ImportError(error.code) from error


def imported(module: str, *names: str) -> Callable[[], object]:
    return lambda: exec(f"from langgraph_agui{module} import {', '.join(names)}")


def each() -> None:
    """Print what is installed; and for each extra, null if what it is for can be used, else the
    error. The version is that of the distribution, and a star import brings what can be
    imported."""
    found: dict[str, object] = {}
    exec("from langgraph_agui import *", found)
    assert {"LangGraphAgent", "ReasoningOptions", "agui_messages_to_langchain"} <= set(found)
    assert langgraph_agui.__version__ == version("langgraph-agui"), langgraph_agui.__version__
    uses: dict[str, list[Callable[[], object]]] = {
        "fastapi": [imported("", "agui_router"), playground],
        "client": [imported(".client", "AGUIClient")],
        "middleware": [imported("", "AGUIMiddleware", "StateStreamingMiddleware")],
        "seal": [lambda: langgraph_agui.ReasoningSeal([langgraph_agui.ReasoningSeal.new_key()])],
        "interrupts": [checked],
        "a2ui": [imported("", "get_a2ui_tools")],
        "postgres": [imported(".workers", "PostgresRunStore")],
        "redis": [imported(".workers", "RedisRunStore")],
        "cli": [command],
    }

    def error_of(use: Callable[[], object]) -> str | None:
        try:
            use()
        except ImportError as error:
            return f"{error}"
        return None

    errors = {extra: [error_of(use) for use in some] for extra, some in uses.items()}
    installed = [one.metadata["Name"].lower().replace("_", "-") for one in distributions()]
    print(f"\n{json.dumps([installed, errors])}")


if __name__ == "__main__":
    name, *words = sys.argv[1:]
    made = globals()[name](*words)
    if made is not None:
        asyncio.run(made)

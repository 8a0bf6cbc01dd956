"""`python -m tests.faults.mistakes`: write tests/faults/mistakes.md, the mistakes that are reported
early."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import NamedTuple

PAGE = Path(__file__).with_suffix(".md")


class Mistake(NamedTuple):
    """A mistake: its name, a program that makes it, and what that prints, logs or raises."""

    title: str
    program: str
    answer: str


GRAPHS = [
    Mistake(
        "A graph that is not compiled",
        "LangGraphAgent(builder)",
        "TypeError: This StateGraph is not compiled. Write LangGraphAgent(graph.compile()).",
    ),
    Mistake(
        "A model or a chain as a graph",
        "LangGraphAgent(model)",
        "TypeError: LangGraphAgent takes a compiled graph or a RemoteGraph, not Scripted. "
        "Serve any other Runnable with astream_agui or AGUICallbackHandler.",
    ),
    Mistake(
        "A function that makes a graph",
        "LangGraphAgent(make_graph)",
        "TypeError: Give the graph, not a function: LangGraphAgent(make_graph()).",
    ),
    Mistake(
        "A graph that is made asynchronously",
        "LangGraphAgent(make_graph_later())",
        "TypeError: The graph is still to be awaited: LangGraphAgent(await ...).",
    ),
    Mistake(
        "A graph as an agent",
        "add_langgraph_fastapi_endpoint(app, graph)",
        "TypeError: This is a graph. Serve an agent: LangGraphAgent(graph).",
    ),
    Mistake(
        "Agent and application in the wrong order",
        "add_langgraph_fastapi_endpoint(LangGraphAgent(graph), app)",
        "TypeError: app must be FastAPI or APIRouter, not LangGraphAgent: write app=FastAPI(...)",
    ),
    Mistake(
        "An agent instead of its path",
        "playground_router(LangGraphAgent(graph))",
        "TypeError: agent_path must be the path of the agent, such as '/agent', not LangGraphAgent",
    ),
    Mistake(
        "Something else as an agent",
        "agui_router(model)",
        "TypeError: An agent has a method run(input), like LangGraphAgent(graph); Scripted has none.",
    ),
]

CHECKPOINTERS = [
    Mistake(
        "A synchronous checkpointer on SQLite",
        'with SqliteSaver.from_conn_string("threads.sqlite") as saver:\n'
        "    LangGraphAgent(builder.compile(checkpointer=saver))",
        "TypeError: The checkpointer SqliteSaver is synchronous, and runs are not: "
        "use AsyncSqliteSaver of langgraph.checkpoint.sqlite.aio.",
    ),
    Mistake(
        "A synchronous checkpointer on Postgres",
        "LangGraphAgent(builder.compile(checkpointer=PostgresSaver(connection)))",
        "TypeError: The checkpointer PostgresSaver is synchronous, and runs are not: "
        "use AsyncPostgresSaver of langgraph.checkpoint.postgres.aio.",
    ),
    Mistake(
        "Approvals without a checkpointer",
        'approvals = HumanInTheLoopMiddleware({"pay": True})\n'
        "agent = LangGraphAgent(create_agent(model, [pay], middleware=[approvals]))\n"
        "async with agent.serving():  # routes do this when the application starts\n"
        "    ...",
        "ValueError: The graph pauses by HumanInTheLoopMiddleware, so it needs a checkpointer "
        "that keeps the thread: "
        "compile it with one, such as checkpointer=InMemorySaver().",
    ),
    Mistake(
        "The checkpointer of a subgraph",
        "agent = LangGraphAgent(builder.compile(checkpointer=True))\n"
        "async with agent.serving():\n"
        "    ...",
        "ValueError: checkpointer=True takes the checkpointer of a graph around this one, and "
        "there is none: compile it with its own, such as checkpointer=InMemorySaver(), or with "
        "none.",
    ),
    Mistake(
        "A tool that calls `interrupt`",
        "agent = LangGraphAgent(create_agent(model, [confirm]))\n"
        "async with agent.serving():\n"
        "    ...",
        "ValueError: The graph pauses by interrupt() in the tool 'confirm', so it needs a "
        "checkpointer that keeps the thread: "
        "compile it with one, such as checkpointer=InMemorySaver().",
    ),
    Mistake(
        "A node that calls `interrupt`",
        "agent = LangGraphAgent(graph)\nasync with agent.serving():\n    ...",
        "ValueError: The graph pauses by interrupt() in the node 'ask', so it needs a "
        "checkpointer that keeps the thread: "
        "compile it with one, such as checkpointer=InMemorySaver().",
    ),
    Mistake(
        "Breakpoints without a checkpointer",
        'agent = LangGraphAgent(builder.compile(interrupt_before=["ask"]))\nasync with '
        "agent.serving():\n    ...",
        "ValueError: The graph pauses by interrupt_before or interrupt_after, so it needs a "
        "checkpointer that keeps "
        "the thread: compile it with one, such as checkpointer=InMemorySaver().",
    ),
    Mistake(
        "The same without an application around it, which shows only in the run",
        "async for event in LangGraphAgent(graph).run(run_input):\n"
        '    if event.type == "RUN_ERROR":\n'
        "        print(event.code, event.message)",
        "no_checkpointer The agent cannot ask: its graph needs a checkpointer, such as InMemorySaver().",
    ),
]

OPTIONS = [
    Mistake(
        "A dict instead of options",
        'LangGraphAgent(graph, reasoning={"visibility": "hidden"})',
        "TypeError: reasoning must be ReasoningOptions, not dict: write "
        "reasoning=ReasoningOptions(visibility=...)",
    ),
    Mistake(
        "The same for the state",
        'LangGraphAgent(graph, state={"exclude": ["notes"]})',
        "TypeError: state must be StateOptions, not dict: write state=StateOptions(exclude=...)",
    ),
    Mistake(
        "The same for the limits: those of requests are a group of their own",
        'LangGraphAgent(graph, limits={"max_bytes": 1_000_000})',
        "TypeError: limits must be RunLimits, not dict: write "
        "limits=RunLimits(input=InputLimits(max_bytes=...))",
    ),
    Mistake(
        "The same inside a group",
        'LangGraphAgent(graph, limits=RunLimits(input={"max_bytes": 1_000_000}))',
        "TypeError: RunLimits.input must be InputLimits, not dict: write "
        "RunLimits(input=InputLimits(max_bytes=...))",
    ),
    Mistake(
        "The same for a client",
        'AGUIClient("http://localhost:8000/agent", limits={"max_bytes": 1_000_000})',
        "TypeError: limits must be ClientLimits, not dict: write "
        "limits=ClientLimits(max_bytes=...)",
    ),
    Mistake(
        "The same for callbacks",
        'AGUICallbackHandler(print, reasoning={"visibility": "hidden"})',
        "TypeError: reasoning must be ReasoningOptions, not dict: write "
        "reasoning=ReasoningOptions(visibility=...)",
    ),
    Mistake(
        "The class instead of an object",
        "LangGraphAgent(graph, limits=RunLimits)",
        "TypeError: limits must be RunLimits, not the class RunLimits: write limits=RunLimits(...)",
    ),
    Mistake(
        "An address instead of a run store",
        'LangGraphAgent(graph, run_store="redis://localhost")',
        "TypeError: run_store must be RunStore, not str: write run_store=RedisRunStore(url)",
    ),
    Mistake(
        "A run store without a name",
        "LangGraphAgent(graph, run_store=store)",
        "ValueError: run_store needs the agent's name, because agents of one name share their "
        'runs: write LangGraphAgent(graph, name="support", run_store=store)',
    ),
    Mistake(
        "An agent of this process for a client",
        "AGUISession(LangGraphAgent(graph))",
        "TypeError: agent must be AGUIClient or str, not LangGraphAgent: write "
        "agent=AGUIClient(...)",
    ),
    Mistake(
        "A key instead of a list of keys, for a remote agent",
        'RemoteAgent("http://localhost:8000/agent", state="recipe")',
        "TypeError: state must be list or dict, not str: write state=['recipe']",
    ),
    Mistake(
        "A client of httpx, which is not httpx2",
        'AGUIClient("http://localhost:8000/agent", http_client=httpx.AsyncClient())',
        "TypeError: http_client must be httpx2.AsyncClient or httpx2.Client, not "
        "httpx.AsyncClient: write http_client=httpx2.AsyncClient(...)",
    ),
    Mistake(
        "A key instead of a list of keys",
        'LangGraphAgent(notes, state=StateOptions(exclude="notes"))',
        "TypeError: StateOptions.exclude must be list, not str: write "
        "StateOptions(exclude=['notes'])",
    ),
    Mistake(
        "A function instead of a dependency",
        "agui_router(LangGraphAgent(graph), dependencies=[current_user])",
        "TypeError: dependencies must be a list of Depends, not of function: write "
        "dependencies=[Depends(current_user)]",
    ),
    Mistake(
        "A text instead of a truth value, which would show secrets",
        'async for event in astream_agui(model, "Hello", run_input, expose_errors="false"):\n    ...',
        "TypeError: expose_errors must be bool, not str",
    ),
    Mistake(
        "An option of another type",
        'LangGraphAgent(graph, approvals=ApprovalOptions(timeout="1 h"))',
        "TypeError: ApprovalOptions.timeout must be float or timedelta, not str",
    ),
    Mistake(
        "True instead of a number",
        "LangGraphAgent(graph, limits=RunLimits(total=True))",
        "TypeError: RunLimits.total must be float or timedelta, not bool",
    ),
    Mistake(
        "Comments without a pause between them",
        "agui_router(LangGraphAgent(graph), keep_alive=0)",
        "ValueError: keep_alive must be more than 0, or None to turn it off, not 0",
    ),
    Mistake(
        "A schema that is no pydantic model",
        "LangGraphAgent(graph, state=StateOptions(schema=MessagesState))",
        "TypeError: StateOptions.schema must be a pydantic model, not <class "
        "'langgraph.graph.message.MessagesState'>",
    ),
    Mistake(
        "An option that there is not",
        'LangGraphAgent(graph, on_disconect="continue")',
        "TypeError: LangGraphAgent takes no option 'on_disconect': did you mean on_disconnect=...?",
    ),
    Mistake(
        "An option that belongs to a group",
        "LangGraphAgent(graph, aproval_timeout=60)",
        "TypeError: LangGraphAgent takes no option 'aproval_timeout': did you mean "
        "approvals=ApprovalOptions(timeout=...)?",
    ),
    Mistake(
        "An option that belongs to the limits of requests",
        "LangGraphAgent(graph, max_bytes=1_000_000)",
        "TypeError: LangGraphAgent takes no option 'max_bytes': did you mean "
        "limits=RunLimits(input=InputLimits(max_bytes=...))?",
    ),
    Mistake(
        "An option that belongs to the graph",
        "LangGraphAgent(builder.compile(), checkpointer=InMemorySaver())",
        "TypeError: LangGraphAgent takes no option 'checkpointer': did you mean "
        "builder.compile(checkpointer=...)?",
    ),
    Mistake(
        "An option that belongs to the configuration",
        "LangGraphAgent(graph, recursion_limit=100)",
        "TypeError: LangGraphAgent takes no option 'recursion_limit': did you mean "
        'config={"recursion_limit": ...}?',
    ),
    Mistake(
        "An option of a group that there is not",
        "LangGraphAgent(graph, limits=RunLimits(totl=60))",
        "TypeError: RunLimits takes no option 'totl': did you mean 'total'?",
    ),
    Mistake(
        "An option of the routes that there is not",
        "agui_router(LangGraphAgent(graph), keepalive=5)",
        "TypeError: agui_router takes no option 'keepalive': did you mean 'keep_alive'?",
    ),
    Mistake(
        "An option of FastAPI's routes",
        'add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph), "/a", responses={})',
        "TypeError: add_langgraph_fastapi_endpoint takes no option 'responses'",
    ),
    Mistake(
        "A misspelt key of the messages",
        'LangGraphAgent(notes, messages_key="mesages")',
        "ValueError: messages_key names keys that the graph's state does not have: mesages. Its "
        "keys are messages, notes.",
    ),
    Mistake(
        "A key of something else for the messages",
        'LangGraphAgent(notes, messages_key="notes")',
        "ValueError: messages_key names 'notes', which is not a list of messages.",
    ),
    Mistake(
        "A misspelt key of the state",
        'LangGraphAgent(notes, state=StateOptions(exclude=["note"]))',
        "ValueError: StateOptions.exclude names keys that the graph's state does not have: note. Its "
        "keys are messages, "
        "notes. List keys that the graph itself does not have in StateOptions.client_keys.",
    ),
    Mistake(
        "A prediction of a key that the state does not have",
        'LangGraphAgent(notes, state=StateOptions(predict=[PredictState("write", "note")]))',
        "ValueError: StateOptions.predict names keys that the graph's state does not have: note. Its "
        "keys are messages, "
        "notes. List keys that the graph itself does not have in StateOptions.client_keys.",
    ),
]

INPUTS = [
    Mistake(
        "A dict instead of an input",
        'async for event in LangGraphAgent(graph).run({"threadId": "t", "runId": "r"}):\n    ...',
        "TypeError: A run takes a RunAgentInput. Make one of JSON data with "
        "RunAgentInput.model_validate(...).",
    ),
    Mistake(
        "A misspelt role, which AG-UI 1.0 has ignored: a comment at the beginning of the answer "
        "says so",
        "app.include_router(agui_router(LangGraphAgent(graph)))\n"
        'message = {"id": "1", "role": "usr", "content": "Hello"}\n'
        'answer = await client.post("/", json={"threadId": "t", "runId": "r", "messages": '
        "[message]})\n"
        "print(answer.text.splitlines()[0])",
        ": ignored: unknown /messages/0 (role 'usr', not developer, system, assistant, user, "
        "tool, activity, "
        "reasoning) in RunAgentInput, removed",
    ),
    Mistake(
        "Text that is no history",
        'agui_messages_to_langchain("Hello")',
        "ValueError: Expected AG-UI messages, or a JSON list of them; this text is not JSON: "
        "Expecting value: line 1 column 1 (char 0)",
    ),
    Mistake(
        "JSON that is no history",
        'agui_messages_to_langchain(\'{"role": "user"}\')',
        "ValueError: Expected AG-UI messages, or a JSON list of them; this JSON is \"{'role': "
        "'user'}\"",
    ),
]

EXTRAS = [
    Mistake(
        "FastAPI is not installed",
        "from langgraph_agui import agui_router",
        'ModuleNotFoundError: fastapi is missing: pip install "langgraph-agui[fastapi]"',
    ),
    Mistake(
        "LangChain is not installed",
        "from langgraph_agui import AGUIMiddleware",
        'ModuleNotFoundError: langchain is missing: pip install "langgraph-agui[middleware]"',
    ),
    Mistake(
        "LangChain is not installed, for the middleware of `ag-ui-langgraph`",
        "from langgraph_agui import StateStreamingMiddleware",
        'ModuleNotFoundError: langchain is missing: pip install "langgraph-agui[middleware]"',
    ),
    Mistake(
        "LangChain is not installed, for agents whose model is a remote one",
        "from langgraph_agui.client import RemoteInterrupts",
        'ModuleNotFoundError: langchain is missing: pip install "langgraph-agui[middleware]"',
    ),
    Mistake(
        "The A2UI toolkit is not installed",
        "from langgraph_agui import get_a2ui_tools",
        'ModuleNotFoundError: ag_ui_a2ui_toolkit is missing: pip install "langgraph-agui[a2ui]"',
    ),
    Mistake(
        "httpx2 is not installed",
        "from langgraph_agui.client import AGUIClient",
        'ModuleNotFoundError: httpx2 is missing: pip install "langgraph-agui[client]"',
    ),
    Mistake(
        "cryptography is not installed",
        "ReasoningSeal(keys=[ReasoningSeal.new_key()])",
        'ImportError: cryptography is missing: pip install "langgraph-agui[seal]"',
    ),
    Mistake(
        "The package that checks answers is not installed",
        'check_schema(1, {"type": "string"}, "the answer")  # in a run that resumes',
        'ImportError: jsonschema is missing: pip install "langgraph-agui[interrupts]"',
    ),
    Mistake(
        "The command line is not installed",
        "main()  # of langgraph_agui.devtools.cli",
        'SystemExit: typer is missing: pip install "langgraph-agui[cli]"',
    ),
]

PARTS = {
    "Graphs and agents": GRAPHS,
    "Checkpointers": CHECKPOINTERS,
    "Options": OPTIONS,
    "Inputs": INPUTS,
}
PARTS["Extras"] = EXTRAS

HEAD = """# Mistakes that are reported early

Most of these are errors where the mistake is made: when the agent is made or mounted, or when the application starts.
Each text says what to do. In the programs, `builder` is a `StateGraph(MessagesState)` with a node `ask`, `graph` is
`builder.compile()`, `notes` is a graph with the keys `messages` and `notes`, `model` is a chat model, `pay` a tool,
`confirm` a tool that calls `interrupt`, `make_graph` and the async `make_graph_later` return a graph, `current_user` is
a function, `app` a FastAPI application, and `client` sends requests to it.

This page is made by `make results`; `tests/faults/test_mistakes.py` makes each of the mistakes.
"""


RUN_BY = "<!-- run by tests/faults/test_mistakes.py -->"


def page() -> str:
    """Return the page."""
    text = HEAD
    for part, mistakes in PARTS.items():
        text += f"\n## {part}\n"
        for title, program, answer in mistakes:
            text += (
                f"\n{title}:\n\n{RUN_BY}\n```python\n{program}\n```\n\n{indent(answer, '    ')}\n"
            )
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

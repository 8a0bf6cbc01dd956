"""The commands and their options. What they do is in the modules beside this one."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langgraph_agui.cli.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    name="langgraph-agui",
    help="LangChain and LangGraph on AG-UI 1.0: serve a graph, talk to an agent, examine its models, or try the demo.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Host = Annotated[str, typer.Option(help="Address to listen on; others can connect unless it is local.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
Open = Annotated[bool, typer.Option("--open", help="Open the playground in a browser.")]
Origins = Annotated[
    list[str] | None,
    typer.Option("--allow-origin", help="Let pages from this origin call the agent, e.g. http://localhost:3000."),
]


@contextmanager
def _reported() -> Iterator[None]:
    """Turn a `CommandError` into a line on stderr and its exit code."""
    try:
        yield
    except CommandError as error:
        from langgraph_agui.cli.words import printable

        typer.echo(printable(f"Error: {error}"), err=True)
        raise typer.Exit(error.code) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


@app.command("serve")
def serve_graph(
    graph: Annotated[str, typer.Argument(help="What to serve: module:name or path/to/file.py:name.")],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    open_browser: Open = False,
    allow_origin: Origins = None,
) -> None:
    """Serve your own graph over AG-UI, with a playground page.

    NAME is a compiled graph, a function without arguments that returns one, or a LangGraphAgent. Modules are
    looked up from the current directory.
    """
    from langgraph_agui.cli import loading, serve

    with _reported():
        agent = loading.load_agent(graph)
        site = serve.Site(agent, title=f"{agent.name} · AG-UI playground", origins=tuple(allow_origin or ()))
        serve.run(site, host, port, heading=f"Serving {graph}", open_browser=open_browser)


@app.command("demo")
def serve_demo(
    model: Annotated[
        str | None,
        typer.Option(help="A real model instead of the scripted one, e.g. anthropic:claude-sonnet-5."),
    ] = None,
    reasoning: Annotated[bool, typer.Option(help="Ask a real model to show its reasoning.")] = True,
    delay: Annotated[float, typer.Option(min=0, help="Seconds per token of the scripted model.")] = 0.02,
    question: Annotated[str | None, typer.Option("--ask", help="Ask this at once, in this terminal.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    open_browser: Open = False,
    allow_origin: Origins = None,
) -> None:
    """Serve a demo agent that reasons, calls tools and answers. Works offline, on a scripted model."""
    from langgraph_agui import LangGraphAgent
    from langgraph_agui.cli import demo, serve
    from langgraph_agui.cli.demo_script import SUGGESTIONS

    with _reported():
        chosen = demo.load_model(model, reasoning=reasoning) if model else None
        agent = LangGraphAgent(graph=demo.build_demo_graph(chosen, delay=delay), name="demo")
        title = "Demo agent · AG-UI playground"
        site = serve.Site(agent, title=title, suggestions=SUGGESTIONS, origins=tuple(allow_origin or ()))
        heading = f"Demo agent on {model or 'a scripted model: offline, no API key needed'}"
        serve.run(site, host, port, heading=heading, open_browser=open_browser, question=question)


@app.command(
    "doctor",
    epilog="Exit codes: 0 nothing to change, 1 a model loses reasoning, 2 the graph cannot be loaded. A class that is "
    "not known, a model that only sums up or chooses tools, and a graph without models are told but do not count.",
)
def examine_graph(
    graph: Annotated[str, typer.Argument(help="What to examine: module:name or path/to/file.py:name.")],
) -> None:
    """Check whether the models of a graph carry reasoning: out to the client, and back on the next turn.

    Nothing is run: a model that a node makes when it runs is not seen.
    Modules are looked up from the current directory.
    """
    from langgraph_agui.cli import doctor, loading

    with _reported():
        code = doctor.run(loading.load_agent(graph), graph)
    sys.exit(code)


@app.command(
    "chat",
    epilog="Exit codes: 0 finished, 1 the run failed or was cut off, 2 wrong usage, "
    "3 no AG-UI agent at URL, 4 the run waits for an answer, 130 Ctrl-C.",
)
def talk(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of an AG-UI agent.")],
    question: Annotated[str | None, typer.Argument(help="Ask this and exit; without it, converse.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", help="Header to send, e.g. 'Authorization: Bearer ...'."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the events as JSON lines instead; chunk events as what they stand for."),
    ] = False,
    tools: Annotated[
        str | None,
        typer.Option(
            help="Tools to offer the agent, which run here: module:name or path/to/file.py:name of a list of LangChain "
            "tools or functions, or of a function that returns one."
        ),
    ] = None,
    session: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Go on with a conversation that :save has kept.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with a thread that the agent has, if it can tell of it.")
    ] = None,
) -> None:
    """Talk to any AG-UI agent in the terminal.

    The command :help in the conversation lists what else there is: state, history, saving.
    """
    from langgraph_agui.cli import chat

    with _reported():
        if session is not None and thread is not None:
            raise CommandError("--session and --thread exclude each other.")
        offered = []
        if tools:
            from langgraph_agui.cli import loading

            offered = loading.load_tools(tools)
        told = header or []
        code = chat.run(url, question, headers=told, as_json=as_json, tools=offered, kept=session, thread=thread)
    sys.exit(code)

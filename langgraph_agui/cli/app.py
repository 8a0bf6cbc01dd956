"""The commands and their options. Each command imports the module that does its work only when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from langgraph_agui.cli.formatting import CommandError, ExitCode, printable

app = typer.Typer(
    name="langgraph-agui",
    help="LangChain and LangGraph on AG-UI 1.0: serve a graph, talk to an agent, examine its models, or try the demo.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Host = Annotated[str, typer.Option(help="Address to listen on. A non-local one lets other machines connect.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
ApiKey = Annotated[
    str | None,
    typer.Option(envvar="LANGGRAPH_AGUI_API_KEY", help="Key that each request must bring; a non-local host needs one."),
]
Open = Annotated[bool, typer.Option("--open", help="Open the playground in a browser.")]
Origins = Annotated[list[str] | None, typer.Option("--allow-origin", help="Let pages of this origin call the agent.")]


@contextmanager
def _errors_reported() -> Iterator[None]:
    """Turn a `CommandError` into a line on stderr and its exit code."""
    try:
        yield
    except CommandError as error:
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
    api_key: ApiKey = None,
) -> None:
    """Serve your own graph over AG-UI, with a playground page.

    NAME is a compiled graph, a function without arguments that returns one, or a LangGraphAgent. Modules are
    looked up from the current directory.
    """
    from langgraph_agui.cli import loading, serve

    with _errors_reported():
        agent = loading.load_agent(graph)
        title = f"{agent.name} · AG-UI playground"
        site = serve.build_app(agent, title, host, origins=allow_origin or (), api_key=api_key)
        serve.run(site, host, port, heading=f"Serving {graph}", open_browser=open_browser, api_key=api_key)


@app.command("demo")
def serve_demo(
    model: Annotated[str | None, typer.Option(help="A real model, e.g. anthropic:claude-sonnet-5.")] = None,
    reasoning: Annotated[bool, typer.Option(help="Ask a real model to show its reasoning.")] = True,
    delay: Annotated[float, typer.Option(min=0, help="Seconds per token of the scripted model.")] = 0.02,
    question: Annotated[str | None, typer.Option("--ask", help="Ask this at once, in this terminal.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    open_browser: Open = False,
    allow_origin: Origins = None,
    api_key: ApiKey = None,
) -> None:
    """Serve a demo agent that reasons, calls tools and answers. Works offline, on a scripted model."""
    from langgraph_agui import LangGraphAgent
    from langgraph_agui.cli import demo, loading, serve

    with _errors_reported():
        chosen = loading.load_model(model, reasoning=reasoning) if model else None
        agent = LangGraphAgent(graph=demo.build_demo_graph(chosen, delay=delay), name="demo")
        title = "Demo agent · AG-UI playground"
        site = serve.build_app(agent, title, host, demo.SUGGESTIONS, allow_origin or (), api_key)
        heading = f"Demo agent on {model or 'a scripted model: offline, no API key needed'}"
        serve.run(site, host, port, heading=heading, open_browser=open_browser, question=question, api_key=api_key)


@app.command(
    "doctor",
    epilog="Exit codes: 0 nothing to change, 1 a model loses reasoning, 2 the graph cannot be loaded. A graph without "
    "models, an unknown model class, and a model that only summarizes or chooses tools are reported but do not count.",
)
def examine_graph(
    graph: Annotated[str, typer.Argument(help="What to examine: module:name or path/to/file.py:name.")],
) -> None:
    """Check whether the models of a graph carry reasoning: out to the client, and back on the next turn.

    The graph does not run, so a model that a node creates when it runs is not found.
    Modules are looked up from the current directory.
    """
    from langgraph_agui.cli import doctor, loading

    with _errors_reported():
        raise typer.Exit(doctor.run(loading.load_agent(graph), graph))


@app.command(
    "chat",
    epilog="Exit codes: 0 finished, 1 the run failed or its stream broke off, 2 wrong usage, "
    "3 no AG-UI agent at URL, 4 the run waits for an answer, 130 Ctrl-C.",
)
def chat_with_agent(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of an AG-UI agent.")],
    question: Annotated[str | None, typer.Argument(help="Ask this and exit; without it, converse.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", "-H", help="Header to send: 'Name: value'.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print events as JSON lines, chunk events expanded.")] = False,
    tools: Annotated[str | None, typer.Option(help="Tools that run here: module:name or file.py:name.")] = None,
    session: Annotated[Path | None, typer.Option(metavar="FILE", help="Continue what :save has written.")] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="Continue a thread that the agent has.")] = None,
) -> None:
    """Talk to any AG-UI agent in the terminal.

    --tools names a list of LangChain tools or functions, or a function that returns one.
    Inside the conversation, :help lists the other commands: state, history, saving.
    """
    from langgraph_agui.cli import chat, loading

    with _errors_reported():
        if session is not None and thread is not None:
            raise CommandError("--session and --thread exclude each other.")
        offered = loading.load_tools(tools) if tools else []
        code = chat.run(url, question, header or (), offered, as_json=as_json, saved=session, thread=thread)
        raise typer.Exit(code)

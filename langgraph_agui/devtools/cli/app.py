"""The commands and their options. Each command imports the module that does its work only when it
runs.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from langgraph_agui import __version__
from langgraph_agui.devtools.cli.formatting import CommandError, ExitCode, printable


class _Commands(TyperGroup):
    """Makes the result of a command its exit code, and of a `CommandError` a line on stderr."""

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            code = super().invoke(ctx)
        except CommandError as error:
            typer.echo(printable(f"Error: {error}"), err=True)
            code = error.code
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
        raise typer.Exit(code or ExitCode.OK)


app = typer.Typer(
    name="langgraph-agui",
    cls=_Commands,
    help="LangChain and LangGraph on AG-UI 1.0: serve a graph, talk to an agent, check its "
    "streams, or try the demo.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Host = Annotated[
    str, typer.Option(help="Address to listen on. A non-local one lets other machines connect.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
ApiKey = Annotated[
    str | None,
    typer.Option(
        envvar="LANGGRAPH_AGUI_API_KEY",
        help="Key that each request must send; required on a non-local host.",
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the playground in a browser.")]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--cors",
        "--allow-origin",
        metavar="ORIGIN",
        help="Let pages of this origin call the agent; * for all.",
    ),
]
Checkpointer = Annotated[
    str | None,
    typer.Option(metavar="PLACE", help="Where threads are kept: a SQLite file, memory or none."),
]
ExposeErrors = Annotated[
    bool | None,
    typer.Option(help="Send exception texts to clients.", show_default="on a local host only"),
]
GraphSpec = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="module:name, path/to/file.py:name, path/to/file.py or langgraph.json.",
    ),
]
Headers = Annotated[
    list[str] | None, typer.Option("--header", "-H", help="Header to send: 'Name: value'.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"langgraph-agui {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print name and version."
        ),
    ] = False,
) -> None:
    """LangChain and LangGraph on AG-UI 1.0."""


@app.command("serve")
def serve_graph(
    graph: GraphSpec,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    open_browser: Open = False,
    cors: Origins = None,
    api_key: ApiKey = None,
    checkpointer: Checkpointer = None,
    expose_errors: ExposeErrors = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Load the graph again when a Python file changes.")
    ] = False,
) -> None:
    """Serve your own graphs over AG-UI, with a playground page.

    The name is that of a compiled graph, a LangGraphAgent, or a function that returns one: async
    or not, without arguments or with a configuration. Without a name, the graph named agent, graph
    or app is served, or else every graph in the file.

    Threads are kept in .langgraph-agui/threads.sqlite, unless a graph has its own checkpointer.
    """
    from langgraph_agui.devtools.cli import loading, serve

    options = (host, port, open_browser, cors or (), api_key, checkpointer, expose_errors, reload)
    serve.run(serve.Site(partial(loading.load_targets, graph), graph, f"Serving {graph}", *options))


@app.command("demo")
def serve_demo(
    model: Annotated[str | None, typer.Option(help="A real model, as provider:model.")] = None,
    reasoning: Annotated[bool, typer.Option(help="Ask a real model to show its reasoning.")] = True,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds per token of the scripted model.")
    ] = 0.02,
    question: Annotated[
        str | None, typer.Option("--ask", help="Ask this at once, in this terminal.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    open_browser: Open = False,
    cors: Origins = None,
    api_key: ApiKey = None,
    checkpointer: Checkpointer = None,
    expose_errors: ExposeErrors = None,
) -> None:
    """Serve a demo agent that reasons, calls tools and answers. Works offline, on a scripted model.

    Its threads are kept in memory, unless --checkpointer names another place.
    """
    from langgraph_agui.devtools import demo
    from langgraph_agui.devtools.cli import loading, serve

    chosen = loading.load_model(model, reasoning=reasoning) if model else None
    heading = f"Demo agent on {model or 'a scripted model: offline, no API key needed'}"
    options = (host, port, open_browser, cors or (), api_key, checkpointer, expose_errors, False)
    title = "Demo agent · AG-UI playground"
    graphs = {"demo": demo.build_demo_graph(chosen, delay=delay)}
    serve.run(
        serve.Site(lambda: graphs, "demo", heading, *options, title, demo.SUGGESTIONS, question)
    )


@app.command(
    "doctor",
    epilog="Exit codes: 0 no problems found, 1 something to change, 2 the graph cannot be loaded. "
    "A graph without "
    "models, an unknown model class, a model that only summarizes or chooses tools, and client "
    "tools that nothing "
    "binds are reported but do not count.",
)
def examine_graph(graph: GraphSpec) -> ExitCode:
    """Find what goes wrong with a graph without running it.

    It finds a synchronous checkpointer, approvals without one, client tools that nothing binds, and
    models that lose reasoning on the way out to the client or back on the next turn. It does not
    find models that a node makes when it runs. Modules are imported from the current directory.
    """
    from langgraph_agui.devtools.cli import doctor, loading

    return doctor.run(loading.load_targets(graph), graph)


@app.command(
    "validate",
    epilog="Exit codes: 0 every rule kept, 1 findings, 2 the file cannot be read, 3 no AG-UI "
    "agent at URL.",
)
def validate_stream(
    source: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="A recorded stream, or an agent to ask.")
    ],
    question: Annotated[str, typer.Argument(help="What to ask the agent.")] = "Hello",
    header: Headers = None,
) -> ExitCode:
    """Check a stream against every rule of AG-UI 1.0 for agents.

    The file is a playground export, the output of chat --json, or a saved event stream (SSE).
    """
    from langgraph_agui.devtools.cli import recording

    return recording.validate(source, question, header or ())


@app.command(
    "play",
    epilog="Exit codes: 0 shown, 1 the stream breaks a rule that ends it, 2 the file cannot be "
    "read.",
)
def play_stream(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A recorded stream, as for validate.")
    ],
    speed: Annotated[
        float, typer.Option(min=0, help="2 is twice as fast as recorded; 0 shows all at once.")
    ] = 1,
) -> ExitCode:
    """Show a recorded run in the terminal, at its recorded pace."""
    from langgraph_agui.devtools.cli import recording

    return recording.play(file, speed)


@app.command(
    "chat",
    epilog="Exit codes: 0 finished, 1 the run failed or its stream broke off, 2 wrong usage, "
    "3 no AG-UI agent at URL, 4 the run waits for an answer, 130 Ctrl-C.",
)
def chat_with_agent(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of an AG-UI agent.")],
    question: Annotated[
        str | None, typer.Argument(help="Ask this and exit; without it, start a conversation.")
    ] = None,
    header: Headers = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events as JSON lines, chunk events expanded.")
    ] = False,
    session: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Continue a conversation that chat has saved."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="Continue a thread that the agent has.")
    ] = None,
) -> ExitCode:
    """Talk to any AG-UI agent in the terminal.

    Inside the conversation, :help lists the commands.
    """
    from langgraph_agui.devtools.cli import chat

    if session is not None and thread is not None:
        raise CommandError("Use --session or --thread, not both.")
    return chat.run(url, question, header or (), as_json=as_json, saved=session, thread=thread)

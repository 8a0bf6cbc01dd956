"""`langgraph-agui doctor`: reports what would go wrong with a graph, as far as that is known
without running it.

In: graphs and agents. Out: a report on stdout; what is known of models comes from
`reasoning_support.py`.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import FunctionType
from typing import Any, Final

from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import interrupt
from rich.console import Console
from rich.text import Text

from langgraph_agui import LangGraphAgent
from langgraph_agui.chat_models.find import Place, codes_of, models_at, of_kind, walk
from langgraph_agui.devtools.cli.formatting import ExitCode, printable
from langgraph_agui.devtools.cli.loading import finish, make_agent
from langgraph_agui.devtools.reasoning_support import Finding, check_reasoning, name_of
from langgraph_agui.graphs import Graph, adapt_graph

_ANSWERS: Final = {True: ("yes", "green"), False: ("no", "red"), None: ("not known", "yellow")}
_ASKS: Final = (
    "The graph calls interrupt(), so it needs a checkpointer that keeps the thread: compile it "
    "with one."
)
_UNREAD: Final = """\
client tools: no middleware binds those that a client brings
→ If clients bring tools, add AGUIMiddleware() to create_agent, or bind frontend_tools(config) in \
the node of the model.
"""


def run(targets: Mapping[str, object], spec: str) -> ExitCode:
    """Print the findings about graphs and agents, which the user named as `spec`."""
    return asyncio.run(_examine_all(targets, spec))


async def _examine_all(targets: Mapping[str, object], spec: str) -> ExitCode:
    async with AsyncExitStack() as stack:
        codes = []
        for name, target in targets.items():
            heading = spec if len(targets) == 1 else f"{spec} · {name}"
            codes.append(_examine(await finish(target, spec, stack), name, spec, heading))
    return max(codes)


def _examine(target: object, name: str, spec: str, heading: str) -> ExitCode:
    console = Console(highlight=False, soft_wrap=True)
    graph = target.graph if isinstance(target, LangGraphAgent) else target
    # A LangGraph server brings a checkpointer.
    problem = (
        _checkpointer_problem(graph, by_server=spec.endswith(".json"))
        if isinstance(graph, Pregel)
        else None
    )
    is_sync = problem is not None and isinstance(target, Pregel) and target.checkpointer is not None
    agent = make_agent(target.copy({"checkpointer": None}) if is_sync else target, name, spec)  # type: ignore[attr-defined]
    console.print(printable(heading), style="bold", markup=False)
    console.print(f"history: {_history(graph)}", markup=False)  # type: ignore[arg-type]
    if problem:
        console.print(printable(f"→ {problem}"), markup=False)
    splits = agent.reasoning.tags is not None
    wrong = 0
    models = models_at(walk(agent.graph))
    for model, place in models:
        finding = check_reasoning(model, splits=splits)
        wrong += finding.wrong and not place.auxiliary
        console.print()
        _print(console, place, finding)
    console.print()
    if models and isinstance(graph, Pregel) and not _binds_client_tools(agent):
        console.print(_UNREAD, markup=False)
    verdict = _verdict(len(models), wrong) if wrong or not problem else ""
    console.print(
        f"{'The checkpointer should be changed. ' if problem else ''}{verdict}".strip(),
        markup=False,
    )
    return ExitCode.FAILED if wrong or problem else ExitCode.OK


def _checkpointer_problem(graph: Pregel[Any, Any, Any, Any], *, by_server: bool) -> str | None:
    """Return what is wrong with the checkpointer of a graph, or that it has none and needs one."""
    adapter = adapt_graph(graph)
    if not adapter.has_checkpointer and by_server:
        return None
    functions = [function for function, _ in of_kind(FunctionType, walk(graph))]
    calls = (
        one.__globals__.get(name)
        for one in functions
        for code in codes_of(one)
        for name in code.co_names
    )
    asks = not adapter.has_checkpointer and any(one is interrupt for one in calls)
    return adapter.checkpointer_problem() or (_ASKS if asks else None)


def _binds_client_tools(agent: LangGraphAgent) -> bool | None:
    tools = agent.capabilities().tools
    return tools.client_provided if tools is not None else None


def _history(graph: Graph) -> str:
    if isinstance(graph, RemoteGraph):
        return "kept by the LangGraph server that runs the graph"
    if adapt_graph(graph).has_checkpointer:
        return f"kept by the server, in the graph's {type(graph.checkpointer).__name__}"
    return "kept by the client, which sends it with every run: the graph has no checkpointer"


def _print(console: Console, place: Place, finding: Finding) -> None:
    kind = type(finding.model)
    package = kind.__module__.partition(".")[0].replace("_", "-")
    console.print(
        Text.assemble(
            (kind.__name__, "bold"), printable(f" of {package}, {name_of(finding.model)}")
        )
    )
    console.print(
        printable(f"  in    {' › '.join(place.where) or 'the Runnable itself'}"), markup=False
    )
    if place.auxiliary:
        console.print("  helps the agent and has no turns of its own")
        return
    for label, value in (("out", finding.out), ("back", finding.back)):
        console.print(Text.assemble(f"  {label:<6}", _ANSWERS[value]))
    for advice in finding.advice:
        console.print(printable(f"  → {advice}"), markup=False)


def _verdict(models: int, wrong: int) -> str:
    if not models:
        return (
            "No chat model was found. One that a node makes when it runs cannot be seen from here."
        )
    if wrong:
        return f"{wrong} of {models} {'model' if models == 1 else 'models'} should be changed."
    return "Nothing should be changed."

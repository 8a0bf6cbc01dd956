"""`langgraph-agui doctor`: prints what the models of a graph can do with reasoning, as `models/carry.py` judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from langgraph.pregel.remote import RemoteGraph
from rich.console import Console
from rich.text import Text

from langgraph_agui.cli.formatting import ExitCode, printable
from langgraph_agui.graphs import adapt_graph
from langgraph_agui.models.find import Found, find
from langgraph_agui.models.reasoning_support import Finding, examine, name_of

if TYPE_CHECKING:
    from langgraph_agui import LangGraphAgent
    from langgraph_agui.graphs import Graph

_WORDS: Final = {True: "yes", False: "no", None: "not known"}
_STYLES: Final = {True: "green", False: "red", None: "yellow"}


def run(agent: LangGraphAgent, spec: str) -> ExitCode:
    """Print what is known of the models of `agent`, which the user calls `spec`."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(printable(spec), style="bold", markup=False)
    console.print(f"history: {_history(agent.graph)}", markup=False)
    splits = agent._settings.reasoning.think_tags is not None
    wrong = 0
    places = find(agent.graph)
    for place in places:
        finding = examine(place.model, splits=splits)
        wrong += finding.wrong and not place.auxiliary
        console.print()
        _print(console, place, finding)
    console.print()
    console.print(_verdict(len(places), wrong), markup=False)
    return ExitCode.FAILED if wrong else ExitCode.OK


def _history(graph: Graph) -> str:
    if isinstance(graph, RemoteGraph):
        return "kept by the LangGraph server that runs the graph"
    if adapt_graph(graph).has_checkpointer:
        return f"kept by the server, in the graph's {type(graph.checkpointer).__name__}"
    return "kept by the client, which sends it with every run: the graph has no checkpointer"


def _print(console: Console, place: Found, finding: Finding) -> None:
    kind = type(finding.model)
    package = kind.__module__.partition(".")[0].replace("_", "-")
    console.print(Text.assemble((kind.__name__, "bold"), printable(f" of {package}, {name_of(finding.model)}")))
    console.print(printable(f"  in    {' › '.join(place.where) or 'the Runnable itself'}"), markup=False)
    if place.auxiliary:
        console.print("  helps the agent and has no turns of its own")
        return
    for label, value in (("out", finding.out), ("back", finding.back)):
        console.print(Text.assemble(f"  {label:<6}", (_WORDS[value], _STYLES[value])))
    for advice in finding.advice:
        console.print(printable(f"  → {advice}"), markup=False)


def _verdict(models: int, wrong: int) -> str:
    if not models:
        return "No chat model was found. One that a node makes when it runs cannot be seen from here."
    if wrong:
        return f"{wrong} of {models} {'model' if models == 1 else 'models'} should be changed."
    return "Nothing should be changed."

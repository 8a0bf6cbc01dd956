"""`langgraph-agui doctor`: reports whether the models of a graph carry reasoning.

In: an agent. Out: a report on stdout; the findings come from `models/reasoning_support.py`.
"""

from __future__ import annotations

from typing import Final

from langgraph.pregel.remote import RemoteGraph
from rich.console import Console
from rich.text import Text

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli.formatting import ExitCode, printable
from langgraph_agui.graphs import Graph, adapt_graph
from langgraph_agui.models.find import Found, find
from langgraph_agui.models.reasoning_support import Finding, examine, name_of

_ANSWERS: Final = {True: ("yes", "green"), False: ("no", "red"), None: ("not known", "yellow")}


def run(agent: LangGraphAgent, spec: str) -> ExitCode:
    """Print the findings about the models of `agent`, which the user named as `spec`."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(printable(spec), style="bold", markup=False)
    console.print(f"history: {_history(agent.graph)}", markup=False)
    splits = agent._context.settings.reasoning.think_tags is not None
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
        console.print(Text.assemble(f"  {label:<6}", _ANSWERS[value]))
    for advice in finding.advice:
        console.print(printable(f"  → {advice}"), markup=False)


def _verdict(models: int, wrong: int) -> str:
    if not models:
        return "No chat model was found. One that a node makes when it runs cannot be seen from here."
    if wrong:
        return f"{wrong} of {models} {'model' if models == 1 else 'models'} should be changed."
    return "Nothing should be changed."

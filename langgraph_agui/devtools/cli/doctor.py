"""`langgraph-agui doctor`: reports the problems of a graph that can be found without running it.

In: graphs and agents. Out: a report on stdout. `langgraph_agui.chat_models` judges the models.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dis import get_instructions
from types import CodeType, FunctionType
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import interrupt
from rich.console import Console
from rich.text import Text

from langgraph_agui import LangGraphAgent
from langgraph_agui.chat_models import Finding, Found, check_reasoning, find_objects
from langgraph_agui.devtools.cli.formatting import ExitCode, printable
from langgraph_agui.devtools.cli.loading import finish, make_agent

_ANSWERS: Final = {True: ("yes", "green"), False: ("no", "red"), None: ("not known", "yellow")}
_ASKS: Final = (
    "The graph calls interrupt(), so it needs a checkpointer that keeps the thread: compile it "
    "with one, such as checkpointer=InMemorySaver()."
)
_UNREAD: Final = """\
client tools: nothing in this graph binds them
→ If clients offer tools, add AGUIMiddleware() to create_agent, or bind frontend_tools(config) in \
the model's node.
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
    graph = target.graph if isinstance(target, LangGraphAgent) else target
    agent, problem = _agent_of(target, name, spec)
    console = Console(highlight=False, soft_wrap=True)
    console.print(printable(heading), style="bold", markup=False)
    console.print(f"history: {_history(graph)}", markup=False)
    if problem:
        console.print(printable(f"→ {problem}"), markup=False)
    splits = agent.reasoning.tags is not None
    models = find_objects(agent.graph, BaseChatModel)  # type: ignore[type-abstract]
    judged = [(found, check_reasoning(found.value, splits=splits)) for found in models]
    for found, finding in judged:
        console.print()
        _print(console, found, finding)
    console.print()
    is_unread = bool(models) and isinstance(graph, Pregel) and not _binds_client_tools(agent)
    if is_unread:
        console.print(_UNREAD, markup=False)
    own = [finding for found, finding in judged if not found.auxiliary]
    wrong = sum(finding.wrong for finding in own)
    advised = is_unread or any(finding.advice for finding in own)
    console.print(_verdict(len(models), wrong, problem, advised=advised), markup=False)
    return ExitCode.FAILED if wrong or problem else ExitCode.OK


def _agent_of(target: object, name: str, spec: str) -> tuple[LangGraphAgent, str | None]:
    """Return the agent of a graph, and the fault of the graph's checkpointer."""
    if isinstance(target, Pregel) and _checkpointer(target) is not None:
        try:
            return LangGraphAgent(target, name), None
        except TypeError as error:
            # Without this checkpointer, the rest of the graph can be examined.
            return LangGraphAgent(target.copy({"checkpointer": None}), name), str(error)
    agent = make_agent(target, name, spec)
    # A LangGraph server brings a checkpointer.
    return agent, None if spec.endswith(".json") else _need_of_checkpointer(agent)


def _need_of_checkpointer(agent: LangGraphAgent) -> str | None:
    """Return why the graph of an agent needs a checkpointer; None if it has one, or needs none."""
    if not isinstance(agent.graph, Pregel) or _checkpointer(agent.graph) is not None:
        return None
    try:
        agent.check_checkpointer()
    except ValueError as error:
        return str(error)
    return _ASKS if _calls_interrupt(agent.graph) else None


def _checkpointer(graph: object) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer of a graph. True stands for that of a parent graph, and there is
    none.
    """
    saver = graph.checkpointer if isinstance(graph, Pregel) else None
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def _calls_interrupt(graph: object) -> bool:
    """Return whether code in a graph loads `interrupt`."""
    return any(
        function.value.__globals__.get(name) is interrupt
        for function in find_objects(graph, FunctionType)
        for name in _globals(function.value.__code__)
    )


def _globals(code: CodeType) -> Iterator[str]:
    """Yield the names of the globals that a function loads, and those of the functions inside it.
    An attribute may have the name of a global.
    """
    yield from (step.argval for step in get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _binds_client_tools(agent: LangGraphAgent) -> bool | None:
    tools = agent.capabilities().tools
    return tools.client_provided if tools is not None else None


def _history(graph: object) -> str:
    if isinstance(graph, RemoteGraph):
        return "kept by the LangGraph server that runs the graph"
    if (saver := _checkpointer(graph)) is not None:
        return f"kept by the server, in the graph's {type(saver).__name__}"
    return "kept by the client, which sends it with every run: the graph has no checkpointer"


def _print(console: Console, found: Found[BaseChatModel], finding: Finding) -> None:
    kind = type(found.value)
    package = kind.__module__.partition(".")[0].replace("_", "-")
    place = " › ".join(found.where) or "the Runnable itself"
    console.print(
        Text.assemble((kind.__name__, "bold"), printable(f" of {package}, {finding.name}"))
    )
    console.print(printable(f"  in    {place}"), markup=False)
    if found.auxiliary:
        console.print("  helps the agent and has no turns of its own")
        return
    for label, value in (("out", finding.out), ("back", finding.back)):
        console.print(Text.assemble(f"  {label:<6}", _ANSWERS[value]))
    for advice in finding.advice:
        console.print(printable(f"  → {advice}"), markup=False)


def _verdict(models: int, wrong: int, problem: str | None, *, advised: bool) -> str:
    about_models = _verdict_on_models(models, wrong, advised=advised)
    if problem is None:
        return about_models
    about_all = "The checkpointer needs attention: see the → line."
    return f"{about_all} {about_models}" if wrong else about_all


def _verdict_on_models(models: int, wrong: int, *, advised: bool) -> str:
    if not models:
        return (
            "No chat model was found. One that a node makes when it runs cannot be seen from here."
        )
    if wrong:
        return f"{wrong} of {models} {'model' if models == 1 else 'models'} should be changed."
    if advised:
        return "No problems found. See whether the → lines apply to you."
    return "Nothing should be changed."

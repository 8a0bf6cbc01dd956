"""What the event loop has to bear in section G: a long history, a large state, many subagents."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from uuid import uuid4

from ag_ui.core import RunAgentInput
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send
from typing_extensions import TypedDict

from langgraph_agui import langchain_messages_to_agui

from . import graphs
from .folded import Folded, asking, speaker
from .growth_graph import echoing, said
from .growth_history import told
from .workloads import words

ANSWER = words(20)
STEPS = 50
CHANNEL = 250_000
"""Bytes of a channel of the large state."""
WORDS_OF_SUBAGENT = 10


@dataclass(frozen=True)
class Load:
    """A graph, what is sent to it, and what must be there at the end."""

    graph: graphs.Graph
    sent: RunAgentInput
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values that the graph gets without an adapter, besides the question."""
    text: str = "".join(ANSWER)
    state: Mapping[str, Any] = field(default_factory=dict)
    """The state at the end."""
    subagents: tuple[str, ...] = ()
    """What subagents say, in any order."""

    def problem(self, text: object, state: Mapping[str, Any]) -> str | None:
        """What is wrong at the end, if something is."""
        if text != self.text:
            return "the answer differs"
        wrong = [
            key for key, value in self.state.items() if _sorted(state.get(key)) != _sorted(value)
        ]
        return f"the state differs in {', '.join(wrong)}" if wrong else None

    def problem_of_client(self, found: Folded) -> str | None:
        """The same for what a client was told and holds."""
        held = found.client.messages[len(self.sent.messages) :]
        others = [
            str(one.content) for one in held if one.role == "assistant" and one.subagent_run_id
        ]
        answers = [
            str(one.content) for one in held if one.role == "assistant" and not one.subagent_run_id
        ]
        if sorted(others) != sorted(self.subagents):
            return f"{len(others)} texts of subagents, or others"
        if sorted(found.told.values()) != sorted([*others, *answers]):
            return "what was told differs from what is held"
        return self.problem(
            "".join(answers), found.client.state if isinstance(found.client.state, dict) else {}
        )


Make = Callable[[int], Any]
"""Makes a load of a size; a coroutine function."""


async def history(size: int) -> Load:
    """A thread of so many messages, which the client echoes."""
    kept, thread = told(size), str(uuid4())
    graph = graphs.one_node(speaker(ANSWER))
    config = RunnableConfig(configurable={"thread_id": thread})
    await graph.aupdate_state(config, {"messages": kept}, as_node="model")
    return Load(graph, asking(langchain_messages_to_agui(kept), thread))


async def state(size: int) -> Load:
    """A client's state of so many bytes, and `STEPS` small changes of it."""
    count = max(1, size // CHANNEL)
    row = {"title": "a row", "tags": ["alpha", "beta"], "body": "x" * 412, "done": False}
    rows = max(1, size // count // 480)
    channels = {
        f"c{n}": {f"row-{i}": {**row, "id": n * rows + i} for i in range(rows)}
        for n in range(count)
    }
    values = {**channels, "progress": {"step": 0}}
    graph = _stepping(list(channels))
    return Load(
        graph, asking(state=values), values, state={**channels, "progress": {"step": STEPS}}
    )


async def subagents(size: int) -> Load:
    """So many graphs at once inside of a graph, each with words of its own."""
    questions = [f"subagent-{number}" for number in range(size)]
    texts = ["".join(said(question, WORDS_OF_SUBAGENT)) for question in questions]
    graph = _fanning(questions)
    return Load(graph, asking(), state={"done": texts}, subagents=tuple(texts))


def _stepping(channels: list[str]) -> graphs.Graph:
    model = speaker(ANSWER)
    fields: dict[str, Any] = {
        "messages": Annotated[list[AnyMessage], add_messages],
        "progress": dict[str, Any],
    }
    schema: Any = TypedDict("Large", fields | dict.fromkeys(channels, dict[str, Any]), total=False)  # type: ignore[misc]

    async def work(state: dict[str, Any]) -> dict[str, Any]:
        return {"progress": {"step": state["progress"]["step"] + 1}}

    async def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(schema)
    builder.add_node("work", work)
    builder.add_node("answer", answer)
    builder.add_edge(START, "work")
    builder.add_conditional_edges(
        "work",
        lambda state: "work" if state["progress"]["step"] < STEPS else "answer",
        ["work", "answer"],
    )
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=InMemorySaver())


class _Fanned(MessagesState):
    done: Annotated[list[str], operator.add]


def _fanning(questions: list[str]) -> graphs.Graph:
    model, inner = (
        speaker(ANSWER),
        echoing(WORDS_OF_SUBAGENT).copy({"checkpointer": None, "name": "helper"}),
    )

    async def help_(asked: dict[str, str]) -> dict[str, list[str]]:
        found = await inner.ainvoke({"messages": [HumanMessage(asked["question"])]})
        last: BaseMessage = found["messages"][-1]
        return {"done": [last.text]}

    async def answer(state: _Fanned) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(_Fanned)
    builder.add_node("help", help_)  # type: ignore[arg-type]
    builder.add_node("answer", answer)
    builder.add_conditional_edges(
        START, lambda _: [Send("help", {"question": one}) for one in questions], ["help"]
    )
    builder.add_edge("help", "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=InMemorySaver())


def _sorted(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value

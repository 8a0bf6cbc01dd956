"""What users do with the graphs, and what they expect: the same under either package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.contracts.generations.test_matrix import shape
from tests.contracts.migrated.serving import CLIENTS, NEW, OFFERED, OLD, MigratedFront
from tests.kit.models.media_files import PNG, encoded

TOOL = {"description": "A tool of the page.", "parameters": {"type": "object", "properties": {}}}


class Expectation(NamedTuple):
    """Something that the client holds after a turn, and what it is to be."""

    what: str
    found: Any
    expected: Any


Expectations = Iterator[Expectation]


def last_message(turn: int, front: MigratedFront, *expected: Any) -> Expectation:
    return Expectation(
        f"the last message of turn {turn}", shape(front.runs[turn - 1])[-1], expected
    )


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, **TOOL} for name in names]


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"id": f"r-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}


def agentic_chat(front: MigratedFront) -> Expectations:
    page = {"tools": tools("change_background")}
    front.run("make it red", **page)
    yield last_message(1, front, "assistant", "", ["change_background"])
    front.run(add=[result("c1", "done")], **page)
    yield last_message(2, front, "assistant", "The page is red.", [])
    front.run("hello", **page)
    yield last_message(3, front, "assistant", "You said hello.", [])


def tool_based_generative_ui(front: MigratedFront) -> Expectations:
    page = {"tools": tools("generate_haiku")}
    front.run("a haiku", **page)
    yield last_message(1, front, "assistant", "", ["generate_haiku"])
    front.run(add=[result("c1", "shown")], **page)
    yield last_message(2, front, "assistant", "Here is a haiku.", [])


def agentic_generative_ui(front: MigratedFront) -> Expectations:
    run = front.run("plant a tree")
    yield Expectation(
        "the steps", [step["status"] for step in run.state["steps"]], ["completed", "completed"]
    )
    yield Expectation(
        "the messages", shape(run), [("user", "plant a tree", []), ("assistant", "All done.", [])]
    )
    yield Expectation("`tools` in the state", "tools" in run.state, False)


def predictive_state_updates(front: MigratedFront) -> Expectations:
    page = {"tools": tools("confirm_changes")}
    first = front.run("write", **page)
    yield Expectation("the document", first.state["document"], "Once upon a time.")
    yield last_message(1, front, "assistant", "", ["confirm_changes"])
    front.run(add=[result("c2", "accepted")], **page)
    yield last_message(2, front, "assistant", "It is saved.", [])


def shared_state(front: MigratedFront) -> Expectations:
    first = front.run("a soup", state={"recipe": {"minutes": 20}}, tools=[])
    yield Expectation(
        "the recipe after turn 1", first.state["recipe"], {"minutes": 20, "title": "Soup"}
    )
    second = front.run("hotter", state={"recipe": {"minutes": 5, "title": "Soup"}}, tools=[])
    yield Expectation(
        "the recipe after turn 2", second.state["recipe"], {"minutes": 5, "title": "Hot soup"}
    )


def human_in_the_loop(front: MigratedFront, way: str) -> Expectations:
    first = front.run("paint", state={})
    yield Expectation(
        "the steps", [step["status"] for step in first.state["steps"]], ["enabled", "enabled"]
    )
    chosen = {
        "steps": [{**first.state["steps"][0]}, {**first.state["steps"][1], "status": "disabled"}]
    }
    front.answer(first, chosen, way)
    yield last_message(2, front, "assistant", "Doing: Buy paint", [])


def subgraphs(front: MigratedFront, way: str) -> Expectations:
    second = front.answer(front.run("to Rome"), "KLM", way)
    texts = [text for role, text, _ in shape(second) if role == "assistant"]
    yield Expectation("the answers", texts, ["Flight booked: KLM", "Have a good trip."])
    yield Expectation("the flight", second.state["flight"], "KLM")


def multimodal(front: MigratedFront) -> Expectations:
    picture = {
        "type": "image",
        "source": {"type": "data", "value": encoded(PNG), "mimeType": "image/png"},
    }
    content = [{"type": "text", "text": "What is it?"}, picture]
    front.run(add=[{"id": "u", "role": "user", "content": content}])
    seen = f"I see: text, {len(PNG)} bytes of image/png"
    yield last_message(1, front, "assistant", seen, [])


def reasoning(front: MigratedFront) -> Expectations:
    run = front.run("why?")
    expected: list[Any] = [
        ("user", "why?", []),
        ("reasoning", "Let me think.", []),
        ("assistant", "42", []),
    ]
    yield Expectation("the messages", shape(run), expected)


def a2ui(front: MigratedFront) -> Expectations:
    run = front.run("draw")
    yield last_message(1, front, "assistant", "Here it is.", [])
    surfaces = [
        "a2ui_operations" in one["content"] for one in run.messages if one["role"] == "tool"
    ]
    yield Expectation("a surface in each result", surfaces, [True])


@dataclass(frozen=True)
class Scenario:
    """A conversation with a graph. Those with interrupts are answered in one `way`, of an agent
    with `switches`.

    `clients` are those whose pages answer so under ours.
    """

    converse: Callable[..., Expectations]
    way: str | None = None
    switches: dict[str, bool] = field(default_factory=dict)
    clients: Sequence[str] = tuple(CLIENTS)

    @property
    def graph(self) -> str:
        return self.converse.__name__

    def __str__(self) -> str:
        return "-".join([self.graph, *([self.way] if self.way else []), *self.switches])

    def play(self, front: MigratedFront) -> Expectations:
        """Serve the graph, and yield what is expected as the conversation goes on."""
        front.serve(self.graph, **self.switches)
        return self.converse(front, self.way) if self.way else self.converse(front)


PLAIN = [
    agentic_chat,
    tool_based_generative_ui,
    agentic_generative_ui,
    predictive_state_updates,
    shared_state,
    multimodal,
    reasoning,
    a2ui,
]
ASKING = [human_in_the_loop, subgraphs]

NO_OUTCOME, OUTCOME = {"emit_interrupt_outcome": False}, {"emit_interrupt_outcome": True}
COMMANDS = ("command", "command with event")
SWITCHED = [*((way, NO_OUTCOME) for way in COMMANDS), ("resume", OUTCOME)]

BY_COMMAND = [Scenario(graph, way, clients=[OLD]) for graph in ASKING for way in COMMANDS]
"""Old clients are asked by events alone. 1.0.0 is asked by the outcome, and refuses to answer that
by a command."""

BY_RESUME = [Scenario(graph, "resume", clients=[NEW]) for graph in ASKING]
"""The other way round: events do not say what `resume` would answer."""

SCENARIOS = [
    *(Scenario(graph) for graph in PLAIN),
    *(Scenario(graph, OFFERED) for graph in ASKING),
    *BY_COMMAND,
    *BY_RESUME,
    *(Scenario(graph, way, switches) for graph in ASKING for way, switches in SWITCHED),
]

ALL = sorted(SCENARIOS, key=lambda one: [*PLAIN, *ASKING].index(one.converse))
"""Graph by graph, and first without switches."""

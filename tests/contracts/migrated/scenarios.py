"""What users do with the graphs, and what they expect: the same under either package.

A conversation yields what is to be, what is found and what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.contracts.generations.test_matrix import shape
from tests.contracts.migrated.serving import CLIENTS, NEW, OFFERED, OLD
from tests.kit.models.media_files import PNG, encoded


def last(turn, front, *expected):
    return f"the last message of turn {turn}", shape(front.runs[turn - 1])[-1], expected


def said(turn, front, text):
    return last(turn, front, "assistant", text, [])


def page(name):
    parameters = {"type": "object", "properties": {}}
    return {
        "tools": [{"name": name, "description": "A tool of the page.", "parameters": parameters}]
    }


def result(call_id, content):
    return {"id": f"r-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}


def agentic_chat(front):
    offered = page("change_background")
    front.run("make it red", **offered)
    yield last(1, front, "assistant", "", ["change_background"])
    front.run(add=[result("c1", "done")], **offered)
    yield said(2, front, "The page is red.")
    front.run("hello", **offered)
    yield said(3, front, "You said hello.")


def tool_based_generative_ui(front):
    offered = page("generate_haiku")
    front.run("a haiku", **offered)
    yield last(1, front, "assistant", "", ["generate_haiku"])
    front.run(add=[result("c1", "shown")], **offered)
    yield said(2, front, "Here is a haiku.")


def agentic_generative_ui(front):
    run = front.run("plant a tree")
    yield "the steps", [step["status"] for step in run.state["steps"]], ["completed", "completed"]
    expected = [("user", "plant a tree", []), ("assistant", "All done.", [])]
    yield "the messages", shape(run), expected
    yield "`tools` in the state", "tools" in run.state, False


def predictive_state_updates(front):
    offered = page("confirm_changes")
    first = front.run("write", **offered)
    yield "the document", first.state["document"], "Once upon a time."
    yield last(1, front, "assistant", "", ["confirm_changes"])
    front.run(add=[result("c2", "accepted")], **offered)
    yield said(2, front, "It is saved.")


def shared_state(front):
    first = front.run("a soup", state={"recipe": {"minutes": 20}}, tools=[])
    yield "the recipe after turn 1", first.state["recipe"], {"minutes": 20, "title": "Soup"}
    edited = {"recipe": {"minutes": 5, "title": "Soup"}}
    second = front.run("hotter", state=edited, tools=[])
    yield "the recipe after turn 2", second.state["recipe"], {"minutes": 5, "title": "Hot soup"}


def human_in_the_loop(front, way):
    first = front.run("paint", state={})
    yield "the steps", [step["status"] for step in first.state["steps"]], ["enabled", "enabled"]
    buy, paint = first.state["steps"]
    front.answer(first, {"steps": [buy, {**paint, "status": "disabled"}]}, way)
    yield said(2, front, "Doing: Buy paint")


def subgraphs(front, way):
    second = front.answer(front.run("to Rome"), "KLM", way)
    texts = [text for role, text, _ in shape(second) if role == "assistant"]
    yield "the answers", texts, ["Flight booked: KLM", "Have a good trip."]
    yield "the flight", second.state["flight"], "KLM"


def multimodal(front):
    source = {"type": "data", "value": encoded(PNG), "mimeType": "image/png"}
    content = [{"type": "text", "text": "What is it?"}, {"type": "image", "source": source}]
    front.run(add=[{"id": "u", "role": "user", "content": content}])
    yield said(1, front, f"I see: text, {len(PNG)} bytes of image/png")


def reasoning(front):
    run = front.run("why?")
    expected = [("user", "why?", []), ("reasoning", "Let me think.", []), ("assistant", "42", [])]
    yield "the messages", shape(run), expected


def a2ui(front):
    run = front.run("draw")
    yield said(1, front, "Here it is.")
    results = [one["content"] for one in run.messages if one["role"] == "tool"]
    yield "a surface in each result", ["a2ui_operations" in one for one in results], [True]


@dataclass(frozen=True)
class Scenario:
    """A conversation with a graph. Those with interrupts are answered in one `way`, of an agent
    with `switches`.

    `clients` are those whose pages answer so under ours.
    """

    converse: Callable
    way: str | None = None
    switches: dict[str, bool] = field(default_factory=dict)
    clients: Sequence[str] = tuple(CLIENTS)

    @property
    def graph(self):
        return self.converse.__name__

    def __str__(self):
        return "-".join([self.graph, *([self.way] if self.way else []), *self.switches])

    def play(self, front):
        """Serve the graph, and yield what is expected as the conversation goes on."""
        front.serve(self.graph, **self.switches)
        return self.converse(front, self.way) if self.way else self.converse(front)


PLAIN = [agentic_chat, tool_based_generative_ui, agentic_generative_ui, predictive_state_updates]
PLAIN += [shared_state, multimodal, reasoning, a2ui]
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

"""Graphs as users of `ag-ui-langgraph` write them, behind a page as users of CopilotKit write
it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.contracts.frontends.pages import Migrated, site
from tests.contracts.migrated.serving import HERE, THERE, load
from tests.kit.expect.front_ends import options_for
from tests.kit.models.scripted import Scripted, call, calling, part

NONE = Migrated.options
DOJO = options_for("the AG-UI Dojo, pages that read event.value")
NEWEST_DOJO = options_for("the AG-UI Dojo, pages that read interrupt.metadata.langgraph.raw")
OUTCOME = {"emit_interrupt_outcome": True}
pytestmark = pytest.mark.parametrize("kind", [Migrated], indirect=True, ids=["migrated"])


class Opened:
    """A page, and the graph that is behind it. `sent` are the inputs of its runs."""

    def __init__(self, front, module):
        self.front, self.page, self.model, self._graph = (
            front,
            front.page,
            module.MODEL,
            module.graph,
        )
        self.send, self.press, self.shows_answers = front.send, front.press, front.shows_answers
        self.sent = []
        self.page.on("request", self._keep)

    def _keep(self, request):
        if request.url.endswith("/run"):
            self.sent.append(request.post_data_json)

    def part(self, name):
        """Return the part of the page with this name."""
        return self.page.get_by_test_id(name)

    def says(self, name, text):
        expect(self.part(name)).to_have_text(text)

    def shows(self, name, *lines):
        """Wait until these are the lines of a list."""
        self.front.shows(f"[data-testid={name}] li", *lines)

    def box(self, name):
        return self.page.get_by_role("checkbox", name=name, exact=True)

    @property
    def state(self):
        """The thread's state, as the graph has it."""
        config = {"configurable": {"thread_id": self.front.thread_id}}
        return self._graph.get_state(config).values


@contextlib.contextmanager
def opened(name, browser, kind, answer="object", model=None, package=HERE, **switches):
    """Open the page for a graph, with another model or other switches of the agent."""
    module = load(name, package)
    if model is not None:
        module.MODEL = model(module.MODEL)
    agent = module.agent
    if switches:
        agent = type(agent)(name=name, graph=module.graph, **switches)
    query = f"?graph={name}&answer={answer}" + ("&asked=outcome" if switches else "")
    with site(kind, agent) as served, served.opened(browser, query) as front:
        yield Opened(front, module)
        expect(front.page.get_by_role("alert")).to_have_text("")


def test_a_tool_of_the_page(browser, kind):
    with opened("agentic_chat", browser, kind) as page:
        page.send("make it red")
        page.shows_answers("The page is red.")
        expect(page.part("background")).to_have_css("background-color", "rgb(255, 0, 0)")
        page.send("hello")
        page.shows_answers("The page is red.", "You said hello.")
        [result] = [message for message in page.state["messages"] if message.type == "tool"]
        assert "The background is red." in result.text


@pytest.mark.parametrize(
    ("switches", "answer"),
    [(NONE, "object"), (NONE, "text"), (OUTCOME, "object"), (OUTCOME, "text")],
    ids=["no switch", "no switch, text", "outcome", "outcome, text"],
)
def test_an_interrupt_twice(browser, kind, switches, answer):
    with opened("human_in_the_loop", browser, kind, answer, **switches) as page:
        page.send("paint the wall")
        expect(page.box("Buy paint")).to_be_checked()
        page.box("Paint").uncheck()
        page.press("Confirm")
        said = ["I have a plan.", "Doing: Buy paint"]
        page.shows_answers(*said)
        page.shows("steps", "Buy paint: enabled", "Paint: disabled")
        expect(page.box("Paint")).to_have_count(0)
        assert [step["status"] for step in page.state["steps"]] == ["enabled", "disabled"]
        page.send("paint the door")
        page.box("Buy paint").uncheck()
        page.press("Confirm")
        page.shows_answers(*said, "I have a plan.", "Doing: Paint")
        page.shows("steps", "Buy paint: disabled", "Paint: enabled")
    for given in page.sent[1::2]:
        assert bool(given.get("resume")) == (switches is OUTCOME)
        assert ("resume" in given["forwardedProps"].get("command", {})) == (switches is NONE)


def test_a_message_instead_of_an_answer(browser, kind):
    with opened("human_in_the_loop", browser, kind) as page:
        page.send("paint the wall")
        expect(page.box("Paint")).to_be_visible()
        with page.page.expect_response("**/run") as response:
            page.send("why?")
        response.value.finished()
        page.front.rests()
        page.box("Paint").uncheck()  # it is asked again
        page.press("Confirm")
        # The message that has waited runs now, and is asked about.
        page.shows_answers("I have a plan.", "Doing: Buy paint", "I have a plan.")
        expect(page.box("Paint")).to_be_visible()


@pytest.mark.parametrize("switches", [NONE, OUTCOME], ids=["no switch", "outcome"])
def test_an_interrupt_of_a_subgraph(browser, kind, switches):
    with opened("subgraphs", browser, kind, **switches) as page:
        page.send("to Rome")
        page.front.shows("form p", "Which flight?")
        page.press("KLM")
        page.shows_answers("Flight booked: KLM", "Have a good trip.")
        page.says("flight", "KLM")
        assert page.state["flight"] == "KLM"


@pytest.mark.parametrize(
    ("package", "switches"),
    [(THERE, NONE), (HERE, DOJO), (THERE, OUTCOME), (HERE, NEWEST_DOJO)],
    ids=["there, events", "here, events", "there, outcome", "here, outcome"],
)
def test_the_dojos_steps(browser, kind, switches, package):
    """Answered in words."""
    words = "The user selected the following steps: Boil water, Cook pasta"
    with opened("dojo_human_in_the_loop", browser, kind, package=package, **switches) as page:
        for plan in (1, 2):
            page.send("a pasta dish")
            page.says("selected", "3/3 selected")
            page.box("Add salt").uncheck()
            page.says("selected", "2/3 selected")
            page.press("Perform Steps")
            page.shows_answers(*[f"Done. {words}"] * plan)
            expect(page.part("selected")).to_have_count(0)
            page.shows("steps", "Boil water: enabled", "Add salt: enabled", "Cook pasta: enabled")
        kinds = [message.type for message in page.state["messages"]]
        assert kinds == ["human", "ai", "tool", "ai"] * 2


PLANNED = ["First the flight.", "Flights: I book United.", "Now the hotel."]
PLANNED += [
    "Hotels: You will like Zoe.",
    "Now something to do.",
    "Visit the pier.",
    "All is planned.",
]


@pytest.mark.parametrize("package", [THERE, HERE])
def test_the_dojos_subgraphs(browser, kind, package):
    """Two questions in one run, with objects to choose from; answered by the text of an object."""
    with opened("dojo_subgraphs", browser, kind, package=package, **DOJO) as page:
        page.send("to San Francisco")
        page.front.shows("form p", "flights: Found 2 options.")
        page.front.shows("form button", "KLM (recommended)", "United")
        page.press("United")
        page.front.shows("form p", "hotels: Found 2 options.")
        page.says("selected-flight", "United - $720")
        page.front.shows("form button", "Zephyr", "Zoe (recommended)")
        page.press("Zoe (recommended)")
        page.shows_answers(*PLANNED)
        page.says("selected-hotel", "Zoe")
        page.shows("found", "KLM", "United", "Zephyr", "Zoe", "Pier")
        chosen = page.state["itinerary"]
        assert (chosen["flight"]["price"], chosen["hotel"]["location"]) == ("$720", "Union Square")


def test_state_that_the_page_edits(browser, kind):
    with opened("shared_state", browser, kind) as page:
        minutes = page.page.get_by_label("Minutes")
        minutes.fill("20")
        page.send("a soup")
        page.shows_answers("A soup.")
        page.says("title", "Soup")
        assert page.state["recipe"] == {"minutes": 20, "title": "Soup"}
        minutes.fill("5")
        page.send("hotter")
        page.shows_answers("A soup.", "Hotter.")
        page.says("title", "Hot soup")
        expect(minutes).to_have_value("5")
        assert page.state["recipe"] == {"minutes": 5, "title": "Hot soup"}


class Held(Scripted):
    """Stops behind each chunk while it is held."""

    gate: Any = None
    loop: Any = None

    def __init__(self, *turns):
        super().__init__(*turns, gate=asyncio.Event())

    async def _astream(self, *args, **kwargs):
        self.loop = asyncio.get_running_loop()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.gate.wait()

    def hold(self):
        self.loop.call_soon_threadsafe(self.gate.clear)

    def release(self):
        self.loop.call_soon_threadsafe(self.gate.set)


TWICE = [
    part("write_document_local", '{"document": "Twice', "c3", 0),
    part(None, ' upon a time."}', None, 0),
]
AGAIN = [[calling(one) for one in TWICE], [call("confirm_changes", "c4")], ["It is lost."]]


def test_state_that_a_tool_call_predicts_twice(browser, kind):
    def held(model):
        return Held(*model.turns, *AGAIN)

    with opened("predictive_state_updates", browser, kind, model=held) as page:
        page.send("write")
        page.says("document", "Once")
        page.model.release()
        page.press("Accept")
        page.shows_answers("It is saved.")
        page.says("document", "Once upon a time.")
        page.model.hold()
        page.send("write another")
        page.says("document", "Twice")
        page.model.release()
        page.press("Refuse")
        page.shows_answers("It is saved.", "It is lost.")
        page.says("document", "Twice upon a time.")
        page.says("confirm", ["Accepted", "Refused"])
        assert page.state["document"] == "Twice upon a time."


def test_state_that_a_node_emits(browser, kind):
    def held(model):
        return Held(*model.turns)

    with opened("agentic_generative_ui", browser, kind, model=held) as page:
        page.send("plant a tree")
        page.shows("steps", "Dig: completed", "Plant: completed")  # before the node returns them
        page.model.release()
        page.shows_answers("All done.")
        page.shows("steps", "Dig: completed", "Plant: completed")


def test_a_component_for_a_tool_call(browser, kind):
    with opened("tool_based_generative_ui", browser, kind) as page:
        page.send("a haiku")
        page.shows_answers("Here is a haiku.")
        page.shows("haiku", "a – A", "b – B")

"""Graphs as users of `ag-ui-langgraph` write them, behind a page as users of CopilotKit write
it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Request, expect

from tests.contracts.frontends.pages import FrontEnd, Migrated, site
from tests.contracts.migrated.serving import HERE, THERE, load
from tests.kit.expect.front_ends import options_for
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.processes.building import build_migrated_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

NONE = Migrated.options
DOJO = options_for("the AG-UI Dojo, pages that read event.value")
NEWEST_DOJO = options_for("the AG-UI Dojo, pages that read interrupt.metadata.langgraph.raw")
OUTCOME: dict[str, Any] = {"emit_interrupt_outcome": True}
SWITCHES = pytest.mark.parametrize("switches", [NONE, OUTCOME], ids=["no switch", "outcome"])


@pytest.fixture(scope="module", params=[Migrated], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[FrontEnd]:
    build_migrated_page()
    return request.param  # type: ignore[no-any-return]


class Opened:
    """A page, and the graph that is behind it. `sent` are the inputs of its runs."""

    def __init__(self, front: FrontEnd, graph: Any, model: Any) -> None:
        self.front, self._graph, self.model = front, graph, model
        self.sent: list[dict[str, Any]] = []
        front.page.on("request", self._keep)

    def _keep(self, request: Request) -> None:
        if request.url.endswith("/run"):
            self.sent.append(request.post_data_json)

    def part(self, name: str) -> Locator:
        """Return the part of the page with this name."""
        return self.front.page.get_by_test_id(name)

    def shows(self, name: str, *lines: str) -> None:
        """Wait until these are the lines of a list."""
        self.front.shows(f"[data-testid={name}] li", *lines)

    def box(self, name: str) -> Locator:
        return self.front.page.get_by_role("checkbox", name=name, exact=True)

    @property
    def state(self) -> dict[str, Any]:
        """The thread's state, as the graph has it."""
        config = {"configurable": {"thread_id": self.front.thread_id}}
        return self._graph.get_state(config).values  # type: ignore[no-any-return]


@contextlib.contextmanager
def opened(
    name: str,
    browser: Browser,
    kind: type[FrontEnd],
    answer: str = "object",
    model: Callable[[Scripted], Scripted] | None = None,
    package: str = HERE,
    **switches: Any,
) -> Iterator[Opened]:
    """Open the page for a graph, with another model or other switches of the agent."""
    module = load(name, package)
    if model is not None:
        module.MODEL = model(module.MODEL)
    kind_of_agent = type(module.agent)
    agent = kind_of_agent(name=name, graph=module.graph, **switches) if switches else module.agent
    query = f"?graph={name}&answer={answer}" + ("&asked=outcome" if switches else "")
    with site(kind, agent) as served, served.opened(browser, query) as front:
        page = Opened(front, module.graph, module.MODEL)
        yield page
        expect(front.page.get_by_role("alert")).to_have_text("")


def test_a_tool_of_the_page(browser: Browser, kind: type[FrontEnd]) -> None:
    with opened("agentic_chat", browser, kind) as page:
        page.front.send("make it red")
        page.front.shows_answers("The page is red.")
        expect(page.part("background")).to_have_css("background-color", "rgb(255, 0, 0)")
        page.front.send("hello")
        page.front.shows_answers("The page is red.", "You said hello.")
        [result] = [message for message in page.state["messages"] if message.type == "tool"]
        assert "The background is red." in result.text


@pytest.mark.parametrize("answer", ["object", "text"])
@SWITCHES
def test_an_interrupt_twice(
    browser: Browser, kind: type[FrontEnd], switches: dict[str, Any], answer: str
) -> None:
    with opened("human_in_the_loop", browser, kind, answer, **switches) as page:
        page.front.send("paint the wall")
        expect(page.box("Buy paint")).to_be_checked()
        page.box("Paint").uncheck()
        page.front.press("Confirm")
        page.front.shows_answers("I have a plan.", "Doing: Buy paint")
        page.shows("steps", "Buy paint: enabled", "Paint: disabled")
        expect(page.box("Paint")).to_have_count(0)
        assert [step["status"] for step in page.state["steps"]] == ["enabled", "disabled"]
        page.front.send("paint the door")
        page.box("Buy paint").uncheck()
        page.front.press("Confirm")
        page.front.shows_answers(
            "I have a plan.", "Doing: Buy paint", "I have a plan.", "Doing: Paint"
        )
        page.shows("steps", "Buy paint: disabled", "Paint: enabled")
    for given in page.sent[1::2]:
        assert bool(given.get("resume")) == (switches is OUTCOME)
        assert ("resume" in given["forwardedProps"].get("command", {})) == (switches is NONE)


def test_a_message_instead_of_an_answer(browser: Browser, kind: type[FrontEnd]) -> None:
    with opened("human_in_the_loop", browser, kind) as page:
        page.front.send("paint the wall")
        expect(page.box("Paint")).to_be_visible()
        with page.front.page.expect_response("**/run") as response:
            page.front.send("why?")
        response.value.finished()
        page.front.rests()
        page.box("Paint").uncheck()  # it is asked again
        page.front.press("Confirm")
        # The message that has waited runs now, and is asked about.
        page.front.shows_answers("I have a plan.", "Doing: Buy paint", "I have a plan.")
        expect(page.box("Paint")).to_be_visible()


@SWITCHES
def test_an_interrupt_of_a_subgraph(
    browser: Browser, kind: type[FrontEnd], switches: dict[str, Any]
) -> None:
    with opened("subgraphs", browser, kind, **switches) as page:
        page.front.send("to Rome")
        page.front.shows("form p", "Which flight?")
        page.front.press("KLM")
        page.front.shows_answers("Flight booked: KLM", "Have a good trip.")
        expect(page.part("flight")).to_have_text("KLM")
        assert page.state["flight"] == "KLM"


@pytest.mark.parametrize(
    ("package", "switches"),
    [(THERE, NONE), (HERE, DOJO), (THERE, OUTCOME), (HERE, NEWEST_DOJO)],
    ids=["there, events", "here, events", "there, outcome", "here, outcome"],
)
def test_the_dojos_steps(
    browser: Browser, kind: type[FrontEnd], switches: dict[str, Any], package: str
) -> None:
    """Answered in words."""
    with opened("dojo_human_in_the_loop", browser, kind, package=package, **switches) as page:
        for plan in (1, 2):
            page.front.send("a pasta dish")
            expect(page.part("selected")).to_have_text("3/3 selected")
            page.box("Add salt").uncheck()
            expect(page.part("selected")).to_have_text("2/3 selected")
            page.front.press("Perform Steps")
            words = "The user selected the following steps: Boil water, Cook pasta"
            page.front.shows_answers(*[f"Done. {words}"] * plan)
            expect(page.part("selected")).to_have_count(0)
            page.shows("steps", "Boil water: enabled", "Add salt: enabled", "Cook pasta: enabled")
        assert [message.type for message in page.state["messages"]] == [
            *["human", "ai", "tool", "ai"] * 2
        ]


@pytest.mark.parametrize("package", [THERE, HERE])
def test_the_dojos_subgraphs(browser: Browser, kind: type[FrontEnd], package: str) -> None:
    """Two questions in one run, with objects to choose from; answered by the text of an object."""
    with opened("dojo_subgraphs", browser, kind, package=package, **DOJO) as page:
        page.front.send("to San Francisco")
        page.front.shows("form p", "flights: Found 2 options.")
        page.front.shows("form button", "KLM (recommended)", "United")
        page.front.press("United")
        page.front.shows("form p", "hotels: Found 2 options.")
        expect(page.part("selected-flight")).to_have_text("United - $720")
        page.front.shows("form button", "Zephyr", "Zoe (recommended)")
        page.front.press("Zoe (recommended)")
        page.front.shows_answers(
            "First the flight.",
            "Flights: I book United.",
            "Now the hotel.",
            "Hotels: You will like Zoe.",
            "Now something to do.",
            "Visit the pier.",
            "All is planned.",
        )
        expect(page.part("selected-hotel")).to_have_text("Zoe")
        page.shows("found", "KLM", "United", "Zephyr", "Zoe", "Pier")
        chosen = page.state["itinerary"]
        assert (chosen["flight"]["price"], chosen["hotel"]["location"]) == ("$720", "Union Square")


def test_state_that_the_page_edits(browser: Browser, kind: type[FrontEnd]) -> None:
    with opened("shared_state", browser, kind) as page:
        minutes = page.front.page.get_by_label("Minutes")
        minutes.fill("20")
        page.front.send("a soup")
        page.front.shows_answers("A soup.")
        expect(page.part("title")).to_have_text("Soup")
        assert page.state["recipe"] == {"minutes": 20, "title": "Soup"}
        minutes.fill("5")
        page.front.send("hotter")
        page.front.shows_answers("A soup.", "Hotter.")
        expect(page.part("title")).to_have_text("Hot soup")
        expect(minutes).to_have_value("5")
        assert page.state["recipe"] == {"minutes": 5, "title": "Hot soup"}


class Held(Scripted):
    """Stops behind each chunk while it is held."""

    gate: Any = None
    loop: Any = None

    def __init__(self, *turns: Any) -> None:
        super().__init__(*turns, gate=asyncio.Event())

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.loop = asyncio.get_running_loop()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.gate.wait()

    def hold(self) -> None:
        self.loop.call_soon_threadsafe(self.gate.clear)

    def release(self) -> None:
        self.loop.call_soon_threadsafe(self.gate.set)


WRITE_AGAIN = [
    calling(part("write_document_local", '{"document": "Twice', "c3", 0)),
    calling(part(None, ' upon a time."}', None, 0)),
]


def test_state_that_a_tool_call_predicts_twice(browser: Browser, kind: type[FrontEnd]) -> None:
    def held(model: Scripted) -> Held:
        return Held(*model.turns, WRITE_AGAIN, [call("confirm_changes", "c4")], ["It is lost."])

    with opened("predictive_state_updates", browser, kind, model=held) as page:
        document, confirm = page.part("document"), page.part("confirm")
        page.front.send("write")
        expect(document).to_have_text("Once")
        page.model.release()
        page.front.press("Accept")
        page.front.shows_answers("It is saved.")
        expect(document).to_have_text("Once upon a time.")
        page.model.hold()
        page.front.send("write another")
        expect(document).to_have_text("Twice")
        page.model.release()
        page.front.press("Refuse")
        page.front.shows_answers("It is saved.", "It is lost.")
        expect(document).to_have_text("Twice upon a time.")
        expect(confirm).to_have_text(["Accepted", "Refused"])
        assert page.state["document"] == "Twice upon a time."


def test_state_that_a_node_emits(browser: Browser, kind: type[FrontEnd]) -> None:
    with opened(
        "agentic_generative_ui", browser, kind, model=lambda model: Held(*model.turns)
    ) as page:
        page.front.send("plant a tree")
        page.shows("steps", "Dig: completed", "Plant: completed")  # before the node returns them
        page.model.release()
        page.front.shows_answers("All done.")
        page.shows("steps", "Dig: completed", "Plant: completed")


def test_a_component_for_a_tool_call(browser: Browser, kind: type[FrontEnd]) -> None:
    with opened("tool_based_generative_ui", browser, kind) as page:
        page.front.send("a haiku")
        page.front.shows_answers("Here is a haiku.")
        page.shows("haiku", "a – A", "b – B")

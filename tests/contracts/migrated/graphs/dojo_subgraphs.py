"""The questions of the AG-UI Dojo's page `subgraphs`: a supervisor, whose subgraphs let the user
pick one object of several."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from tests.kit.models.scripted import Scripted, call


def route(number: int, answer: str, next_agent: str) -> list[Any]:
    return [call("route", f"r{number}", answer=answer, next_agent=next_agent)]


SUPERVISOR = Scripted(
    route(1, "First the flight.", "flights_agent"),
    route(2, "Now the hotel.", "hotels_agent"),
    route(3, "Now something to do.", "experiences_agent"),
    route(4, "All is planned.", "complete"),
)
MODEL = Scripted(["Visit ", "the pier."])


@dataclass
class Flight:
    """A flight, as the page draws it."""

    airline: str
    departure: str
    arrival: str
    price: str


@dataclass
class Hotel:
    """A hotel, as the page draws it."""

    name: str
    location: str
    price_per_night: str


FLIGHTS = [Flight("KLM", "AMS", "SFO", "$650"), Flight("United", "AMS", "SFO", "$720")]
HOTELS = [Hotel("Zephyr", "Wharf", "$280"), Hotel("Zoe", "Union Square", "$320")]


def merged(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    return {**(left or {}), **(right or {})}


class TravelState(MessagesState):
    flights: list[Flight]
    hotels: list[Hotel]
    experiences: list[str]
    itinerary: Annotated[dict[str, Any], merged]
    tools: list[Any]


def ask(agent: str, options: list[Any], recommended: int) -> dict[str, Any]:
    recommendation = options[recommended]
    chosen = interrupt(
        {
            "message": f"Found {len(options)} options.",
            "options": options,
            "recommendation": recommendation,
            "agent": agent,
        }
    )
    return json.loads(chosen) if isinstance(chosen, str) else chosen  # type: ignore[no-any-return]


async def flights_finder(state: TravelState, config: RunnableConfig) -> Command[str]:
    flight = ask("flights", FLIGHTS, 0)
    words = {"role": "assistant", "content": f"Flights: I book {flight['airline']}."}
    messages = [*state["messages"], words]
    update = {"flights": FLIGHTS, "itinerary": {"flight": flight}, "messages": messages}
    return Command(goto=END, update=update)


async def hotels_finder(state: TravelState, config: RunnableConfig) -> Command[str]:
    hotel = ask("hotels", HOTELS, 1)
    words = {"role": "assistant", "content": f"Hotels: You will like {hotel['name']}."}
    messages = [*state["messages"], words]
    update = {"hotels": HOTELS, "itinerary": {"hotel": hotel}, "messages": messages}
    return Command(goto=END, update=update)


async def experiences_finder(state: TravelState, config: RunnableConfig) -> Command[str]:
    response = await MODEL.ainvoke([SystemMessage("Tell."), *state["messages"]], config)
    messages = [*state["messages"], response]
    return Command(goto=END, update={"experiences": ["Pier"], "messages": messages})


async def supervisor(state: TravelState, config: RunnableConfig) -> Command[str]:
    model = SUPERVISOR.bind_tools([*state.get("tools", [])], parallel_tool_calls=False)
    response = await model.ainvoke([SystemMessage("Route."), *state["messages"]], config)
    args = response.tool_calls[0]["args"]
    goto = END if args["next_agent"] == "complete" else args["next_agent"]
    return Command(goto=goto, update={"messages": [AIMessage(args["answer"])]})


def subgraph(node: Any) -> Any:
    builder = StateGraph(TravelState)
    builder.add_node("chat_node", node)
    builder.add_edge(START, "chat_node")
    return builder.compile()


builder = StateGraph(TravelState)
builder.add_node("supervisor", supervisor)
builder.add_node("flights_agent", subgraph(flights_finder))
builder.add_node("hotels_agent", subgraph(hotels_finder))
builder.add_node("experiences_agent", subgraph(experiences_finder))
builder.add_edge(START, "supervisor")
for name in ("flights_agent", "hotels_agent", "experiences_agent"):
    builder.add_edge(name, "supervisor")
graph = builder.compile(checkpointer=MemorySaver())
agent = LangGraphAgent(name="dojo_subgraphs", description="Plans trips.", graph=graph)

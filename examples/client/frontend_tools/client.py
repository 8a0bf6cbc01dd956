"""A tool that runs here and that the remote agent calls:
`python -m examples.client.frontend_tools.client URL`."""

from __future__ import annotations

import sys

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage

from langgraph_agui.client import AGUIChatModel, AGUISession

QUESTION = "Where am I?"


def get_user_location() -> str:
    """Tell where the user is."""
    print("  get_user_location runs here")
    return "Lisbon"


def with_session(url: str) -> None:
    """The session answers the agent's calls, and goes on until there is none left."""
    session = AGUISession(url, tools=[get_user_location])
    print(f"agent: {session.send(QUESTION).wait().text}")


def with_create_agent(url: str) -> None:
    """The remote agent is the model of a local one, whose tools it calls."""
    agent = create_agent(AGUIChatModel(url=url), [get_user_location])
    made = agent.invoke({"messages": [HumanMessage(QUESTION)]})
    for message in made["messages"]:
        print(f"{message.type}: {message.text or message.tool_calls[0]['name']}")


def main(url: str) -> None:
    print(f"-- AGUISession\nuser: {QUESTION}")
    with_session(url)
    print("-- create_agent(AGUIChatModel)")
    with_create_agent(url)


if __name__ == "__main__":
    main(*sys.argv[1:])

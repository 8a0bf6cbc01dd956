"""A recipe that agent and user write together: `python -m examples.client.recipe_state.client
URL`."""

from __future__ import annotations

import sys

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel, Field, ValidationError

from langgraph_agui.client import AGUISession


class Recipe(BaseModel):
    """The shared state. All has a default, for it comes bit by bit."""

    title: str = ""
    servings: int = Field(default=1, ge=1)
    ingredients: list[str] = []


def refused(error: ValidationError) -> None:
    for one in error.errors():
        print(f"  refused: {one['loc'][0]} = {one['input']}: {one['msg']}")


def ask(session: AGUISession[Recipe], question: str) -> None:
    print(f"user: {question}")
    turn = session.send(question)
    for event in turn:
        if isinstance(event, StateSnapshotEvent | StateDeltaEvent):
            print(f"  state: {session.state!r}")
    print(f"agent: {turn.text}")


def main(url: str) -> None:
    session = AGUISession[Recipe](url, on_invalid_state=refused)
    ask(session, "A tomato soup, please.")
    session.state.servings = 6
    session.state.ingredients.append("basil")
    print("the user makes it for six and adds basil")
    ask(session, "What do I need?")
    ask(session, "Now for nobody.")
    print(f"still for {session.state.servings}")


if __name__ == "__main__":
    main(*sys.argv[1:])

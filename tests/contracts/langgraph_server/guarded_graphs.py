"""Graphs with guardrails behind the model, for a LangGraph server."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent

from tests.behaviour.wrap.test_held_messages import AfterModel, Results
from tests.behaviour.wrap.test_stream_transformers import delegating, look
from tests.kit.expect.canary import CANARY
from tests.kit.models.scripted import Scripted, call


def _looking(messages: list[Any]) -> list[Any]:
    if messages[-1].type == "tool":
        return ["Found ", CANARY]
    number = len(messages)
    return ["I look. ", *(call("look", f"c{number}-{index}", index, who="Ann") for index in (0, 1))]


def _asking(messages: list[Any]) -> list[Any]:
    if messages[-1].type == "tool":
        return ["Thanks."]
    return [call("ask", f"a{len(messages)}", task="Who?")]


guarded = create_agent(Scripted(script=_looking), [look], middleware=[AfterModel(), Results()])

_inner = create_agent(Scripted(["I am ", CANARY]), [], middleware=[AfterModel()], name="helper")
guarded_inside = create_agent(Scripted(script=_asking), [delegating(_inner, "ask")])

GRAPHS = ("guarded", "guarded_inside")

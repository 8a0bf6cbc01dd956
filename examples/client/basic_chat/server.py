"""A chat that thinks aloud: `python -m examples.client.basic_chat.server`."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.testing import Reply, ScriptedChatModel, reasoning


def script(messages: list[BaseMessage]) -> Reply:
    questions = [message.text for message in messages if message.type == "human"]
    name = questions[0].split()[-1].strip(".")
    if len(questions) == 1:
        return [
            reasoning("They tell me their name. A greeting is in order."),
            f"Hello {name}! What can I do for you?",
        ]
    return [
        reasoning(f"The first of {len(questions)} messages has the name."),
        f"You are {name}, and this is message {len(questions)} of yours.",
    ]


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

agent = LangGraphAgent(graph=create_agent(MODEL, checkpointer=InMemorySaver()), name="chat")
app = FastAPI()
add_langgraph_fastapi_endpoint(app, agent, "/agent")

if __name__ == "__main__":
    uvicorn.run(app, port=8023)

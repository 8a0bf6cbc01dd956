"""An email desk that asks before it answers, by questions in the form of Agent Inbox.

    python -m examples.email_desk                                     # in the terminal, offline
    langgraph-agui serve examples.email_desk.main:agent --port 8016   # in the browser: type a mail

A mail comes as the key `email_input` of the state, as a webhook sends it, or as a message that a
user types. `triage` drops newsletters. For the others the model writes an answer, and `ask` raises
an interrupt for it. The person accepts, edits or ignores the answer, or says what is wrong with it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call

outbox: list[str] = []
"""The mails that were really sent."""


class Email(TypedDict):
    author: str
    subject: str
    text: str


class State(MessagesState):
    email_input: NotRequired[Email]


# -- the model ------------------------------------------------------------------------------------


def draft(messages: list[BaseMessage]) -> Reply:
    """Write an answer, and another one if a person has said what is wrong with it."""
    last, drafts = messages[-1], sum(isinstance(one, AIMessage) for one in messages)
    if isinstance(last, ToolMessage) and last.status == "success":
        return f"Done: {last.text}"
    text = "I will come at nine." if drafts == 0 else "I will come at ten, as you wish."
    answer = call("write_email", f"mail-{drafts}", to="the sender", content=text)
    return ["This is what I would answer.", answer]


MODEL = ScriptedChatModel(draft)  # a real one: init_chat_model("anthropic:claude-sonnet-4-5")


def write_email(to: str, content: str) -> str:
    """Send a mail."""
    outbox.append(content)
    return f"sent to {to}: {content}"


# -- the graph ------------------------------------------------------------------------------------


async def triage(state: State) -> Command[Literal["write", "__end__"]]:
    """Read the mail, and drop it if nobody needs to answer."""
    known, mail = state["messages"], state.get("email_input")
    if mail is not None and not (known and isinstance(known[-1], HumanMessage)):
        text = f"{mail['subject']}\n{mail['text']}"
        new: list[BaseMessage] = [HumanMessage(text, name=mail["author"])]
    else:
        text, new = known[-1].text, []
    if "newsletter" in text.lower():
        ignored = AIMessage("This is a newsletter: nobody needs to answer.")
        return Command(goto="__end__", update={"messages": [*new, ignored]})
    return Command(goto="write", update={"messages": new})


async def write(state: State) -> Command[Literal["ask", "__end__"]]:
    """Have the model write an answer, or say what has become of it."""
    reply = await MODEL.ainvoke(state["messages"])
    calls = isinstance(reply, AIMessage) and reply.tool_calls
    return Command(goto="ask" if calls else "__end__", update={"messages": [reply]})


async def ask(state: State) -> Command[Literal["write", "__end__"]]:
    """Ask the person about the mail, as Agent Inbox does: a list with one request."""
    written = state["messages"][-1]
    assert isinstance(written, AIMessage)
    mail = written.tool_calls[0]
    request = {
        "action_request": {"action": mail["name"], "args": mail["args"]},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": True,
            "allow_ignore": True,
        },
        "description": f"May I send this?\n\n{mail['args']['content']}",
    }
    answer = interrupt([request])
    response = answer[0] if isinstance(answer, list) else answer

    def result(text: str, **fields: Any) -> ToolMessage:
        return ToolMessage(text, tool_call_id=mail["id"], name=mail["name"], **fields)

    match response:
        case {"type": "accept"}:
            return Command(goto="write", update={"messages": [result(write_email(**mail["args"]))]})
        case {"type": "edit", "args": {"args": args}}:
            # The conversation says what was sent, and not what the model had written.
            edited = written.model_copy(update={"tool_calls": [{**mail, "args": args}]})
            sent = result(write_email(**args))
            return Command(goto="write", update={"messages": [edited, sent]})
        case {"type": "response", "args": wish}:
            refused = result(f"Not sent. The person says: {wish}", status="error")
            return Command(goto="write", update={"messages": [refused]})
        case _:
            return Command(goto="__end__", update={"messages": [result("Ignored: not sent.")]})


def make_agent() -> LangGraphAgent:
    """Return the agent."""
    builder = StateGraph(State)
    builder.add_node(triage)
    builder.add_node(write)
    builder.add_node(ask)
    builder.add_edge(START, "triage")
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), name="email-desk")


agent = make_agent()

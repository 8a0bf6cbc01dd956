"""An email desk that asks before it answers, by questions in the form of Agent Inbox.

    python -m examples.email_desk                       # in the terminal, offline
    langgraph-agui serve examples.email_desk.main:agent # in the browser: type a mail

A mail comes as the key `email_input` of the state, as a webhook sends it, or as a message that a
user types. `triage` drops newsletters. For the others the model writes an answer, and `ask` raises
an interrupt for it. The person accepts, edits or ignores the answer, or says what is wrong with it.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_agui import LangGraphAgent

outbox: list[str] = []
"""The mails that were really sent."""


class Email(TypedDict):
    author: str
    subject: str
    text: str


class State(MessagesState):
    email_input: NotRequired[Email]


# -- the model ------------------------------------------------------------------------------------


class Writer(BaseChatModel):
    """Writes an answer, and another one if a person has said what is wrong with it."""

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last, drafts = messages[-1], sum(isinstance(one, AIMessage) for one in messages)
        if isinstance(last, ToolMessage) and last.status == "success":
            said = AIMessage(f"Done: {last.text}")
        else:
            text = "I will come at nine." if drafts == 0 else "I will come at ten, as you wish."
            answer = {"to": "the sender", "content": text}
            call = {"name": "write_email", "args": answer, "id": f"mail-{drafts}"}
            said = AIMessage("This is what I would answer.", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


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
    reply = await Writer().ainvoke(state["messages"])
    calls = isinstance(reply, AIMessage) and reply.tool_calls
    return Command(goto="ask" if calls else "__end__", update={"messages": [reply]})


async def ask(state: State) -> Command[Literal["write", "__end__"]]:
    """Ask the person about the mail, as Agent Inbox does: a list with one request."""
    draft = state["messages"][-1]
    assert isinstance(draft, AIMessage)
    call = draft.tool_calls[0]
    request = {
        "action_request": {"action": call["name"], "args": call["args"]},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": True,
            "allow_ignore": True,
        },
        "description": f"May I send this?\n\n{call['args']['content']}",
    }
    answer = interrupt([request])
    response = answer[0] if isinstance(answer, list) else answer

    def result(text: str, **fields: Any) -> ToolMessage:
        return ToolMessage(text, tool_call_id=call["id"], name=call["name"], **fields)

    match response:
        case {"type": "accept"}:
            return Command(goto="write", update={"messages": [result(write_email(**call["args"]))]})
        case {"type": "edit", "args": {"args": args}}:
            # The conversation says what was sent, and not what the model had written.
            edited = draft.model_copy(update={"tool_calls": [{**call, "args": args}]})
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

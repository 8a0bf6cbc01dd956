"""The demo agent: a `create_agent` graph with real tools, on a scripted model that needs no
network.

In: the user's messages. Out: all that a front end must show: reasoning, tool calls in parallel, a
call that fails, an approval, shared state, and subagents with streamed tool output.
"""

import asyncio
import json
import operator
import re
import zlib
from collections.abc import Collection, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from langgraph_agui.testing import Reply, ScriptedChatModel, call, reasoning

# Messages that show what the demo agent can do.
SUGGESTIONS: Final = (
    "What is the weather in Rome?",
    "Is it warmer in Lisbon or in Oslo, and by how much?",
    "What is 12 * 7?",
    "Remember that the demo works offline",
    "Send an email to ada@example.com saying the demo works",
    "Plan a day in Rome and one in Oslo",
)

_PROMPT: Final = (
    "You are the demo agent of langgraph-agui. Use the tools whenever they help, in parallel "
    "where the calls "
    "do not depend on each other. Answer briefly, in plain text without markup."
)
_GUIDE_PROMPT: Final = (
    "You are a city guide. Look up the weather and the sights, then answer in a sentence or two."
)
# Degrees Celsius and the sky. Invented, and always the same.
_WEATHER: Final = {
    "Lisbon": (23, "sunny"),
    "Oslo": (11, "cloudy"),
    "Paris": (18, "rain"),
    "Rome": (25, "sunny"),
}
_SIGHTS: Final = ("the botanical garden", "the clock museum", "the old harbour")
_OPERATORS: Final = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class Rule(NamedTuple):
    """If the question contains one of `words`, the model calls `tool` for each match of the pattern
    `arguments`.
    """

    tool: str
    words: tuple[str, ...]
    arguments: str
    # The user's wish, in the words of the reasoning.
    aim: str
    # How the answer states the result.
    answer: str


_CITY: Final = rf"\b(?:in|and|or) (?P<city>(?i:{'|'.join(_WEATHER)})\b|[A-Z]\w+(?: [A-Z]\w+)*)"
_TERM: Final = r"(?P<left>[\d.]+)\s*(?P<sign>[-+*/])\s*(?P<right>[\d.]+)"
_NOTE: Final = r"(?is)remember\b(?: that)?\s+(?P<note>.+)"
_EMAIL: Final = r"(?is)(?P<to>[\w.+-]+@[\w.-]+\w)(?:.*\bsaying (?P<body>.+))?"
_REPORT: Final = "In {city} it is {celsius} °C, {sky}."
RULES: Final = (
    Rule("get_weather", ("weather", "warmer", "and in "), _CITY, "the weather in {city}", _REPORT),
    Rule("find_sights", ("to see in",), _CITY, "the sights of {city}", "Go and see {result}."),
    Rule("plan_day", ("plan a ",), _CITY, "a guide's plan for a day in {city}", "{result}"),
    Rule(
        "calculate",
        ("what is",),
        _TERM,
        "the value of {left} {sign} {right}",
        "{left} {sign} {right} = {result}.",
    ),
    Rule(
        "remember",
        ("remember",),
        _NOTE,
        "me to remember “{note}”",
        "It is in the shared state: “{note}”.",
    ),
    Rule(
        "send_email",
        ("mail",),
        _EMAIL,
        "an e-mail to {to}, which a person has to approve first",
        "{result}",
    ),
)


def next_reply(messages: Sequence[BaseMessage], tools: Collection[str]) -> Reply:
    """Return the model's answer to `messages`. It calls only tools that are named in `tools`."""
    start = max(
        (at for at, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0
    )
    question = messages[start].text if messages else ""
    made = [
        asked
        for message in messages[start:]
        if isinstance(message, AIMessage)
        for asked in message.tool_calls
    ]
    answers = {
        message.tool_call_id: message
        for message in messages[start:]
        if isinstance(message, ToolMessage)
    }
    if results := [(asked, answers[asked["id"]]) for asked in made if asked["id"] in answers]:
        return _answer(question, results, tools)
    if "crash" in question.lower():
        return [
            reasoning("The user asks me to crash. I will fail in the middle of this very tho"),
            RuntimeError("The demo model was asked to crash."),
        ]
    wanted: dict[str, ToolCall] = {}
    for rule in RULES:
        if rule.tool in tools and any(word in question.lower() for word in rule.words):
            for match in re.finditer(rule.arguments, question):
                args = match.groupdict("Hello from the demo!")
                wanted.setdefault(rule.aim.format(**args), call(rule.tool, **args))
    if wanted:
        plan = (
            "There is a tool for that."
            if len(wanted) == 1
            else "I can call the tools at the same time."
        )
        return [reasoning(f"The user wants {' and '.join(wanted)}. {plan}"), *wanted.values()]
    text = (
        f"I am a scripted model: I follow a few rules and cannot really talk. You wrote: "
        f"{question}\n\nTry these:"
    )
    return [
        reasoning("No rule of mine matches, so I list what I can do."),
        "\n  • ".join([text, *SUGGESTIONS, "Please crash"]),
    ]


def _answer(
    question: str, results: Sequence[tuple[ToolCall, ToolMessage]], tools: Collection[str]
) -> Reply:
    """Return the reply that puts results into sentences, or first compares two temperatures if the
    user asked for it.
    """
    sentences: list[str] = []
    degrees: list[int] = []
    rules = {rule.tool: rule for rule in RULES}
    for asked, message in results:
        fields = {**asked["args"], "result": message.text}
        if message.status == "error":
            sentences.append(f"I could not finish {asked['name']}: {message.text}")
            continue
        if asked["name"] == "get_weather":
            fields |= json.loads(message.text)
            degrees.append(fields["celsius"])
        sentences.append(rules[asked["name"]].answer.format(**fields))
    if len(degrees) == len(results) > 1 and "warmer" in question and "calculate" in tools:
        return [
            reasoning("For the difference I would rather calculate than guess."),
            call("calculate", left=max(degrees), sign="-", right=min(degrees)),
        ]
    note = (
        ""
        if "find_sights" in tools
        else "\n\n(I am a scripted model and run offline; what I report is invented.)"
    )
    return [
        reasoning("I have everything I need, so I can answer now."),
        " ".join(sentences) + note,
    ]


class DemoModel(ScriptedChatModel):
    """A chat model that follows `RULES`."""

    delay: float = 0.02
    model_name: str = "scripted-demo"

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """Return reasoning, then a text or tool calls."""
        return next_reply(messages, tools)


class DemoState(AgentState[Any]):
    """The state of the demo agent. Front ends share the notes that `remember` keeps."""

    notes: Annotated[list[str], operator.add]


@tool
def get_weather(city: str) -> str:
    """Get the current weather of a city."""
    name = city.strip().title()
    celsius, sky = _WEATHER.get(name, (zlib.crc32(name.encode()) % 30, "cloudy"))
    return json.dumps(
        {"city": name, "celsius": celsius, "sky": sky, "source": "invented"}, ensure_ascii=False
    )


@tool
def calculate(left: float, sign: Literal["+", "-", "*", "/"], right: float) -> str:
    """Add, subtract, multiply or divide two numbers."""
    try:
        return f"{_OPERATORS[sign](left, right):.10g}"
    except ZeroDivisionError:
        raise ToolException(f"{left:g} / {right:g} divides by zero.") from None


calculate.handle_tool_error = True


@tool
def remember(note: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Remember a note in the state that the agent shares with the user interface."""
    return Command(
        update={
            "notes": [note],
            "messages": [ToolMessage(f"Noted: {note}", tool_call_id=tool_call_id)],
        }
    )


@tool
def send_email(to: str, body: str) -> str:
    """Send an e-mail. The demo only pretends to."""
    return f"Pretended to send {len(body)} characters to {to}. No e-mail left this machine."


def _plan_day_tool(model: BaseChatModel, delay: float) -> BaseTool:
    """Return a tool that asks a subagent, a city guide on `model` with tools of its own."""

    @tool
    async def find_sights(city: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Find what there is to see in a city."""
        for sight in _SIGHTS:
            await asyncio.sleep(10 * delay)
            runtime.emit_output_delta(f"found {sight}\n")
        return f"{', '.join(_SIGHTS[:-1])} and {_SIGHTS[-1]}"

    guide = create_agent(
        model, [get_weather, find_sights], system_prompt=_GUIDE_PROMPT, name="guide"
    )

    @tool
    async def plan_day(city: str) -> str:
        """Ask a guide to plan a day in a city."""
        question = f"What is the weather in {city}, and what is there to see in {city}?"
        answer = await guide.ainvoke({"messages": [HumanMessage(question)]})
        return str(answer["messages"][-1].text)

    return plan_day


def build_demo_graph(
    model: BaseChatModel | None = None, *, delay: float = 0.02
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the demo agent on `model`, by default a scripted one that waits `delay` seconds before
    each chunk.
    """
    chosen = model or DemoModel(delay=delay)
    review = InterruptOnConfig(
        allowed_decisions=["approve", "edit", "reject"], description="Send this e-mail?"
    )
    return create_agent(
        chosen,
        [get_weather, calculate, remember, send_email, _plan_day_tool(chosen, delay)],
        system_prompt=_PROMPT,
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"send_email": review})],
        state_schema=DemoState,
        checkpointer=InMemorySaver(),
        name="demo",
    )

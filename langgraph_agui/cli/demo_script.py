"""What the demo model says next: rules over the conversation, no intelligence, no network.

`next_turn` is a pure function (call ids aside) of the messages so far, so the demo agent behaves the same
on every machine. The rules live here, the manners of a streaming model in `langgraph_agui.cli.demo_model`.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_agui.cli.demo_tools import CLIMATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages import BaseMessage

SUGGESTIONS: Final = (
    "What is the weather in Rome?",
    "Is it warmer in Lisbon or in Oslo, and by how much?",
    "What is 12 * (3 + 4)?",
    "Remember that the demo works offline",
    "Send an email to ada@example.com saying the demo works",
    "Plan a day in Rome and one in Oslo",
)
"""Messages that show what the demo agent can do."""

_WEATHER_WORDS: Final = re.compile(
    r"\b(weather|temperature|forecast|(?:warm|cold|hot|cool)(?:t?er|t?est)?|rain(?:y|ing|s)?|sunny)\b",
    re.IGNORECASE,
)
_PLAN: Final = re.compile(r"\bplan\b.*\b(?:day|trip|visit)s?\b", re.IGNORECASE)
_SIGHTS: Final = re.compile(r"\bto see in (?P<city>[^?]+)\?", re.IGNORECASE)
_FOLLOW_UP: Final = re.compile(r"^\s*(and|what about|how about)\b", re.IGNORECASE)
_COMPARISON: Final = re.compile(r"\b(warmer|colder|hotter|cooler|difference|by how much)\b", re.IGNORECASE)
_KNOWN_CITY: Final = re.compile(r"\b(" + "|".join(map(re.escape, CLIMATE)) + r")\b", re.IGNORECASE)
_NAMED_PLACE: Final = re.compile(r"\b(?:in|for|at) ([A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*)")
_ARITHMETIC: Final = re.compile(r"[-(]*\d[\d\s.()+\-*/%^×÷]*[\d)]")
_PERCENTAGE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent) of (\d+(?:\.\d+)?)", re.IGNORECASE)
_NOTE: Final = re.compile(
    r"\b(?:remember|make a note|note down)\b[:,]?\s*(?:that|to|of)?\b[:,]?\s*(?P<note>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SAYING: Final = re.compile(
    r"\b(?:saying|that says|to say)\b[:,]?\s*(?:that\s+)?(?P<body>\S.*)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model wants to make."""

    name: str
    args: dict[str, Any]
    id: str = field(default_factory=lambda: f"call_{uuid4().hex[:12]}")


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model: what it thinks, then what it says or the tools that it calls."""

    reasoning: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    crash: bool = False


@dataclass(frozen=True, slots=True)
class _Result:
    """A finished tool call and what came back."""

    name: str
    args: dict[str, Any]
    content: str
    failed: bool


def next_turn(messages: Sequence[BaseMessage], tools: frozenset[str]) -> Turn:
    """Decide the model's next turn, using only the tools named in `tools`."""
    start = max((at for at, message in enumerate(messages) if isinstance(message, HumanMessage)), default=-1)
    question = messages[start].text if start >= 0 else ""
    results = _results(messages[start + 1 :])
    if results:
        return _follow_up(question, results, tools) or _answer(results, footnote="find_sights" not in tools)
    if re.search(r"\bcrash\b", question, re.IGNORECASE):
        return Turn("The user asks me to crash. I will fail in the middle of this very tho", crash=True)
    calls = tuple(call for call in _wanted(question) if call.name in tools)
    if calls:
        return Turn(_plan(calls), calls=calls)
    return _small_talk(question)


def _wanted(question: str) -> list[Call]:
    """Find every tool call that the question asks for."""
    address = _ADDRESS.search(question)
    if address and re.search(r"\b(e-?mail|write|send|mail)\b", question, re.IGNORECASE):
        saying = _SAYING.search(question)
        body = saying["body"] if saying else "Hello from the demo!"
        return [Call("send_email", {"to": address[0], "body": body})]
    if note := _NOTE.search(question):
        return [Call("remember", {"note": note["note"].rstrip(" .!")})]
    if _PLAN.search(question):
        return [Call("plan_day", {"city": city}) for city in _places(question)]
    calls = [Call("get_weather", {"city": city}) for city in _cities(question)]
    if sights := _SIGHTS.search(question):
        calls.append(Call("find_sights", {"city": sights["city"]}))
    return calls + [Call("calculate", {"expression": sum_}) for sum_ in _expressions(question)]


def _cities(question: str) -> list[str]:
    about_weather = bool(_WEATHER_WORDS.search(question))
    if not (about_weather or _FOLLOW_UP.search(question)):
        return []
    return _places(question, named=about_weather)


def _places(question: str, *, named: bool = True) -> list[str]:
    """The cities of a question: those that are known, else, if `named`, whatever is named like a place."""
    names = {name.casefold(): name for name in CLIMATE}
    found = [names[match[0].casefold()] for match in _KNOWN_CITY.finditer(question)]
    if not found and named:
        found = _NAMED_PLACE.findall(question)
    return list(dict.fromkeys(found))


def _expressions(question: str) -> list[str]:
    shares = [f"{share} / 100 * {whole}" for share, whole in _PERCENTAGE.findall(question)]
    if shares:
        return shares
    found = []
    for match in _ARITHMETIC.finditer(question):
        text = match[0].replace("×", "*").replace("÷", "/").replace("^", "**").strip()
        try:
            node = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(node, ast.BinOp):
            found.append(text)
    return found


def _plan(calls: Sequence[Call]) -> str:
    """Say what the calls are for, the way a reasoning model would think about it."""
    aims = {
        "get_weather": lambda args: f"the weather in {args['city']}",
        "calculate": lambda args: f"the value of {args['expression']}",
        "remember": lambda args: f"a note to be kept: “{args['note']}”",
        "send_email": lambda args: f"an e-mail sent to {args['to']}",
        "plan_day": lambda args: f"a guide's plan for a day in {args['city']}",
        "find_sights": lambda args: f"the sights of {args['city']}",
    }
    wishes = _listed([aims[call.name](call.args) for call in calls])
    if len(calls) > 1:
        return f"The user wants {wishes}. These do not depend on each other, so I call the tools at once."
    if calls[0].name == "send_email":
        return f"The user wants {wishes}. That cannot be undone, so a person has to approve it first."
    return f"The user wants {wishes}. I should not guess; the tool {calls[0].name} knows."


def _results(messages: Sequence[BaseMessage]) -> list[_Result]:
    """Pair the tool messages of this turn with the calls that they answer."""
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    return [
        _Result(call["name"], call["args"], message.text, message.status == "error")
        for message in messages
        if isinstance(message, ToolMessage) and (call := calls.get(message.tool_call_id))
    ]


def _follow_up(question: str, results: Sequence[_Result], tools: frozenset[str]) -> Turn | None:
    """Ask for the difference when two temperatures are to be compared and it is not known yet."""
    degrees = [report[1] for result in results if (report := _report(result))]
    compared = any(result.name == "calculate" for result in results)
    if len(degrees) < 2 or compared or "calculate" not in tools or not _COMPARISON.search(question):
        return None
    expression = f"{max(degrees)} - {min(degrees)}"
    return Turn(
        f"Both reports are in. For the difference I need {expression}; I would rather calculate than guess.",
        calls=(Call("calculate", {"expression": expression}),),
    )


def _answer(results: Sequence[_Result], *, footnote: bool) -> Turn:
    sentences = [_sentence(result) for result in results]
    reasoning = "I have everything I need, so I can answer now."
    if any(result.failed for result in results):
        reasoning = "Not every tool call succeeded. I say so instead of making something up."
    if not footnote:
        return Turn(reasoning, " ".join(sentences))
    invented = any(_report(result) or result.name == "plan_day" for result in results)
    note = "(I am a scripted model and run offline" + ("; the weather is invented.)" if invented else ".)")
    return Turn(reasoning, f"{' '.join(sentences)}\n\n{note}")


def _sentence(result: _Result) -> str:
    if result.failed:
        return f"I could not finish {result.name}: {result.content}"
    if report := _report(result):
        return f"In {report[0]} it is {report[1]} °C, {report[2]}."
    if result.name == "calculate":
        return f"{result.args.get('expression')} = {result.content}."
    if result.name == "find_sights":
        return f"Go and see {result.content}."
    if result.name == "remember":
        return f"I keep this note in the shared state: “{result.args.get('note')}”."
    return result.content


def _report(result: _Result) -> tuple[str, int, str] | None:
    """Read a weather report: city, degrees and sky."""
    if result.name != "get_weather" or result.failed:
        return None
    try:
        report = json.loads(result.content)
        return str(report["city"]), int(report["celsius"]), str(report["sky"])
    except (ValueError, KeyError, TypeError):
        return None


def _small_talk(question: str) -> Turn:
    offers = "\n".join(f"  • {suggestion}" for suggestion in SUGGESTIONS)
    return Turn(
        "None of my rules match this message, so I say what I am and what I can do.",
        "I am a scripted model: I run offline and follow a few simple rules, so I cannot really talk. "
        f"You wrote: {question}\n\nThese show what the agent can do:\n{offers}\n  • Please crash",
    )


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"

"""One conversation through the chat as a person has it: in a narrow terminal, and through a
pipe."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.behaviour.cli.terminal import Terminal, chatting
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted, Turn, call, text_chunk, thinking
from tests.kit.processes.demo_server import environment
from tests.kit.processes.serving import serving

ANSWER = """\
## Plan for **Rome**

- see the *Forum*
- pay with `cash`, [more](https://rome.example/)

| day | sight |
|-----|-------|
| one | Forum |

```python
print("ciao")
```
List<int> stays.
next line
"""
APPROVAL = "[a]pprove  [e]dit  [r]eject  [c]ancel  or JSON:"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "description": "How much do you want to pay?"},
        "note": {"type": "string"},
    },
    "required": ["amount"],
}


@tool
async def guide(city: str) -> str:
    """Ask a guide."""
    asked = create_agent(Scripted(script=lambda _: [text_chunk("It is **sunny**.")]), name="guide")
    return str((await asked.ainvoke({"messages": [HumanMessage(city)]}))["messages"][-1].text)


@tool
def book(item: str, days: int = 1) -> str:
    """Book something."""
    return f"booked {item} for {days}"


@tool
def pay() -> str:
    """Pay."""
    return f"paid {interrupt({'message': 'How much?', 'responseSchema': FORM})}"


def script(messages: list[BaseMessage]) -> Turn:
    start = max(at for at, one in enumerate(messages) if isinstance(one, HumanMessage))
    if results := [one.text for one in messages[start:] if isinstance(one, ToolMessage)]:
        said = f"So: {results[0].split(' with id')[0].splitlines()[-1]}"
        return [text_chunk(ANSWER if "sunny" in results[0] else said)]
    turns: dict[str, Turn] = {
        "plan": [thinking("Rome, then."), call("guide", f"g{start}", city="Rome")],
        "book": [call("book", f"b{start}", item="chair")],
        "pay": [call("pay", f"p{start}")],
        "hello": [text_chunk("# Hi")],
    }
    return turns[messages[start].text]  # a `KeyError` for any other one


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    allowed = {"allowed_decisions": ["approve", "edit", "reject"]}
    how = {"middleware": [HumanInTheLoopMiddleware({"book": allowed})], "name": "agent"}
    tools = [guide, book, pay]
    graph = create_agent(Scripted(script=script), tools, checkpointer=InMemorySaver(), **how)
    with serving(build_app(LangGraphAgent(graph=graph, name="agent"), "Test")) as served:
        yield served.url("/agent")


def flat(text: str) -> str:
    """The words of a screen, without frames and line ends."""
    return re.sub(r"[\s│╭╮╰╯─]+", "", text)


def converse(chat: Terminal) -> None:
    chat.enter("plan")
    chat.wait(lambda: "nextline" in flat(chat.text), "the answer")
    chat.enter("book")
    chat.wait_question(APPROVAL)
    chat.send("e")
    chat.wait_question('arguments as JSON: {"item": "chair"}')
    chat.press_ctrl_c()
    chat.wait_question(APPROVAL)
    chat.type("half")
    chat.press_ctrl_c()
    chat.wait_question(APPROVAL)
    chat.send('edit {"item": "table", "days": 2}')
    chat.wait(lambda: "So:bookedtablefor2" in flat(chat.text), "the booking")
    chat.enter("book")
    chat.wait_question(APPROVAL)
    chat.send("n")
    chat.wait_question("why (optional):")
    chat.press_ctrl_c()
    chat.wait_question(APPROVAL)
    chat.send("no too dear")
    chat.wait(lambda: "So:User" in flat(chat.text), "the rejection")
    chat.enter("pay")
    chat.wait_question("[f]ill  [c]ancel  or JSON:")
    chat.send('{"amount": "much"}')
    chat.wait(lambda: "Expectedanumberfor`amount`." in flat(chat.text), "what is expected")
    chat.wait_question("[f]ill  [c]ancel  or JSON:")
    chat.send("")
    chat.wait_question("amount:")
    chat.press_ctrl_c()
    chat.wait_question("[f]ill  [c]ancel  or JSON:")
    chat.send("f")
    chat.wait_question("amount:")
    chat.send("2.5")
    chat.wait_question("note:")
    chat.send("")
    chat.wait(lambda: "So:paid{'amount':2.5}" in flat(chat.text), "the payment")
    chat.enter("crash")
    chat.wait(lambda: "error:" in flat(chat.text), "the error")
    chat.enter("hello")
    chat.enter("book")
    chat.wait_question(APPROVAL)
    chat.send("quit")
    assert chat.wait_exit() == 0


@deep
def test_the_conversation_in_a_terminal(url: str) -> None:
    columns = 40
    with chatting(url, columns=columns) as chat:
        converse(chat)
    assert "Traceback" not in chat.raw
    seen, words = chat.text, flat(chat.text)
    assert all(len(line) <= columns for line in seen.splitlines())
    for text in ("thoughtfor", "[guide]started", "Itissunny.", "[guide]done", "PlanforRome"):
        assert text in words
    assert "seetheForum" in words
    assert "cash,more(https://rome.example/)" in words
    assert "one Forum" in re.sub(" +", " ", seen)
    assert 'print("ciao")' in seen
    assert "List<int> stays.\nnext line\n" in seen
    assert not re.search(r"\*\*Rome|```|^\s*##|\|--", seen, re.MULTILINE)
    assert "\x1b]8" not in chat.raw
    assert "Toolexecutionrequiresapprovalbookitemchair" in words
    assert "Args:" not in seen
    assert "responseSchema" not in seen
    assert words.count("expected:anobjectwithamount(anumber),note(atext,optional)") == 1
    assert "Howmuchdoyouwanttopay?(anumber)" in words
    assert "rejected:toodear" in words
    assert "✗" not in seen
    assert "Itsquestionsareaskedagain.Continuewith:" in words
    command = re.search(r"langgraph-agui chat (\S+ --thread [\w-]+)", chat.raw)
    assert command
    with chatting(*command[1].split(), columns=columns, PAGER="sed s/^/paged./") as chat:
        chat.wait_question(APPROVAL)
        for start in ("1 you: plan", "2 thought: Rome", "3 call guide", "4 result guide"):
            assert f"\n{start}" in f"\n{chat.text}"
        assert all(len(line) <= columns for line in chat.text.splitlines())
        chat.send(":history 1")
        chat.expect("\n1 you:\nplan\n")
        chat.wait_question(APPROVAL)
        chat.send(":history 77")
        chat.expect("There is no message 77")
        chat.wait_question(APPROVAL)
        chat.send("y")
        chat.wait(lambda: "So:bookedchairfor1" in flat(chat.text), "the booking")
        for _ in range(14):  # more than a screen
            chat.enter("hello")
        chat.enter(":history")
        chat.expect("\npaged.1 you: plan\n")
        chat.expect_prompt()
        chat.enter("exit")
        assert chat.wait_exit() == 0
    slow = "sh -c 'sed s/^/paged./; sleep 1; echo paged.end'"
    with chatting(*command[1].split(), columns=columns, PAGER=slow) as chat:
        chat.expect("paged.1 you: plan\n")
        chat.expect_prompt()
        paged = chat.raw[chat.raw.index("paged.1 you:") : chat.raw.index("paged.end")]
        assert "Ctrl-C stops" not in paged
        chat.enter("exit")
        assert chat.wait_exit() == 0


def test_the_conversation_through_a_pipe(url: str) -> None:
    typed = """plan
book
e {"item": "table", "days": 2}
book
no too dear
book
reject
pay
{"amount": "much"}

2.5

crash
hello
quit
never sent
"""
    chat = subprocess.run(
        [sys.executable, "-m", "langgraph_agui", "chat", url],
        input=typed,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (chat.returncode, chat.stderr) == (0, "")
    for text in (
        "thinking: Rome, then.\n",
        "[guide] started",
        "  It is **sunny**.\n",
        f"{ANSWER}\n",
        "Tool execution requires approval: book ",
        "booked table for 2",
        "  rejected: too dear\n",
        "  rejected\n",
        "Expected a number for `amount`.",
        "So: paid {'amount': 2.5}\n",
        "error: ",
        "# Hi\n",
    ):
        assert text in chat.stdout, chat.stdout
    assert "never sent" not in chat.stdout
    assert "\x1b" not in chat.stdout

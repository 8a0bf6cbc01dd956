"""One conversation through the chat as a person has it: in a narrow terminal, and through a
pipe."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.behaviour.cli.terminal import chatting
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
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
APPROVAL, FILL = "[a]pprove  [e]dit  [r]eject  [c]ancel  or JSON:", "[f]ill  [c]ancel  or JSON:"
AMOUNT = {"type": "number", "description": "How much do you want to pay?"}
PROPERTIES = {"amount": AMOUNT, "note": {"type": "string"}}
FORM = {"type": "object", "properties": PROPERTIES, "required": ["amount"]}
DECISIONS = ["approve", "edit", "reject"]


@tool
async def guide(city: str) -> str:
    """Ask a guide."""
    asked = create_agent(Scripted(["It is **sunny**."]), name="guide")
    return str((await asked.ainvoke({"messages": [HumanMessage(city)]}))["messages"][-1].text)


@tool
def book(item: str, days: int = 1) -> str:
    """Book something."""
    return f"booked {item} for {days}"


@tool
def pay() -> str:
    """Pay."""
    return f"paid {interrupt({'message': 'How much?', 'responseSchema': FORM})}"


def script(messages):
    start = max(at for at, one in enumerate(messages) if isinstance(one, HumanMessage))
    if results := [one.text for one in messages[start:] if isinstance(one, ToolMessage)]:
        said = f"So: {results[0].split(' with id')[0].splitlines()[-1]}"
        return [text_chunk(ANSWER if "sunny" in results[0] else said)]
    turns = {
        "plan": [thinking("Rome, then."), call("guide", f"g{start}", city="Rome")],
        "book": [call("book", f"b{start}", item="chair")],
        "pay": [call("pay", f"p{start}")],
        "hello": [text_chunk("# Hi")],
    }
    return turns[messages[start].text]  # a `KeyError` for any other one


@pytest.fixture(scope="module")
def url():
    review = HumanInTheLoopMiddleware({"book": {"allowed_decisions": DECISIONS}})
    model, tools, saver = Scripted(script=script), [guide, book, pay], InMemorySaver()
    graph = create_agent(model, tools, checkpointer=saver, middleware=[review], name="agent")
    with serving(build_app(LangGraphAgent(graph, name="agent"), "Test")) as served:
        yield served.url("/agent")


def flat(text):
    """The words of a screen, without frames and line ends."""
    return re.sub(r"[\s│╭╮╰╯─]+", "", text)


# What is typed after which prompt, and what then must be there; None is Ctrl-C.
CONVERSATION = [
    (">", "plan", "nextline"),
    (">", "book", ""),
    (APPROVAL, "e", ""),
    ('arguments as JSON: {"item": "chair"}', None, ""),
    (APPROVAL, 'edit {"item": "table", "days": 2}', "So:bookedtablefor2"),
    (">", "book", ""),
    (APPROVAL, "n", ""),
    ("why (optional):", None, ""),
    (APPROVAL, "no too dear", "So:User"),
    (">", "pay", ""),
    (FILL, '{"amount": "much"}', "Expectedanumberfor`amount`."),
    (FILL, "", ""),
    ("amount:", None, ""),
    (FILL, "f", ""),
    ("amount:", "2.5", ""),
    ("note:", "", "So:paid{'amount':2.5}"),
    (">", "crash", "error:"),
    (">", "hello", ""),
    (">", "book", ""),
]
SHOWN = ["thoughtfor", "[guide]started", "Itissunny.", "[guide]done", "PlanforRome", "seetheForum"]
SHOWN += ["cash,more(https://rome.example/)", "Toolexecutionrequiresapprovalbookitemchair"]
SHOWN += ["Howmuchdoyouwanttopay?(anumber)", "rejected:toodear"]
SHOWN += ["Itsquestionsareaskedagain.Continuewith:"]
FIRST = ("1 you: plan", "2 thought: Rome", "3 call guide", "4 result guide")
SLOW = "sh -c 'sed s/^/paged./; sleep 1; echo paged.end'"


@deep
def test_the_conversation_in_a_terminal(url):
    with chatting(url, columns=40) as chat:
        for prompt, typed, then in CONVERSATION:
            chat.press_ctrl_c(prompt) if typed is None else chat.enter(typed, prompt)
            chat.wait(lambda then=then: then in flat(chat.text), then)
        chat.expect_prompt(APPROVAL)
        chat.type("half")
        chat.press_ctrl_c()
        chat.leave("quit", APPROVAL)
    assert "Traceback" not in chat.raw
    seen, words = chat.text, flat(chat.text)
    assert all(len(line) <= 40 for line in seen.splitlines())
    assert [text for text in SHOWN if text not in words] == []
    assert "one Forum" in re.sub(" +", " ", seen)
    assert 'print("ciao")' in seen
    assert "List<int> stays.\nnext line\n" in seen
    assert not re.search(r"\*\*Rome|```|^\s*##|\|--|Args:|responseSchema|✗", seen, re.MULTILINE)
    assert "\x1b]8" not in chat.raw
    assert words.count("expected:anobjectwithamount(anumber),note(atext,optional)") == 1
    command = re.search(r"langgraph-agui chat (\S+ --thread [\w-]+)", chat.raw)[1].split()
    with chatting(*command, columns=40, PAGER="sed s/^/paged./") as chat:
        chat.expect_prompt(APPROVAL)
        assert [start for start in FIRST if f"\n{start}" not in f"\n{chat.text}"] == []
        assert all(len(line) <= 40 for line in chat.text.splitlines())
        chat.send(":history 1")
        chat.expect("\n1 you:\nplan\n")
        chat.enter(":history 77", APPROVAL)
        chat.expect("There is no message 77")
        chat.enter("y", APPROVAL)
        chat.wait(lambda: "So:bookedchairfor1" in flat(chat.text), "the booking")
        for _ in range(14):  # more than a screen
            chat.enter("hello")
        chat.enter(":history")
        chat.expect("\npaged.1 you: plan\n")
        chat.leave("exit")
    with chatting(*command, columns=40, PAGER=SLOW) as chat:
        chat.expect("paged.1 you: plan\n")
        chat.expect_prompt()
        paged = chat.raw[chat.raw.index("paged.1 you:") : chat.raw.index("paged.end")]
        assert "Ctrl-C stops" not in paged
        chat.leave("exit")


TYPED = """plan
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
PIPED = ["thinking: Rome, then.\n", "[guide] started", "  It is **sunny**.\n", f"{ANSWER}\n"]
PIPED += ["Tool execution requires approval: book ", "booked table for 2", "  rejected: too dear\n"]
PIPED += ["  rejected\n", "Expected a number for `amount`.", "So: paid {'amount': 2.5}\n"]
PIPED += ["error: ", "# Hi\n"]


def test_the_conversation_through_a_pipe(url):
    command, how = [sys.executable, "-m", "langgraph_agui", "chat", url], {"env": environment()}
    chat = subprocess.run(command, input=TYPED, capture_output=True, text=True, **how)
    assert (chat.returncode, chat.stderr) == (0, "")
    assert [text for text in PIPED if text not in chat.stdout] == []
    assert not re.search("never sent|\x1b", chat.stdout)

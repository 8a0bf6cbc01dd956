"""The chat client as a person uses it: in a pseudo-terminal, against a running agent."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.talker import Talker, talking
from tests.cli.terminal import chatting

TOOLS = """
import time

def where() -> str:
    '''Where the user is.'''
    print("looking around")
    return "in Rome"

def crash() -> str:
    '''Do not.'''
    raise RuntimeError("no luck")

def wait() -> str:
    '''Wait.'''
    print("waiting here", flush=True)
    time.sleep(60)

tools = {"where": where, "crash": crash, "wait": wait}
"""


@pytest.fixture
def talker() -> Iterator[Talker]:
    with talking() as agent:
        yield agent


def test_words_stream_and_reasoning_folds(talker: Talker) -> None:
    with chatting(talker.url) as chat:
        chat.sees(f"Talking to {talker.url}", ":help")
        chat.says("think")
        chat.sees("▾ thinking", "Let me see,")
        assert "what now?" not in chat.text
        talker.first.set()
        chat.sees("An ans")
        chat.wait(
            lambda: re.search(r"^▸ thought for \d+\.\d s \(5 words\)$", chat.text, re.MULTILINE), "folded reasoning"
        )
        assert "Let me see" not in chat.text
        assert "answer" not in chat.text
        talker.second.set()
        chat.sees("\nAn answer.\n", "tokens: 7 in, 9 out (scripted-1)")
        chat.says(":reasoning")
        chat.sees("\nLet me see, what now?\n")
        chat.says("think")
        chat.wait(lambda: chat.text.count("An answer.") == 2, "the second answer")
        assert re.search(r"▾ thought for .*\nLet me see, what now\?\n\s*An answer\.", chat.text)
        chat.says(":r")
        chat.says(":history")
        chat.sees("1 you: think\n2 thought: Let me see, what now?\n3 agent: An answer.\n4 you: think\n")
        chat.says(":nonsense")
        chat.sees("no command :nonsense")
        chat.says(" :sent")
        chat.sees("You said :sent.")
        chat.says(":q")
        assert chat.left() == 0


def test_calls_are_cards_that_fill_in(talker: Talker) -> None:
    with chatting(talker.url, "look") as chat:
        chat.sees('│ {"at": "sky"}', '│ {"at": "nothing"}')
        chat.wait(lambda: chat.text.count(" running ─╯") == 2, "two running tools")
        assert chat.text.count("╭─ look ─") == 2
        talker.tools.set()
        chat.sees("Heard: a sky and There is nothing..")
        assert chat.left() == 0
    assert re.search(r'╭─ look ─+╮\n│ {"at": "sky"} +│\n│ → a sky +│\n╰─+ done ─╯', chat.text)
    assert re.search(r'╭─ look ─+╮\n│ {"at": "nothing"} +│\n│ ✗ There is nothing. +│\n╰─+ failed ─╯', chat.text)
    assert " running " not in chat.text
    assert chat.text.count("╭─ look ─") == 2


APPROVAL = "[a]pprove  [e]dit  [r]eject  [c]ancel  or JSON:"


def test_approvals_are_approved_edited_and_rejected(talker: Talker) -> None:
    with chatting(talker.url, EDITOR="sed -i s/chair/table/") as chat:
        chat.says("book")
        chat.sees("╭─ the agent asks ─", '│   "item": "chair"')
        chat.says("perhaps", APPROVAL)
        chat.sees("neither one of the answers nor JSON")
        assert talker.booked == []
        chat.says("a", APPROVAL)
        chat.sees("→ booked chair", "Heard: booked chair.")
        chat.says("book")
        chat.says("edit", APPROVAL)
        chat.sees("│ booked table", "\nbooked table.")
        chat.says("book")
        chat.says("r", APPROVAL)
        chat.says("no room", "why (optional):")
        chat.sees("✗ User rejected the tool call for `book` with reason: no room")
        chat.says(":q")
        assert chat.left() == 0
    assert talker.booked == [{"item": "chair", "days": 1}, {"item": "table", "days": 1}]


def test_only_what_is_typed_after_a_question_answers_it(talker: Talker) -> None:
    with chatting(talker.url) as chat:
        chat.says("furnish")
        chat.sees("Begun")
        early = '{"approved": true}'
        chat.types(early)
        chat.sees(early)  # as the terminal shows it, it has it
        talker.second.set()
        chat.sees("╭─ the agent asks (1 of 2) ─")
        chat.asks(APPROVAL)
        chat.types("approve\napprove")
        chat.sees("╭─ the agent asks (2 of 2) ─")
        chat.says("r", APPROVAL)
        chat.says("one will do", "why (optional):")
        chat.sees("with reason: one will do")
        chat.says(":q")
        assert chat.left() == 0
    assert talker.booked == [{"item": "bed 1", "days": 1}]


def test_arguments_are_edited_on_a_line_and_answers_are_checked(talker: Talker) -> None:
    with chatting(talker.url) as chat:
        chat.says("book")
        chat.says('{"approved": "maybe"}', APPROVAL)
        chat.sees("breaks the rule 'type' at")
        chat.says("e", APPROVAL)
        chat.wait(lambda: chat.line == 'arguments as JSON: {"item": "chair"}', "what is there to edit")
        chat.types('\x7f, "days": 2')
        chat.sees("That is not JSON")
        chat.says("e", APPROVAL)
        chat.wait(lambda: chat.line == 'arguments as JSON: {"item": "chair"}', "what is there to edit")
        chat.types('\x7f, "days": 3}')
        chat.sees("│ booked chair", "\nbooked chair.")
        chat.says("book")
        chat.says(":clear", APPROVAL)
        chat.says("hello")
        chat.sees("You said hello.")
    assert talker.booked == [{"item": "chair", "days": 3}]


def test_ctrl_c_stops_the_agent_and_keeps_the_conversation(talker: Talker) -> None:
    with chatting(talker.url) as chat:
        chat.says("hang")
        chat.sees("Begun")
        chat.interrupts()
        chat.sees("Stopped.")
        assert talker.model.stopped.wait(10), "the agent still runs"
        chat.says("hello")
        chat.sees("You said hello.")
        chat.says(":history")
        chat.sees("1 you: hang\n2 agent: Begun\n3 you: hello\n4 agent: You said hello.\n")
        chat.asks()
        chat.interrupts()
        assert chat.left() == 0
    assert "Traceback" not in chat.raw


def test_local_tools_run_fail_and_are_stopped(talker: Talker, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(TOOLS))
    with chatting(talker.url, "--tools", "mine:tools", cwd=tmp_path) as chat:
        chat.says("where")
        chat.sees("looking around", "│ → in Rome", "Heard: in Rome.", "tokens: 6 in, 7 out")
        chat.says("crash")
        chat.sees("The tool 'crash' failed: RuntimeError: no luck", "✗ The tool failed.")
        chat.says("wait")
        chat.sees("waiting here")
        chat.interrupts()
        chat.sees("✗ The user stopped it.", "Stopped.")
        chat.says("hello")
        chat.sees("You said hello.")
        chat.says(":q")
        assert chat.left() == 0
    assert "Traceback" not in chat.raw


def test_more_than_a_screen_is_shown_from_its_end_and_kept_whole_and_a_lost_agent_ends_nothing() -> None:
    with ExitStack() as stack:
        with talking() as talker:
            chat = stack.enter_context(chatting(talker.url))
            chat.says("long")
            chat.sees("\nline 80\n")
            assert "\nline 20\n" not in chat.text
            talker.second.set()
            chat.sees("\nthe end\n", "tokens:")
            assert [chat.text.count(f"\nline {n}\n") for n in range(1, 81)] == [1] * 80
        chat.says("hello")
        chat.sees(f"Nobody answers at {talker.url}")
        chat.says(":history")
        chat.sees("1 you: long\n2 agent: line 1 line 2")
        chat.says(":q")
        assert chat.left() == 0


def test_no_agent_steers_the_terminal(talker: Talker) -> None:
    shown = "␛]52;c;eA==␇\ufffd2J[red]x"
    with chatting(talker.url) as chat:
        chat.says("evil")
        chat.sees(f"oh {shown}", f"│ May I {shown}?", "\\u001b]52;c;eA==\\u0007\\u009b2J[red]x")
        chat.asks(APPROVAL)
        chat.types(":reasoning")
        chat.sees(f"hm {shown}")
        chat.says(":history", APPROVAL)
        chat.sees(f"thought: hm {shown}", f"agent: oh {shown}")
        chat.says("e", APPROVAL)
        chat.says("", 'arguments as JSON: {"item": "\\u001b]52;c;eA==\\u0007\\u009b2J[red]x"}')
        chat.sees(f"→ booked {shown}", f"Heard: booked {shown}.")
        chat.says(":state")
        chat.says(":q")
        assert chat.left() == 0
    assert not set(re.findall(r"\x1b\][^\x1b\x07]*|\x9b|\x1b\[2J", chat.raw))


def test_a_conversation_is_kept_and_gone_on_with(demo_url: str, tmp_path: Path) -> None:
    with chatting(demo_url, cwd=tmp_path) as chat:
        chat.says("remember milk")
        chat.sees('state: {"notes": ["milk"]}')
        chat.says(":save it.json")
        chat.sees("Saved in it.json.")
        chat.says(":save")
        chat.sees("Saved in agui-")
        chat.says(":clear")
        chat.says(":history")
        chat.sees("There are no messages.")
        chat.says(":load nowhere")
        chat.sees("nowhere cannot be read: No such file")
        chat.says(":load it.json")
        chat.says("remember eggs")
        chat.sees('state: {"notes": ["milk", "eggs"]}')
        chat.says(":state")
        chat.sees('{\n  "notes": [\n    "milk",\n    "eggs"\n  ]\n}')
        chat.says("Plan a day in Rome")
        chat.sees("\n[guide] started: ", "\n  ▸ thought for ", "\n  ╭─ get_weather ─", "\n[guide] done\n")
        chat.says(":history")
        chat.sees("guide call get_weather: ", "guide: In Rome")
        chat.says(":q")
        assert chat.left() == 0
    assert len(list(tmp_path.glob("agui-*.json"))) == 1

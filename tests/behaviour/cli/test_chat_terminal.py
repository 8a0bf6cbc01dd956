"""The chat client as a person uses it: in a pseudo-terminal, against a running agent."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

from tests.behaviour.cli.terminal import chatting
from tests.kit.deep import deep
from tests.kit.graphs.chat import chat_agent
from tests.kit.processes.scripted_servers import answering, frames, server
from tests.kit.run.wire_events import STARTED, text

APPROVAL = "[a]pprove  [e]dit  [r]eject  [c]ancel  or JSON:"


@pytest.fixture
def agent():
    with chat_agent() as agent:
        yield agent


def test_words_stream_and_reasoning_folds(agent):
    with chatting(agent.url) as chat:
        chat.expect(f"Talking to {agent.url}", ":help")
        chat.enter("think")
        chat.expect("▾ thinking", "Let me see,")
        assert "what now?" not in chat.text
        agent.first.set()
        chat.expect("An ans")
        folded = re.compile(r"^▸ thought for \d+\.\d s \(5 words\)$", re.MULTILINE)
        chat.wait(lambda: folded.search(chat.text), "folded reasoning")
        assert "Let me see" not in chat.text
        assert "answer" not in chat.text
        agent.second.set()
        chat.expect("\nAn answer.\n", "tokens: 7 in, 9 out (scripted-1)")
        chat.enter(":history")
        chat.expect("1 you: think\n2 thought: Let me see, what now?\n3 agent: An answer.\n")
        chat.enter(":history 2")
        chat.expect("2 thought:\nLet me see, what now?\n")
        chat.enter(":nonsense")
        chat.expect("no command :nonsense")
        chat.enter(" :sent")
        chat.expect("You said :sent.")
        chat.leave()


def card(*lines):
    return r"╭─ look ─+╮\n│ " + r" +│\n│ ".join(lines[:-1]) + rf" +│\n╰─+ {lines[-1]} ─╯"


@deep
def test_calls_are_cards_that_fill_in(agent):
    with chatting(agent.url, "look") as chat:
        chat.expect('│ {"at": "sky"}', '│ {"at": "nothing"}')
        chat.wait(lambda: chat.text.count(" running ─╯") == 2, "two running tools")
        assert chat.text.count("╭─ look ─") == 2
        agent.tools.set()
        chat.expect("Heard: a sky and There is nothing..")
        chat.ends()
    assert re.search(card('{"at": "sky"}', "→ a sky", "done"), chat.text)
    assert re.search(card('{"at": "nothing"}', "✗ There is nothing.", "failed"), chat.text)
    assert (" running " in chat.text, chat.text.count("╭─ look ─")) == (False, 2)


def test_arguments_are_edited_in_the_editor(agent):
    with chatting(agent.url, EDITOR="sed -i s/chair/table/") as chat:
        chat.enter("book")
        chat.expect("╭─ the agent asks ─", "│ book ", "│ item  chair ")
        chat.enter("edit", APPROVAL)
        chat.expect("│ booked table", "\nbooked table.")
        chat.leave()
    assert agent.booked == [{"item": "table", "days": 1}]


@deep
def test_only_what_is_typed_after_a_question_answers_it(agent):
    with chatting(agent.url) as chat:
        chat.enter("furnish")
        chat.expect("Begun")
        early = '{"approved": true}'
        chat.send(early)
        chat.expect(early)  # as the terminal shows it, it has it
        agent.second.set()
        chat.expect("╭─ the agent asks (1 of 2) ─")
        chat.enter("approve\napprove", APPROVAL)
        chat.expect("╭─ the agent asks (2 of 2) ─")
        chat.enter("r", APPROVAL)
        chat.enter("one will do", "why (optional):")
        chat.expect("with reason: one will do")
        chat.leave()
    assert agent.booked == [{"item": "bed 1", "days": 1}]


@deep
def test_answers_are_checked(agent):
    with chatting(agent.url) as chat:
        chat.enter("book")
        chat.enter('{"approved": "maybe"}', APPROVAL)
        chat.expect("Expected true or false for `approved`.")
        for typed, expected in (
            ('\x7f, "days": 2', "That is not JSON"),
            ('\x7f, "days": 3}', "│ booked chair"),
        ):
            chat.enter("e", APPROVAL)
            chat.enter(typed, 'arguments as JSON: {"item": "chair"}')
            chat.expect(expected)
        chat.enter("book")
        chat.enter(":clear", APPROVAL)
        chat.enter("hello")
        chat.expect("You said hello.")
    assert agent.booked == [{"item": "chair", "days": 3}]


def test_ctrl_c_stops_the_agent_and_keeps_the_conversation(agent):
    with chatting(agent.url) as chat:
        chat.enter("hang")
        chat.expect("Begun")
        chat.press_ctrl_c()
        chat.expect("Stopped.")
        assert agent.model.stopped.wait(60), "the agent still runs"
        chat.enter("hello")
        chat.expect("You said hello.")
        chat.enter(":history")
        chat.expect("1 you: hang\n2 agent: Begun\n3 you: hello\n4 agent: You said hello.\n")
        chat.expect_prompt()
        chat.type("half a line")
        chat.press_ctrl_c()
        chat.expect_prompt()
        assert ":q leaves, as Ctrl-D does." not in chat.text
        chat.press_ctrl_c()
        chat.expect(":q leaves, as Ctrl-D does.")
        chat.leave("exit")
        command = re.search(r"Continue with: langgraph-agui chat (\S+ --thread [\w-]+)", chat.raw)
    with chatting(*command[1].split()) as chat:
        chat.expect("2 you: hello\n3 agent: You said hello.\n")
        chat.leave("quit")
    assert "Traceback" not in chat.raw


@deep
def test_more_than_a_screen_is_kept_whole_and_a_lost_agent_ends_nothing():
    with ExitStack() as stack:
        with chat_agent() as agent:
            chat = stack.enter_context(chatting(agent.url))
            chat.enter("long")
            chat.expect("\nline 80\n")
            assert "\nline 20\n" not in chat.text
            agent.second.set()
            chat.expect("\nthe end\n", "tokens:")
            assert [chat.text.count(f"\nline {n}\n") for n in range(1, 81)] == [1] * 80
        chat.enter("hello")
        chat.expect(f"Nothing answers at {agent.url}")
        chat.enter(":history")
        chat.expect("1 you: long\n2 agent: line 1 line 2")
        chat.leave()


@deep
def test_no_agent_steers_the_terminal(agent):
    shown, quoted = "␛]52;c;eA==␇\ufffd2J[red]x", "\\u001b]52;c;eA==\\u0007\\u009b2J[red]x"
    with chatting(agent.url) as chat:
        chat.enter("evil")
        chat.expect(f"oh {shown}", f"│ May I {shown}?", quoted)
        chat.enter(":history", APPROVAL)
        chat.expect(f"thought: hm {shown}", f"agent: oh {shown}")
        chat.enter("e", APPROVAL)
        chat.enter("", f'arguments as JSON: {{"item": "{quoted}"}}')
        chat.expect(f"→ booked {shown}", f"Heard: booked {shown}.")
        chat.enter(":state")
        chat.leave()
    assert not re.findall(r"\x1b\][^\x1b\x07]*|\x9b|\x1b\[2J", chat.raw)


@deep
def test_a_conversation_is_cleared_and_its_state_is_shown(demo_url):
    with chatting(demo_url) as chat:
        chat.enter("remember milk")
        chat.expect('state: {"notes": ["milk"]}')
        chat.enter(":clear")
        chat.enter(":history")
        chat.expect("There are no messages.")
        chat.enter("remember eggs")
        chat.expect('state: {"notes": ["eggs"]}')
        chat.enter(":state")
        chat.expect('{\n  "notes": [\n    "eggs"\n  ]\n}')
        chat.enter("Plan a day in Rome")
        chat.expect(
            "\n[guide] started: ", "\n  ▸ thought for ", "\n  ╭─ get_weather ─", "\n[guide] done\n"
        )
        chat.enter(":history")
        chat.expect("guide call get_weather: ", "guide: In Rome")
        chat.leave()


@deep
def test_ctrl_c_cancels_a_run_that_outlives_its_client_and_what_no_agent_keeps_is_saved(tmp_path):
    def hang(peer):
        peer.head()
        peer.write(frames([STARTED, *text("m", "Hello")[:-1]]))
        peer.left()

    with server(hang, answering(200), *[answering(404)] * 3) as agent:
        with chatting(agent.url, TMPDIR=str(tmp_path)) as chat:
            chat.enter("go")
            chat.wait(lambda: agent.asked, "the request")
            chat.expect("Hello")  # the run has begun
            chat.press_ctrl_c()
            chat.expect("Stopped.")
            chat.leave()
        cancelled = next(asked for asked in agent.asked if asked.path.endswith("/cancel"))
        assert cancelled.json == {"threadId": STARTED["threadId"], "runId": STARTED["runId"]}
        (kept,) = tmp_path.glob("agui-*.json")
        assert f"Continue with: langgraph-agui chat {agent.url} --session {kept}" in chat.raw
        assert kept.stat().st_mode & 0o077 == 0

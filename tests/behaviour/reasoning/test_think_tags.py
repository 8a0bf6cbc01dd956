"""Models that write their reasoning between tags into their text: split for the client, whole for
the provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint

from langgraph_agui import AGUICallbackHandler, LangGraphAgent, ReasoningOptions, ThinkTags
from tests.behaviour.reasoning.two_turns import agent_with, two_turns
from tests.contracts.providers.playing import assistant_messages
from tests.kit.deep import together
from tests.kit.expect.canary import CANARY, SEAL, check_events, found, texts, thoughts
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Text, turn
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input

OPENED = ThinkTags(opened=True)
SPLIT = ReasoningOptions(think_tags=True)
HIDDEN = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=True)
UNSEALED = ReasoningOptions(visibility="hidden", think_tags=True)
SECRET = f"<think>\n{CANARY}\n</think>\n\nA jacket."

whole = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
kept = pytest.mark.parametrize("kept", [False, True], ids=["client", "checkpointer"])

ANSWERS = {
    "<think>The weather first.</think>A jacket.": ["r:The weather first.", "t:A jacket."],
    "\n<think>\nThe weather.\n</think>\n\nA jacket.": ["r:The weather.", "t:A jacket."],
    "Well. <think>The weather?</think> A jacket.": ["r:The weather?", "t:Well. A jacket."],
    "<think>One.</think>First. <think>Two.</think>Second.": ["r:One.", "r:Two.", "t:First. Second."],
    "<think>One.</think><think>Two.</think>Both.": ["r:One.", "r:Two.", "t:Both."],
    "<think>\n\n</think>\n\nA jacket.": ["t:A jacket."],
    "<think>The weather": ["r:The weather"],
    "<think>Is 1 < 2?</think>1 < 2 </think> <think": ["r:Is 1 < 2?", "t:1 < 2 </think> <think"],
    "No tags, but <thinking> and 🌧.": ["t:No tags, but <thinking> and 🌧."],
    "<think>☂️ Rain, 雨</think>🌂 傘": ["r:☂️ Rain, 雨", "t:🌂 傘"],
    " \n": ["t: \n"],
}  # fmt: skip
"""What models say, and what a client holds of it: reasoning and text."""


def seen(recorded: RecordedRun) -> list[str]:
    """What the model said: the reasoning messages, then the answer, without empty ones."""
    said = [f"t:{text}" for text in texts(recorded) if text]
    return [*(f"r:{thought}" for thought in thoughts(recorded)), *said]


def kinds(recorded: RecordedRun) -> list[str]:
    """Items in the order in which they open."""
    words = {"TEXT_MESSAGE_START": "text", "REASONING_MESSAGE_START": "reasoning"}
    words["TOOL_CALL_START"] = "call"
    return [words[kind] for kind in recorded.types if kind in words]


async def said(
    model: Scripted, reasoning: Any, saver: Any = None, state: Any = Chat
) -> tuple[RecordedRun, Any]:
    """The first of two turns, and what the model was sent of it in the second."""
    agent = agent_of(talker(model), state=state, checkpointer=saver, reasoning=reasoning)
    first, _ = await two_turns(agent)
    return first, model.seen[-1][1].content


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_answer(answer: str) -> None:
    for size, is_whole in ((1, False), (7, False), (1000, True)):
        model = Scripted(cut(answer, size), ["More"], disable_streaming=is_whole)
        recorded, sent = await said(model, SPLIT)
        assert (seen(recorded), sent) == (ANSWERS[answer], answer)


async def test_no_answer_begins_before_the_reasoning() -> None:
    for size in (1, 3, 1000):
        recorded, _ = await said(Scripted(cut(" \n<think>\nHm.</think>\nYes.", size), ["-"]), SPLIT)
        assert kinds(recorded) == ["reasoning", "text"]
        assert recorded.of("TEXT_MESSAGE_CONTENT")[0].delta.startswith("Y")


async def test_stretches_and_blocks_are_told_apart() -> None:
    answer = "Well. <think>One.</think>First. <think>Two.</think>Second."
    recorded, sent = await said(Scripted([answer], ["More"]), SPLIT)
    assert kinds(recorded) == ["text", "reasoning", "text", "reasoning", "text"]
    assert len({message.id for message in recorded.messages}) == 4
    assert sent == answer
    blocks = ["<think>Hm.</think>Yes.", " <think>So.</think>No."]
    chunks = [text_chunk(piece, at) for at, text in enumerate(blocks) for piece in cut(text, 4)]
    recorded, sent = await said(Scripted(chunks, ["More"]), SPLIT)
    assert seen(recorded) == ["r:Hm.", "r:So.", "t:Yes. No."]
    assert [block["text"] for block in sent] == blocks


@whole
@pytest.mark.parametrize(
    ("tags", "answer"),
    [(OPENED, "Hm.\n</think>\n\nYes."), (ThinkTags("[T]", "[/T]"), "[T]Hm.[/T]Yes.")],
)
async def test_other_tags(tags: ThinkTags, answer: str, whole: bool) -> None:
    model = Scripted(cut(answer, 3), ["</think>More"], disable_streaming=whole)
    recorded, sent = await said(model, ReasoningOptions(think_tags=tags))
    assert (seen(recorded), sent) == (["r:Hm.", "t:Yes."], answer)


WORDS = "Hello, I did not think."
"""An answer of a hybrid model that does not think, though its template has opened the reasoning."""


def ended(reason: str | None) -> AIMessageChunk:
    """The last chunk of an answer, with why it has ended."""
    return AIMessageChunk("", response_metadata={"finish_reason": reason} if reason else {})


async def check_connect(agent: LangGraphAgent, recorded: RecordedRun) -> None:
    """A client that has nothing is shown of the thread what the client of the run holds. Each
    sealing gives other bytes."""
    given = run_input(thread="t")
    shown = RecordedRun(await collect(agent.connect(given)), given)
    late, early = dumped(shown.messages), dumped(recorded.messages)
    for message in (*late, *early):
        message["encryptedValue"] = bool(message.get("encryptedValue"))
    assert late == early


@together(whole, kept, pytest.mark.parametrize("reason", [None, "stop"]))
async def test_an_answer_without_a_closing_tag(kept: bool, reason: str | None, whole: bool) -> None:
    """It is streamed as reasoning, and is the answer in the end: in the stream, in the snapshot,
    for a client that comes later, and for the model."""
    for seal in (None, SEAL):
        model = Scripted([*WORDS, ended(reason)], ["</think>More"], disable_streaming=whole)
        options = ReasoningOptions(think_tags=OPENED, seal=seal)
        saver = InMemorySaver() if kept else None
        agent = agent_of(talker(model), checkpointer=saver, reasoning=options)
        first = await record_run(agent, run_input("hi", thread="t"))
        assert (seen(first), kinds(first)) == (["r:", f"t:{WORDS}"], ["reasoning", "text"])
        assert "".join(event.delta for event in first.of("TEXT_MESSAGE_CONTENT")) == WORDS
        assert dumped(first.messages) == dumped(first.snapshot)
        if kept:
            await check_connect(agent, first)
        second = await record_run(agent, run_input(*first.messages, "more", thread="t"))
        second.check_snapshot()
        assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
        assert model.seen[-1][1].content == WORDS


async def test_words_beside_a_call_without_a_closing_tag() -> None:
    model = Scripted([*WORDS, call("look", "c1", q=1)], ["Hm.</think>Done."], ["</think>More"])
    graph = create_agent(model, [look], checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph=graph, reasoning=ReasoningOptions(think_tags=OPENED))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    assert dumped(recorded.messages) == dumped(recorded.snapshot)
    assert seen(recorded) == ["r:", "r:Hm.", f"t:{WORDS}", "t:Done."]
    await check_connect(agent, recorded)


@pytest.mark.parametrize(
    ("visibility", "seal", "kept"),
    [("full", None, False), ("full", SEAL, True), ("hidden", SEAL, False), ("hidden", None, True)],
)
async def test_a_thought_that_a_limit_has_cut(visibility: Any, seal: Any, kept: bool) -> None:
    options = ReasoningOptions(visibility=visibility, seal=seal, think_tags=OPENED)
    for is_whole in (False, True):
        model = Scripted([*CANARY, ended("length")], ["</think>-"], disable_streaming=is_whole)
        recorded, sent = await said(model, options, InMemorySaver() if kept else None)
        assert seen(recorded) == [f"r:{CANARY if visibility == 'full' else ''}"]
        assert sent == CANARY


@pytest.mark.parametrize(
    "reason", ["stop", "tool_calls", "length", "content_filter", "abort", None]
)
async def test_where_reasoning_is_hidden_the_model_must_have_ended(reason: str | None) -> None:
    """Else the words may be a thought that was cut."""
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=OPENED)
    for is_whole in (False, True):
        model = Scripted([*WORDS, ended(reason)], ["</think>-"], disable_streaming=is_whole)
        recorded, sent = await said(model, options, InMemorySaver())
        assert seen(recorded) == [
            "r:",
            *([f"t:{WORDS}"] if reason in ("stop", "tool_calls") else []),
        ]
        assert sent == WORDS


@pytest.mark.parametrize("visibility", ["full", "hidden"])
async def test_an_unclosed_answer_has_no_value(
    visibility: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It is only what the client sees, and nothing is dropped on the next turn."""
    options = ReasoningOptions(visibility=visibility, think_tags=OPENED)
    model = Scripted([*WORDS, ended("stop")], ["</think>-"])
    agent = agent_of(talker(model), reasoning=options)
    first = await record_run(agent, run_input("hi", thread="t"))
    await record_run(agent, run_input(*first.messages, "more", thread="t"))
    sent = model.seen[-1][1].content
    assert (first.of("REASONING_ENCRYPTED_VALUE"), sent) == ([], WORDS)
    assert "were not used" not in caplog.text


class Kept(Chat):
    kept: Any


async def test_an_unclosed_answer_in_the_state() -> None:
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=OPENED)
    model = Scripted([WORDS, ended("stop")], [CANARY, ended("length")])

    async def node(state: Kept) -> Any:
        replies = [await model.ainvoke("hi") for _ in range(2)]
        return {"messages": replies, "kept": [*replies, replies[0].model_dump()]}

    recorded = await record_run(agent_of(node, state=Kept, reasoning=options), run_input("hi"))
    check_events(recorded.events)
    assert json.dumps(recorded.state["kept"]).count(WORDS) == 2


async def test_a_model_that_fails_has_given_no_answer() -> None:
    model = Scripted(["A thou", "ght", RuntimeError("gone")])
    agent = agent_of(talker(model), reasoning=ReasoningOptions(think_tags=OPENED))
    recorded = await record_run(agent, run_input("hi"))
    assert (recorded.last.type.value, kinds(recorded)) == ("RUN_ERROR", ["reasoning"])


async def test_the_callback_handler() -> None:
    """It tells an unclosed answer; a parser makes a string of a message: the result of the run."""
    events: list[Any] = []
    handler = AGUICallbackHandler(events.append, reasoning=ReasoningOptions(think_tags=OPENED))
    await Scripted([*WORDS]).ainvoke("hi", {"callbacks": [handler]})
    assert "".join(e.delta for e in events if e.type.value == "TEXT_MESSAGE_CONTENT") == WORDS
    events.clear()
    handler = AGUICallbackHandler(events.append, reasoning=HIDDEN)
    await (Scripted([SECRET]) | StrOutputParser()).ainvoke("hi", {"callbacks": [handler]})
    check_events(events)
    assert events[-1].result == "A jacket."


@tool
async def look(q: int) -> str:
    """Look."""
    return "found"


@whole
@pytest.mark.parametrize("options", [SPLIT, HIDDEN], ids=["full", "hidden"])
async def test_a_tool_loop(options: ReasoningOptions, whole: bool) -> None:
    asking = ["<think>\nI must ", "look.\n</think>\n\n", call("look", "c1", q=1)]
    answering = ["<think>Found", ".</think>", "Done."]
    model = Scripted(asking, answering, ["More"], disable_streaming=whole)
    agent = LangGraphAgent(graph=create_agent(model, [look]), reasoning=options)
    first, _ = await two_turns(agent)
    assert thoughts(first) == (["", ""] if options is HIDDEN else ["I must look.", "Found."])
    assert kinds(first) == ["reasoning", "call", "reasoning", "text"]
    asked, answered = [message for message in model.seen[-1] if isinstance(message, AIMessage)]
    assert asked.content == "<think>\nI must look.\n</think>\n\n"
    assert [(one["name"], one["args"]) for one in asked.tool_calls] == [("look", {"q": 1})]
    assert answered.content == "<think>Found.</think>Done."


async def test_a_call_in_the_middle_of_reasoning() -> None:
    """What is held back when a call comes is not lost, and the call is not in the way of what
    follows."""
    asking = ["<think>Hm", call("look", "c1", q=1), "m.</think>", "Yes."]
    model = Scripted(asking, ["Done"], ["More"])
    first, _ = await two_turns(LangGraphAgent(graph=create_agent(model, [look]), reasoning=SPLIT))
    assert thoughts(first) == ["Hmm."]
    assert model.seen[-1][1].content == "<think>Hmm.</think>Yes."


async def test_groq(provider_server: ProviderServer) -> None:
    """`reasoning_format="raw"`: Groq passes on what the model writes."""
    raw = "<think>\nThe weather first.\n</think>\n\n"
    asking = turn(Text(raw), Call("get_weather", {"city": "Paris"}, id="call_1"))
    provider_server.script("groq", asking, turn(Text(f"{raw}A jacket.")), turn(Text("More.")))
    agent = agent_with("groq", provider_server, SPLIT, [get_weather], reasoning_format="raw")
    first, _ = await two_turns(agent)
    assert seen(first) == ["r:The weather first.", "r:The weather first.", "t:A jacket."]
    asked = [body["content"] for body in assistant_messages(provider_server.bodies[-1])]
    assert asked == [raw, f"{raw}A jacket."]


@whole
async def test_it_can_be_hidden(whole: bool) -> None:
    """Without a seal it does not come back."""
    summary = ReasoningOptions(visibility="summary", seal=SEAL, think_tags=True)
    for options, size in ((HIDDEN, 1), (HIDDEN, 5), (summary, 1000), (UNSEALED, 1000)):
        model = Scripted(cut(SECRET, size), ["More"], disable_streaming=whole)
        recorded, sent = await said(model, options)
        check_events(recorded.events)
        assert seen(recorded) == ["r:", "t:A jacket."]
        assert sent == ("A jacket." if options is UNSEALED else SECRET)


async def test_summaries_of_a_provider_do_not_show_what_stands_between_tags() -> None:
    """A model behind OpenAI's API writes what it thinks, not a summary."""
    message = AIMessage(SECRET, id="m1", response_metadata={"model_provider": "openai"})

    async def node(state: Chat) -> Any:
        return {"messages": [message]}

    options = ReasoningOptions(visibility="summary", seal=SEAL, think_tags=True)
    recorded = await record_run(agent_of(node, reasoning=options), run_input("hi"))
    check_events(recorded.events)
    assert seen(recorded) == ["r:", "t:A jacket."]


@pytest.mark.parametrize(
    "keep",
    [lambda reply: reply, lambda reply: reply.text, lambda reply: [reply.content, {"a": reply}]],
    ids=["message", "text", "deep"],
)
@pytest.mark.parametrize("opened", [False, True])
async def test_state_and_results(keep: Any, opened: bool) -> None:
    """The same text in another place: it is known by its tags."""
    tags = ThinkTags(opened=opened)
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=tags)
    model = Scripted([SECRET.removeprefix("<think>") if opened else SECRET])

    async def node(state: Kept) -> Any:
        reply = await model.ainvoke("hi")
        return {"messages": [reply], "kept": keep(reply)}

    @entrypoint()
    async def graph(given: Any) -> Any:
        return [{"kept": keep(await model.ainvoke("hi"))}]

    recorded = await record_run(agent_of(node, state=Kept, reasoning=options), run_input("hi"))
    returned = await record_run(LangGraphAgent(graph=graph, reasoning=options), run_input("hi"))
    check_events([*recorded.events, *returned.events])
    assert found({"a": recorded.state}) == []
    assert "A jacket." in json.dumps(recorded.state)
    assert "A jacket." in json.dumps(returned.last.result)


@pytest.mark.parametrize("ends", [True, False], ids=["closed", "cut"])
@pytest.mark.parametrize("opened", [False, True])
async def test_tags_in_several_blocks(opened: bool, ends: bool) -> None:
    """One block opens the reasoning, another closes it; or none does."""
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=ThinkTags(opened=opened))
    begin, end = "" if opened else "<think>", "</think>" if ends else ""
    blocks = [f"{begin}{CANARY}", f"{CANARY}{end}", "A jacket." if ends else CANARY]
    model = Scripted([text_chunk(text, place) for place, text in enumerate(blocks)])

    async def node(state: Kept) -> Any:
        reply, strings = await model.ainvoke("hi"), AIMessage([*blocks])
        more = {"a": [*reply.content]} if ends else ""
        return {"messages": [reply, strings], "kept": [reply, strings, more]}

    recorded = await record_run(agent_of(node, state=Kept, reasoning=options), run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_events(recorded.events)


@pytest.mark.parametrize("options", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])
async def test_what_an_agent_answers_to_another(options: ReasoningOptions) -> None:
    """The result of a tool that is an agent itself is what a model said; so is a user's message
    that repeats it."""
    inner = chain_of(talker(Scripted([SECRET])))

    async def answer() -> str:
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].text)

    @tool
    async def ask() -> str:
        """Ask."""
        return await answer()

    async def research(state: Chat) -> Any:
        repeated = HumanMessage(await answer(), name="researcher", id=f"r{len(state['messages'])}")
        return {"messages": [repeated]}

    asking, writer = Scripted([call("ask", "c1")], ["Done"], ["More"]), Scripted(["Done"])
    for model, agent in (
        (asking, LangGraphAgent(graph=create_agent(asking, [ask]), reasoning=options)),
        (writer, agent_of(research, talker(writer), reasoning=options)),
    ):
        first = await record_run(agent, run_input("hi", thread="t"))
        first.check_snapshot()
        check_events(first.events)
        assert [one.content for one in first.messages if one.content == "A jacket."]
        await record_run(agent, run_input(*first.messages, "more", thread="t"))
        (sent,) = [one for one in model.seen[-1] if one.type == "tool" or one.id == "r1"]
        assert sent.content == (SECRET if options is HIDDEN else "A jacket.")


@pytest.mark.parametrize("options", [SPLIT, HIDDEN], ids=["full", "hidden"])
async def test_a_thread_on_the_server(options: ReasoningOptions) -> None:
    saver = InMemorySaver()

    async def run(said: str, *messages: Any) -> RecordedRun:
        agent = agent_of(talker(Scripted([said])), checkpointer=saver, reasoning=options)
        return await record_run(agent, run_input(*messages, thread="t"))

    first = await run(SECRET, "hi")
    first.check_snapshot()
    second = await run("More", "more")
    same = dumped(second.snapshot)[: len(first.messages)] == dumped(first.messages)
    assert same or options is HIDDEN
    roles = ["user", "reasoning", "assistant", "user", "assistant"]
    assert [message.role for message in second.snapshot] == roles
    (await run("Third", *second.snapshot, "again")).check_snapshot()


async def test_an_answer_stored_under_an_id_of_its_own_is_not_told_again() -> None:
    model = Scripted([SECRET], ["More"])

    async def node(state: Chat) -> Any:
        reply = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(reply.text, id=f"own-{len(state['messages'])}")]}

    agent = agent_of(node, checkpointer=InMemorySaver(), reasoning=SPLIT)
    first = await record_run(agent, run_input("hi", thread="t"))
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "more", thread="t"))
    held = [message.content for message in second.messages]
    assert held == ["hi", CANARY, "A jacket.", "more", "More"]


async def test_without_the_option_tags_are_text() -> None:
    recorded, _ = await said(Scripted([SECRET], ["More"]), None)
    assert seen(recorded) == [f"t:{SECRET}"]

"""Models that write their reasoning between tags into their text: split for the client, whole for
the provider."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from ag_ui.core import AssistantMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint

from langgraph_agui import AGUICallbackHandler, LangGraphAgent, ReasoningOptions, ThinkTags
from tests.kit.deep import example_count
from tests.kit.expect.canary import CANARY, SEAL, check_events, found
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.provider_models import make_model
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Text, turn
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input

TAGS = True
SPLIT = ReasoningOptions(think_tags=TAGS)
HIDDEN = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=TAGS)

whole = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])

ANSWERS = {
    "<think>The weather first.</think>A jacket.": ["r:The weather first.", "t:A jacket."],
    "<think>\nThe weather first.\n</think>\n\nA jacket.": ["r:The weather first.", "t:A jacket."],
    "\n<think>\nThe weather.\n</think>\n\nA jacket.": ["r:The weather.", "t:A jacket."],
    "Well. <think>The weather?</think> A jacket.": ["r:The weather?", "t:Well. A jacket."],
    "<think>One.</think>First. <think>Two.</think>Second.": ["r:One.", "r:Two.", "t:First. Second."],
    "<think>One.</think><think>Two.</think>Both.": ["r:One.", "r:Two.", "t:Both."],
    "<think></think>\n\nA jacket.": ["t:A jacket."],
    "<think>\n\n</think>\n\nA jacket.": ["t:A jacket."],
    "<think>The weather": ["r:The weather"],
    "<think>Is 1 < 2?</think>1 < 2 </think> <think": ["r:Is 1 < 2?", "t:1 < 2 </think> <think"],
    "No tags, but <thinking> and 🌧.": ["t:No tags, but <thinking> and 🌧."],
    "<think>☂️ Rain, 雨</think>🌂 傘": ["r:☂️ Rain, 雨", "t:🌂 傘"],
}  # fmt: skip
"""What models say, and what a client holds of it: reasoning and text."""


def seen(recorded: RecordedRun) -> list[str]:
    """What the model said: the reasoning messages, then the answer, without empty ones."""
    words = [f"r:{message.content}" for message in recorded.messages if message.role == "reasoning"]
    texts = [
        f"t:{message.content or ''}"
        for message in recorded.messages
        if isinstance(message, AssistantMessage)
    ]
    return [*words, *(text for text in texts if text != "t:")]


def kinds(recorded: RecordedRun) -> list[str]:
    """Items in the order in which they open."""
    words = {
        "TEXT_MESSAGE_START": "text",
        "REASONING_MESSAGE_START": "reasoning",
        "TOOL_CALL_START": "call",
    }
    return [words[event.type.value] for event in recorded.events if event.type.value in words]


async def turns(agent: LangGraphAgent, model: Scripted) -> tuple[RecordedRun, Any]:
    """Two turns; the first stream, and what the model was sent of it."""
    first = await record_run(agent, run_input("hi", thread="t"))
    assert first.last.type.value == "RUN_FINISHED", first.last
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "more", thread="t"))
    second.check_snapshot()
    assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
    return first, model.seen[-1][1]


def cut(text: str, places: set[int]) -> list[str]:
    edges = [0, *sorted(place for place in places if 0 < place < len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@settings(max_examples=example_count(15, 30))
@given(st.sampled_from([*ANSWERS]), st.sets(st.integers(1, 60)))
async def test_any_cutting(answer: str, places: set[int]) -> None:
    model = Scripted(cut(answer, places), ["More"])
    recorded, sent = await turns(agent_of(talker(model), reasoning=SPLIT), model)
    assert seen(recorded) == ANSWERS[answer]
    assert sent.content == answer


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(("size", "whole"), [(1, False), (1000, False), (1000, True)])
async def test_an_answer(answer: str, size: int, whole: bool) -> None:
    pieces = cut(answer, set(range(0, 1000, size)))
    model = Scripted(pieces, ["More"], disable_streaming=whole)
    recorded, sent = await turns(agent_of(talker(model), reasoning=SPLIT), model)
    assert seen(recorded) == ANSWERS[answer]
    assert sent.content == answer


@pytest.mark.parametrize("begin", ["<think>", "\n<think>", " \n<think>\n"])
async def test_no_answer_begins_before_the_reasoning(begin: str) -> None:
    answer = f"{begin}Hm.</think>\nYes."
    for size in (1, 3, 1000):
        model = Scripted(cut(answer, set(range(0, 99, size))))
        recorded = await record_run(agent_of(talker(model), reasoning=SPLIT), run_input("hi"))
        assert kinds(recorded) == ["reasoning", "text"]
        assert recorded.of("TEXT_MESSAGE_CONTENT")[0].delta.startswith("Y")


async def test_white_space_alone_is_an_answer() -> None:
    recorded = await record_run(
        agent_of(talker(Scripted([" ", "\n"])), reasoning=SPLIT), run_input("hi")
    )
    recorded.check_snapshot()
    assert seen(recorded) == ["t: \n"]


async def test_stretches_are_told_apart() -> None:
    model = Scripted(["Well. <think>One.</think>First. <think>Two.</think>Second."], ["More"])
    recorded, sent = await turns(agent_of(talker(model), reasoning=SPLIT), model)
    assert kinds(recorded) == ["text", "reasoning", "text", "reasoning", "text"]
    assert len({message.id for message in recorded.messages}) == 4
    assert sent.content == "Well. <think>One.</think>First. <think>Two.</think>Second."


async def test_blocks_of_text() -> None:
    model = Scripted(
        [
            text_chunk("<thi", 0),
            text_chunk("nk>Hm.</think>Yes.", 0),
            text_chunk(" <think>So.</think>No.", 1),
        ],
        ["More"],
    )
    recorded, sent = await turns(agent_of(talker(model), reasoning=SPLIT), model)
    assert seen(recorded) == ["r:Hm.", "r:So.", "t:Yes. No."]
    assert [block["text"] for block in sent.content] == [
        "<think>Hm.</think>Yes.",
        " <think>So.</think>No.",
    ]


@whole
async def test_a_template_that_opens_the_reasoning(whole: bool) -> None:
    opened = ReasoningOptions(think_tags=ThinkTags(opened=True))
    model = Scripted(["Hm.\n</th", "ink>\n\nYes."], ["</think>More"], disable_streaming=whole)
    recorded, sent = await turns(agent_of(talker(model), reasoning=opened), model)
    assert seen(recorded) == ["r:Hm.", "t:Yes."]
    assert sent.content == "Hm.\n</think>\n\nYes."


OPENED = ThinkTags(opened=True)
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
    if agent.reasoning.seal is not None:
        for message in (*late, *early):
            message["encryptedValue"] = bool(message.get("encryptedValue"))
    assert late == early


@whole
@pytest.mark.parametrize("reason", [None, "stop"])
@pytest.mark.parametrize("seal", [None, SEAL], ids=["open", "sealed"])
@pytest.mark.parametrize("kept", [False, True], ids=["client", "checkpointer"])
async def test_an_answer_without_a_closing_tag(
    kept: bool, seal: Any, reason: str | None, whole: bool
) -> None:
    """It is streamed as reasoning, and is the answer in the end: in the stream, in the snapshot,
    for a client that comes later, and for the model."""
    options = ReasoningOptions(think_tags=OPENED, seal=seal)
    model = Scripted([*WORDS, ended(reason)], ["</think>More"], disable_streaming=whole)
    saver = InMemorySaver() if kept else None
    agent = agent_of(talker(model), checkpointer=saver, reasoning=options)
    first = await record_run(agent, run_input("hi", thread="t"))
    assert seen(first) == ["r:", f"t:{WORDS}"]
    assert kinds(first) == ["reasoning", "text"]
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


@whole
@pytest.mark.parametrize("visibility", ["full", "hidden"])
@pytest.mark.parametrize("kept", [False, True], ids=["client", "checkpointer"])
async def test_a_thought_that_a_limit_has_cut(kept: bool, visibility: Any, whole: bool) -> None:
    options = ReasoningOptions(visibility=visibility, seal=SEAL, think_tags=OPENED)
    model = Scripted([*CANARY, ended("length")], ["</think>More"], disable_streaming=whole)
    saver = InMemorySaver() if kept else None
    agent = agent_of(talker(model), checkpointer=saver, reasoning=options)
    recorded, sent = await turns(agent, model)
    assert seen(recorded) == [f"r:{CANARY if visibility == 'full' else ''}"]
    assert sent.content == CANARY


@whole
async def test_a_cut_thought_comes_back_without_a_seal(whole: bool) -> None:
    model = Scripted(["A thought", ended("length")], ["</think>More"], disable_streaming=whole)
    agent = agent_of(talker(model), reasoning=ReasoningOptions(think_tags=OPENED))
    recorded, sent = await turns(agent, model)
    assert seen(recorded) == ["r:A thought"]
    assert sent.content == "A thought"


@whole
@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("stop", [f"t:{WORDS}"]),
        ("tool_calls", [f"t:{WORDS}"]),
        ("length", []),
        ("content_filter", []),
        ("abort", []),
        (None, []),
    ],
)
async def test_where_reasoning_is_hidden_the_model_must_have_ended(
    reason: str | None, said: list[str], whole: bool
) -> None:
    """Else the words may be a thought that was cut."""
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=OPENED)
    model = Scripted([*WORDS, ended(reason)], ["</think>More"], disable_streaming=whole)
    agent = agent_of(talker(model), checkpointer=InMemorySaver(), reasoning=options)
    recorded, sent = await turns(agent, model)
    assert seen(recorded) == ["r:", *said]
    assert sent.content == WORDS


@pytest.mark.parametrize("visibility", ["full", "hidden"])
async def test_an_unclosed_answer_has_no_value(
    visibility: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """It is only what the client sees, and nothing is dropped on the next turn."""
    options = ReasoningOptions(visibility=visibility, think_tags=OPENED)
    model = Scripted([*WORDS, ended("stop")], ["</think>More"])
    agent = agent_of(talker(model), reasoning=options)
    first = await record_run(agent, run_input("hi", thread="t"))
    await record_run(agent, run_input(*first.messages, "more", thread="t"))
    assert first.of("REASONING_ENCRYPTED_VALUE") == []
    assert model.seen[-1][1].content == WORDS
    assert "were not used" not in caplog.text


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
    agent = agent_of(
        talker(Scripted(["A thou", "ght", RuntimeError("gone")])),
        reasoning=ReasoningOptions(think_tags=OPENED),
    )
    recorded = await record_run(agent, run_input("hi"))
    assert recorded.last.type.value == "RUN_ERROR"
    assert kinds(recorded) == ["reasoning"]


async def test_the_handler_tells_an_unclosed_answer() -> None:
    events: list[Any] = []
    handler = AGUICallbackHandler(events.append, reasoning=ReasoningOptions(think_tags=OPENED))
    await Scripted([*WORDS]).ainvoke("hi", {"callbacks": [handler]})
    assert "".join(e.delta for e in events if e.type.value == "TEXT_MESSAGE_CONTENT") == WORDS


@whole
async def test_other_tags(whole: bool) -> None:
    options = ReasoningOptions(think_tags=ThinkTags("[THINK]", "[/THINK]"))
    model = Scripted(["[THINK]Hm.[/TH", "INK]Yes."], ["More"], disable_streaming=whole)
    recorded, sent = await turns(agent_of(talker(model), reasoning=options), model)
    assert seen(recorded) == ["r:Hm.", "t:Yes."]
    assert sent.content == "[THINK]Hm.[/THINK]Yes."


@tool
async def look(q: int) -> str:
    """Look."""
    return "found"


@whole
@pytest.mark.parametrize("options", [SPLIT, HIDDEN], ids=["full", "hidden"])
async def test_a_tool_loop(options: ReasoningOptions, whole: bool) -> None:
    model = Scripted(
        ["<think>\nI must ", "look.\n</think>\n\n", call("look", "c1", q=1)],
        ["<think>Found", ".</think>", "Done."],
        ["More"],
        disable_streaming=whole,
    )
    agent = LangGraphAgent(graph=create_agent(model, [look]), reasoning=options)
    first = await record_run(agent, run_input("hi", thread="t"))
    first.check_snapshot()
    thoughts = ["", ""] if options is HIDDEN else ["I must look.", "Found."]
    assert [
        message.content for message in first.messages if message.role == "reasoning"
    ] == thoughts
    assert kinds(first) == ["reasoning", "call", "reasoning", "text"]
    second = await record_run(agent, run_input(*first.messages, "more", thread="t"))
    second.check_snapshot()
    asked, answered = [message for message in model.seen[-1] if isinstance(message, AIMessage)]
    assert asked.content == "<think>\nI must look.\n</think>\n\n"
    assert [(call["name"], call["args"]) for call in asked.tool_calls] == [("look", {"q": 1})]
    assert answered.content == "<think>Found.</think>Done."


async def test_a_call_in_the_middle_of_reasoning() -> None:
    """What is held back when a call comes is not lost, and the call is not in the way of what
    follows."""
    model = Scripted(
        ["<think>Hm", call("look", "c1", q=1), "m.</think>", "Yes."], ["Done"], ["More"]
    )
    agent = LangGraphAgent(graph=create_agent(model, [look]), reasoning=SPLIT)
    recorded, sent = await turns(agent, model)
    assert [message.content for message in recorded.messages if message.role == "reasoning"] == [
        "Hmm."
    ]
    assert sent.content == "<think>Hmm.</think>Yes."


@pytest.mark.parametrize("options", [SPLIT, HIDDEN], ids=["full", "hidden"])
@whole
async def test_groq(
    options: ReasoningOptions, whole: bool, provider_server: ProviderServer
) -> None:
    """`reasoning_format="raw"`: Groq passes on what the model writes."""
    raw = "<think>\nThe weather first.\n</think>\n\n"
    loop = [
        turn(Text(raw), Call("get_weather", {"city": "Paris"}, id="call_1")),
        turn(Text(f"{raw}A jacket.")),
    ]
    provider_server.script("groq", *loop, turn(Text("An umbrella.")))
    model = make_model("groq", provider_server, reasoning_format="raw", disable_streaming=whole)
    agent = LangGraphAgent(graph=create_agent(model, [get_weather]), reasoning=options)
    first = await record_run(agent, run_input("What should I wear?", thread="t"))
    first.check_snapshot()
    thought = "" if options is HIDDEN else "The weather first."
    assert seen(first) == [f"r:{thought}", f"r:{thought}", "t:A jacket."]
    await record_run(agent, run_input(*first.messages, "Anything else?", thread="t"))
    asked = [
        body["content"]
        for body in provider_server.bodies[-1]["messages"]
        if body["role"] == "assistant"
    ]
    assert asked == [raw, f"{raw}A jacket."]


SECRET = f"<think>\n{CANARY}\n</think>\n\nA jacket."


@whole
@pytest.mark.parametrize("visibility", ["hidden", "summary"])
async def test_it_can_be_hidden(visibility: Any, whole: bool) -> None:
    options = ReasoningOptions(visibility=visibility, seal=SEAL, think_tags=TAGS)
    for size in (1, 5, 1000):
        model = Scripted(cut(SECRET, set(range(0, 99, size))), ["More"], disable_streaming=whole)
        recorded, sent = await turns(agent_of(talker(model), reasoning=options), model)
        check_events(recorded.events)
        assert seen(recorded) == ["r:", "t:A jacket."]
        assert sent.content == SECRET


@whole
async def test_without_a_seal_it_does_not_come_back(whole: bool) -> None:
    options = ReasoningOptions(visibility="hidden", think_tags=TAGS)
    model = Scripted([SECRET], ["More"], disable_streaming=whole)
    recorded, sent = await turns(agent_of(talker(model), reasoning=options), model)
    check_events(recorded.events)
    assert sent.content == "A jacket."


async def test_summaries_of_a_provider_do_not_show_what_stands_between_tags() -> None:
    """A model behind OpenAI's API writes what it thinks, not a summary."""
    message = AIMessage(SECRET, id="m1", response_metadata={"model_provider": "openai"})

    async def node(state: Chat) -> Any:
        return {"messages": [message]}

    options = ReasoningOptions(visibility="summary", seal=SEAL, think_tags=TAGS)
    recorded = await record_run(agent_of(node, reasoning=options), run_input("hi"))
    check_events(recorded.events)
    assert seen(recorded) == ["r:", "t:A jacket."]


class Kept(Chat):
    kept: Any


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

    recorded = await record_run(agent_of(node, state=Kept, reasoning=options), run_input("hi"))
    check_events(recorded.events)
    assert found({"a": recorded.state}) == []
    assert "A jacket." in json.dumps(recorded.state)

    @entrypoint()
    async def graph(given: Any) -> Any:
        return [{"kept": keep(await model.ainvoke("hi"))}]

    recorded = await record_run(LangGraphAgent(graph=graph, reasoning=options), run_input("hi"))
    check_events(recorded.events)
    assert "A jacket." in json.dumps(recorded.last.result)


@pytest.mark.parametrize("ends", [True, False], ids=["closed", "cut"])
@pytest.mark.parametrize("opened", [False, True])
async def test_tags_in_several_blocks(opened: bool, ends: bool) -> None:
    """One block opens the reasoning, another closes it; or none does."""
    options = ReasoningOptions(visibility="hidden", seal=SEAL, think_tags=ThinkTags(opened=opened))
    begin, end = "" if opened else "<think>", "</think>" if ends else ""
    texts = [f"{begin}{CANARY}", f"{CANARY}{end}", "A jacket." if ends else CANARY]
    model = Scripted([text_chunk(text, place) for place, text in enumerate(texts)])

    async def node(state: Kept) -> Any:
        reply = await model.ainvoke("hi")
        strings = AIMessage([*texts])
        return {
            "messages": [reply, strings],
            "kept": [reply, strings, {"a": [*reply.content]} if ends else ""],
        }

    recorded = await record_run(agent_of(node, state=Kept, reasoning=options), run_input("hi"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    check_events(recorded.events)


async def test_the_callback_handler() -> None:
    """A parser makes a string of the message: the result of the run."""
    events: list[Any] = []
    handler = AGUICallbackHandler(events.append, reasoning=HIDDEN)
    await (Scripted([SECRET]) | StrOutputParser()).ainvoke("hi", {"callbacks": [handler]})
    check_events(events)
    assert events[-1].result == "A jacket."


@pytest.mark.parametrize("seal", [SEAL, None], ids=["sealed", "unsealed"])
async def test_what_an_agent_answers_to_another(seal: Any) -> None:
    """The result of a tool that is an agent itself is what a model said."""
    options = ReasoningOptions(visibility="hidden", seal=seal, think_tags=TAGS)
    inner = chain_of(talker(Scripted([SECRET])))

    @tool
    async def ask() -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].text)

    async def hand_over(state: Chat) -> Any:
        answers = [message for message in state["messages"] if message.type == "tool"]
        return {"messages": [HumanMessage(answers[-1].text, name="researcher", id="r1")]}

    model = Scripted([call("ask", "c1")], ["Done"], ["More"])
    agent = LangGraphAgent(graph=create_agent(model, [ask]), reasoning=options)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    check_events(recorded.events)
    assert [message.content for message in recorded.messages if message.role == "tool"] == [
        "A jacket."
    ]
    await record_run(agent, run_input(*recorded.messages, "more", thread="t"))
    (result,) = [message for message in model.seen[-1] if message.type == "tool"]
    assert result.content == (SECRET if seal else "A jacket.")


@pytest.mark.parametrize("seal", [SEAL, None], ids=["sealed", "unsealed"])
async def test_an_answer_in_the_users_place(seal: Any) -> None:
    options = ReasoningOptions(visibility="hidden", seal=seal, think_tags=TAGS)
    thinker, writer = Scripted([SECRET]), Scripted(["Done"])

    async def research(state: Chat) -> Any:
        reply = await thinker.ainvoke("hi")
        return {
            "messages": [
                HumanMessage(reply.content, name="researcher", id=f"r{len(state['messages'])}")
            ]
        }

    agent = agent_of(research, talker(writer), reasoning=options)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    check_events(recorded.events)
    await record_run(agent, run_input(*recorded.messages, "more", thread="t"))
    (sent,) = [message for message in writer.seen[-1] if message.id == "r1"]
    assert sent.content == (SECRET if seal else "A jacket.")


@pytest.mark.parametrize("options", [SPLIT, HIDDEN], ids=["full", "hidden"])
async def test_a_thread_on_the_server(options: ReasoningOptions) -> None:
    saver = InMemorySaver()

    def agent(*turns: Any) -> LangGraphAgent:
        return agent_of(talker(Scripted(*turns)), checkpointer=saver, reasoning=options)

    first = await record_run(agent([SECRET]), run_input("hi", thread="t"))
    first.check_snapshot()
    second = await record_run(agent(["More"]), run_input("more", thread="t"))
    assert (
        dumped(second.snapshot)[: len(first.messages)] == dumped(first.messages)
        or options is HIDDEN
    )
    assert [message.role for message in second.snapshot] == [
        "user",
        "reasoning",
        "assistant",
        "user",
        "assistant",
    ]
    third = await record_run(agent(["Third"]), run_input(*second.snapshot, "again", thread="t"))
    third.check_snapshot()


async def test_an_answer_stored_under_an_id_of_its_own_is_not_told_again() -> None:
    saver = InMemorySaver()
    model = Scripted([SECRET], ["More"])

    async def node(state: Chat) -> Any:
        reply = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(reply.text, id=f"own-{len(state['messages'])}")]}

    agent = agent_of(node, checkpointer=saver, reasoning=SPLIT)
    first = await record_run(agent, run_input("hi", thread="t"))
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "more", thread="t"))
    assert [message.content for message in second.messages] == [
        "hi",
        CANARY,
        "A jacket.",
        "more",
        "More",
    ]


async def test_without_the_option_tags_are_text() -> None:
    recorded = await record_run(
        LangGraphAgent(graph=chain_of(talker(Scripted([SECRET])))), run_input("hi")
    )
    recorded.check_snapshot()
    assert seen(recorded) == [f"t:{SECRET}"]

"""`AGUICallbackHandler`: runs of any Runnable, told without a graph adapter, say the same as through
`LangGraphAgent`."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from itertools import pairwise
from typing import Any

import pytest
from ag_ui.core import Event
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import AGUICallbackHandler, ClientOptions, LangGraphAgent
from langgraph_agui.callbacks import handler
from tests.kit.graphs.small import chain_of, sync_talker, talker
from tests.kit.models.scripted import (
    Piece,
    Scripted,
    call,
    calling,
    part,
    text_chunk,
    thinking,
    used,
)
from tests.kit.run.agents import dumped, record_run, run_input
from tests.kit.run.handlers import (
    ASKED,
    ReceivedEvents,
    call_by,
    checked,
    contents,
    deltas,
    look,
    runs_of,
    ways,
    without_ids,
)

prompt = ChatPromptTemplate.from_messages([("system", "CANARY"), ("user", "{q}")])


def failing(*words: str) -> Scripted:
    return Scripted([*words, ConnectionError("CANARY")])


def silenced() -> Any:
    return Scripted(["CANARY"]).with_config(metadata={"emit-messages": False})


class Asking(BaseRetriever):
    model: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(self.model.invoke(query, {"callbacks": run_manager.get_child()}).text)]


def use(message: AIMessage) -> Any:
    return look.invoke(message.tool_calls[0])


TRIED = {"stop_after_attempt": 2, "wait_exponential_jitter": False}
parser = StrOutputParser()


TOLD: dict[str, tuple[Any, list[Any]]] = {
    "model": (lambda: Scripted([thinking("hm", 0), text_chunk("a", 1)]), ["hm", "a"]),
    "chain": (lambda: prompt | Scripted(["Hel", "lo"]) | parser, ["Hello"]),
    "no model": (lambda: RunnableLambda(lambda value: value), []),
    "silenced model": (lambda: silenced() | parser | Scripted(["a"]) | parser, ["a"]),
    "retriever": (lambda: Asking(model=Scripted(["query"])), ["query"]),
    "tool": (lambda: Scripted([call("look", "c1", q=7)]) | RunnableLambda(use), [None, "found 7"]),
    "fallback of silence": (lambda: failing().with_fallbacks([Scripted(["b"])]), ["b"]),
}


@pytest.mark.parametrize("kind", TOLD)
@ways
async def test_what_is_told(kind: str, way: str) -> None:
    make, told = TOLD[kind]
    await check_told(make(), told, way)


@pytest.mark.parametrize(
    "make",
    [
        lambda: failing("a").with_fallbacks([Scripted(["b"])]),
        lambda: Scripted(["a", ConnectionError("CANARY")], ["b"]).with_retry(**TRIED) | parser,
    ],
    ids=["fallback", "second try"],
)
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])  # once a stream has begun, nothing is tried
async def test_another_try_has_its_own_message(make: Any, way: str) -> None:
    await check_told(make(), ["a", "b"], way)


async def check_told(runnable: Any, told: list[Any], way: str) -> None:
    received = ReceivedEvents()
    await call_by(way, runnable, {"q": "hi"} if told == ["Hello"] else "hi", received.config)
    assert contents(received.check()) == told
    assert "CANARY" not in str(received.events)
    edges = received.of("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")
    assert [one.type.value[13:] for one in edges] == ["START", "END"] * (len(edges) // 2)
    assert received.events[0].type.value == "RUN_STARTED"
    assert received.last.outcome.type == "success"


@tool
def lamp(q: int) -> str:
    """Break."""
    raise ConnectionError("CANARY")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: failing("Hel") | parser, "model_error"),
        (lambda: failing().with_fallbacks([failing("b")]), "model_error"),
        (lambda: create_agent(Scripted([call("lamp", "c1", q=7)], ["no"]), [lamp]), "tool_error"),
    ],
)
@ways
async def test_errors(make: Any, code: str, way: str) -> None:
    received = ReceivedEvents()
    given = ASKED if code == "tool_error" else "hi"
    with pytest.raises(ConnectionError):
        await call_by(way, make(), given, received.config)
    received.check()
    assert (received.last.type.value, received.last.code) == ("RUN_ERROR", code)
    # There is no option that would show more.
    assert received.last.metadata["correlationId"] in received.last.message
    assert "CANARY" not in str(received.events)


@ways
@pytest.mark.parametrize("stream_tokens", [False, True])
async def test_models_stream_under_invoke_only_if_they_are_made_to(
    way: str, stream_tokens: bool
) -> None:
    received = ReceivedEvents(stream_tokens=stream_tokens)
    await call_by(way, Scripted(["Hel", "lo"]), "hi", received.config)
    streams = stream_tokens or "stream" in way
    assert deltas(received.events) == (["Hel", "lo"] if streams else ["Hello"])
    assert contents(received.check()) == ["Hello"]


@ways
async def test_a_paused_graph_is_told_as_paused(way: str) -> None:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", str(interrupt({"question": "Go on?"})))]}

    received = ReceivedEvents()
    config = {**received.config, "configurable": {"thread_id": "t"}}
    await call_by(way, chain_of(ask, checkpointer=InMemorySaver()), ASKED, config)
    received.check()
    assert [found.message for found in received.last.outcome.interrupts] == ["Go on?"]


def test_an_async_on_event_is_refused() -> None:
    class Sends:
        async def __call__(self, event: Event) -> None: ...

    for on_event in (Sends(), Sends().__call__):
        with pytest.raises(TypeError, match="not async"):
            AGUICallbackHandler(on_event)


async def test_a_handler_that_is_given_twice_tells_its_next_run() -> None:
    received = ReceivedEvents()
    await Scripted(["a"]).ainvoke("hi", {"callbacks": [received.handler] * 2})
    first = received.of("RUN_STARTED", "RUN_FINISHED")
    assert [event.type.value for event in first] == ["RUN_STARTED", "RUN_FINISHED"]
    before = len(received.events)
    await asyncio.create_task(Scripted(["b"]).ainvoke("hi", received.config))
    assert contents(checked(received.events[before:])) == ["b"]
    assert len({event.run_id for event in received.of("RUN_STARTED")}) == 2


@pytest.mark.parametrize("make", [lambda model: model, lambda model: model | parser])
async def test_a_task_that_lives_on_holds_no_run(make: Any, monkeypatch: Any) -> None:
    made: list[Any] = []

    class Noted(handler.RunEvents):
        def __init__(self, *args: Any, **fields: Any) -> None:
            super().__init__(*args, **fields)
            made.append(weakref.ref(self))

    monkeypatch.setattr(handler, "RunEvents", Noted)
    received = ReceivedEvents()
    for _ in range(5):
        await make(Scripted(["a"])).ainvoke("hi", received.config)
    received.check()
    gc.collect()
    assert [one() for one in made] == [None] * 5


def named(message_id: str, *chunks: AIMessageChunk) -> list[AIMessageChunk]:
    return [chunk.model_copy(update={"id": message_id}) for chunk in chunks]


def asking(sync: bool) -> Any:
    """An agent whose tool asks an agent with a tool of its own."""
    thoughts = thinking("hm", 0), thinking(signature="SIG")
    first = named("i1", text_chunk("inner"), call("look", "i-c1", 2, q=8), used(1, 1))
    inner = Scripted(first, named("i2", text_chunk("found", 0), used(2, 2)))
    helper = create_agent(inner, [look], name="helper")

    @tool
    async def ask(description: str) -> str:
        """Ask the helper."""
        return str((await helper.ainvoke(ASKED))["messages"][-1].text)

    @tool("ask")
    def ask_sync(description: str) -> str:
        """Ask the helper."""
        return str(helper.invoke(ASKED)["messages"][-1].text)

    begin = call("ask", "b-c1", 2, description="look it up")
    wait = named("b1", *thoughts, text_chunk("Wait"), begin, used(3, 3))
    model = Scripted(wait, named("b2", text_chunk("Done", 0), used(4, 4)))
    return create_agent(model, [ask_sync if sync else ask])


def told_of(events: list[Any]) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """The names of subagents; and by name, what is told of it and its messages, in order."""
    kinds = ("TEXT_", "REASONING_START", "REASONING_MESSAGE_", "TOOL_", "SUBAGENT_")
    fields = ("delta", "name", "description", "parent_tool_call_id")
    started = [event for event in events if event.type.value == "SUBAGENT_STARTED"]
    names = {event.subagent_run_id: event.name for event in started}
    told: dict[str, list[Any]] = {}
    for event in events:
        if event.type.value.startswith(kinds):
            name = names.get(getattr(event, "subagent_run_id", None) or "", "")
            about = [getattr(event, field, None) for field in fields]
            told.setdefault(name, []).append((event.type.value, *about))
    return names, told


def known(messages: Any, names: dict[str, str]) -> list[dict[str, Any]]:
    """The messages without the ids that LangGraph makes up: of tool results and of subagents."""
    dumps = dumped(messages)
    for dump in dumps:
        dump["id"] = "" if dump["role"] == "tool" else dump["id"]
        dump["subagentRunId"] = names.get(dump.get("subagentRunId") or "")
    return dumps


@ways
@pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
async def test_an_agent_says_the_same_as_through_the_adapter(way: str, mode: str) -> None:
    """The same messages, ids, values, subagents and usage; but no snapshot, as a handler does not
    know what the client holds."""
    sync = not way.startswith("a")
    received = ReceivedEvents(subagents=mode)
    await call_by(way, asking(sync), ASKED, received.config)
    agent = LangGraphAgent(asking(sync), clients=ClientOptions(subagents=mode))
    recorded = await record_run(agent, run_input("hi"))
    (names, told), (other_names, other_told) = map(told_of, (received.events, recorded.events))
    assert told == other_told
    messages = received.check()
    assert known(messages, names) == known(recorded.messages[1:], other_names)
    # A value that changes at once may be told once or twice: the last one counts.
    told_values = [one.of("REASONING_ENCRYPTED_VALUE") for one in (received, recorded)]
    pairs = ([(one.entity_id, one.encrypted_value) for one in told] for told in told_values)
    values, others = (
        {key: value for key, value in one if key.startswith("b1") and len(key) < 36}
        for one in pairs
    )
    assert values == others != {}
    assert received.last.usage == recorded.last.usage != []
    assert not received.of("MESSAGES_SNAPSHOT")
    spoken = [message.content for message in messages if message.role == "assistant"]
    assert spoken == (["Wait", "Done"] if mode == "hidden" else ["Wait", "inner", "found", "Done"])
    assert [*names.values()] == (["helper"] if mode == "attributed" else [])
    for started in received.of("SUBAGENT_STARTED"):
        about = started.parent_tool_call_id, started.description, started.subagent_run_id[:6]
        assert about == ("b-c1", "look it up", "tools:")
        [finished] = received.of("SUBAGENT_FINISHED")
        assert finished.subagent_run_id == started.subagent_run_id


WORDS = ["one", "two", "three"]


def kept_agent(way: str, **fields: Any) -> Any:
    turns = [[word] for word in WORDS]
    return create_agent(Scripted(*turns, **fields), [], checkpointer=InMemorySaver())


def kept_graph(way: str, **fields: Any) -> Any:
    make = talker if way.startswith("a") else sync_talker
    model = Scripted(*[[word] for word in WORDS], **fields)
    return chain_of(make(model), checkpointer=InMemorySaver())


def in_a_function(way: str, **fields: Any) -> Any:
    inner = kept_graph(way, **fields)

    async def ask(given: Any) -> Any:
        return await inner.ainvoke(given)

    return RunnableLambda(lambda given: inner.invoke(given), afunc=ask)


@pytest.mark.parametrize("make", [kept_agent, kept_graph, in_a_function])
@ways
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_a_run_tells_its_own_messages(make: Any, way: str, whole: bool) -> None:
    """Who has not heard the first turns is not told them either: the client has them already."""
    received, later = ReceivedEvents(), ReceivedEvents()
    runnable = make(way, disable_streaming=whole)
    for one in (received, received, later):
        config = {**one.config, "configurable": {"thread_id": "t"}}
        await call_by(way, runnable, ASKED, config)
    assert [contents(received.check()), contents(later.check())] == [WORDS[:2], WORDS[2:]]
    assert [deltas(run) for run in runs_of(received.events)] == [["one"], ["two"]]


async def test_calls_of_earlier_turns_are_not_told_again() -> None:
    turns = [[call("look", "a", q=7)], ["a ends"], [call("look", "b", q=7)], ["b ends"]]
    graph = create_agent(Scripted(*turns), [look], checkpointer=InMemorySaver())
    received = ReceivedEvents()
    for _ in range(3):
        await graph.ainvoke(ASKED, {**received.config, "configurable": {"thread_id": "t"}})
    received.check()
    runs: list[Any] = runs_of(received.events)
    calls = [{one.tool_call_id for one in run if hasattr(one, "tool_call_id")} for run in runs]
    assert calls == [{"a"}, {"b"}, set()]
    assert deltas(runs[2]) == ["b ends"]


words = st.text('ab \n"é😀', min_size=1, max_size=8)


@st.composite
def cuts(draw: Any, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in pairwise([0, *places, len(text)])]


@st.composite
def branches(draw: Any) -> list[tuple[list[Piece], list[Piece]]]:
    """What each model says: cut at random with turns of the event loop between, and whole."""
    drawn = []
    for number in range(draw(st.integers(1, 4))):
        thought, text, asked = draw(words), draw(words), json.dumps({"q": draw(words)})
        signed = {"signature": f"SIG{number}"}
        chunks = [thinking(piece, 0) for piece in draw(cuts(thought))] + [thinking(**signed)]
        chunks += [text_chunk(piece) for piece in draw(cuts(text))]
        chunks.append(calling(part("look", "", f"c{number}", 2)))
        chunks += [calling(part(args=piece, index=2)) for piece in draw(cuts(asked))]
        paced = [one for chunk in chunks for one in (*[0.0] * draw(st.integers(0, 3)), chunk)]
        whole = calling(part("look", asked, f"c{number}", 2))
        drawn.append((paced, [thinking(thought, 0, **signed), text_chunk(text), whole]))
    return drawn


def received_from(turns: list[list[Piece]], **options: Any) -> list[dict[str, Any]]:
    received = ReceivedEvents(**options)
    models: Any = RunnableParallel({str(at): Scripted(turn) for at, turn in enumerate(turns)})
    asyncio.run(models.ainvoke("hi", received.config))
    dumps = without_ids(received.check())
    for dump in dumps:
        dump.pop("metadata", None)  # how long it thought
        for one in dump.get("toolCalls") or ():
            # Opaque values name ids; whole arguments are spelt anew.
            one["encryptedValue"] = bool(one.get("encryptedValue"))
            one["function"]["arguments"] = json.loads(one["function"]["arguments"])
    return sorted(dumps, key=lambda dump: (dump["role"], json.dumps(dump)))


@given(branches())
def test_branches_in_any_order_are_the_same_messages(drawn: list[Any]) -> None:
    whole = received_from([whole for _, whole in drawn], stream_tokens=False)
    assert received_from([paced for paced, _ in drawn]) == whole
    assert len(whole) == 2 * len(drawn)

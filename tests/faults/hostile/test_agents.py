"""What a hostile agent cannot do to a client: redirect it, or send more than it takes."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from ag_ui.core import UserMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui.client import (
    AgentError,
    AGUIChatModel,
    AGUIClient,
    AGUISession,
    ClientLimits,
    RedirectError,
    RemoteAgent,
    RunLimitError,
)
from langgraph_agui.protocol.response_schema import check_schema
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Peer,
    Script,
    answering,
    asking,
    both,
    frames,
    recording,
    server,
)
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.wire_events import STARTED, call, event, in_run, text
from tests.kit.waiting import PATIENCE

ASK = run_input(UserMessage(id="u", content="hi"), thread="t")
WHOLE = in_run(*text("m", "a"))
KEY = {"X-Key": "s3cret", "Authorization": "Bearer s3cret", "Cookie": "s3cret"}


def failure(reader: Blocking, url: str, **options: Any) -> Any:
    with pytest.raises(AgentError) as caught:
        reader.read(AGUIClient(url, **options).run(ASK))
    return caught.value


@both
def test_a_redirect_within_the_origin_keeps_the_request(reader: Blocking) -> None:
    limits = ClientLimits(run_timeout=PATIENCE)
    with server(answering(307, location="/other?secret=1"), recording(*WHOLE)) as agent:
        client = AGUIClient(agent.url, headers=KEY, limits=limits, timeout=None)
        assert len(reader.read(client.run(ASK))) == len(WHOLE)
    first, second = agent.asked
    assert (second.method, second.path, second.body) == ("POST", "/other?secret=1", first.body)
    assert (second.header("authorization"), second.header("x-key")) == ("Bearer s3cret", "s3cret")
    with server(*[answering(307, location="/agent")] * 20) as agent:
        assert isinstance(failure(reader, agent.url), RedirectError)
    assert len(agent.asked) == 6


@both
def test_a_redirect_to_another_origin_sends_nothing_there(reader: Blocking) -> None:
    """By port, by host and by scheme; also by a client that would follow it."""
    follows = httpx2.AsyncClient if isinstance(reader, Awaiting) else httpx2.Client
    given: Any = {"http_client": follows(follow_redirects=True)}
    with server() as other:
        for status, where, options in (
            (301, other.url + "?token=s3cret", {}),
            (302, other.url.replace("127.0.0.1", "localhost"), {}),
            (303, other.url.replace("http://", "https://user:s3cret@"), {}),
            *((status, other.url.replace("http:", ""), given) for status in (307, 308)),
        ):
            with server(*[answering(status, location=where)] * 2) as agent:
                error = failure(reader, agent.url, headers=KEY, **options)
                assert isinstance(error, RedirectError)
                assert (error.url, error.status, len(agent.asked)) == (agent.url, status, 1)
                with pytest.raises(RedirectError):
                    asyncio.run(AGUIClient(agent.url, headers=KEY, **options).capabilities())
            assert "another origin" in str(error)
            assert "s3cret" not in f"{error}{error!r}{vars(error)}"
    assert other.asked == []


def endless(size: int = 60_000, *, packed: bool = False) -> Script:
    """A stream that goes on until its reader leaves; packed, it is a thousandth of its size."""

    def script(peer: Peer) -> None:
        peer.head(content_encoding="gzip" if packed else "")
        piece = frames([event("CUSTOM", name="more", value=" " * size)])
        if packed:
            peer.write(gzip.compress(frames([STARTED]) + piece * 200))
        else:
            peer.write(frames([STARTED]))
            while True:
                peer.write(piece)
        assert peer.left()

    return script


@both
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_stream_without_end(reader: Blocking, packed: bool) -> None:
    limit, seen = 3_000_000, list[Any]()
    with server(endless(packed=packed)) as agent:
        run = AGUIClient(agent.url, limits=ClientLimits(max_bytes=limit)).run(ASK)
        said = r"3,000,000 bytes.*ClientLimits\(max_bytes=\.\.\.\)"
        with pytest.raises(RunLimitError, match=said) as caught:
            reader.read(run, seen.append)
    assert caught.value.option == "max_bytes"
    assert dumped(caught.value.messages) == dumped(run.messages)
    assert 0 < len(seen) < limit / 60_000 + 20


def silent(peer: Peer) -> None:
    peer.head()
    peer.write(frames([STARTED]))
    assert peer.left()


def slow(peer: Peer) -> None:
    """Sends something all the time, so that no silence is ever long."""
    peer.head()
    peer.write(frames([STARTED]))
    while not peer.left(0.01):
        peer.write(b": still here\n\n")


def mute(peer: Peer) -> None:
    assert peer.left()


def dripping(peer: Peer) -> None:
    """Never comes to the end of its headers."""
    peer.write(b"HTTP/1.1 200 OK\r\n")
    while not peer.left(0.01):
        peer.write(b"x-more: 1\r\n")


def unpacking(peer: Peer) -> None:
    """Sends bytes that unpack to nothing."""
    peer.head(content_encoding="gzip")
    packer = zlib.compressobj(wbits=31)
    peer.write(packer.compress(frames([STARTED])) + packer.flush(zlib.Z_SYNC_FLUSH))
    while not peer.left(0.01):
        peer.write(packer.flush(zlib.Z_FULL_FLUSH))


SLOW = [silent, slow, mute, dripping, unpacking, answering(503, retry_after="30")]


@both
@pytest.mark.parametrize(
    "script", SLOW, ids=["silent", "slow", "mute", "dripping", "unpacking", "busy"]
)
def test_a_run_that_takes_too_long(reader: Blocking, script: Script) -> None:
    limit: Any = timedelta(milliseconds=200) if script is unpacking else 0.2
    with server(script) as agent:
        error = failure(reader, agent.url, limits=ClientLimits(run_timeout=limit))
    assert isinstance(error, RunLimitError)
    assert (error.option, "0.2 s" in str(error), len(agent.asked)) == ("run_timeout", True, 1)


DOUBLING = [{"op": "copy", "from": "", "path": f"/k{n}"} for n in range(60)]
ACTIVITY = {"messageId": "a", "activityType": "x"}
BEGUN = event("ACTIVITY_SNAPSHOT", **ACTIVITY, content={"a": 1})


@both
def test_a_patch_that_doubles_and_doubles(reader: Blocking) -> None:
    state, activity = (
        event("STATE_DELTA", delta=DOUBLING),
        event("ACTIVITY_DELTA", **ACTIVITY, patch=DOUBLING),
    )
    for bomb in ([state], [BEGUN, activity]):
        with server(recording(*in_run(*bomb))) as agent:
            error = failure(reader, agent.url, limits=ClientLimits(max_weight=100_000))
        assert isinstance(error, RunLimitError)
        assert (error.option, error.state) == ("max_weight", {})


NAMES = ["max_event", "max_bytes", "max_weight", "max_tool_rounds", "run_timeout"]


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, 0) for name in NAMES), ("max_event", -1), ("run_timeout", timedelta(0))],
)
def test_limits_that_are_none(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        ClientLimits(**{name: value})


def add(a: int) -> int:
    """Add."""
    return a + 1


CALLING = [
    recording(*in_run(*call(f"c{n}", '{"a": 1}', name="add", parentMessageId=f"m{n}")))
    for n in range(5)
]
THREE = ClientLimits(max_tool_rounds=3)
TOO_MANY = pytest.raises(RunLimitError, match=r"3 runs.*max_tool_rounds")


@both
def test_an_agent_that_calls_for_ever(reader: Blocking) -> None:
    with server(*CALLING) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, limits=THREE), tools=[add])
        with pytest.raises(RunLimitError, match=r"3 runs.*max_tool_rounds") as caught:
            reader.read(session.send("go"))
        assert dumped(caught.value.messages) == dumped(session.messages)
        assert (len(agent.asked), session.messages[-1].role) == (3, "tool")
        assert session.pending_tool_calls == []


def test_an_agent_in_a_graph_that_calls_for_ever() -> None:
    with server(*CALLING, *CALLING) as agent:
        node = RemoteAgent(AGUIClient(agent.url, limits=THREE), tools=[add])
        for turn in (1, 2):
            with TOO_MANY:
                node.invoke({"messages": "go"})
            assert len(agent.asked) == 3 * turn


def test_a_model_that_calls_for_ever() -> None:
    with server(*CALLING, recording(*WHOLE)) as agent:
        model = AGUIChatModel(url=agent.url, limits=THREE)
        made = create_agent(model, tools=[add], checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        with TOO_MANY:
            made.invoke({"messages": "go"}, config)
        assert len(agent.asked) == 3
        held = made.get_state(config).values["messages"]
        others = [one for one in held if isinstance(one, AIMessage | ToolMessage)]
        for one in others:
            one.additional_kwargs.clear()
        # rounds of another model are not its own
        model.bind_tools([add]).invoke([HumanMessage("go"), *others])
        made.invoke({"messages": "on"}, config, interrupt_after=["model"])
        assert len(agent.asked) == 5


def test_a_hostile_schema_neither_hangs_a_graph_nor_goes_on_to_its_clients() -> None:
    """The graph may be served, and its server applies the schema to what its own clients answer."""
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"type": "string", "pattern": "^(a+)+$", "$ref": "#/$defs/d0", "$defs": levels}
    asked = {"id": "i", "reason": "input_required", "message": "Which?", "responseSchema": schema}
    with server(recording(STARTED, asking(asked)), recording(*WHOLE)) as agent:
        node = RemoteAgent(agent.url, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        [waiting] = node.invoke({"messages": "go"}, config)["__interrupt__"]
        told, said = json.dumps(waiting.value["responseSchema"]), "a" * 60 + "!"
        assert ("string" in told, "pattern" in told, "$ref" in told) == (True, False, False)
        assert len(told) < 100_000
        check_schema(said, waiting.value["responseSchema"], "as a server does")
        [again] = node.invoke(Command(resume=7), config)["__interrupt__"]
        assert "'type: string'" in again.value["error"]
        node.invoke(Command(resume=said), config)
    assert agent.asked[1].json["resume"][0]["payload"] == said

"""What a hostile agent cannot do to a client: redirect it, or send more than it takes."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
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
from tests.kit.deep import together
from tests.kit.processes.scripted_servers import (
    Awaiting,
    Blocking,
    Peer,
    Script,
    Server,
    answering,
    frames,
    recording,
    server,
)
from tests.kit.run.agents import dumped, run_input
from tests.kit.run.wire_events import FINISHED, STARTED, event, in_run, text
from tests.kit.waiting import PATIENCE

ASK = run_input(UserMessage(id="u", content="hi"), thread="t")
WHOLE = in_run(*text("m", "a"))
KEY = {"X-Key": "s3cret", "Authorization": "Bearer s3cret", "Cookie": "s3cret"}
both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


def failure(reader: Blocking, client: AGUIClient) -> AgentError:
    with pytest.raises(AgentError) as caught:
        reader.read(client.run(ASK))
    return caught.value


def capabilities(client: AGUIClient) -> Any:
    return asyncio.run(client.capabilities())


# -- redirects -----------------------------------------------------------------------------------


@both
def test_a_redirect_within_the_origin_keeps_the_request(reader: Blocking) -> None:
    with server(answering(307, location="/other?secret=1"), recording(*WHOLE)) as agent:
        assert len(reader.read(AGUIClient(agent.url, headers=KEY).run(ASK))) == len(WHOLE)
    first, second = agent.asked
    assert (second.method, second.path, second.body) == ("POST", "/other?secret=1", first.body)
    assert (second.header("authorization"), second.header("x-key")) == ("Bearer s3cret", "s3cret")


def elsewhere(other: Server) -> list[str]:
    """Other origins: by port, by host and by scheme. All of them lead to one server."""
    return [
        other.url + "?token=s3cret",
        other.url.replace("127.0.0.1", "localhost"),
        other.url.replace("http://", "https://user:s3cret@"),
        other.url.replace("http:", ""),
    ]


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_sends_nothing_there(reader: Blocking, status: int) -> None:
    with server() as other:
        for where in elsewhere(other):
            with server(answering(status, location=where)) as agent:
                error = failure(reader, AGUIClient(agent.url, headers=KEY))
            assert isinstance(error, RedirectError)
            assert (error.url, error.status) == (agent.url, status)
            assert "another origin" in str(error)
            assert "s3cret" not in f"{error}{error!r}{vars(error)}"
            assert len(agent.asked) == 1
    assert other.asked == []


@both
def test_a_given_client_that_follows_redirects_does_not_either(reader: Blocking) -> None:
    kind = httpx2.AsyncClient if isinstance(reader, Awaiting) else httpx2.Client
    with server() as other, server(answering(307, location=other.url)) as agent:
        error = failure(reader, AGUIClient(agent.url, http_client=kind(follow_redirects=True)))
    assert isinstance(error, RedirectError)
    assert other.asked == []


@pytest.mark.parametrize("kind", [None, httpx2.Client, httpx2.AsyncClient])
def test_capabilities_are_not_fetched_elsewhere(kind: Callable[..., Any] | None) -> None:
    with (
        server() as other,
        server(answering(307, location=other.url), answering(307, location="/c")) as agent,
    ):
        client = AGUIClient(
            agent.url, headers=KEY, http_client=kind(follow_redirects=True) if kind else None
        )
        with pytest.raises(RedirectError):
            capabilities(client)
    assert other.asked == []


@both
def test_redirects_are_few(reader: Blocking) -> None:
    with server(*[answering(307, location="/agent")] * 20) as agent:
        error = failure(reader, AGUIClient(agent.url))
    assert isinstance(error, RedirectError)
    assert len(agent.asked) == 6


# -- limits of one run ---------------------------------------------------------------------------


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
    limit = 3_000_000
    with server(endless(packed=packed)) as agent:
        seen: list[Any] = []
        run = AGUIClient(agent.url, limits=ClientLimits(max_bytes=limit)).run(ASK)
        with pytest.raises(
            RunLimitError, match=r"3,000,000 bytes.*ClientLimits\(max_bytes=\.\.\.\)"
        ) as caught:
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


SLOW = [silent, slow, mute, dripping, unpacking]


@together(
    both,
    pytest.mark.parametrize("script", SLOW, ids=lambda one: one.__name__),
    pytest.mark.parametrize(
        "limit", [0.2, timedelta(milliseconds=200)], ids=["seconds", "timedelta"]
    ),
)
def test_a_run_that_takes_too_long(
    reader: Blocking, script: Script, limit: float | timedelta
) -> None:
    with server(script) as agent:
        error = failure(reader, AGUIClient(agent.url, limits=ClientLimits(run_timeout=limit)))
    assert isinstance(error, RunLimitError)
    assert error.option == "run_timeout"
    assert "0.2 s" in str(error)


@both
def test_waiting_for_a_busy_agent_counts(reader: Blocking) -> None:
    with server(*[answering(503, retry_after="30")] * 3) as agent:
        error = failure(reader, AGUIClient(agent.url, limits=ClientLimits(run_timeout=0.2)))
    assert isinstance(error, RunLimitError)
    assert len(agent.asked) == 1


@both
def test_a_run_in_time(reader: Blocking) -> None:
    with server(recording(*WHOLE)) as agent:
        client = AGUIClient(agent.url, limits=ClientLimits(run_timeout=PATIENCE), timeout=None)
        assert len(reader.read(client.run(ASK))) == len(WHOLE)


BOMB = [
    event("STATE_DELTA", delta=[{"op": "copy", "from": "", "path": f"/k{n}"} for n in range(60)])
]
ACTIVITY: list[dict[str, Any]] = [
    event("ACTIVITY_SNAPSHOT", messageId="a", activityType="x", content={"a": 1}),
    event(
        "ACTIVITY_DELTA",
        messageId="a",
        activityType="x",
        patch=[{"op": "copy", "from": "", "path": f"/k{n}"} for n in range(60)],
    ),
]


@both
@pytest.mark.parametrize("bomb", [BOMB, ACTIVITY], ids=["state", "activity"])
def test_a_patch_that_doubles_and_doubles(reader: Blocking, bomb: list[dict[str, Any]]) -> None:
    with server(recording(*in_run(*bomb))) as agent:
        error = failure(reader, AGUIClient(agent.url, limits=ClientLimits(max_weight=100_000)))
    assert isinstance(error, RunLimitError)
    assert error.option == "max_weight"
    assert error.state == {}


@pytest.mark.parametrize(
    "name", ["max_event", "max_bytes", "max_weight", "max_tool_rounds", "run_timeout"]
)
def test_limits_that_are_none(name: str) -> None:
    for value in (0, -1, *([timedelta(0)] if name == "run_timeout" else [])):
        with pytest.raises(ValueError, match=name):
            ClientLimits(**{name: value})  # type: ignore[arg-type]


# -- rounds of local tools -----------------------------------------------------------------------


def add(a: int) -> int:
    """Add."""
    return a + 1


def called(n: int) -> list[dict[str, Any]]:
    return in_run(
        event("TOOL_CALL_START", toolCallId=f"c{n}", toolCallName="add", parentMessageId=f"m{n}"),
        event("TOOL_CALL_ARGS", toolCallId=f"c{n}", delta='{"a": 1}'),
        event("TOOL_CALL_END", toolCallId=f"c{n}"),
    )


THREE = ClientLimits(max_tool_rounds=3)


@both
def test_an_agent_that_calls_for_ever(reader: Blocking) -> None:
    with server(*(recording(*called(n)) for n in range(4))) as agent:
        session = AGUISession[Any](AGUIClient(agent.url, limits=THREE), tools=[add])
        with pytest.raises(RunLimitError, match=r"3 runs.*max_tool_rounds") as caught:
            reader.read(session.send("go"))
        assert len(agent.asked) == 3
        assert dumped(caught.value.messages) == dumped(session.messages)
        assert session.messages[-1].role == "tool"
        assert session.pending_tool_calls == []


def test_an_agent_in_a_graph_that_calls_for_ever() -> None:
    with server(*(recording(*called(n)) for n in range(4))) as agent:
        node = RemoteAgent(AGUIClient(agent.url, limits=THREE), tools=[add])
        for turn in range(2):
            with pytest.raises(RunLimitError, match="max_tool_rounds"):
                node.invoke({"messages": "go"})
            assert len(agent.asked) == 3
            if not turn:
                agent.asked.clear()


def test_a_model_that_calls_for_ever() -> None:
    with server(*(recording(*called(n)) for n in range(5)), recording(*WHOLE)) as agent:
        model = AGUIChatModel(url=agent.url, limits=THREE)
        made = create_agent(model, tools=[add], checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        with pytest.raises(RunLimitError, match=r"3 runs.*max_tool_rounds"):
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


def test_a_model_has_the_limits_of_a_run() -> None:
    with server(endless()) as agent, pytest.raises(RunLimitError, match="max_bytes"):
        AGUIChatModel(url=agent.url, limits=ClientLimits(max_bytes=100_000)).invoke("go")


# -- schemas of answers --------------------------------------------------------------------------


def test_a_hostile_schema_neither_hangs_a_graph_nor_goes_on_to_its_clients() -> None:
    """The graph may be served, and its server applies the schema to what its own clients answer."""
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"type": "string", "pattern": "^(a+)+$", "$ref": "#/$defs/d0", "$defs": levels}
    asked = {"id": "i", "reason": "input_required", "message": "Which?", "responseSchema": schema}
    paused = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [asked]}}
    with server(recording(STARTED, paused), recording(*WHOLE)) as agent:
        node = RemoteAgent(agent.url, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        [waiting] = node.invoke({"messages": "go"}, config)["__interrupt__"]
        told = json.dumps(waiting.value["responseSchema"])
        assert "string" in told
        assert "pattern" not in told
        assert "$ref" not in told
        assert len(told) < 100_000
        check_schema("a" * 60 + "!", waiting.value["responseSchema"], "as a server does")
        [again] = node.invoke(Command(resume=7), config)["__interrupt__"]
        assert "'type: string'" in again.value["error"]
        node.invoke(Command(resume="a" * 60 + "!"), config)
    assert agent.asked[1].json["resume"][0]["payload"] == "a" * 60 + "!"

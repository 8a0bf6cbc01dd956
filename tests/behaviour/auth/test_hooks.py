"""Who may run what: dependencies, `authorize_thread`, `config_factory` and `context_factory`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.protocol import decode
from tests.kit.processes.raw_http import JSON, Answer, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import run_input


class CountingSaver(InMemorySaver):
    """Counts how often a thread is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def get_tuple(self, config: RunnableConfig) -> Any:
        self.reads += 1
        return super().get_tuple(config)

    def list(self, *args: Any, **options: Any) -> Iterator[Any]:
        self.reads += 1
        return super().list(*args, **options)


@dataclass(frozen=True)
class Identity:
    user: str


class Office:
    """An agent that says who asks, and what of it was touched."""

    def __init__(self, **options: Any) -> None:
        self.saver = CountingSaver()
        self.runs = 0
        self.app = FastAPI()
        add_langgraph_fastapi_endpoint(
            self.app, LangGraphAgent(graph=self._graph()), "/agent", **options
        )

    def _graph(self) -> Any:
        async def who(
            state: MessagesState, runtime: Runtime[Identity], config: RunnableConfig
        ) -> Any:
            self.runs += 1
            user = runtime.context.user if runtime.context else "nobody"
            configurable = config["configurable"]
            text = f"{user} of {configurable.get('tenant')} on {configurable['thread_id']}"
            return {"messages": [("ai", text)]}

        builder = StateGraph(MessagesState, context_schema=Identity).add_node("who", who)
        return builder.add_edge(START, "who").compile(checkpointer=self.saver)

    @property
    def untouched(self) -> bool:
        return self.runs == 0 and self.saver.reads == 0


def post(served: Served, thread: str = "t", **headers: str) -> Answer:
    body = body_of(run_input("who am I?", thread=thread))
    return ask(served.port, "POST", "/agent", body, {**JSON, **headers})


def first_text(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    events = list(decode([answer.body]))
    assert events[-1].type.value == "RUN_FINISHED"
    return next(str(event.delta) for event in events if event.type.value == "TEXT_MESSAGE_CONTENT")  # type: ignore[union-attr]


def signed_in(authorization: str = Header("")) -> str:
    if authorization != "Bearer good":
        raise HTTPException(401, "Sign in first.", {"www-authenticate": "Bearer"})
    return "good"


def test_dependencies_come_before_everything() -> None:
    office = Office(dependencies=[Depends(signed_in)], authorize_thread=too_far)
    with serving(office.app) as served:
        answer = post(served)
        assert (answer.status, answer.json) == (401, {"detail": "Sign in first."})
        assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/agent/capabilities", "/agent/health"):
            assert ask(served.port, "GET", path).status == 401
        # Not even the body is looked at.
        assert ask(served.port, "POST", "/agent", b"no json").status == 401
    assert office.untouched
    office = Office(dependencies=[Depends(signed_in)])
    with serving(office.app) as served:
        assert first_text(post(served, authorization="Bearer good")) == "nobody of None on t"
        good = {"authorization": "Bearer good"}
        assert ask(served.port, "GET", "/agent/health", headers=good).status == 200


def too_far(*args: Any) -> Any:
    pytest.fail("too far")


def owns(request: Request, thread_id: str) -> bool:
    return request.headers.get("user") == thread_id.partition("/")[0]


def hides(request: Request, thread_id: str) -> bool:
    if not owns(request, thread_id):
        raise HTTPException(404, "No such thread.")
    return True


def later(hook: Any) -> Any:
    async def hook_later(*args: Any) -> Any:
        return hook(*args)

    return hook_later


@pytest.mark.parametrize("answer", [None, 0, "", 1, "yes", False])
def test_only_true_lets_in(answer: Any) -> None:
    office = Office(authorize_thread=lambda request, thread_id: answer)
    with serving(office.app) as served:
        assert post(served, "ann/1", user="ann").status == 403
        assert office.untouched


@pytest.mark.parametrize(
    ("hook", "refusal"),
    [
        (owns, (403, "This thread is not yours.")),
        (later(owns), (403, "This thread is not yours.")),
        (hides, (404, "No such thread.")),
        (later(hides), (404, "No such thread.")),
    ],
)
def test_of_others_are_not_even_read(hook: Any, refusal: Any) -> None:
    office = Office(authorize_thread=hook)
    with serving(office.app) as served:
        answer = post(served, "ann/1", user="bob")
        assert (answer.status, answer.json["detail"]) == refusal
        assert office.untouched
        assert first_text(post(served, "ann/1", user="ann")) == "nobody of None on ann/1"
        assert office.saver.reads > 0


def test_threads_are_authorized_before_factories_run() -> None:
    office = Office(authorize_thread=owns, config_factory=too_far, context_factory=too_far)
    with serving(office.app) as served:
        assert post(served, "ann/1", user="bob").status == 403


def test_threads_of_malformed_requests_are_not_asked_for() -> None:
    office = Office(authorize_thread=too_far)
    with serving(office.app) as served:
        assert ask(served.port, "POST", "/agent", b'{"threadId": 1}').status == 422


def test_identity_reaches_the_runtime_context() -> None:
    """Also of runs at once; and the thread is always the authorized one."""

    async def identify(request: Request) -> Identity:
        return Identity(request.headers["user"])

    def config(request: Request) -> RunnableConfig:
        return {"configurable": {"tenant": request.headers["tenant"], "thread_id": "elsewhere"}}

    office = Office(context_factory=identify, config_factory=config)
    names = [f"user-{number}" for number in range(12)]
    with serving(office.app) as served, ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda name: post(served, name, user=name, tenant="acme"), names))
    assert [*map(first_text, answers)] == [f"{name} of acme on {name}" for name in names]
    assert all(b"acme" not in one.body.replace(b" of acme on", b"") for one in answers)


def test_a_factory_may_have_nothing_to_say() -> None:
    office = Office(config_factory=lambda request: None, context_factory=lambda request: None)
    with serving(office.app) as served:
        assert first_text(post(served)) == "nobody of None on t"


def test_a_factory_may_refuse() -> None:
    def refuse(request: Request) -> RunnableConfig:
        raise HTTPException(402, "Out of credit.")

    office = Office(config_factory=refuse)
    with serving(office.app) as served:
        answer = post(served)
    assert (answer.status, answer.json) == (402, {"detail": "Out of credit."})
    assert office.untouched


def broken(*args: Any) -> Any:
    raise RuntimeError("postgres://user:secret@db")


@pytest.mark.parametrize("hook", ["authorize_thread", "config_factory", "context_factory"])
@pytest.mark.parametrize("fails", [broken, later(broken)], ids=["sync", "async"])
def test_one_that_fails_is_a_500_without_its_text(hook: str, fails: Any) -> None:
    office = Office(**{hook: fails})
    with serving(office.app) as served:
        answer = post(served)
    assert answer.status == 500
    assert "event-stream" not in answer.headers["content-type"]
    assert b"secret" not in answer.body
    assert office.untouched

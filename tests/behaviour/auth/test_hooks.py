"""Who may run what: dependencies, `authorize_thread`, `config_factory` and `context_factory`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.testclient import TestClient
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.protocol import decode
from tests.kit.processes.raw_http import JSON, ask, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import run_input


class CountingSaver(InMemorySaver):
    """Counts how often a thread is read."""

    reads = 0

    def get_tuple(self, config: RunnableConfig) -> Any:
        self.reads += 1
        return super().get_tuple(config)

    def list(self, *args: Any, **options: Any) -> Iterator[Any]:
        self.reads += 1
        return super().list(*args, **options)


@dataclass(frozen=True)
class Identity:
    user: str


class Office(TestClient):
    """An agent that says who asks, and what of it was touched."""

    def __init__(self, **options: Any) -> None:
        self.saver, self.runs, app = CountingSaver(), 0, FastAPI()
        builder = StateGraph(MessagesState, context_schema=Identity).add_node("who", self.who)
        graph = builder.add_edge(START, "who").compile(checkpointer=self.saver)
        add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph), "/agent", **options)
        super().__init__(app, raise_server_exceptions=False)

    async def who(
        self, state: MessagesState, runtime: Runtime[Identity], config: RunnableConfig
    ) -> Any:
        self.runs += 1
        user, known = runtime.context.user if runtime.context else "nobody", config["configurable"]
        text = f"{user} of {known.get('tenant')} on {known['thread_id']}"
        return {"messages": [("ai", text)]}

    def asks(self, **headers: str) -> Any:
        body = body_of(run_input("who am I?", thread="ann/1"))
        return self.post("/agent", content=body, headers={**JSON, **headers})

    @property
    def untouched(self) -> bool:
        return self.runs == 0 and self.saver.reads == 0


def said(body: bytes) -> str:
    events = list(decode([body]))
    assert events[-1].type.value == "RUN_FINISHED"
    return next(str(event.delta) for event in events if event.type.value == "TEXT_MESSAGE_CONTENT")  # type: ignore[union-attr]


def signed_in(authorization: str = Header("")) -> None:
    if authorization != "Bearer good":
        raise HTTPException(401, "Sign in first.", {"www-authenticate": "Bearer"})


def too_far(*args: Any) -> Any:
    pytest.fail("too far")


def test_dependencies_come_before_everything() -> None:
    office = Office(dependencies=[Depends(signed_in)], authorize_thread=too_far)
    answer = office.asks()
    assert (answer.status_code, answer.json()) == (401, {"detail": "Sign in first."})
    assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/agent/capabilities", "/agent/health"):
        assert office.get(path).status_code == 401
    # Not even the body is looked at.
    assert office.post("/agent", content=b"no json").status_code == 401
    assert office.untouched
    office, good = Office(dependencies=[Depends(signed_in)]), {"authorization": "Bearer good"}
    assert said(office.asks(**good).content) == "nobody of None on ann/1"
    assert office.get("/agent/health", headers=good).status_code == 200


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


def broken(*args: Any) -> Any:
    raise RuntimeError("postgres://user:secret@db")


def no_credit(request: Request) -> RunnableConfig:
    raise HTTPException(402, "Out of credit.")


NOT_YOURS = (403, "This thread is not yours.")
FACTORIES = {"config_factory": too_far, "context_factory": too_far}
REFUSED: list[tuple[dict[str, Any], int, str | None]] = [
    *(({"authorize_thread": lambda *_, one=one: one}, *NOT_YOURS) for one in (None, 0, 1, "yes")),
    *(({"authorize_thread": one, **FACTORIES}, *NOT_YOURS) for one in (owns, later(owns))),
    *(({"authorize_thread": one}, 404, "No such thread.") for one in (hides, later(hides))),
    ({"config_factory": no_credit}, 402, "Out of credit."),
    *(({f"{one}_factory": broken}, 500, None) for one in ("config", "context")),
    *(({f"{one}_factory": later(broken)}, 500, None) for one in ("config", "context")),
    *(({"authorize_thread": one}, 500, None) for one in (broken, later(broken))),
]


@pytest.mark.parametrize(("hooks", "status", "detail"), REFUSED)
def test_what_is_refused_touches_nothing(hooks: Any, status: int, detail: str | None) -> None:
    """And one that fails doesn't tell its text."""
    office = Office(**hooks)
    answer = office.asks(user="bob")
    assert answer.status_code == status
    assert detail is None or answer.json()["detail"] == detail
    assert "event-stream" not in answer.headers["content-type"]
    assert "secret" not in answer.text
    assert office.untouched


def test_threads_of_malformed_requests_are_not_asked_for() -> None:
    office = Office(authorize_thread=too_far)
    assert office.post("/agent", content=b'{"threadId": 1}', headers=JSON).status_code == 422


@pytest.mark.parametrize("hook", [owns, later(owns)])
def test_identity_reaches_the_runtime_context(hook: Any) -> None:
    """Also of runs at once; and the thread is always the authorized one."""

    async def identify(request: Request) -> Identity:
        return Identity(request.headers["user"])

    def config(request: Request) -> RunnableConfig:
        return {"configurable": {"tenant": request.headers["tenant"], "thread_id": "elsewhere"}}

    office = Office(authorize_thread=hook, context_factory=identify, config_factory=config)
    names = [f"user-{number}" for number in range(6)]

    def post(name: str) -> bytes:
        body, headers = body_of(run_input("who?", thread=name)), {"user": name, "tenant": "acme"}
        return ask(served.port, "POST", "/agent", body, {**JSON, **headers}).body

    with serving(office.app) as served, ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(post, names))
    assert [*map(said, answers)] == [f"{name} of acme on {name}" for name in names]
    assert all(b"acme" not in one.replace(b" of acme on", b"") for one in answers)
    assert office.saver.reads > 0


def test_a_factory_may_have_nothing_to_say() -> None:
    office = Office(config_factory=lambda request: None, context_factory=lambda request: None)
    assert said(office.asks().content) == "nobody of None on ann/1"

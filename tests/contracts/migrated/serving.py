"""Graphs that are written for `ag-ui-langgraph`, served by either package."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from tests.contracts.generations.test_matrix import Front
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.serving import Served, Tape, serving

GRAPHS = Path(__file__).parent / "graphs"
OFFERED = "what the run offers"
THERE, HERE = "ag_ui_langgraph", "langgraph_agui"
OLD, NEW = "0.0.59", "1.0.0"
CLIENTS: dict[str, str | None] = {OLD: OLD, NEW: None}
"""The clients by version; `None` is the reference."""


def load(name: str, package: str) -> ModuleType:
    """Return a graph's module, made anew, on this package."""
    source = (
        (GRAPHS / f"{name}.py")
        .read_text("utf-8")
        .replace("from ag_ui_langgraph import", f"from {package} import")
    )
    module = ModuleType(f"migrated_{name}_{uuid4().hex}")
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), module.__dict__)
    return module


class TapedApp(FastAPI):
    """An app that keeps what it has answered."""

    def __init__(self) -> None:
        super().__init__()
        self.tape = Tape(super().__call__)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.tape(scope, receive, send)


@contextlib.contextmanager
def serving_graphs() -> Iterator[Served]:
    """Serve an app that graphs can be added to."""
    with serving(TapedApp()) as served:
        yield served


class MigratedFront(Front):
    """A client, and a graph behind the endpoint of a package. `runs` are the turns so far."""

    def __init__(
        self,
        node: NodeClient,
        served: Served,
        generation: str | None,
        package: str,
        **switches: Any,
    ) -> None:
        super().__init__(node, served, generation)
        self.package = package
        self.runs: list[ClientRun] = []
        self._switches = switches

    def serve(self, name: str, **switches: Any) -> MigratedFront:
        """Serve a graph: the agent of its own module, or one with switches."""
        self.path = f"/{name}-{uuid4()}"
        package, module, switches = (
            import_module(self.package),
            load(name, self.package),
            self._switches | switches,
        )
        agent = (
            module.agent
            if not switches
            else package.LangGraphAgent(name=name, graph=module.graph, **switches)
        )
        package.add_langgraph_fastapi_endpoint(self._served.config.app, agent, self.path)
        return self

    def ask(self, *texts: str, **more: Any) -> ClientRun:
        run = super().ask(*texts, **more)
        self.runs.append(run)
        return run

    def answer(self, asked: ClientRun, payload: Any, way: str) -> ClientRun:
        """Answer the one interrupt: as pages of before AG-UI 1.0 do, or by `resume`, or by what the
        run offers.

        The last is what CopilotKit's `useInterrupt` does.
        """
        outcome = (asked.last or {}).get("outcome")
        if way == "resume" or (way == OFFERED and outcome):
            assert outcome, "the run ends without an outcome, which `resume` would answer"
            [interrupt] = outcome["interrupts"]
            return self.run(
                resume=[{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]
            )
        event = next((one["value"] for one in asked.custom if one["name"] == "on_interrupt"), None)
        more = {"interruptEvent": event} if way == "command with event" else {}
        return self.run(forwardedProps={"command": {"resume": payload, **more}})

    def wire(self) -> list[bytes]:
        """Return what the server has sent, turn by turn."""
        self._served.wait_idle()
        app = self._served.config.app
        assert isinstance(app, TapedApp)
        return app.tape.answers[self.path]

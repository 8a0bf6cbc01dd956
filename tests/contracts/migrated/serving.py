"""Graphs that are written for `ag-ui-langgraph`, served by either package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from uuid import uuid4

from tests.contracts.generations.test_matrix import Front, TapedApp
from tests.kit.processes.serving import serving

GRAPHS = Path(__file__).parent / "graphs"
OFFERED = "what the run offers"
THERE, HERE = "ag_ui_langgraph", "langgraph_agui"
OLD, NEW = "0.0.59", "1.0.0"
CLIENTS = {OLD: OLD, NEW: None}
"""The clients by version; `None` is the reference."""


def load(name, package):
    """Return a graph's module, made anew, on this package."""
    source = (GRAPHS / f"{name}.py").read_text("utf-8")
    source = source.replace("from ag_ui_langgraph import", f"from {package} import")
    module = ModuleType(f"migrated_{name}_{uuid4().hex}")
    sys.modules[module.__name__] = module
    exec(compile(source, name, "exec"), module.__dict__)
    return module


def serving_graphs():
    """Serve an app that graphs can be added to."""
    return serving(TapedApp())


class MigratedFront(Front):
    """A client, and a graph behind the endpoint of a package. `runs` are the turns so far."""

    def __init__(self, node, served, generation, package, **switches):
        super().__init__(node, served, generation)
        self.package, self.runs, self._switches = package, [], switches

    def serve(self, name, **switches):
        """Serve a graph: the agent of its own module, or one with switches."""
        self.path = f"/{name}-{uuid4()}"
        package, module = import_module(self.package), load(name, self.package)
        agent, switches = module.agent, self._switches | switches
        if switches:
            agent = package.LangGraphAgent(name=name, graph=module.graph, **switches)
        package.add_langgraph_fastapi_endpoint(self._served.config.app, agent, self.path)

    def ask(self, *texts, **more):
        self.runs.append(super().ask(*texts, **more))
        return self.runs[-1]

    def answer(self, asked, payload, way):
        """Answer the one interrupt: as pages of before AG-UI 1.0 do, or by `resume`, or by what the
        run offers.

        The last is what CopilotKit's `useInterrupt` does.
        """
        outcome = (asked.last or {}).get("outcome")
        if way == "resume" or (way == OFFERED and outcome):
            assert outcome, "the run ends without an outcome, which `resume` would answer"
            [interrupt] = outcome["interrupts"]
            answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            return self.run(resume=[answer])
        event = next((one["value"] for one in asked.custom if one["name"] == "on_interrupt"), None)
        more = {"interruptEvent": event} if way == "command with event" else {}
        return self.run(forwardedProps={"command": {"resume": payload, **more}})

    def wire(self):
        """Return what the server has sent, turn by turn."""
        self._served.wait_idle()
        return self._served.config.app.tape.answers[self.path]

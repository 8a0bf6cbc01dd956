"""The graphs of the matrix, and those of known forms, for the LangGraph server of `tests.remote`,
which brings its own checkpointer."""

from __future__ import annotations

from tests.kit.graphs.forms import FORMS
from tests.kit.graphs.pauses import KINDS

_graphs = {f"approvals_{kind}": make(None) for kind, make in (KINDS | FORMS).items()}
globals().update(_graphs)  # the server takes a module's variables

GRAPHS = tuple(_graphs)

"""Configurations of runs: several enter, one leaves."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs


def merge_run_configs(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return the configurations as one; the later ones win.

    LangChain's own `merge_configs` ignores a recursion limit of 25, because that is its default.
    """
    result = merge_configs(*configs)
    for config in configs:
        if config and "recursion_limit" in config:
            result["recursion_limit"] = config["recursion_limit"]
    return result

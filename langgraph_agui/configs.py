"""Configurations of runs, put together."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs


def merge_run_configs(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return the configurations as one, the later over the earlier.

    LangChain's own merging takes a recursion limit of 25, its default, for one that was not set.
    """
    result = merge_configs(*configs)
    for config in configs:
        if config and "recursion_limit" in config:
            result["recursion_limit"] = config["recursion_limit"]
    return result

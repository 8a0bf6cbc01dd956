"""The `provider_server` fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.models.server import ProviderServer

# What would send a client elsewhere, or have LangChain do something the test did not ask for.
_MISLEADING = (
    *("LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING", "LC_OUTPUT_VERSION"),
    *("GOOGLE_GENAI_USE_VERTEXAI", "OPENAI_PROXY"),
)


def isolate(environment: pytest.MonkeyPatch) -> None:
    """Let providers' packages reach servers on this machine without proxies, and do nothing that no
    test asked for."""
    for name in _MISLEADING:
        environment.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        environment.setenv(name, "127.0.0.1,localhost")


@pytest.fixture
def provider_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A running `ProviderServer` of the test's own, reached without proxies."""
    isolate(monkeypatch)
    with ProviderServer() as server:
        yield server

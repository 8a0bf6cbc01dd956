"""The `provider_server` fixture, to be imported into a test directory's conftest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.providers.server import ProviderServer

if TYPE_CHECKING:
    from collections.abc import Iterator

# What would send a client elsewhere, or have LangChain do something the test did not ask for.
_MISLEADING = (
    "LANGCHAIN_TRACING_V2",
    "LANGSMITH_TRACING",
    "LC_OUTPUT_VERSION",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "OPENAI_PROXY",
)


@pytest.fixture
def provider_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """A running `ProviderServer` of the test's own, reached without proxies."""
    for name in _MISLEADING:
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    with ProviderServer() as server:
        yield server

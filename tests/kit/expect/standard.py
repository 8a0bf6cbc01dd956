"""LangChain's standard tests of chat models."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def does_not_apply(reason: str) -> Callable[..., None]:
    """Take the place of a test that a kind of model cannot pass, or that would only skip itself."""

    @pytest.mark.xfail(run=False, reason=reason)
    def test(self: object) -> None: ...

    return test

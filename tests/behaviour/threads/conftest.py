"""`saver`: the package does not ask which checkpointer it is, so SQLite has its turn in CI."""

from __future__ import annotations

import pytest

from tests.kit.deep import deep


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "saver" in metafunc.fixturenames:
        savers = ["memory", pytest.param("sqlite", marks=deep)]
        metafunc.parametrize("saver", savers, indirect=True)

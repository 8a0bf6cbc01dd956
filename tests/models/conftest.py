"""Fixtures of the model tests."""

from tests.providers.fixtures import provider_server

__all__ = ["provider_server"]

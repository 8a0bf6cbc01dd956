from __future__ import annotations

from tests.providers.fixtures import provider_server
from tests.reasoning.conftest import rig

__all__ = ["provider_server", "rig"]

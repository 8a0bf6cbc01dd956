from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.media_files import SECRET, path_like
from tests.messages.network import Network


@pytest.fixture
def secret() -> Iterator[str]:
    """The path of a file of the server, which holds `SECRET`. It is valid base64."""
    folder = Path("/tmp") / f"s{uuid4().hex}"  # what pytest makes has a hyphen
    folder.mkdir()
    yield path_like(folder, SECRET)
    shutil.rmtree(folder)


@pytest.fixture
def network() -> Iterator[Network]:
    """A server in the network of the agent's server."""
    network = Network()
    thread = threading.Thread(target=network.server.serve_forever)
    thread.start()
    yield network
    network.server.shutdown()
    thread.join()
    network.server.server_close()

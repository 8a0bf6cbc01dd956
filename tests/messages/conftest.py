from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.media_files import SECRET, path_like


@pytest.fixture
def secret() -> Iterator[str]:
    """The path of a file of the server, which holds `SECRET`. It is valid base64."""
    folder = Path("/tmp") / f"s{uuid4().hex}"  # what pytest makes has a hyphen
    folder.mkdir()
    yield path_like(folder, SECRET)
    shutil.rmtree(folder)

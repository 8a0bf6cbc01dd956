"""The files from npm are built from the committed lock file, and nothing else."""

from __future__ import annotations

import json
import re

from tests.behaviour.playground.vendored import BUILT, SOURCES, SUMS, build, sums
from tests.kit.deep import deep
from tests.kit.processes.node_client import HARNESS

LOCK = json.loads((SOURCES / "package-lock.json").read_text("utf-8"))["packages"]


def test_the_files_are_those_that_the_sources_became():
    assert sums() == SUMS.read_text("utf-8"), "run `make vendor`"


def test_the_client_is_the_reference_of_the_tests():
    wanted = json.loads((HARNESS / "package.json").read_text("utf-8"))["dependencies"]
    assert LOCK["node_modules/@ag-ui/client"]["version"] == wanted["@ag-ui/client"]


def test_each_package_has_its_licence():
    parts = (BUILT / "LICENSES.txt").read_text("utf-8").split("-" * 80)
    heads = [re.match(r"\s*(\S+) (\S+) \(\S+\)\n\n(?=.{100})", part, re.DOTALL) for part in parts]
    found = {head[1]: head[2] for head in heads if head}
    assert len(found) == len(parts)
    assert {"@ag-ui/client", "@ag-ui/core", "rxjs", "zod", "fast-json-patch"} <= set(found)
    assert found == {name: LOCK[f"node_modules/{name}"]["version"] for name in found}


@deep
def test_a_build_from_the_lock_file_is_the_same(tmp_path):
    build(tmp_path)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert built == {path.name: path.read_bytes() for path in BUILT.iterdir()}

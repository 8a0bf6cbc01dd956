"""The API reference has each public name on exactly one page."""

from __future__ import annotations

import re
from collections import Counter

from tests.docs.blocks import ROOT

_API = ROOT / "docs" / "reference" / "api"
# A name that is rendered, or one of another package, which stands in a table. `fold.fold` is the
# function `fold`; the module of the same name hides it from griffe.
_DOCUMENTED = re.compile(r"^(?:::: |\| `)(langgraph_agui[\w.]*)", re.MULTILINE)
_SAME = re.compile(r"\.(\w+)(?=\.\1$)")


def _public_names() -> set[str]:
    """Return the names in `tests/rooms/public_api.txt`, those that are another name for one of them left
    out."""
    names, module = set(), ""
    for line in (ROOT / "tests" / "rooms" / "public_api.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            module = line[3:]
        elif (
            line[:1].strip()
            and " = " not in line.partition("(")[0]
            and (name := re.match(r"(?:\w+ )*(\w+)", line))
        ):
            names.add(f"{module}.{name[1]}")
    return names - {f"{module}."}


def test_each_public_name_is_on_one_page() -> None:
    pages = sorted(_API.glob("*.md"))
    found = (_DOCUMENTED.findall(page.read_text("utf-8")) for page in pages)
    listed = Counter(_SAME.sub("", name) for names in found for name in names)

    assert {name for name, count in listed.items() if count > 1} == set()
    assert listed.keys() == _public_names()

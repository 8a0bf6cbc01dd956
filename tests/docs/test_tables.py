"""Tables, figures and links of the pages are true: names, codes, versions, tests, examples."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from langgraph_agui import ErrorCode
from tests.docs.blocks import PAGES, ROOT, blocks
from tests.kit.processes.environments import classified

DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
REPOSITORY = "https://github.com/langgraph-agui/langgraph-agui/"
OUTSIDE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
OUTSIDE += [EXAMPLES / "README.md", *sorted(EXAMPLES.glob("*/README.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def rows(pattern: str, page: Path) -> list[str] | list[tuple[str, ...]]:
    return re.findall(pattern, text_of(page), re.MULTILINE)


def targets(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are linked by, on GitHub as on the site."""
    plain = (
        re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in rows(r"^#+ (.*)$", page)
    )
    return {heading.replace(" ", "-") for heading in plain}


def test_links_from_outside_of_the_site() -> None:
    for page in OUTSIDE:
        for target in targets(page):
            if not target.startswith(("http:", "https:")):
                path, _, anchor = target.partition("#")
                found = (page.parent / path).resolve() if path else page
                assert found.exists(), (page, target)
                assert not anchor or anchor in anchors(found), (page, target)


def test_links_into_the_repository() -> None:
    links = {link for page in PAGES for link in targets(page) if link.startswith(REPOSITORY)}
    for link in links:
        kind, _, path = link.removeprefix(REPOSITORY).partition("/main/")
        assert kind in ("blob", "tree"), link
        assert (ROOT / path.partition("#")[0]).exists(), link


def test_each_test_that_a_page_names_exists() -> None:
    pages = (DOCS / "operations" / "security.md", ROOT / "tests" / "faults" / "README.md")
    named = {name for page in pages for name in rows(r"`([\w/]+/test_\w+\.py(?:::\w+)?)`", page)}
    assert len(named) > 20
    for name in named:
        file, _, function = str(name).partition("::")
        assert f"def {function or 'test_'}" in text_of(ROOT / "tests" / file), name


# A name that is rendered, or one of another package, which stands in a table. `fold.fold` is the
# function `fold`; the module of the same name hides it from griffe.
DOCUMENTED, SAME = r"^(?:::: |\| `)(langgraph_agui[\w.]*)", r"\.(\w+)(?=\.\1$)"


def public_names() -> set[str]:
    """Those in `tests/rooms/public_api.txt` that are no other name for one of them."""
    names, module = set(), ""
    for line in text_of(ROOT / "tests" / "rooms" / "public_api.txt").splitlines():
        if line.startswith("== "):
            module = line[3:]
        elif line[:1].strip() and " = " not in line.partition("(")[0]:
            found = re.match(r"(?:\w+ )*(\w+)", line)
            names |= {f"{module}.{found[1]}"} if found and module else set()
    return names


def test_each_public_name_is_on_one_page() -> None:
    pages = (DOCS / "reference" / "api").glob("*.md")
    listed = Counter(
        re.sub(SAME, "", str(name)) for page in pages for name in rows(DOCUMENTED, page)
    )
    assert {name for name, count in listed.items() if count > 1} == set()
    assert listed.keys() == public_names()


def test_each_error_code_is_explained() -> None:
    found = rows(r"^\| `(\w+)` \|", DOCS / "reference" / "errors.md")
    assert set(found) == {code.value for code in ErrorCode}


def test_versions() -> None:
    page = DOCS / "versions.md"
    found = rows(r"^\| `([\w-]+)` \| `(.+?)` \|(?: `(\w+)`)? \|$", page)
    assert len(found) == 6
    for package, versions, extra in found:
        given = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
        [needed] = [one for one in map(Requirement, given) if one.name == package]
        assert needed.specifier == Requirement(f"{package}{versions}").specifier
    *others, newest = classified()
    for said in (
        f"| Python | `{PROJECT['requires-python']}` |",
        f"{', '.join(others)} and {newest}",
    ):
        assert said in text_of(page)


def test_the_readmes_program_is_the_quickstarts() -> None:
    pages = (ROOT / "README.md", DOCS / "quickstart.md")
    first, quickstart = ([one for one in blocks(page) if one.title == "app.py"] for page in pages)
    assert first == quickstart
    [program] = first
    assert program.source.count("\n") <= 12


def test_the_readmes_figures_are_those_of_the_benchmark() -> None:
    row = r"^\| \*\*W1\*\* one node, 5,000 text tokens \|.*$"
    [found] = rows(row, ROOT / "benchmarks" / "README.md")
    _, _, incumbent, ours, *_ = (cell.split()[0] for cell in str(found).strip("| ").split(" | "))
    words = " ".join(text_of(ROOT / "README.md").split())
    assert f"Serving 5,000 tokens takes {ours} × the CPU" in words
    assert f"`ag-ui-langgraph`, without its raw events, takes {incumbent} ×" in words


def test_the_comparison_counts_the_graphs_that_pass() -> None:
    """One passes if a way to run it does."""
    table = text_of(DOCS / "migrating.md").split("side by side\n")[1]
    found = re.findall(r"^\| `(\w+)`(?:, [^|]*)? \| (.*?) \| (.*?) \|", table, re.MULTILINE)
    there = {name for name, result, _ in found if result == "passes"}
    here = {name for name, _, result in found if result == "passes"}
    assert (len({name for name, _, _ in found}), len(there), len(here)) == (10, 8, 10)
    said = "On ten graphs written for `ag-ui-langgraph`, [eight pass there and ten here]"
    assert said in text_of(DOCS / "compare.md")


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


COOKBOOK = sorted({*(DOCS / "cookbook").glob("*.md")} - {DOCS / "cookbook" / "index.md"})


@pytest.mark.parametrize("page", COOKBOOK, ids=lambda page: page.stem)
def test_the_cookbook_shows_lines_of_the_example(page: Path) -> None:
    (shown,) = [block for block in blocks(page) if block.language == "python"]
    source = without_indents(text_of(ROOT / str(shown.reason).removeprefix("run by ")))
    for part in re.split(r"\n{3,}", shown.source.strip()):
        lines = re.sub(r"^# .*\n", "", part)  # where the lines are from
        assert without_indents(lines) in source, lines


def test_each_example_has_a_row_and_a_port_of_its_own() -> None:
    found = rows(r"^\| \[`(\w+)`\]\((\w+)\) \| .* \| (.*) \|$", EXAMPLES / "README.md")
    folders = sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))
    assert sorted(name for name, target, _ in found if name == target) == folders
    ports = ["8000", *(port for *_, column in found for port in column.split())]
    assert len({*ports}) == len(ports)

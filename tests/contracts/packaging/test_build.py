"""What is uploaded: the files in the wheel and in the sdist, and what the package index shows of
them."""

from __future__ import annotations

import re
import sys
from email.message import Message
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tests.contracts.packaging.conftest import BUILD
from tests.kit.paths import ROOT
from tests.kit.processes.environments import run

README = (ROOT / "README.md").read_text("utf-8")
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
VENDORED = "langgraph_agui/devtools/playground/vendor/LICENSES.txt"
LINK = re.compile(r'(?<!\w)!?\[[^\]\n]*\]\(([^)\s]+)|(?:src|srcset|href)="([^"]+)"')


def links(text: str) -> list[str]:
    """Where the links and images of a Markdown text lead, without its code."""
    prose = re.sub(r"`[^`\n]*`", "", CODE.sub("", text))
    return [one or other for one, other in LINK.findall(prose)]


def shown(metadata: Message) -> str:
    """The README as the package index has it."""
    return str(metadata.get_payload(decode=True).decode("utf-8"))  # type: ignore[union-attr]


def test_the_index_takes_them(built: Path) -> None:
    said = run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())
    assert said.count("PASSED") == 2, said


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    files = [path for path in (ROOT / "langgraph_agui").rglob("*") if path.is_file()]
    package = {str(path.relative_to(ROOT)) for path in files if path.parent.name != "__pycache__"}
    page = "langgraph_agui/devtools/playground/"
    needed = (page + "index.html", page + "vendor/ag-ui-client.js", VENDORED)
    assert {"langgraph_agui/py.typed", *needed} <= package
    about = wheel.name.rpartition("-py3")[0] + ".dist-info/"
    licences = [f"licenses/{name}" for name in ("LICENSE", VENDORED)]
    names = ["METADATA", "RECORD", "WHEEL", "entry_points.txt", *licences]
    with ZipFile(wheel) as archive:
        assert set(archive.namelist()) == package | {about + name for name in names}


def test_the_licences_are_those_of_all_that_is_in_the_wheel(metadata: Message) -> None:
    vendored = (ROOT / VENDORED).read_text("utf-8")
    licences = re.findall(r"^\S+ [\d.]+ \((\S+)\)$", vendored, re.MULTILINE)
    assert set(metadata["License-Expression"].split(" AND ")) == {"MIT", *licences}
    assert metadata.get_all("License-File") == ["LICENSE", VENDORED]


def test_the_sdist_has_what_the_wheel_is_made_of(sdist: list[str]) -> None:
    places = {name.partition("/")[0] for name in sdist}
    files = {"README.md", "CHANGELOG.md", "LICENSE", "PKG-INFO", "pyproject.toml", ".gitignore"}
    assert places == {"langgraph_agui", "docs"} | files


def test_the_wheel_is_the_same_from_the_sdist_and_from_the_clone(
    wheel: Path, tmp_path: Path
) -> None:
    run(sys.executable, *BUILD, "--wheel", "--outdir", tmp_path, ROOT)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_changelog_has_the_version(metadata: Message) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version = metadata["Version"]
    day = r"20\d\d-\d\d-\d\d"
    heading = "Unreleased" if ".dev" in version else rf"{re.escape(version)} \({day}\)"
    assert re.search(f"^## {heading}$", changelog, re.MULTILINE)


def test_all_addresses_have_the_same_base(metadata: Message, project: dict[str, Any]) -> None:
    urls = dict(project["urls"])
    assert set(urls) == {"Homepage", "Documentation", "Repository", "Changelog", "Issues"}
    documentation, repository = urls.pop("Documentation"), urls["Repository"]
    assert all(url == repository or url.startswith(f"{repository}/") for url in urls.values())
    owner, name = repository.rpartition("/")[0].rpartition("/")[2], repository.rpartition("/")[2]
    assert documentation == f"https://{owner}.github.io/{name}/"
    ours = [link for link in links(shown(metadata)) if "github" in link and f"/{name}/" in link]
    assert ours
    assert all(link.startswith((f"{repository}/", documentation)) for link in ours), ours


def test_links_of_the_readme_lead_to_files_of_the_release(
    metadata: Message, project: dict[str, Any]
) -> None:
    text = shown(metadata)
    assert CODE.findall(text) == CODE.findall(README)
    assert [link for link in links(text) if not re.match(r"https?://", link)] == []
    base = re.escape(project["urls"]["Repository"])
    to_files = rf"{base}/(?:blob|raw)/v{re.escape(metadata['Version'])}/([^#]*)"
    given, found = links(README), [re.match(to_files, link) for link in links(text)]
    wanted = {
        link.partition("#")[0] or "README.md" for link in given if not re.match(r"https?://", link)
    }
    assert {match[1] for match in found if match} == wanted
    assert [name for name in sorted(wanted) if not (ROOT / name).exists()] == []

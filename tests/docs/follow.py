"""Does what a page says, block by block, in an empty folder.

What each language of a block means:

- With a title, any language: the block is saved as that file. Python files are imported too, unless
  the reader is a stranger.
- `python`: runs, in one namespace for the page. `await` is allowed.
- `bash`: runs; a command that listens on a port goes on until the end of the page.
- `text`: the whole output of what ran last, or of the last server so far; `output.py` says what `…`
  stands for.
- `json`, `yaml`, `toml`, `js`: is read by a parser of it. Any other language without a title is an
  error.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import inspect
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from unittest import mock

import psutil
import yaml
from sybil import Document, Example, Sybil
from sybil.region import Region
from sybil.typing import Evaluator

from tests.contracts.frontends.building import environment, link_node
from tests.docs.blocks import ROOT, Block, lex
from tests.docs.output import is_whole
from tests.kit.waiting import wait_for

# Seconds; npm installs, for example.
LONG = 600.0
_PORTS = re.compile(r"\b(800[0-2]|801\d)\b")
# Colours: some tools write them wherever the variable CI is set.
_COLOURS = re.compile(r"\x1b\[[\d;]*m")


class Follower:
    """A reader of one page, in `folder`.

    `fresh`: as a stranger, who has nothing but Python, Node and `wheels`. Otherwise with the tests'
    environment, and on free ports instead of those that the page names, so that pages can be
    followed at the same time.
    """

    def __init__(self, folder: Path, wheels: Path | None = None) -> None:
        self.folder, self.fresh = folder, wheels is not None
        self.output = ""
        self.ports: dict[str, str] = {}
        self._servers: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._namespace: dict[str, object] = {"__name__": "__page__"}
        self._runner = asyncio.Runner()
        self._env = {**environment(), "PWD": str(folder)}
        here = str(Path(sys.executable).parent)
        paths = [path for path in self._env["PATH"].split(os.pathsep) if path != here]
        if wheels is None:
            self._env |= {"PYTHONPATH": str(ROOT), "PIP_DRY_RUN": "1"}
        else:
            for name in ("PYTHONPATH", "VIRTUAL_ENV"):
                self._env.pop(name, None)
            link_node(folder / ".node")
            self._env |= {"PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            self._env["PIP_NO_COMPILE"] = "1"  # Python compiles what is imported
        first = here if wheels is None else str(folder / ".node")
        self._env["PATH"] = os.pathsep.join([first, *paths])

    def follow(self, page: Path) -> int:
        """Do all of a page, and return how many blocks ran. The folder is the current directory
        meanwhile."""
        document = Sybil([self._parse], path=str(page.parent), pattern=page.name).parse(page)
        count = 0
        with contextlib.chdir(self.folder), mock.patch.dict(os.environ):
            sys.path.insert(0, str(self.folder))
            try:
                for example in document.examples():
                    example.evaluate()
                    count += 1
            finally:
                sys.path.remove(str(self.folder))
        return count

    def close(self) -> None:
        """Stop what still runs, and forget the page's modules."""
        for server, _ in self._servers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        self._runner.close()
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]

    def port(self, written: str) -> str:
        """Return the port that is used for one that the page names."""
        if not self.fresh and written not in self.ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.ports[written] = str(free.getsockname()[1])
        return self.ports.get(written, written)

    def _parse(self, document: Document) -> list[Region]:
        regions = []
        for region in lex(document):
            block: Block = region.parsed
            if block.reason is None:
                region.evaluator = self._evaluator(block)
                regions.append(region)
        return regions

    def _evaluator(self, block: Block) -> Evaluator:
        def evaluate(example: Example) -> None:
            source = _PORTS.sub(lambda port: self.port(port[0]), block.source)
            if block.title is not None:
                self._save(block.title, source)
            elif block.language == "python":
                # Lines of errors are those of the page.
                self._run_python("\n" * example.line + source, str(example.path))
            elif block.language == "bash":
                self._run_shell(source)
            elif block.language == "text":
                self._expect(source)
            else:
                self._read(block.language, source)

        return evaluate

    def _save(self, title: str, source: str) -> None:
        file = self.folder / title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, "utf-8")
        if file.suffix == ".py" and not self.fresh:
            os.environ.update(self._env)
            name = ".".join(file.relative_to(self.folder).with_suffix("").parts)
            spec = importlib.util.spec_from_file_location(name, file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)

    def _run_python(self, source: str, path: str) -> None:
        code = compile(source, path, "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)

        with contextlib.redirect_stdout(io.StringIO()) as printed:
            result = eval(code, self._namespace)
            if inspect.iscoroutine(result):
                self._runner.run(result)
        self.output = printed.getvalue()

    def _run_shell(self, source: str) -> None:
        """Run a block; its variables, exported or not, and the directory are kept for the next
        one."""
        log = self.folder / f".output-{len(list(self.folder.glob('.output-*')))}"
        state = self.folder / ".environment"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-ae", "-c", f"trap 'env -0 >{state}' EXIT\n{source}"],
                cwd=self._env.get("PWD", self.folder),
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for(lambda: process.poll() is not None or _listens(process.pid), source, LONG)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        self.output = _read_log(log)
        if process.returncode is None:
            self._servers.append((process, log))
        elif process.returncode or "does not provide the extra" in self.output:
            raise AssertionError(
                f"{source}\nends with {process.returncode}:\n{self.output[-6000:]}"
            )
        else:
            self._env = dict(line.split("=", 1) for line in state.read_text().split("\0") if line)

    def _expect(self, shown: str) -> None:
        if is_whole(shown, self.output):
            return
        log = self._servers[-1][1] if self._servers else None
        if log is not None:
            with contextlib.suppress(AssertionError):
                wait_for(lambda: any(is_whole(shown, text) for text in _logged(log)), shown, 20)
                return
        logged = f"\nor, of the server:\n{_read_log(log)}" if log is not None else ""
        raise AssertionError(f"expected:\n{shown}\nfound:\n{self.output}{logged}")

    def _read(self, language: str, source: str) -> None:
        readers = {"json": json.loads, "yaml": yaml.safe_load, "toml": tomllib.loads}
        if language == "js":
            node = shutil.which("node", path=self._env["PATH"])
            command = [str(node), "--input-type=module", "--check"]
            subprocess.run(command, input=source, env=self._env, text=True, check=True)
        elif language in readers:
            readers[language](source)
        else:
            raise AssertionError(
                f"No way to run a block of {language!r}: give it a title, or a comment why not."
            )


def _logged(log: Path) -> tuple[str, str]:
    """Return what a server has printed, and the same with a line more: it goes on."""
    text = _read_log(log)
    return text, f"{text}\n(later)"


def _read_log(log: Path) -> str:
    return _COLOURS.sub("", log.read_text("utf-8", "replace"))


def _listens(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            if any(
                connection.status == psutil.CONN_LISTEN
                for connection in each.net_connections("tcp")
            ):
                return True
    return False

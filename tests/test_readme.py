"""The README does what it says: its first program starts and answers, its other snippets name what exists."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from langgraph_agui.protocol import decode, fold, verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = [line for language, text in BLOCKS if language == "bash" for line in text.replace("\\\n", "").splitlines()]


def line_of(program: str) -> list[str]:
    """The first shell command of the README that runs `program`, as words."""
    return shlex.split(next(line for line in SHELL if line.startswith(f"{program} ")))


def free_port() -> str:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return str(server.getsockname()[1])


@pytest.fixture
async def port(tmp_path: Path) -> AsyncIterator[str]:
    """The first Python block, saved as `app.py` and started as the README says, on a free port."""
    (tmp_path / "app.py").write_text(PYTHON[0])
    port = free_port()
    command = [port if word == "8000" else word for word in line_of("uvicorn")]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}
    )
    try:
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", int(port))
                break
            except OSError:
                await asyncio.sleep(0.05)
        else:
            pytest.fail("uvicorn did not start")
        writer.close()
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def run_curl(arguments: list[str]) -> bytes:
    process = await asyncio.create_subprocess_exec("curl", "-sS", *arguments, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output


async def test_the_first_program_answers(port: str) -> None:
    command = [word.replace(":8000/", f":{port}/") for word in line_of("curl")[1:]]
    events = verify(decode([await run_curl(command)]))
    content = {message.role: message.content for message in fold(events).messages}
    assert content["user"] == "Hello"
    assert content["reasoning"] == "They greet me. I greet them back."
    assert content["assistant"] == "Hello! What shall we build?"
    page = await run_curl([f"http://127.0.0.1:{port}/"])
    assert b"<title>" in page


def test_the_installed_extra_brings_what_the_first_program_imports() -> None:
    from importlib.metadata import requires

    extra = re.search(r"\[(\w+)\]", line_of("pip")[2])
    assert extra is not None
    lines = [line.replace(" ", "") for line in requires("langgraph-agui") or ()]

    def packages(name: str) -> set[str]:
        own = {re.split(r"[<>=;\[]", line)[0]: line for line in lines if f"extra=='{name}'" in line.replace('"', "'")}
        nested = re.search(r"\[(.*?)\]", own.get("langgraph-agui", ""))
        return set(own).union(*(packages(inner) for inner in (nested[1].split(",") if nested else ())))

    assert {"fastapi", "langchain", "uvicorn"} <= packages(extra[1])


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.strip().splitlines()[0][:40])
def test_snippets_compile_and_import_what_exists(block: str) -> None:
    tree = compile(block, "README.md", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module(imports, []), "README.md", "exec"), {})

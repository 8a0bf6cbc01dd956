"""The package without its extras: it imports, and says what to install when something of an extra
is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.kit.paths import ROOT

WITHOUT = """
import importlib.abc, json, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


def run_without(blocked: list[str], code: str) -> object:
    """Run `code`, which prints JSON, in a Python that cannot import `blocked`."""
    script = f"BLOCKED = {blocked!r}\n{WITHOUT}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=50
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EXTRAS = ["fastapi", "starlette", "uvicorn", "httpx2", "typer", "rich", "langchain", "cryptography"]

TOUCH = """
import langgraph_agui
answers = {}
for name in [*(one for one in dir(langgraph_agui) if one[0] != "_"), "no_such_name"]:
    try:
        getattr(langgraph_agui, name)
    except Exception as error:
        answers[name] = [type(error).__name__, str(error)]
    else:
        answers[name] = None
print(json.dumps(answers))
"""


def test_imports_and_names_the_extra_that_is_missing() -> None:
    answers = run_without(EXTRAS, TOUCH)
    assert isinstance(answers, dict)
    assert answers.pop("no_such_name")[0] == "AttributeError"
    for name in (
        "LangGraphAgent",
        "AGUICallbackHandler",
        "agui_messages_to_langchain",
        "langchain_messages_to_agui",
    ):
        assert answers.pop(name) is None
    for name in ("agui_router", "add_langgraph_fastapi_endpoint"):
        kind, message = answers.pop(name)
        assert kind == "ModuleNotFoundError"
        assert 'pip install "langgraph-agui[fastapi]"' in message
    for name, answer in answers.items():
        assert answer is None or 'pip install "langgraph-agui[' in answer[1], name


def test_one_missing_module_is_enough() -> None:
    code = """
try:
    from langgraph_agui import agui_router
except ImportError as error:
    print(json.dumps(str(error)))
"""
    assert "langgraph-agui[fastapi]" in str(run_without(["fastapi"], code))


def test_importing_does_not_load_the_extras() -> None:
    code = """
import langgraph_agui
print(json.dumps([name for name in ("fastapi", "starlette", "uvicorn", "typer", "langchain") if name in sys.modules]))
"""
    assert run_without([], code) == []

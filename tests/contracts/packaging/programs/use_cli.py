"""The command serves a graph and talks to it."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

GRAPH = """
from langgraph.graph import START, MessagesState, StateGraph

async def answer(state: MessagesState) -> MessagesState:
    return {"messages": [("ai", "Hello you.")]}

graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
"""

command = str(Path(sys.executable).with_name("langgraph-agui"))
for words in ([], ["serve"], ["chat"], ["demo"], ["doctor"]):
    shown = subprocess.run(
        [command, *words, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "Usage" in shown, shown
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "graphs.py").write_text(GRAPH)
    arguments = [command, "serve", "graphs:graph", "--port", "0"]
    server = subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        seen = ""
        while not (found := re.search(r"http://[\d.]+:[1-9]\d*/agent", seen)):
            line = server.stdout.readline()
            assert line, seen
            seen += line
        asked = subprocess.run(
            [command, "chat", found[0], "Hello"], capture_output=True, text=True, cwd=folder
        )
        assert asked.returncode == 0, asked
        assert "Hello you." in asked.stdout, asked
    finally:
        server.terminate()
        server.wait()

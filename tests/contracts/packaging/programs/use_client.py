"""The client reads an agent of this library, which the standard library's server serves here."""

import asyncio
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from ag_ui.core import RunAgentInput
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import AGUIChatModel, AGUISession

model = GenericFakeChatModel(messages=iter([AIMessage("Hello you."), AIMessage("Hello again.")]))


async def answer(state: MessagesState) -> MessagesState:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
agent = LangGraphAgent(graph=graph, name="assistant")


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *words: object) -> None: ...

    def do_POST(self) -> None:
        given = RunAgentInput.model_validate_json(
            self.rfile.read(int(self.headers["content-length"]))
        )

        async def stream() -> bytes:
            return b"".join([frames async for frames in agent.stream_sse(given)])

        body = asyncio.run(stream())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


async def main(url: str) -> None:
    session = AGUISession(url)
    types = [event.type.value async for event in session.send("Hello")]
    assert types[0] == "RUN_STARTED", types
    assert types[-1] == "RUN_FINISHED", types
    assert session.messages[-1].content == "Hello you."
    answered = await AGUIChatModel(url=url).ainvoke("Hello")
    assert answered.text == "Hello again.", answered


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}/"))
server.shutdown()

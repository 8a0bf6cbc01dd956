"""A chat that answers from documents, and cites them: retrieval as a tool, citations by middleware.

    langgraph-agui serve examples.rag_chat.main:agent --port 8014

Runs offline: the embeddings count words, and the model is a script. Needs `numpy`, for the vector
store.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langchain_core.messages.content import create_citation
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call, reasoning

SITE = "https://shop.example/help"
DOCUMENTS = [
    Document(
        "You can return goods within 30 days. Return shipping is free.",
        id="returns",
        metadata={"title": "Returns", "url": f"{SITE}/returns"},
    ),
    Document(
        "A refund is paid within 5 days after the goods arrive.",
        id="refunds",
        metadata={"title": "Refunds", "url": f"{SITE}/refunds"},
    ),
    Document(
        "Batteries and lamps have a warranty of two years.",
        id="warranty",
        metadata={"title": "Warranty", "url": f"{SITE}/warranty"},
    ),
]

# -- the store ------------------------------------------------------------------------------------


class WordEmbeddings(Embeddings):
    """Embeddings without a model: how often each word occurs. The same text has the same vector."""

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * 256
        for word in re.findall(r"\w{4,}", text.lower()):
            vector[zlib.crc32(word[:5].encode()) % len(vector)] += 1
        length = math.hypot(*vector) or 1
        return [value / length for value in vector]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


store = InMemoryVectorStore(WordEmbeddings())  # real ones: OpenAIEmbeddings()
store.add_documents(DOCUMENTS)


def search_help(query: str) -> str:
    """Search the shop's help pages. Cite a page by its id in brackets, such as [returns]."""
    found = store.similarity_search(query, k=2)
    return "\n".join(f"[{page.id}] {page.page_content}" for page in found)


# -- the citations --------------------------------------------------------------------------------


class Citations(AgentMiddleware):
    """Turns marks such as `[returns]` in an answer into citations of the documents."""

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        # The model reads its earlier answers as it has written them.
        plain = [uncited(message) for message in request.messages]
        response = await handler(request.override(messages=plain))
        response.result = [cited(message) for message in response.result]
        return response


def cited(message: BaseMessage) -> BaseMessage:
    """Return the message with a citation for each mark that names a document."""
    blocks = [message.content] if isinstance(message.content, str) else message.content
    return message.model_copy(update={"content": [*map(annotated, blocks)]})


def annotated(block: str | dict[str, Any]) -> str | dict[str, Any]:
    """Return a block of text with its citations, in the form of LangChain."""
    text = block if isinstance(block, str) else str(block.get("text", ""))
    marks = re.finditer(r"[^.!?\n\]]+\[(?P<id>\w+)\]", text)
    citations = [
        create_citation(
            url=page.metadata["url"],
            title=page.metadata["title"],
            cited_text=page.page_content,
            start_index=mark.start(),
            end_index=mark.end(),
        )
        for mark in marks
        for page in store.get_by_ids([mark["id"]])
    ]
    if not citations:
        return block
    fields = {} if isinstance(block, str) else block
    return {**fields, "type": "text", "text": text, "annotations": citations}


def uncited(message: BaseMessage) -> BaseMessage:
    """Return an answer as the model has written it."""
    if isinstance(message.content, str):
        return message
    blocks = [
        block if isinstance(block, str) else {k: v for k, v in block.items() if k != "annotations"}
        for block in message.content
    ]
    return message.model_copy(update={"content": blocks})


# -- the agent ------------------------------------------------------------------------------------


def script(messages: list[BaseMessage]) -> Reply:
    """Search first. Then repeat the sentences that were found, each with its mark."""
    last = messages[-1]
    if last.type == "human":
        return [reasoning("The help pages should know."), call("search_help", query=last.text)]
    pages = re.findall(r"\[(\w+)\] ([^.]+)", last.text)
    return " ".join(f"{sentence} [{page}]." for page, sentence in pages)


MODEL = ScriptedChatModel(script, delay=0.02)  # a real one: "anthropic:claude-sonnet-4-5"

graph = create_agent(MODEL, [search_help], middleware=[Citations()], checkpointer=InMemorySaver())
agent = LangGraphAgent(graph, name="rag-chat")

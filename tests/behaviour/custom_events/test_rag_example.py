"""The chat over documents: it finds the page, and cites it live and after a reload."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")  # of the vector store

from langchain_core.messages import AIMessage

from examples.rag_chat.main import DOCUMENTS, agent, cited, search_help, uncited
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user


def test_the_search_finds_the_page() -> None:
    for question, page in (("How do I return goods?", "returns"), ("My refund?", "refunds")):
        assert search_help(question).startswith(f"[{page}] ")


async def test_an_answer_cites_its_pages_live_and_after_a_reload() -> None:
    asked = run_input(user("How long is the warranty?", "u1"), thread="cited")
    run = await record_run(agent, asked)
    assert run.last.outcome.type == "success"
    answer = run.messages[-1]
    warranty = next(page for page in DOCUMENTS if page.id == "warranty")
    first = answer.metadata["citations"][0]
    assert (first["title"], first["citedText"]) == ("Warranty", warranty.page_content)
    words = answer.content[first["startIndex"] : first["endIndex"]]
    assert words == "Batteries and lamps have a warranty of two years [warranty]"
    live = [event.metadata for event in run.of("TEXT_MESSAGE_END") if event.metadata]
    assert live == [answer.metadata]
    empty = run_input(thread="cited")
    shown = RecordedRun(await collect(agent.connect(empty)), empty)
    assert dumped(shown.messages) == dumped(run.messages)


def test_only_marks_of_documents_are_cited_and_other_blocks_stay() -> None:
    plain = AIMessage("See [nowhere] and a[0].")
    assert cited(plain).content == [plain.content]
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    text = {"type": "text", "text": "It is free [returns]. See [nowhere]."}
    message = AIMessage([thought, text])
    kept, annotated = cited(message).content
    assert kept == thought
    assert [one["title"] for one in annotated["annotations"]] == ["Returns"]
    assert uncited(cited(message)) == message

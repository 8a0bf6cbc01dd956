"""Reasoning over two turns that only the front end keeps: the provider gets the request that
LangChain alone sends.

The page talks to an agent without a checkpointer, on the real package of the provider. What the
provider is sent for the second question is compared with what it is sent for LangChain's own
messages of the first run.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from langgraph_agui import AGUIMiddleware, LangGraphAgent, ReasoningOptions, ReasoningSeal
from tests.contracts.frontends.pages import CopilotKit, FrontEnd, Site, site
from tests.kit.expect.identity import differences
from tests.kit.models.cases import BY_ID, Case
from tests.kit.models.fixtures import isolate
from tests.kit.models.loops import loop
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn
from tests.kit.run.rig import MORE, ReceivedEvents, sent
from tests.kit.waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SEALED = ReasoningOptions(seal=ReasoningSeal(keys=[b"k" * 32]))

ANTHROPIC = (
    "thinking-text",
    "redacted-first",
    "empty-signed",
    "tool-loop",
    "interleaved",
    "parallel-calls",
)
OPENAI = (
    "summary-parts",
    "encrypted-only",
    "tool-loop",
    "hidden-tool-loop",
    "parallel-calls",
    "two-texts",
    "phases",
)
EACH_CASE = [
    *(("anthropic", BY_ID[f"anthropic-{name}"]) for name in ANTHROPIC),
    *(("anthropic-sealed", BY_ID[f"anthropic-{name}"]) for name in ("redacted-first", "tool-loop")),
    *(("openai", BY_ID[f"openai-{name}"]) for name in OPENAI),
    *(("openai-sealed", BY_ID[f"openai-{name}"]) for name in ("encrypted-only", "tool-loop")),
]

_TEXT = "assistant-ui drops the value of an answer without reasoning: it is sent as a string, not as a text block"
DIFFERENCES: dict[tuple[str, str], str] = {
    ("assistant-ui", "anthropic-interleaved"): _TEXT,
    ("assistant-ui", "anthropic-parallel-calls"): _TEXT,
}
"""Why a request is another one, by the front end and the case. Nothing else may differ, and no
reasoning."""


@pytest.fixture(scope="module")
def providers() -> Iterator[ProviderServer]:
    with pytest.MonkeyPatch.context() as environment:
        isolate(environment)
        with ProviderServer() as server:
            yield server


class Talk:
    """A graph on a provider's package without a checkpointer, and the page that keeps its
    thread."""

    def __init__(self, provider: str, providers: ProviderServer, *middleware: Any) -> None:
        self._provider, self._providers = provider, providers
        self._received = ReceivedEvents()
        self.graph: Any = create_agent(
            make_model(provider, providers), [get_weather], middleware=middleware
        )

    def agent(self, reasoning: ReasoningOptions) -> LangGraphAgent:
        return LangGraphAgent(
            graph=self.graph, reasoning=reasoning, config={"callbacks": [self._received]}
        )

    def ask(self, front: FrontEnd, text: str, *script: Any) -> dict[str, Any]:
        """Ask on the page; return the first request that the provider got."""
        before, runs = len(self._providers.requests), len(self.runs)
        self._providers.script(self._provider, *script)
        front.send(text)
        wait_for(
            lambda: len(self.runs) > runs and not self._providers.unanswered, "the run has ended"
        )
        return sent(self._providers.requests[before])

    @property
    def runs(self) -> list[list[BaseMessage]]:
        """The messages with which each run of the graph ended."""
        return self._received.runs

    def reference(self, *history: BaseMessage) -> dict[str, Any]:
        """Ask LangChain alone, with its own messages; return the request."""
        self._providers.script(self._provider, MORE)
        for _ in self.graph.stream({"messages": deepcopy([*history])}, stream_mode="messages"):
            pass
        return sent(self._providers.requests[-1])


@pytest.fixture(scope="module")
def stage(
    request: pytest.FixtureRequest, kind: type[FrontEnd], providers: ProviderServer
) -> Iterator[tuple[Talk, Site]]:
    """The agent that the test names, on a page."""
    provider, _, sealed = request.param.partition("-")
    talk = Talk(provider, providers)
    with site(kind, talk.agent(SEALED if sealed else ReasoningOptions())) as served:
        yield talk, served


@pytest.mark.parametrize(("stage", "case"), EACH_CASE, indirect=["stage"], ids=str)
def test_the_next_request_is_langchains_own(
    case: Case, stage: tuple[Talk, Site], kind: type[FrontEnd], browser: Browser
) -> None:
    talk, served = stage
    with served.opened(browser) as front:
        talk.ask(front, case.prompt, *case.turns)
        front.rests()
        if kind is not CopilotKit:  # it draws Markdown
            front.shows_thoughts(*(thought for seen in case.seen for thought in seen.reasoning))
        reference = talk.reference(*talk.runs[-1], HumanMessage("Anything else?"))
        candidate = talk.ask(front, "Anything else?", MORE)
    if (kind.name, case.id) in DIFFERENCES:
        answer = candidate["body"]["messages"][3]
        assert answer["content"] == case.turns[-1].text
        answer["content"] = [{"type": "text", "text": answer["content"]}]
    check(candidate, reference)


def check(candidate: dict[str, Any], reference: dict[str, Any], *left_out: str) -> None:
    """Two requests are the same, but for the keys of their bodies that are left out."""
    for request in (candidate, reference):
        for key in left_out:
            request["body"].pop(key, None)
    assert not [*differences(candidate, reference)]


def paint(provider: str) -> tuple[Turn, Turn]:
    """Reasoning and a call of the page's tool, then reasoning and the answer."""
    call = Call("set_background", {"color": "red"}, id="call_paint")
    before, after = (
        [block for block in turn.blocks if isinstance(block, Reasoning)]
        for turn in loop(provider, 0)
    )
    return Turn((*before, call)), Turn((*after, Text("It is painted.")))


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_reasoning_before_and_after_a_tool_of_the_page(
    provider: str, kind: type[FrontEnd], providers: ProviderServer, browser: Browser
) -> None:
    talk = Talk(provider, providers, AGUIMiddleware())
    before = len(providers.requests)
    with site(kind, talk.agent(ReasoningOptions())) as served, served.opened(browser) as front:
        providers.script(provider, *paint(provider), MORE)
        front.send("Paint it red.")
        front.shows_answers("It is painted.")
        front.send("Anything else?")
        front.shows_answers("It is painted.", MORE.text)
    _, second, third = map(sent, providers.requests[before:])
    own = [*talk.runs[0], ToolMessage("The page is red.", tool_call_id="call_paint")]
    check(second, talk.reference(*own), "tools")
    check(third, talk.reference(*own, talk.runs[1][-1], HumanMessage("Anything else?")), "tools")

"""Reasoning over two turns that only the front end keeps: the provider gets the request that
LangChain alone sends.

The page talks to an agent without a checkpointer, on the real package of the provider. What the
provider is sent for the second question is compared with what it is sent for LangChain's own
messages of the first run.
"""

from __future__ import annotations

from copy import deepcopy

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage

from langgraph_agui import AGUIMiddleware, LangGraphAgent, ReasoningOptions, ReasoningSeal
from tests.contracts.frontends.pages import CopilotKit, site
from tests.kit.expect.identity import differences
from tests.kit.models.cases import BY_ID
from tests.kit.models.fixtures import isolate
from tests.kit.models.loops import loop
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn
from tests.kit.run.rig import MORE, ReceivedEvents, sent
from tests.kit.waiting import wait_for

SEALED = ReasoningOptions(seal=ReasoningSeal(keys=[b"k" * 32]))

CASES = {
    "anthropic": "thinking-text redacted-first empty-signed tool-loop interleaved parallel-calls",
    "anthropic-sealed": "redacted-first tool-loop",
    "openai": "summary-parts encrypted-only tool-loop hidden-tool-loop parallel-calls two-texts phases",
    "openai-sealed": "encrypted-only tool-loop",
}
EACH_CASE = [
    (stage, BY_ID[f"{stage.removesuffix('-sealed')}-{name}"])
    for stage, names in CASES.items()
    for name in names.split()
]

_TEXT = "assistant-ui drops the value of an answer without reasoning: it is sent as a string, not as a text block"
DIFFERENCES = {
    ("assistant-ui", "anthropic-interleaved"): _TEXT,
    ("assistant-ui", "anthropic-parallel-calls"): _TEXT,
}
"""Why a request is another one, by the front end and the case. Nothing else may differ, and no
reasoning."""


@pytest.fixture(scope="module")
def providers():
    with pytest.MonkeyPatch.context() as environment:
        isolate(environment)
        with ProviderServer() as server:
            yield server


class Talk:
    """A graph on a provider's package without a checkpointer, and the page that keeps its
    thread."""

    def __init__(self, provider, providers, *middleware):
        self._provider, self._providers = provider, providers
        self._received = ReceivedEvents()
        model = make_model(provider, providers)
        self.graph = create_agent(model, [get_weather], middleware=middleware)

    def agent(self, reasoning):
        config = {"callbacks": [self._received]}
        return LangGraphAgent(self.graph, reasoning=reasoning, config=config)

    def ask(self, front, text, *script):
        """Ask on the page; return the first request that the provider got."""
        before, runs = len(self._providers.requests), len(self.runs)
        self._providers.script(self._provider, *script)
        front.send(text)

        def ended():
            return len(self.runs) > runs and not self._providers.unanswered

        wait_for(ended, "the run has ended")
        return sent(self._providers.requests[before])

    @property
    def runs(self):
        """The messages with which each run of the graph ended."""
        return self._received.runs

    def reference(self, *history):
        """Ask LangChain alone, with its own messages; return the request."""
        self._providers.script(self._provider, MORE)
        for _ in self.graph.stream({"messages": deepcopy([*history])}, stream_mode="messages"):
            pass
        return sent(self._providers.requests[-1])


@pytest.fixture(scope="module")
def stage(request, kind, providers):
    """The agent that the test names, on a page."""
    provider, _, sealed = request.param.partition("-")
    talk = Talk(provider, providers)
    with site(kind, talk.agent(SEALED if sealed else ReasoningOptions())) as served:
        yield talk, served


@pytest.mark.parametrize(("stage", "case"), EACH_CASE, indirect=["stage"], ids=str)
def test_the_next_request_is_langchains_own(case, stage, kind, browser):
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


def check(candidate, reference, *left_out):
    """Two requests are the same, but for the keys of their bodies that are left out."""
    for request in (candidate, reference):
        for key in left_out:
            request["body"].pop(key, None)
    assert not [*differences(candidate, reference)]


def paint(provider):
    """Reasoning and a call of the page's tool, then reasoning and the answer."""
    turns = [
        [one for one in turn.blocks if isinstance(one, Reasoning)] for turn in loop(provider, 0)
    ]
    call = Call("set_background", {"color": "red"}, id="call_paint")
    return Turn((*turns[0], call)), Turn((*turns[1], Text("It is painted.")))


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_reasoning_before_and_after_a_tool_of_the_page(provider, kind, providers, browser):
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

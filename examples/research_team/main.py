"""A supervisor that sends researchers out in parallel: the agent that is served.

python -m examples.research_team                                     # in the terminal, offline
langgraph-agui serve examples.research_team.main:agent --port 8011   # in the browser
"""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver

from examples.research_team.team import build
from langgraph_agui import LangGraphAgent

agent = LangGraphAgent(build(InMemorySaver()), name="research-team")

"""Test an agent without a key, a server or a browser.

- `ScriptedChatModel`: a chat model that streams what a test tells it to, of texts, `reasoning` and
  `call`s. `Reply` is the type of what it says.
- `record_run`: runs an agent once and checks its stream; a `RecordedRun` is what its client has
  then, and goes on with the next run.
"""

from langgraph_agui.testing.recorded import RecordedRun, record_run
from langgraph_agui.testing.scripted import Reply, ScriptedChatModel, call, reasoning

__all__ = ["RecordedRun", "Reply", "ScriptedChatModel", "call", "reasoning", "record_run"]

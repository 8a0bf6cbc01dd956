"""An agent of `create_agent` calls a tool of the client's."""

import asyncio

from ag_ui.core import RunAgentInput, Tool, UserMessage
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from langgraph_agui.protocol import verify

bound: list[str] = []


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: list, **kwargs: object) -> "Model":
        bound.extend(getattr(tool, "name", None) or tool["function"]["name"] for tool in tools)
        return self


call = ToolCall(name="show", args={"what": "map"}, id="c", type="tool_call")
model = Model(messages=iter([AIMessage("", tool_calls=[call])]), disable_streaming=True)
agent = LangGraphAgent(graph=create_agent(model, middleware=[AGUIMiddleware()]), name="assistant")
tool = Tool(name="show", description="Show it.", parameters={"type": "object", "properties": {}})
question = UserMessage(id="m", content="Where?")
run_input = RunAgentInput(
    protocol_version="1.0", thread_id="t", run_id="r", messages=[question], tools=[tool]
)


async def main() -> None:
    events = verify([event async for event in agent.run(run_input)], strict=True)
    assert bound == ["show"]
    assert events[-1].outcome.pending_tool_call_ids == ["c"], events[-1]


asyncio.run(main())

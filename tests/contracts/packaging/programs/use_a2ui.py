"""A model designs a surface inside a tool."""

import asyncio

from ag_ui.core import RunAgentInput, UserMessage
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from langgraph_agui import A2UI_OPERATIONS_KEY, LangGraphAgent, get_a2ui_tools
from langgraph_agui.protocol import fold, verify


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: list, **kwargs: object) -> "Model":
        return self


def calls(name: str, **args: object) -> AIMessage:
    return AIMessage("", tool_calls=[ToolCall(name=name, args=args, id=name, type="tool_call")])


root = {"id": "root", "component": "Text", "text": "Hello"}
designer = Model(
    messages=iter([calls("render_a2ui", surfaceId="s1", components=[root])]), disable_streaming=True
)
model = Model(
    messages=iter([calls("generate_a2ui", intent="create"), AIMessage("Here it is.")]),
    disable_streaming=True,
)
agent = LangGraphAgent(
    graph=create_agent(model, [get_a2ui_tools({"model": designer})]), name="assistant"
)
question = UserMessage(id="m", content="Draw.")
run_input = RunAgentInput(protocol_version="1.0", thread_id="t", run_id="r", messages=[question])


async def main() -> None:
    messages = fold(verify([event async for event in agent.run(run_input)], strict=True)).messages
    [result] = [message for message in messages if message.role == "tool"]
    assert A2UI_OPERATIONS_KEY in result.content, result
    assert messages[-1].content == "Here it is."


asyncio.run(main())

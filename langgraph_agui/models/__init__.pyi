# The public names, and where each is: type checkers read this, and the package imports a name on its first use.

from langgraph_agui.models.deepseek import ReasoningChatDeepSeek as ReasoningChatDeepSeek
from langgraph_agui.models.find import find_models as find_models
from langgraph_agui.models.find import provider_of as provider_of
from langgraph_agui.models.groq import ReasoningChatGroq as ReasoningChatGroq
from langgraph_agui.models.mistral import ReasoningChatMistralAI as ReasoningChatMistralAI
from langgraph_agui.models.openai import ReasoningChatOpenAI as ReasoningChatOpenAI
from langgraph_agui.models.reasoning_support import Finding as Finding
from langgraph_agui.models.reasoning_support import examine as examine
from langgraph_agui.models.xai import ReasoningChatXAI as ReasoningChatXAI

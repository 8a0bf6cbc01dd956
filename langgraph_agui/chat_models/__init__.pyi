# The public names, and where each is: type checkers read this,
# and the package imports a name on its first use.

from .deepseek import ReasoningChatDeepSeek as ReasoningChatDeepSeek
from .find import Found as Found
from .find import find_models as find_models
from .find import find_objects as find_objects
from .find import provider_of as provider_of
from .groq import ReasoningChatGroq as ReasoningChatGroq
from .mistral import ReasoningChatMistralAI as ReasoningChatMistralAI
from .openai import ReasoningChatOpenAI as ReasoningChatOpenAI
from .reasoning_support import Finding as Finding
from .reasoning_support import check_reasoning as check_reasoning
from .reasoning_support import reasoning_options as reasoning_options
from .xai import ReasoningChatXAI as ReasoningChatXAI

"""How chat models handle reasoning, by their classes and settings.

A chat model enters, a `Finding` leaves: whether its package gives reasoning to LangChain (out),
whether it sends it back on the next turn (back), and advice. Nothing is called. The rules were read
from the code of the packages and from their requests (tests/kit/models). The classes next to this
module cite the documentation of the APIs.

`reasoning_options` is the advice in the form of arguments, for a model that is yet to be made.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from langgraph_agui.chat_models.find import family_of, provider_of

Judgement: TypeAlias = tuple[bool | None, bool | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Facts about a model's handling of reasoning.

    Attributes:
        model: The model.
        provider: Its provider, as `provider_of` names it.
        out: Whether its package gives reasoning to LangChain; None if that is not known, or if
            there is no reasoning.
        back: Whether its package sends reasoning back on the next turn; None as for `out`.
        advice: Sentences with the changes to make, or with facts to know.
    """

    model: BaseChatModel
    provider: str | None
    out: bool | None
    back: bool | None
    advice: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the model at its provider; that of its class if it has none."""
        return _name_of(self.model)

    @property
    def wrong(self) -> bool:
        """Whether reasoning certainly gets lost."""
        return self.out is False or self.back is False


def check_reasoning(model: BaseChatModel, *, splits: bool = False) -> Finding:
    """Return the facts about reasoning in `model`.

    Args:
        model: The model, as its graph has it.
        splits: Whether its agent splits text at think tags (`ReasoningOptions.think_tags`).
    """
    return Finding(model, provider_of(model), *_judge(model, splits=splits))


def _judge(model: BaseChatModel, *, splits: bool) -> Judgement:
    """Return `out`, `back` and `advice` of a `Finding`."""
    name, family = type(model).__name__, family_of(model) or ""
    if _mapping(model, "profile").get("reasoning_output") is False:
        return None, None, (f"{_name_of(model)} does not reason, so there is nothing to carry.",)
    if family not in _RULES or not _is_known(model):
        return None, None, (_UNKNOWN.format(name=name),)
    if splits and _in_text(model, family):
        return True, True, ()
    judgement = _RULES[family](model)
    method = _own_method(model)
    if False in judgement[:2] and method is not None:
        return None, None, (f"{name} has its own {method}(), so what it carries is not known.",)
    return judgement


_IN_TEXT: Final = (
    "Else reasoning stays in the text, between <think> tags; "
    "LangGraphAgent(reasoning=ReasoningOptions(think_tags=True)) splits it there."
)
_UNKNOWN: Final = (
    "{name} is not known here. It is assumed to be right: reasoning in its content blocks or in "
    'additional_kwargs["reasoning_content"] is shown, and its messages are given back to it as '
    "they were."
)
_ADAPTIVE: Final = {"type": "adaptive", "display": "summarized"}
_ENABLED: Final = {"type": "enabled", "budget_tokens": 2048}
_SUMMARISED: Final = {"effort": "medium", "summary": "auto"}
_SUMMARY: Final = f"No summary is requested: reasoning={json.dumps(_SUMMARISED)}."
_RESPONSES: Final = (
    "Chat completions show no reasoning. Use the Responses API: use_responses_api=True, "
    f"reasoning={json.dumps(_SUMMARISED)}; with store=False also "
    'include=["reasoning.encrypted_content"].'
)
_ENCRYPTED: Final = (
    "With store=False the provider forgets the reasoning, so it must travel encrypted: "
    'include=["reasoning.encrypted_content"].'
)


def _openai(model: BaseChatModel) -> Judgement:
    if getattr(model, "use_responses_api", None):
        return _responses(model, out=bool(_mapping(model, "reasoning").get("summary")))
    host = host_of(model)
    if is_openai(model, host):
        return False, False, (_RESPONSES,)
    use = (
        "Use the class of this provider's own package, or else ReasoningChatOpenAI from "
        "langgraph_agui.chat_models."
    )
    return (
        False,
        False,
        (f"ChatOpenAI drops the reasoning of other servers ({host}), both ways. {use}",),
    )


def _compatible(model: BaseChatModel) -> Judgement:
    if getattr(model, "use_responses_api", None) or is_openai(model, host_of(model)):
        return _openai(model)
    return True, *_replayed(model, "")


def _xai(model: BaseChatModel) -> Judgement:
    if getattr(model, "use_responses_api", None):
        return _responses(model, out=None)
    advice = (
        "xAI's chat completions are deprecated and return no reasoning of current models. Use the "
        "Responses API: "
        'use_responses_api=True, store=False, include=["reasoning.encrypted_content"].'
    )
    back, more = _replayed(model, "ReasoningChatXAI")
    return None, back, (advice, *more)


def _responses(model: BaseChatModel, *, out: bool | None) -> Judgement:
    """The Responses API: summaries come if asked for; reasoning that is not stored must travel
    encrypted.
    """
    included = getattr(model, "include", None) or ()
    back = getattr(model, "store", None) is not False or "reasoning.encrypted_content" in included
    return out, back, (*([_SUMMARY] if out is False else []), *([] if back else [_ENCRYPTED]))


def _deepseek(model: BaseChatModel) -> Judgement:
    thinking = _mapping(model, "extra_body").get("thinking")
    off = isinstance(thinking, Mapping) and thinking.get("type") == "disabled"
    back, advice = _replayed(model, "ReasoningChatDeepSeek")
    return not off, back, (*(["extra_body switches thinking off."] if off else []), *advice)


def _groq(model: BaseChatModel) -> Judgement:
    form = getattr(model, "reasoning_format", None)
    always_parses = form is None and "gpt-oss" in _name_of(model)
    if form == "parsed" or always_parses:
        return True, *_replayed(model, "ReasoningChatGroq")
    if form == "hidden":
        return (
            False,
            False,
            ('reasoning_format="hidden" hides it. Use ReasoningChatGroq with "parsed".',),
        )
    parsed = 'Use ReasoningChatGroq from langgraph_agui.chat_models with reasoning_format="parsed".'
    return False, True, (f"{parsed} {_IN_TEXT}",)


def _mistral(model: BaseChatModel) -> Judgement:
    settings = _mapping(model, "model_kwargs")
    thinks = "magistral" in _name_of(model) or settings.get("reasoning_effort") not in (
        None,
        "none",
    )
    advice = (
        () if thinks else ('No reasoning is requested: model_kwargs={"reasoning_effort": "high"}.',)
    )
    back, more = _replayed(
        model, "ReasoningChatMistralAI", "empties messages with tool calls, text and reasoning"
    )
    return thinks, back, (*advice, *more)


def _ollama(model: BaseChatModel) -> Judgement:
    asked = getattr(model, "reasoning", None)
    advice = (
        f"Set reasoning=True. {_IN_TEXT}" if asked is None else "reasoning=False switches it off."
    )
    return bool(asked), True, () if asked else (advice,)


def _openrouter(model: BaseChatModel) -> Judgement:
    settings = _mapping(model, "reasoning")
    if not settings:
        return None, True, ('Some models reason only when asked: reasoning={"effort": "medium"}.',)
    off = (
        settings.get("exclude") is True
        or settings.get("effort") == "none"
        or settings.get("enabled") is False
    )
    return not off, True, ("reasoning= excludes it.",) if off else ()


def _google(model: BaseChatModel) -> Judgement:
    shown = (
        getattr(model, "include_thoughts", None) is True
        and getattr(model, "thinking_budget", None) != 0
    )
    advice = "No thoughts are requested: include_thoughts=True, and no thinking_budget=0."
    return shown, True, () if shown else (advice,)


def _anthropic(model: BaseChatModel) -> Judgement:
    thinking = _mapping(model, "thinking")
    effort = getattr(model, "reasoning_effort", None)
    if effort and not thinking and _is_adaptive(model):
        return True, True, ()  # the package then asks for summarised thinking
    return _claude(model, thinking, "thinking={}")


def _converse(model: BaseChatModel) -> Judgement:
    # An inference profile may have any name.
    if "claude" not in f"{_name_of(model)} {getattr(model, 'base_model_id', None)}":
        known = (
            "The reasoning of gpt-oss, Nova 2, DeepSeek V3, MiniMax and Kimi is carried both ways"
        )
        return None, None, (f"{known}; whether this model reasons is not known.",)
    settings = _mapping(model, "additional_model_request_fields")
    thinking = settings.get("thinking") or settings.get("reasoning_config") or {}
    return _claude(model, thinking, 'additional_model_request_fields={{"thinking": {}}}')


def _claude(model: BaseChatModel, thinking: Mapping[str, Any], setting: str) -> Judgement:
    """Claude: `thinking` and its signatures always go back; the words come if they are asked
    for.
    """
    wanted = setting.format(json.dumps(_thinking(model)))
    if thinking.get("type") not in ("adaptive", "enabled"):
        return False, True, (f"No reasoning is requested: {wanted}.",)
    # Models that think by a budget return their thoughts; of the others, those of `_is_adaptive`
    # only if asked.
    silent = thinking["type"] == "adaptive" and _is_adaptive(model)
    if thinking.get("display", "omitted" if silent else "summarized") == "omitted":
        return False, True, (f"This model thinks without showing its thoughts: {wanted}.",)
    return True, True, ()


def _thinking(model: BaseChatModel) -> dict[str, object]:
    """Return the setting with which a Claude says its thoughts."""
    return dict(_ADAPTIVE if _is_adaptive(model) else _ENABLED)


def _is_adaptive(model: BaseChatModel) -> bool:
    """Whether a Claude is of those (4.7 and later) that take adaptive thinking and omit the words
    unless asked.
    """
    profile = _mapping(model, "profile")
    return not profile or "xhigh" in (profile.get("reasoning_effort_levels") or ())


def _replayed(
    model: BaseChatModel, better: str, fault: str = "never sends reasoning back"
) -> tuple[bool, tuple[str, ...]]:
    """Whether one of our classes sends reasoning back, and the advice if not; `better` is the one
    to use.
    """
    replay = getattr(model, "replay_reasoning", None)
    if replay == "never":
        return False, ('replay_reasoning="never" keeps reasoning from going back.',)
    if replay is not None:
        return True, ()
    package = type(model).__module__.partition(".")[0].replace("_", "-")
    return False, (
        (
            f"{package} {fault}. Use {better} from langgraph_agui.chat_models, with the same "
            f"arguments."
        ),
    )


_RULES: Final[dict[str, Callable[[BaseChatModel], Judgement]]] = {
    "anthropic": _anthropic,
    "bedrock_converse": _converse,
    "deepseek": _deepseek,
    "google_genai": _google,
    "groq": _groq,
    "mistralai": _mistral,
    "ollama": _ollama,
    "openai": _openai,
    "openai_compatible": _compatible,
    "openrouter": _openrouter,
    "xai": _xai,
}
# The methods that read answers and write requests.
_READING: Final = ("_create_chat_result", "_convert_chunk_to_generation_chunk")
_METHODS: Final = (*_READING, "_get_request_payload", "_create_message_dicts", "_convert_input")


def _in_text(model: BaseChatModel, family: str) -> bool:
    """Whether the model's package leaves reasoning in the text."""
    if family == "groq":
        return getattr(model, "reasoning_format", None) in (None, "raw")
    return family == "ollama" and getattr(model, "reasoning", None) is None


def _is_known(model: BaseChatModel) -> bool:
    """Whether the class is not one of others that only builds on langchain-openai."""
    names = {cls.__name__ for cls in type(model).__mro__}
    return "BaseChatOpenAI" not in names or bool(
        names & {"ChatOpenAI", "AzureChatOpenAI", "ChatDeepSeek", "ChatXAI"}
    )


def _own_method(model: BaseChatModel) -> str | None:
    """Return the method with which a user's subclass reads answers or writes requests itself."""
    for method in _METHODS:
        origin = str(
            getattr(getattr(type(model), method, None), "__module__", "langchain")
        ).partition(".")[0]
        if not origin.startswith(("langchain", "langgraph_agui")):
            return method
    return None


def _mapping(model: BaseChatModel, name: str) -> Mapping[str, Any]:
    value = getattr(model, name, None)
    return value if isinstance(value, Mapping) else {}


def _name_of(model: BaseChatModel) -> str:
    """The name by which `model` calls itself at its provider; that of its class if it has none."""
    for name in ("model_name", "model", "model_id", "deployment_name"):
        if isinstance(value := getattr(model, name, None), str):
            return value
    return type(model).__name__


def host_of(model: BaseChatModel) -> str:
    """Where an OpenAI client sends its requests; "" if that is not known."""
    client = getattr(model, "root_async_client", None)
    address = getattr(model, "openai_api_base", None) or getattr(client, "base_url", "")
    return urlsplit(str(address)).hostname or ""


def is_openai(model: BaseChatModel, host: str) -> bool:
    """Whether requests go to OpenAI's own API: at OpenAI, at Azure or through LangSmith's
    gateway.
    """
    is_azure = any(cls.__name__ == "AzureChatOpenAI" for cls in type(model).__mro__)
    return (
        is_azure or not host or host.endswith((".openai.com", ".azure.com", ".smith.langchain.com"))
    )


def reasoning_options(model: BaseChatModel) -> dict[str, Any]:
    """Return the arguments with which the class of `model` shows its reasoning.

    There are none if the class is not known here, or the model does not reason.

    `init_chat_model` takes them too. A model without a profile is assumed to be recent.

    Args:
        model: The model as it is without them.
    """
    if _mapping(model, "profile").get("reasoning_output") is False:
        return {}
    match type(model).__name__:
        case "ChatAnthropic":
            return {"thinking": _thinking(model)}
        case "ChatGoogleGenerativeAI":
            return {"include_thoughts": True}
        case "ChatOllama":
            return {"reasoning": True}
        case "ChatOpenAI":
            return {"reasoning": _SUMMARISED}
    return {}

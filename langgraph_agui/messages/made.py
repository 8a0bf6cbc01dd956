"""Pictures, audio and files that a model makes.

The finished LangChain message enters, in the shape of the provider's package, and one activity
leaves: AG-UI 1.0 has parts for media in the messages of users and tools, an assistant message is
text, and a client sends no activity back.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from ag_ui import core as agui
from langchain_core.messages import AIMessage

from langgraph_agui.messages.content import ContentBlock, MediaPart, media_part
from langgraph_agui.messages.file_formats import recognise
from langgraph_agui.messages.transformers import Transformers
from langgraph_agui.protocol.sse import MAX_FRAME

# The `activityType` of media. The content: `messageId` (the assistant message), and `parts`, which
# are AG-UI's `image`, `audio`, `video` and `document` parts. One that is too large for a client has
# `omitted` in the place of its `source`.
MEDIA: Final = "langgraph:media"

# The most characters of data in one activity: a client takes no larger frame than `MAX_FRAME`.
MAX_MEDIA: Final = MAX_FRAME - 256 * 1024

_MEDIA_BLOCKS: Final = frozenset(
    {"image", "image_url", "audio", "input_audio", "video", "file", "media", "document"}
)

# Facts that OpenAI tells about a picture that it has made.
_ABOUT_PICTURE: Final = (
    "status",
    "background",
    "output_format",
    "quality",
    "revised_prompt",
    "size",
)


def made_media(
    message: AIMessage,
    message_id: str,
    subagent_run_id: str | None = None,
    transformers: Transformers | None = None,
) -> agui.ActivityMessage | None:
    """Return the activity with the media of a message; None if it has none.

    Args:
        message: The message.
        message_id: Its public id.
        subagent_run_id: The subagent that has made it.
        transformers: The stream transformers of the graph that the message is from.
    """
    parts = [part for block in _media_blocks(message) if (part := media_part(block)) is not None]
    room, shown = MAX_MEDIA, list[dict[str, object]]()
    for part in parts:
        length = len(part.source.value)
        if length > room:
            shown.append(_omitted(part))
            continue
        shown.append(_wire(part))
        room -= length
    if transformers is not None and shown:
        shown = transformers.beside("media", shown) or []
    if not shown:
        return None
    return agui.ActivityMessage(
        id=f"{message_id}:media",
        role="activity",
        activity_type=MEDIA,
        content={"messageId": message_id, "parts": shown},
        subagent_run_id=subagent_run_id,
    )


def emptied(media: agui.ActivityMessage) -> agui.ActivityMessage:
    """Return the activity without the media in it."""
    return media.model_copy(update={"content": {**media.content, "parts": []}})


def activity_event(activity: agui.ActivityMessage) -> agui.ActivitySnapshotEvent:
    """Return the event that brings an activity."""
    return agui.ActivitySnapshotEvent(
        message_id=activity.id,
        activity_type=activity.activity_type,
        content=activity.content,
        metadata=activity.metadata,
        subagent_run_id=activity.subagent_run_id,
    )


def _wire(part: MediaPart) -> dict[str, object]:
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


def _omitted(part: MediaPart) -> dict[str, object]:
    """Return a part that says that its file is too large for a client."""
    fields, size = _wire(part), len(part.source.value) * 3 // 4
    fields.pop("source")
    about = {"reason": "too_large", "bytes": size, "mimeType": part.source.mime_type}
    return {**fields, "omitted": {key: value for key, value in about.items() if value is not None}}


def _media_blocks(message: AIMessage) -> Iterator[ContentBlock]:
    """Yield the media of a message as blocks that `media_part` reads."""
    kwargs = message.additional_kwargs
    if message.content.__class__ is str and not kwargs:
        return
    content = message.content if isinstance(message.content, list) else ()
    outputs = kwargs.get("tool_outputs")  # OpenAI v0
    for block in [*content, *(outputs if isinstance(outputs, list) else ())]:
        if isinstance(block, Mapping):
            yield from _in_block(block)
    if any(isinstance(block, Mapping) and block.get("type") == "audio" for block in content):
        return  # Gemini keeps it in both places, if its blocks are standard ones
    audio = kwargs.get("audio")
    if isinstance(audio, bytes):
        yield {"type": "audio", "base64": b64encode(audio).decode(), "mime_type": "audio/wav"}
    elif isinstance(audio, Mapping) and isinstance(data := audio.get("data"), str) and data:
        yield _openai_audio(data, audio.get("transcript"))


def _in_block(block: ContentBlock) -> Iterator[ContentBlock]:
    match block:
        case {"type": "image_generation_call", "result": str(data), **more} if data:
            about = {key: more[key] for key in _ABOUT_PICTURE if key in more}
            mime = f"image/{more.get('output_format') or 'png'}"
            yield {"type": "image", "base64": data, "mime_type": mime, "extras": about}
        case {"type": str(kind)} if kind in _MEDIA_BLOCKS:
            extras = block.get("extras")
            if isinstance(extras, Mapping):  # Gemini's signature is for the provider
                extras = {key: value for key, value in extras.items() if key != "signature"}
                block = {**block, "extras": extras}
            yield block
        case _:
            for one in _outputs(block):
                if isinstance(one, Mapping):
                    yield from _in_output(one)


def _outputs(block: ContentBlock) -> Sequence[object]:
    """Return the output of code, or the annotations of a text: both may name files."""
    match block:
        case (
            {"type": "code_interpreter_call", "outputs": list(outputs)}
            | {"type": "server_tool_result", "output": list(outputs)}
            | {"content": {"content": list(outputs)}}
            | {"output": {"content": list(outputs)}}
            | {"annotations": list(outputs)}
        ):
            return outputs
    return ()


def _in_output(output: ContentBlock) -> Iterator[ContentBlock]:
    value = output.get("value")
    if output.get("type") == "non_standard_annotation" and isinstance(value, Mapping):
        output = value
    match output:
        case {"type": "image"}:
            yield output
        case {"type": "container_file_citation", "file_id": str(file_id), **more}:  # OpenAI
            about = {key: more[key] for key in ("filename", "container_id") if key in more}
            yield {"type": "file", "file": {"file_id": file_id}, "extras": about}
        case {"type": str(kind), "file_id": str(file_id)} if kind.endswith("_output"):  # Anthropic
            yield {"type": "file", "source": {"type": "file", "file_id": file_id}}


def _openai_audio(data: str, transcript: object) -> ContentBlock:
    """Return OpenAI's audio, which does not name its format, as a block."""
    mime = "audio/wav"
    with suppress(ValueError):
        found = recognise(b64decode(data))
        mime = found.mime_for("audio", mime) if found is not None else mime
    about = {"transcript": transcript} if transcript and isinstance(transcript, str) else {}
    return {"type": "audio", "base64": data, "mime_type": mime, "extras": about}

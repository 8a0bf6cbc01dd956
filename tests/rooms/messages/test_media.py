"""Media both ways."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from ag_ui.core import (
    AudioPart,
    DataSource,
    DocumentPart,
    FileSource,
    ImagePart,
    TextPart,
    UrlSource,
    VideoPart,
)
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.content import create_file_block, create_plaintext_block

from langgraph_agui import ReasoningOptions, ReasoningSeal
from langgraph_agui import agui_messages_to_langchain as to_langchain
from langgraph_agui import langchain_messages_to_agui as to_agui
from langgraph_agui.messages.content import (
    OCTETS,
    content_blocks,
    content_parts,
    user_blocks,
    warn_left_out,
    with_images,
)
from tests.kit.models.media_files import PNG, encoded
from tests.rooms.protocol.test_jsonable import JSON

PARTS = {"image": ImagePart, "audio": AudioPart, "video": VideoPart, "document": DocumentPart}
PDF_TYPE = "application/pdf"
MIMES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4", "document": PDF_TYPE}
HELLO = "aGVsbG8="  # "hello"


def plain(parts: Any) -> Any:
    return parts if isinstance(parts, str) else [part.model_dump(by_alias=True) for part in parts]


def shown(block: Any) -> Any:
    """The one part that `block` is shown as."""
    (dumped,) = plain(content_parts([block]))
    return dumped


def part(kind: str, value: str, mime: str | None = None, **more: Any) -> Any:
    """A part; `more` are its metadata."""
    source = DataSource(value=value, mime_type=mime) if mime is not None else UrlSource(value=value)
    return PARTS[kind](source=source, metadata=more or None)


def given_to_model(one: Any) -> dict[str, Any]:
    blocks = content_blocks([one])
    assert isinstance(blocks, list)
    return blocks[0]


KEYS = ("filename", "fileName", "name", "title", "context", "agui")
named = st.fixed_dictionaries({}, optional={key: st.text() | JSON for key in KEYS})
odd = ["", OCTETS, "image/jpg", "IMAGE/PNG; a=b", "a,b/c", "audio/mpeg", "audio/webm;codecs=opus"]
mimes = st.sampled_from([*MIMES.values(), *odd]) | st.text(max_size=12)
values = st.sampled_from([HELLO, encoded(PNG), "https://e.com/a,b", "/a.png"]) | st.text(
    min_size=1
).filter(lambda value: not value.lower().startswith("data:"))
either = st.none() | mimes
sources = (
    st.builds(DataSource, value=values, mimeType=mimes)
    | st.builds(UrlSource, value=values, mimeType=either)
    | st.builds(FileSource, value=values, mimeType=either, provider=st.none() | st.text())
)
ids, metadata = st.none() | st.text(), st.none() | named | JSON
media = st.one_of(
    *(st.builds(kind, id=ids, source=sources, metadata=metadata) for kind in PARTS.values())
)
texts = st.builds(TextPart, text=st.text(min_size=1))


@given(st.lists(texts | media, min_size=1))
def test_parts_come_back_as_they_went(parts: list[Any]) -> None:
    """As blocks, and in a user's message; with a checkpoint in between."""
    blocks = json.loads(json.dumps(content_blocks(parts)))
    content, kwargs = json.loads(json.dumps(user_blocks(parts)))
    user = content_parts(with_images(HumanMessage(content, additional_kwargs=kwargs)))
    again = content_parts(blocks)
    if all(isinstance(one, TextPart) for one in parts):
        assert again == user == "".join(one.text for one in parts)
    else:
        assert plain(again) == plain(user) == plain(parts)
        assert content_blocks(again) == blocks


NAMED: dict[str, Any] = {
    "type": "image",
    "id": "p1",
    "source": {"type": "data", "value": encoded(PNG), "mimeType": "image/png"},
    "metadata": {"filename": "cat.png", "alt": "a cat"},
}
BARE = {"type": "image", "source": {"type": "url", "value": "https://e.com/b"}}
TYPED = {"type": "image", "source": {**BARE["source"], "mimeType": "image/png"}}
SEALED = ReasoningOptions(seal=ReasoningSeal([bytes(32)]))
OPTIONS = pytest.mark.parametrize("options", [None, SEALED], ids=["clear", "sealed"])


def asked(*parts: dict[str, Any], options: ReasoningOptions | None = None) -> HumanMessage:
    """What a graph gets of a user's message."""
    sent = {"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}, *parts]}
    (message,) = to_langchain([sent], reasoning=options, thread_id="t")
    assert isinstance(message, HumanMessage)
    return message


def held(message: BaseMessage, options: ReasoningOptions | None = None) -> dict[str, Any]:
    """What a client gets of it."""
    (one,) = to_agui([message], reasoning=options, thread_id="t")
    return one.model_dump(by_alias=True, exclude_none=True)


@OPTIONS
def test_a_picture_of_a_user_is_an_image_url(options: ReasoningOptions | None) -> None:
    """What a node writes beside pictures moves nothing."""
    message = asked(NAMED, BARE, TYPED)
    urls = [f"data:image/png;base64,{encoded(PNG)}", "https://e.com/b", "https://e.com/b"]
    assert message.content[1:] == [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    first, *others = message.additional_kwargs["agui_images"]
    assert (first["id"], first["extras"]["agui"]["metadata"]) == ("p1", NAMED["metadata"])
    assert ({*first}, others) == ({"id", "extras"}, [{}, {"mime_type": "image/png"}])
    assert asked(BARE).additional_kwargs == {}
    monday, between = {"type": "text", "text": "Monday."}, asked(BARE, NAMED)
    between.content.insert(2, "Monday.")
    for one, parts in ((message, [NAMED, BARE, TYPED]), (between, [BARE, monday, NAMED])):
        shown = held(one, options)
        assert shown["content"][1:] == parts
        assert to_langchain([shown], reasoning=options, thread_id="t") == [one]
    assert "encryptedValue" not in held(message, options)


def test_what_a_node_has_changed_is_shown_as_it_is() -> None:
    message = asked(NAMED, BARE)
    message.content = [message.content[0], message.content[2]]  # one taken out
    assert held(message)["content"][1] == BARE
    block = given_to_model(part("image", HELLO, "image/jpg", filename="a.jpg"))
    changed = shown({**block, "base64": "bmV3", "mime_type": "image/webp"})
    assert changed["source"] == {"type": "data", "value": "bmV3", "mimeType": "image/webp"}


@OPTIONS
def test_messages_of_older_releases(options: ReasoningOptions | None) -> None:
    """Threads hold their pictures as standard blocks."""
    (sent,) = to_agui([asked(NAMED, TYPED)])
    message = HumanMessage(content_blocks(sent.content), id="u")
    shown = held(message, options)
    assert shown["content"] == held(asked(NAMED, TYPED))["content"]
    (again,) = to_langchain([shown], reasoning=options, thread_id="t")
    assert again == (message if options is SEALED else asked(NAMED, TYPED))


def test_a_result_holds_standard_blocks() -> None:
    call = {"name": "look", "args": {}, "id": "c"}
    result = ToolMessage([{"type": "image", "url": "https://e.com/b"}], tool_call_id="c", id="t")
    result.additional_kwargs["agui_images"] = [{"id": "p9"}]  # the tool's own
    shown = to_agui([AIMessage("", tool_calls=[call], id="a1"), result])
    assert plain(shown[1].content)[0].get("id") is None
    again = to_langchain(shown)[1]
    assert (again.content, again.additional_kwargs) == (result.content, {})


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(
    ("source", "member"),
    [
        (DataSource(value=HELLO, mime_type="?"), "base64"),
        (UrlSource(value="https://example.com/a"), "url"),
        (UrlSource(value="https://example.com/a", mime_type="?"), "url"),
        (FileSource(value="file-1"), "file_id"),
        (FileSource(value="file-1", mime_type="?", provider="openai"), "file_id"),
    ],
)
def test_the_blocks_are_standard_ones(kind: str, source: Any, member: str) -> None:
    mime = MIMES[kind] if source.mime_type else None
    sent = PARTS[kind](id="p1", source=source.model_copy(update={"mime_type": mime}))
    block = given_to_model(sent)
    assert (block["type"], block[member]) == ({"document": "file"}.get(kind, kind), source.value)
    assert (block["id"], block.get("mime_type")) == ("p1", mime)
    assert set(block) <= {"type", member, "id", "mime_type", "extras"}
    assert plain(content_parts([block])) == plain([sent])


def test_text() -> None:
    assert content_blocks("Hello") == content_parts("Hello") == "Hello"
    parts = [{"type": "text", "text": "Hel"}, "lo", {"type": "input_text", "text": "!"}]
    assert content_parts(parts) == "Hello!"
    blocks = content_blocks([TextPart(text="a", id="t", metadata={"b": 1})])
    assert blocks == [{"type": "text", "text": "a"}]


def test_empty_text_is_not_sent_beside_media() -> None:
    image: Any = {"type": "image", "url": URL}
    assert content_blocks([TextPart(text=""), *content_parts([image])]) == [image]
    assert content_blocks([TextPart(text="")]) == ""
    assert plain(content_parts(["", {"type": "text", "text": ""}, image])) == [shown(image)]


@pytest.mark.parametrize(
    ("sent", "kind", "mime"),
    [
        (part("image", HELLO, "application/pdf"), "file", "application/pdf"),
        (part("audio", HELLO, "application/x-pdf"), "file", "application/pdf"),
        (part("document", HELLO, "image/webp"), "image", "image/webp"),
        (part("audio", HELLO, "video/webm"), "audio", "video/webm"),
        (part("audio", HELLO, "audio/mpeg"), "audio", "audio/mp3"),
        (part("audio", HELLO, "audio/x-wav"), "audio", "audio/wav"),
        (part("audio", HELLO, "audio/webm;codecs=opus"), "audio", "audio/webm"),
        (part("image", HELLO, "image/jpg"), "image", "image/jpeg"),
        (part("document", HELLO, "text/plain; charset=utf-8"), "file", "text/plain"),
        (part("document", HELLO, "", filename="a.PDF"), "file", "application/pdf"),
        (part("image", HELLO, OCTETS, filename="a.gif"), "image", "image/gif"),
        (part("image", HELLO, "", filename="a.pdf"), "image", "image/png"),
        (part("document", HELLO, ""), "file", OCTETS),
        (part("video", HELLO, "unknown"), "video", "video/mp4"),
    ],
)
def test_kind_and_mime_type_are_those_that_models_take(sent: Any, kind: str, mime: str) -> None:
    block = given_to_model(sent)
    assert (block["type"], block["mime_type"]) == (kind, mime)
    assert plain(content_parts([block])) == plain([sent])


@pytest.mark.parametrize(
    ("url", "value", "mime"),
    [
        (f"data:application/pdf;base64,{HELLO}", HELLO, "application/pdf"),
        ("DATA:text/plain;charset=utf-8;base64,aGVsbG8%3D", HELLO, "text/plain"),
        ("data:text/plain,hel%6Co", HELLO, "text/plain"),
        (f"data:;base64,{HELLO}", HELLO, "application/pdf"),
    ],
)
def test_data_urls_become_data(url: str, value: str, mime: str) -> None:
    for source in (UrlSource(value=url), DataSource(value=url, mime_type="")):
        block = given_to_model(DocumentPart(source=source, metadata={"filename": "a.pdf"}))
        assert (block["type"], block["base64"], block["mime_type"]) == ("file", value, mime)
    found = shown({"type": "file", "url": url, "extras": {"filename": "a.pdf"}})
    assert found["source"] == {"type": "data", "value": value, "mimeType": mime}


@pytest.mark.parametrize("key", ["filename", "fileName", "name", "title"])
def test_names_of_files(key: str) -> None:
    name = "Q3 r\u00e9port.v2.pdf"
    extras = given_to_model(part("document", HELLO, PDF_TYPE, **{key: name}))["extras"]
    assert (extras["filename"], extras["title"]) == (name, name)
    assert re.fullmatch(r"Q3 r port v2-[0-9a-f]{8}", extras["name"])
    extras = given_to_model(part("image", HELLO, "image/png", **{key: "a.png"}))["extras"]
    assert (extras["filename"], "title" in extras) == ("a.png", False)


def test_names_of_documents_are_distinct() -> None:
    document, other = (part("document", one, PDF_TYPE, **PDF) for one in (HELLO, "b3RoZXI="))
    said = [document, document, other]
    blocks = [*content_blocks(said, message_id="m1"), *content_blocks(said, message_id="m2")]
    assert len({block["extras"]["name"] for block in blocks}) == 6
    long = given_to_model(part("document", HELLO, PDF_TYPE, filename="\u5206\u671f  x" * 200))
    assert re.fullmatch(r"[A-Za-z0-9]+(?:[ -][A-Za-z0-9]+)*", long["extras"]["name"])
    assert len(long["extras"]["name"]) <= 200


def held_part(kind: str, source: Any, metadata: Any) -> dict[str, Any]:
    source = {key: value for key, value in source.items() if value}
    return {"type": kind, "source": source, **({"metadata": metadata} if metadata else {})}


def data(kind: str, mime: str, metadata: Any = None) -> dict[str, Any]:
    return held_part(kind, {"type": "data", "value": HELLO, "mimeType": mime}, metadata)


def url(kind: str, mime: str | None = None, metadata: Any = None) -> dict[str, Any]:
    return held_part(kind, {"type": "url", "value": URL, "mimeType": mime}, metadata)


def file(kind: str, provider: str | None = None, mime: str | None = None) -> dict[str, Any]:
    source = {"type": "file", "value": "id1", "provider": provider, "mimeType": mime}
    return held_part(kind, source, None)


def of(kind: str | None, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members} if kind else members


def based(**members: Any) -> dict[str, Any]:
    return {"base64": HELLO, **members}


def bedrock(kind: str, source: Any, **more: Any) -> dict[str, Any]:
    return {**more, "source": source, "format": kind}


URL = "https://e.com/a"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF_URL = f"data:{PDF_TYPE};base64,{HELLO}"
PDF = {"filename": "a.pdf"}
NAMED_N, BYTES = {"filename": "n"}, {"bytes": b"hello"}
TITLED, TITLE = {"title": "T", "context": "C"}, {"filename": "T", "context": "C"}
V0_CSV = {"source_type": "base64", "data": HELLO, "mime_type": "text/csv", "filename": "a.csv"}
V0_NAMED = {"source_type": "url", "url": URL, "metadata": {"name": "n", "b": [1]}}
CLAUDES_JPEG = {"type": "base64", "media_type": "image/jpeg", "data": HELLO}
CLAUDES_PDF = {"type": "base64", "media_type": PDF_TYPE, "data": HELLO}
CLAUDES_TEXT = {"type": "text", "media_type": "text/plain", "data": "hello"}
AS_URL, AS_FILE = {"type": "url", "url": URL}, {"type": "file", "file_id": "id1"}
PLAIN_TEXT = data("document", "text/plain")
AS_PDF = data("document", PDF_TYPE)
NAMED_PDF = data("document", PDF_TYPE, PDF)
MADE_PDF = create_file_block(base64=HELLO, mime_type=PDF_TYPE, id="p", filename="a.pdf")

WAV = {"data": HELLO, "format": "wav"}
MP3 = {"data": HELLO, "format": "mp3"}
CITED = {**TITLED, "citations": {"enabled": True}}
VIDEO_FILE = file("video", "google", "video/mp4")
MD, HIGH, LOW = {"text": "hello"}, {"detail": "high"}, {"detail": "low"}
CSV = data("document", "text/csv", {"filename": "a.csv"})
NAMED_MD, NAMED_DOCX = (data("document", one, NAMED_N) for one in ("text/markdown", DOCX))

SHAPES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "v1": [
        (of("image", **based(mime_type="image/gif", index=0)), data("image", "image/gif")),
        (of("image", base64=b"hello"), data("image", "image/png")),
        (of("audio", **based()), data("audio", "audio/wav")),
        (of("video", url=URL), url("video")),
        (of("file", url=URL, mime_type="image/png"), url("document", "image/png")),
        (of("file", **based(extras={**PDF, "x": 1})), data("document", PDF_TYPE, {**PDF, "x": 1})),
        (of("file", file_id="id1", id="p"), {**file("document"), "id": "p"}),
        (of("file", **based(extras={"a": b"\0"})), data("document", OCTETS)),
        (of("non_standard", value=of("video", file_id="id1")), file("video")),
        (of("text-plain", text="hello", **TITLED), data("document", "text/plain", TITLE)),
        ({**create_plaintext_block("hello", id="p")}, {**PLAIN_TEXT, "id": "p"}),
        ({**MADE_PDF}, {**NAMED_PDF, "id": "p"}),
    ],
    "v0": [
        (of("file", **V0_CSV), CSV),
        (of("image", **V0_NAMED), url("image", None, {"filename": "n", "b": [1]})),
        (of("audio", source_type="id", id="id1"), file("audio")),
        (of("file", source_type="text", text="hello"), PLAIN_TEXT),
        (of("file", source_type="text", url="hello"), PLAIN_TEXT),
    ],
    "openai": [
        (of("image_url", image_url={"url": URL, **LOW}), url("image", None, LOW)),
        (of("image_url", image_url=URL), url("image")),
        (of("image_url", image_url={"url": PDF_URL}), AS_PDF),
        (of("input_audio", input_audio=MP3), data("audio", "audio/mpeg")),
        (of("input_audio", input_audio=WAV), data("audio", "audio/wav")),
        (of("file", file={"file_data": PDF_URL, **PDF}), NAMED_PDF),
        (of("file", file={"file_id": "id1"}), file("document", "openai")),
        (of("input_image", image_url=URL, **HIGH), url("image", None, HIGH)),
        (of("input_image", file_id="id1"), file("image", "openai")),
        (of("input_file", file_data=PDF_URL, **PDF), NAMED_PDF),
        (of("input_file", file_url=URL), url("document")),
        (of("input_file", file_id="id1"), file("document", "openai")),
    ],
    "anthropic": [
        (of("image", source=CLAUDES_JPEG), data("image", "image/jpeg")),
        (of("image", source=AS_URL), url("image")),
        (of("image", source=AS_FILE), file("image", "anthropic")),
        (of("document", source=CLAUDES_PDF, **CITED), data("document", PDF_TYPE, TITLE)),
        (of("document", source=CLAUDES_TEXT), PLAIN_TEXT),
    ],
    "gemini": [
        (of("media", mime_type=PDF_TYPE, data=b"hello"), AS_PDF),
        (of("media", mime_type="audio/ogg", data=HELLO), data("audio", "audio/ogg")),
        (of("media", mime_type="video/mp4", file_uri="id1"), VIDEO_FILE),
        (of("media", file_uri="id1"), file("document", "google")),
    ],
    "bedrock": [
        ({"image": bedrock("jpeg", BYTES)}, data("image", "image/jpeg")),
        (of("document", document=bedrock("docx", BYTES, name="n")), NAMED_DOCX),
        ({"document": bedrock("md", MD, name="n")}, NAMED_MD),
        (of("document", **bedrock("pdf", BYTES, name="n")), data("document", PDF_TYPE, NAMED_N)),
        (of("video", video=bedrock("mov", BYTES)), data("video", "video/quicktime")),
    ],
    "others": [
        (of("document_url", document_url=URL), url("document")),  # Mistral
        (of("video_url", video_url={"url": URL}), url("video")),  # OpenRouter
        (of("image", data=HELLO, mimeType="image/gif"), data("image", "image/gif")),  # MCP
        (of("image", **based(mime_type=PDF_TYPE)), AS_PDF),
    ],
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_understood(name: str) -> None:
    blocks, expected = zip(*SHAPES[name], strict=True)
    assert [shown(block) for block in blocks] == [*expected]


NULLS = {"base64": None, "url": None, "file_id": None, "mime_type": None, "extras": None}


@pytest.mark.parametrize(
    "block",
    [
        *({"type": "hologram", "data": HELLO}, based(), {"cachePoint": {"type": "default"}}, 7),
        *({"type": ["image"]}, {"type": "image"}, {"type": "image", "base64": "", "url": ""}),
        *({"type": "file", **NULLS}, {"type": "audio", "base64": 1, "url": 2, "file_id": 3}),
        *({"type": "text", "text": None}, {"type": "image_url", "image_url": [URL]}),
        {"type": "file", "url": "data:application/pdf;base64,"},
    ],
)
def test_what_cannot_be_shown_is_left_out_with_one_warning(
    block: Any, caplog: pytest.LogCaptureFixture
) -> None:
    warn_left_out.cache_clear()
    assert content_parts([block, "text", block]) == "text"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("value", ["", "data:image/png;base64,", "data:nothing"])
def test_what_cannot_be_sent_is_left_out_with_one_warning(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_left_out.cache_clear()
    assert content_blocks([part("image", value), part("image", value, "image/png")]) == ""
    assert len(caplog.records) == 1
    assert content_blocks([object(), TextPart(text="a")]) == [{"type": "text", "text": "a"}]
    assert len(caplog.records) == 2


def test_members_of_wrong_types_are_as_none() -> None:
    wrong = {"mime_type": 5, "id": 6, "metadata": [7], "extras": {"agui": {"type": 8}}}
    assert shown({"type": "file", "base64": HELLO, **wrong}) == data("document", OCTETS)
    own = {"type": "image", "mime_type": [], "provider": 1, "metadata": {"a": object()}}
    assert shown({"type": "file", "file_id": "id1", "extras": {"agui": own}}) == file("document")
    assert shown({"type": "file", "url": URL, "extras": {"agui": {"type": []}}}) == url("document")
    named = {"type": "file", "url": URL, "extras": {"filename": 3, "name": "a.pdf"}}
    assert shown(named) == url("document", None, PDF)


_members = st.sampled_from(
    [
        "type",
        "base64",
        "data",
        "url",
        "file_id",
        "id",
        "mime_type",
        "format",
        "source",
        "source_type",
        "extras",
        "metadata",
        "file",
        "image_url",
        "document",
        "text",
        "name",
        "agui",
        "media_type",
    ]
)
_words = st.sampled_from(
    [*SHAPES, *["text", "image", "file", "media", "base64", "id", "document", "data:,"]]
)
_anything = st.recursive(
    st.none() | st.integers() | st.binary(max_size=4) | _words | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_members, inner, max_size=5),
    max_leaves=12,
)
_blocks = st.dictionaries(_members, _anything | st.just(PDF_URL), max_size=8) | _anything


@given(st.lists(_blocks, max_size=3))
def test_nothing_raises(blocks: list[Any]) -> None:
    parts = content_parts(blocks)
    json.dumps(plain(parts))
    assert content_parts(content_blocks(parts)) == parts

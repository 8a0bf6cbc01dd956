"""Media both ways; `test_media_providers` has what the provider packages make of them."""

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

from langgraph_agui import (
    ReasoningOptions,
    ReasoningSeal,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)
from langgraph_agui.messages.content import (
    OCTETS,
    content_blocks,
    content_parts,
    user_blocks,
    warn_left_out,
    with_images,
)
from tests.kit.models.media_files import PNG, encoded

PARTS = {"image": ImagePart, "audio": AudioPart, "video": VideoPart, "document": DocumentPart}
MIMES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/pdf",
}
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


# There and back

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
named = st.fixed_dictionaries(
    {},
    optional={
        key: st.text() | json_values
        for key in ("filename", "fileName", "name", "title", "context", "agui")
    },
)
odd_mimes = (
    "",
    OCTETS,
    "image/jpg",
    "audio/mpeg",
    "AUDIO/X-WAV",
    "text/plain;charset=utf-8",
    "audio/webm;codecs=opus",
)
mimes = st.sampled_from([*MIMES.values(), *odd_mimes]) | st.text(max_size=12)
values = st.text(min_size=1).filter(lambda value: not value.lower().startswith("data:"))
sources = (
    st.builds(DataSource, value=values, mimeType=mimes)
    | st.builds(UrlSource, value=values, mimeType=st.none() | mimes)
    | st.builds(
        FileSource, value=values, mimeType=st.none() | mimes, provider=st.none() | st.text()
    )
)
media = st.one_of(
    *(
        st.builds(
            kind, id=st.none() | st.text(), source=sources, metadata=st.none() | named | json_values
        )
        for kind in PARTS.values()
    )
)
texts = st.builds(TextPart, text=st.text(min_size=1))


@given(st.lists(texts | media, min_size=1))
def test_parts_come_back_as_they_went(parts: list[Any]) -> None:
    blocks = json.loads(json.dumps(content_blocks(parts)))  # a checkpoint in between
    again = content_parts(blocks)
    if all(isinstance(one, TextPart) for one in parts):
        assert again == "".join(one.text for one in parts)
    else:
        assert plain(again) == plain(parts)
        assert content_blocks(again) == blocks


pictures = st.builds(
    ImagePart,
    id=st.none() | st.text(),
    source=st.builds(
        DataSource,
        value=st.sampled_from([HELLO, encoded(PNG)]),
        mimeType=st.sampled_from(["image/png", "image/jpg", "IMAGE/PNG; a=b", "", OCTETS, "a,b/c"]),
    )
    | st.builds(
        UrlSource,
        value=st.sampled_from(["https://e.com/a.png", "https://e.com/a,b", "/a.png"]),
        mimeType=st.none() | mimes,
    ),
    metadata=st.none() | named | json_values,
)


@given(st.lists(texts | media | pictures, min_size=1))
def test_a_users_parts_come_back_as_they_went(parts: list[Any]) -> None:
    content, kwargs = json.loads(json.dumps(user_blocks(parts)))  # a checkpoint in between
    message = HumanMessage(content, additional_kwargs=kwargs)
    again = content_parts(with_images(message))
    if all(isinstance(one, TextPart) for one in parts):
        assert again == "".join(one.text for one in parts)
    else:
        assert plain(again) == plain(parts)


# Pictures of users, as nodes and models get them

NAMED: dict[str, Any] = {
    "type": "image",
    "id": "p1",
    "source": {"type": "data", "value": encoded(PNG), "mimeType": "image/png"},
    "metadata": {"filename": "cat.png", "alt": "a cat"},
}
BARE = {"type": "image", "source": {"type": "url", "value": "https://e.com/b"}}
TYPED = {
    "type": "image",
    "source": {"type": "url", "value": "https://e.com/c", "mimeType": "image/png"},
}
SEALED = ReasoningOptions(seal=ReasoningSeal([bytes(32)]))
OPTIONS = pytest.mark.parametrize("options", [None, SEALED], ids=["clear", "sealed"])


def asked(*parts: dict[str, Any], options: ReasoningOptions | None = None) -> HumanMessage:
    """What a graph gets of a user's message."""
    sent = {"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}, *parts]}
    (message,) = agui_messages_to_langchain([sent], reasoning=options, thread_id="t")
    assert isinstance(message, HumanMessage)
    return message


def held(message: BaseMessage, options: ReasoningOptions | None = None) -> dict[str, Any]:
    """What a client gets of it."""
    (one,) = langchain_messages_to_agui([message], reasoning=options, thread_id="t")
    return one.model_dump(by_alias=True, exclude_none=True)


def test_a_picture_of_a_user_is_an_image_url() -> None:
    message = asked(NAMED, BARE, TYPED)
    assert message.content[1:] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}},
        {"type": "image_url", "image_url": {"url": "https://e.com/b"}},
        {"type": "image_url", "image_url": {"url": "https://e.com/c"}},
    ]
    first, *others = message.additional_kwargs["agui_images"]
    assert (first["id"], first["extras"]["agui"]["metadata"]) == ("p1", NAMED["metadata"])
    assert others == [{}, {"mime_type": "image/png"}]
    assert asked(BARE).additional_kwargs == {}


@OPTIONS
def test_nothing_of_a_picture_is_lost(options: ReasoningOptions | None) -> None:
    message = asked(NAMED, BARE, TYPED)
    shown = held(message, options)
    assert shown["content"][1:] == [NAMED, BARE, TYPED]
    assert "encryptedValue" not in shown
    (again,) = agui_messages_to_langchain([shown], reasoning=options, thread_id="t")
    assert again == message


@OPTIONS
def test_what_a_node_writes_beside_pictures_moves_nothing(options: ReasoningOptions | None) -> None:
    content: Any = asked(BARE, NAMED).content
    message = asked(BARE, NAMED).model_copy(
        update={"content": [*content[:2], "Today is Monday.", *content[2:]]}
    )
    shown = held(message, options)
    assert [one["type"] for one in shown["content"]] == ["text", "image", "text", "image"]
    assert (shown["content"][1], shown["content"][3]) == (BARE, NAMED)
    (again,) = agui_messages_to_langchain([shown], reasoning=options, thread_id="t")
    assert again == message


@OPTIONS
def test_no_picture_gets_what_is_known_of_another(options: ReasoningOptions | None) -> None:
    """A node has taken one out."""
    message = asked(NAMED, BARE)
    message.content = [message.content[0], message.content[2]]
    assert held(message, options)["content"][1] == BARE


@OPTIONS
def test_messages_of_older_releases_are_shown_as_they_were(
    options: ReasoningOptions | None,
) -> None:
    """Threads hold their pictures as standard blocks."""
    (sent,) = langchain_messages_to_agui([asked(NAMED, TYPED)])
    old: Any = content_blocks(sent.content)  # type: ignore[arg-type]  # a user's
    message = HumanMessage(old, id="u")
    shown = held(message, options)
    assert shown["content"] == held(asked(NAMED, TYPED))["content"]
    (again,) = agui_messages_to_langchain([shown], reasoning=options, thread_id="t")
    assert again == (message if options is SEALED else asked(NAMED, TYPED))


def test_a_result_holds_standard_blocks() -> None:
    call = {"name": "look", "args": {}, "id": "c"}
    result = ToolMessage([{"type": "image", "url": "https://e.com/b"}], tool_call_id="c", id="t")
    result.additional_kwargs["agui_images"] = [{"id": "p9"}]  # the tool's own
    shown = langchain_messages_to_agui([AIMessage("", tool_calls=[call], id="a"), result])
    assert plain(shown[1].content)[0].get("id") is None
    again = agui_messages_to_langchain(shown)[1]
    assert again.content == result.content
    assert again.additional_kwargs == {}


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


def test_text_alone() -> None:
    assert content_blocks("Hello") == "Hello"
    assert content_parts("Hello") == "Hello"
    assert (
        content_parts([{"type": "text", "text": "Hel"}, "lo", {"type": "input_text", "text": "!"}])
        == "Hello!"
    )
    assert content_blocks([TextPart(text="a", id="t", metadata={"b": 1})]) == [
        {"type": "text", "text": "a"}
    ]


def test_empty_text_is_not_sent_beside_media() -> None:
    blocks = content_blocks([TextPart(text=""), part("image", HELLO, "image/png")])
    assert [block["type"] for block in blocks if isinstance(block, dict)] == ["image"]
    assert content_blocks([TextPart(text="")]) == ""
    image = {"type": "image", "url": "https://example.com/a"}
    assert [
        one["type"] for one in plain(content_parts(["", {"type": "text", "text": ""}, image]))
    ] == ["image"]


# What the model is told

SPOKEN = {
    "a PDF sent as an image": (part("image", HELLO, "application/pdf"), "file", "application/pdf"),
    "a PDF sent as audio": (part("audio", HELLO, "application/x-pdf"), "file", "application/pdf"),
    "an image sent as a document": (part("document", HELLO, "image/webp"), "image", "image/webp"),
    "a recording in a film's container": (
        part("audio", HELLO, "video/webm"),
        "audio",
        "video/webm",
    ),
    "MP3": (part("audio", HELLO, "audio/mpeg"), "audio", "audio/mp3"),
    "WAV": (part("audio", HELLO, "audio/x-wav"), "audio", "audio/wav"),
    "a codec": (part("audio", HELLO, "audio/webm;codecs=opus"), "audio", "audio/webm"),
    "JPEG": (part("image", HELLO, "image/jpg"), "image", "image/jpeg"),
    "a charset": (part("document", HELLO, "text/plain; charset=utf-8"), "file", "text/plain"),
    "an unknown type with a name": (
        part("document", HELLO, "", filename="a.PDF"),
        "file",
        "application/pdf",
    ),
    "octets with a name": (part("image", HELLO, OCTETS, filename="a.gif"), "image", "image/gif"),
    "a name of another kind": (part("image", HELLO, "", filename="a.pdf"), "image", "image/png"),
    "an unknown type": (part("document", HELLO, ""), "file", OCTETS),
    "an unknown video": (part("video", HELLO, "unknown"), "video", "video/mp4"),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_kind_and_mime_type_are_those_that_models_take(name: str) -> None:
    sent, kind, mime = SPOKEN[name]
    block = given_to_model(sent)
    assert (block["type"], block["mime_type"]) == (kind, mime)
    assert plain(content_parts([block])) == plain([sent])


def test_a_block_that_a_node_has_changed_is_shown_as_it_is() -> None:
    block = given_to_model(part("image", HELLO, "image/jpg", filename="a.jpg"))
    changed = shown({**block, "base64": "bmV3", "mime_type": "image/webp"})
    assert changed["source"] == {"type": "data", "value": "bmV3", "mimeType": "image/webp"}


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
    extras = given_to_model(
        part("document", HELLO, "application/pdf", **{key: "Q3 r\u00e9port.v2.pdf"})
    )["extras"]
    assert (extras["filename"], extras["title"]) == ("Q3 r\u00e9port.v2.pdf",) * 2
    assert re.fullmatch(r"Q3 r port v2-[0-9a-f]{8}", extras["name"])
    assert (
        given_to_model(part("image", HELLO, "image/png", **{key: "a.png"}))["extras"]["filename"]
        == "a.png"
    )
    assert (
        "title" not in given_to_model(part("image", HELLO, "image/png", **{key: "a.png"}))["extras"]
    )


def test_names_of_documents_are_distinct() -> None:
    document = part("document", HELLO, "application/pdf", filename="a.pdf")
    other = part("document", "b3RoZXI=", "application/pdf", filename="a.pdf")
    said = [document, document, other]
    blocks = [*content_blocks(said, message_id="m1"), *content_blocks(said, message_id="m2")]
    assert len({block["extras"]["name"] for block in blocks}) == 6
    long = given_to_model(
        part("document", HELLO, "application/pdf", filename="\u5206\u671f  x" * 200)
    )
    assert re.fullmatch(r"[A-Za-z0-9]+(?:[ -][A-Za-z0-9]+)*", long["extras"]["name"])
    assert len(long["extras"]["name"]) <= 200


# What LangChain holds


def data(kind: str, mime: str, metadata: Any = None, value: str = HELLO) -> dict[str, Any]:
    source = {"type": "data", "value": value, "mimeType": mime}
    return {"type": kind, "source": source, **({"metadata": metadata} if metadata else {})}


def url(kind: str, mime: str | None = None, metadata: Any = None) -> dict[str, Any]:
    source = {"type": "url", "value": "https://e.com/a", **({"mimeType": mime} if mime else {})}
    return {"type": kind, "source": source, **({"metadata": metadata} if metadata else {})}


def file(
    kind: str, provider: str | None = None, mime: str | None = None, metadata: Any = None
) -> dict[str, Any]:
    source = {"type": "file", "value": "id1", "provider": provider, "mimeType": mime}
    source = {key: value for key, value in source.items() if value}
    return {"type": kind, "source": source, **({"metadata": metadata} if metadata else {})}


URL = "https://e.com/a"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PDF_URL = f"data:application/pdf;base64,{HELLO}"
PDF = {"filename": "a.pdf"}
_ANTHROPIC_PDF = {"type": "base64", "media_type": "application/pdf", "data": HELLO}

# MCP
SHAPES: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {
    "v1": [
        (
            {"type": "image", "base64": HELLO, "mime_type": "image/gif", "index": 0},
            data("image", "image/gif"),
        ),
        ({"type": "image", "base64": b"hello"}, data("image", "image/png")),
        ({"type": "audio", "base64": HELLO}, data("audio", "audio/wav")),
        ({"type": "video", "url": URL}, url("video")),
        ({"type": "file", "url": URL, "mime_type": "image/png"}, url("document", "image/png")),
        (
            {"type": "file", "base64": HELLO, "extras": {**PDF, "x": 1}},
            data("document", MIMES["document"], PDF | {"x": 1}),
        ),
        ({"type": "file", "file_id": "id1", "id": "p"}, {**file("document"), "id": "p"}),
        ({"type": "file", "base64": HELLO, "extras": {"a": b"\0"}}, data("document", OCTETS)),
        ({"type": "non_standard", "value": {"type": "video", "file_id": "id1"}}, file("video")),
        (
            {
                "type": "text-plain",
                "text": "hello",
                "mime_type": "text/plain",
                "title": "T",
                "context": "C",
            },
            data("document", "text/plain", {"filename": "T", "context": "C"}),
        ),
        ({"type": "text-plain", "text": "hello"}, data("document", "text/plain")),
        (
            dict(create_plaintext_block("hello", id="p")),
            {**data("document", "text/plain"), "id": "p"},
        ),
        (
            dict(
                create_file_block(
                    base64=HELLO, mime_type="application/pdf", id="p", filename="a.pdf"
                )
            ),
            {**data("document", "application/pdf", PDF), "id": "p"},
        ),
    ],
    "v0": [
        (
            {
                "type": "file",
                "source_type": "base64",
                "data": HELLO,
                "mime_type": "text/csv",
                "filename": "a.csv",
            },
            data("document", "text/csv", {"filename": "a.csv"}),
        ),
        (
            {
                "type": "image",
                "source_type": "url",
                "url": URL,
                "metadata": {"name": "n", "b": [1]},
            },
            url("image", None, {"filename": "n", "b": [1]}),
        ),
        ({"type": "audio", "source_type": "id", "id": "id1"}, file("audio")),
        ({"type": "file", "source_type": "text", "text": "hello"}, data("document", "text/plain")),
        ({"type": "file", "source_type": "text", "url": "hello"}, data("document", "text/plain")),
    ],
    "openai": [
        (
            {"type": "image_url", "image_url": {"url": URL, "detail": "low"}},
            url("image", None, {"detail": "low"}),
        ),
        ({"type": "image_url", "image_url": URL}, url("image")),
        (
            {"type": "image_url", "image_url": {"url": "data:image/webp;base64,aGVsbG8="}},
            data("image", "image/webp"),
        ),
        ({"type": "image_url", "image_url": {"url": PDF_URL}}, data("document", "application/pdf")),
        (
            {"type": "input_audio", "input_audio": {"data": HELLO, "format": "mp3"}},
            data("audio", "audio/mpeg"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": HELLO, "format": "wav"}},
            data("audio", "audio/wav"),
        ),
        (
            {"type": "file", "file": {"file_data": PDF_URL, **PDF}},
            data("document", "application/pdf", PDF),
        ),
        ({"type": "file", "file": {"file_id": "id1"}}, file("document", "openai")),
        (
            {"type": "input_image", "image_url": URL, "detail": "high"},
            url("image", None, {"detail": "high"}),
        ),
        ({"type": "input_image", "file_id": "id1"}, file("image", "openai")),
        (
            {"type": "input_file", "file_data": PDF_URL, **PDF},
            data("document", "application/pdf", PDF),
        ),
        ({"type": "input_file", "file_url": URL}, url("document")),
        ({"type": "input_file", "file_id": "id1"}, file("document", "openai")),
    ],
    "anthropic": [
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": HELLO},
            },
            data("image", "image/jpeg"),
        ),
        ({"type": "image", "source": {"type": "url", "url": URL}}, url("image")),
        (
            {"type": "image", "source": {"type": "file", "file_id": "id1"}},
            file("image", "anthropic"),
        ),
        (
            {
                "type": "document",
                "source": _ANTHROPIC_PDF,
                "title": "T",
                "context": "C",
                "citations": {"enabled": True},
            },
            data("document", "application/pdf", {"filename": "T", "context": "C"}),
        ),
        ({"type": "document", "source": {"type": "url", "url": URL}}, url("document")),
        (
            {"type": "document", "source": {"type": "file", "file_id": "id1"}},
            file("document", "anthropic"),
        ),
        (
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
            },
            data("document", "text/plain"),
        ),
    ],
    "gemini": [
        (
            {"type": "media", "mime_type": "application/pdf", "data": b"hello"},
            data("document", "application/pdf"),
        ),
        ({"type": "media", "mime_type": "audio/ogg", "data": HELLO}, data("audio", "audio/ogg")),
        (
            {"type": "media", "mime_type": "video/mp4", "file_uri": "id1"},
            file("video", "google", "video/mp4"),
        ),
        ({"type": "media", "file_uri": "id1"}, file("document", "google")),
    ],
    "bedrock": [
        ({"image": {"format": "jpeg", "source": {"bytes": b"hello"}}}, data("image", "image/jpeg")),
        (
            {
                "type": "document",
                "document": {"format": "docx", "name": "n", "source": {"bytes": b"hello"}},
            },
            data("document", DOCX, {"filename": "n"}),
        ),
        (
            {"document": {"format": "md", "name": "n", "source": {"text": "hello"}}},
            data("document", "text/markdown", {"filename": "n"}),
        ),
        (
            {"type": "document", "format": "pdf", "name": "n", "source": {"bytes": b"hello"}},
            data("document", "application/pdf", {"filename": "n"}),
        ),
        (
            {"type": "video", "video": {"format": "mov", "source": {"bytes": b"hello"}}},
            data("video", "video/quicktime"),
        ),
    ],
    "others": [
        ({"type": "document_url", "document_url": URL}, url("document")),  # Mistral
        ({"type": "video_url", "video_url": {"url": URL}}, url("video")),  # OpenRouter
        ({"type": "image", "data": HELLO, "mimeType": "image/gif"}, data("image", "image/gif")),
        (
            {"type": "image", "base64": HELLO, "mime_type": "application/pdf"},
            data("document", "application/pdf"),
        ),
    ],
}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(*pair, id=f"{name}-{at}")
        for name, pairs in SHAPES.items()
        for at, pair in enumerate(pairs)
    ],
)
def test_every_shape_is_understood(block: dict[str, Any], expected: dict[str, Any]) -> None:
    assert shown(block) == expected


UNUSABLE: dict[str, Any] = {
    "unknown": {"type": "hologram", "data": HELLO},
    "no type": {"base64": HELLO},
    "cache point": {"cachePoint": {"type": "default"}},
    "type is a list": {"type": ["image"]},
    "no source": {"type": "image"},
    "empty": {"type": "image", "base64": "", "url": ""},
    "nulls": {
        "type": "file",
        "base64": None,
        "url": None,
        "file_id": None,
        "mime_type": None,
        "extras": None,
    },
    "numbers": {"type": "audio", "base64": 1, "url": 2, "file_id": 3},
    "no text": {"type": "text", "text": None},
    "inner is a list": {"type": "image_url", "image_url": [URL]},
    "an empty data URL": {"type": "file", "url": "data:application/pdf;base64,"},
    "no block": 7,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_shown_is_left_out_with_one_warning(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_left_out.cache_clear()
    assert content_parts([UNUSABLE[name], "text", UNUSABLE[name]]) == "text"
    assert len(caplog.records) == 1


@pytest.mark.parametrize("value", ["", "data:image/png;base64,", "data:nothing"])
def test_what_cannot_be_sent_is_left_out_with_one_warning(
    value: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_left_out.cache_clear()
    assert content_blocks([part("image", value), part("image", value, "image/png")]) == ""
    assert len(caplog.records) == 1
    assert content_blocks([object(), TextPart(text="a")]) == [{"type": "text", "text": "a"}]  # type: ignore[list-item]
    assert len(caplog.records) == 2


def test_members_of_wrong_types_are_as_none() -> None:
    block = {
        "type": "file",
        "base64": HELLO,
        "mime_type": 5,
        "id": 6,
        "metadata": [7],
        "extras": {"agui": {"type": 8}},
    }
    assert shown(block) == data("document", OCTETS)
    own = {"type": "image", "mime_type": [], "provider": 1, "metadata": {"a": object()}}
    assert shown({"type": "file", "file_id": "id1", "extras": {"agui": own}}) == file("document")
    assert shown({"type": "file", "url": URL, "extras": {"agui": {"type": []}}}) == url("document")
    named = {"type": "file", "url": URL, "extras": {"filename": 3, "name": "a.pdf"}}
    assert shown(named) == url("document", None, PDF)


_members = [
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
]
_members += ["metadata", "file", "image_url", "document", "text", "name", "agui", "media_type"]
_words = st.sampled_from(
    [*SHAPES, "text", "image", "file", "media", "base64", "id", "image_url", "document", "data:,"]
)
_anything = st.recursive(
    st.none()
    | st.integers()
    | st.binary(max_size=4)
    | _words
    | st.text(max_size=4)
    | st.just(PDF_URL),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_members), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(_members), _anything, max_size=8) | _anything, max_size=3
    )
)
def test_nothing_raises(blocks: list[Any]) -> None:
    parts = content_parts(blocks)
    json.dumps(plain(parts))
    assert content_parts(content_blocks(parts)) == parts

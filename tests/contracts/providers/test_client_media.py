"""A client's media: inline data reach a graph only as we have encoded them, and nothing is a path
of the server."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_agui import (
    LangGraphAgent,
    ReasoningOptions,
    ReasoningSeal,
    TrustOptions,
    agui_messages_to_langchain,
    langchain_messages_to_agui,
)
from langgraph_agui.kernel.errors import RunInputError
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.file_formats import recognise
from langgraph_agui.options import MediaUrls
from langgraph_agui.protocol.schema import known_messages, parse_input
from tests.kit.models import media_files as files
from tests.kit.models.fixtures import provider_server as provider_server
from tests.kit.models.media_files import OF_KIND, PNG, SECRET, encoded
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn
from tests.kit.run.agents import record_run

POLICIES: list[Any] = [
    "public",
    "none",
    "any",
    lambda url: url.startswith("https://mine.example.com/"),
]
NAMES = ["public", "none", "any", "a function"]
CALL = {"name": "look", "args": {}, "id": "c1"}


def media(
    kind: str, form: str, value: str, mime: str | None = None, name: str | None = None
) -> dict[str, Any]:
    mime = OF_KIND[kind][1] if mime is None else mime
    more = {"metadata": {"filename": name}} if name else {}
    return {"type": kind, "source": {"type": form, "value": value, "mimeType": mime}, **more}


def user(*parts: dict[str, Any], message_id: str = "u1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": [{"type": "text", "text": "see"}, *parts]}


def answered(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    """A call of a client's tool, and the result that the client sends."""
    function = {"name": "look", "arguments": "{}"}
    asked = {
        "id": "a1",
        "role": "assistant",
        "toolCalls": [{"id": "c1", "type": "function", "function": function}],
    }
    result = {
        "id": "t1",
        "role": "tool",
        "toolCallId": "c1",
        "content": [{"type": "text", "text": "seen"}, *parts],
    }
    return [{"id": "u1", "role": "user", "content": "look"}, asked, result]


def sent(*messages: dict[str, Any], **more: Any) -> RunAgentInput:
    wire = {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": [*messages],
        **more,
    }
    return parse_input(wire)


def forms_of(path: str, kind: str) -> dict[str, dict[str, Any]]:
    """Every way to put a path where a file is expected."""
    mime = OF_KIND[kind][1]
    return {
        "data": media(kind, "data", path),
        "data without a type": media(kind, "data", path, ""),
        "octets": media(kind, "data", path, "application/octet-stream"),
        "a data URL": media(kind, "url", f"data:{mime};base64,{path}"),
        "a data URL as data": media(kind, "data", f"data:{mime};base64,{path}"),
        "a data URL with two commas": media(
            kind, "url", f'data:{mime};a=",{path},";base64,{OF_KIND[kind][0]}'
        ),
        "url": media(kind, "url", path),
        "a file URL": media(kind, "url", f"file://{path}"),
        "space before": media(kind, "url", f" {path}"),
        "file": {"type": kind, "source": {"type": "file", "value": path}},
        "binary data": {"type": "binary", "mimeType": mime, "data": path},
        "binary url": {"type": "binary", "mimeType": mime, "url": path},
    }


FORMS = [*forms_of("", "image")]


def seeing(
    server: ProviderServer, saver: InMemorySaver | None, media_urls: MediaUrls = "public"
) -> Any:
    model = make_model("ollama", server)

    async def answer(state: MessagesState) -> Any:
        if state["messages"][-1].content == "look":
            return {"messages": [AIMessage("", tool_calls=[CALL], id="a1")]}
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = (
        StateGraph(MessagesState)
        .add_node("answer", answer)
        .add_edge(START, "answer")
        .add_edge("answer", END)
    )
    return LangGraphAgent(
        builder.compile(checkpointer=saver), trust=TrustOptions(media_urls=media_urls)
    )


async def last_of(agent: LangGraphAgent, run_input: RunAgentInput) -> Any:
    return (await record_run(agent, run_input)).last


def leaked(server: ProviderServer) -> bool:
    bodies = json.dumps(server.bodies)
    return SECRET in bodies or b64encode(SECRET.encode()).decode() in bodies


@pytest.mark.parametrize("form", FORMS)
async def test_no_path_reaches_a_package(
    form: str, provider_server: ProviderServer, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(secret).parent)
    provider_server.respond("ollama", lambda _: turn(Text("seen")))
    relative = Path(secret).name + "x" * (-len(Path(secret).name) % 4)
    Path(relative).write_text(SECRET)
    for number, (path, kind) in enumerate(product((secret, relative), OF_KIND)):
        # an id of a file may be such a name; the other is a text with a path in it
        if (form, path) == ("file", relative):
            continue
        if (form, kind) == ("a data URL with two commas", "document"):
            continue
        part = forms_of(path, kind)[form]
        agent = seeing(provider_server, InMemorySaver(), POLICIES[(number + number // 4) % 4])
        for messages, place in (([user(part)], 0), (answered(part), 2)):
            refused = await last_of(agent, sent(*messages))
            assert (refused.type.value, refused.code) == ("RUN_ERROR", "invalid_input"), refused
            assert refused.message.startswith(f"messages[{place}].content[1]")
    assert provider_server.requests == []
    assert not leaked(provider_server)


async def test_the_result_of_a_call_that_the_thread_holds(
    provider_server: ProviderServer, secret: str
) -> None:
    agent = seeing(provider_server, InMemorySaver())
    look, _, result = answered(media("image", "data", secret))
    assert (await last_of(agent, sent(look))).type.value == "RUN_FINISHED"
    refused = await last_of(agent, sent(result))
    assert refused.code == "invalid_input"
    assert refused.message.startswith("messages[0].content[1] must be an image")
    provider_server.script("ollama", turn(Text("seen")))
    _, _, result = answered(media("image", "data", encoded(PNG)))
    assert (await last_of(agent, sent(result))).type.value == "RUN_FINISHED"
    assert encoded(PNG) in json.dumps(provider_server.bodies)


@pytest.mark.parametrize("saved", [True, False])
async def test_a_file_arrives(saved: bool, provider_server: ProviderServer) -> None:
    agent = seeing(provider_server, InMemorySaver() if saved else None)
    provider_server.script("ollama", turn(Text("seen")), turn(Text("again")))
    lines = "\n".join(re.findall(".{1,20}", encoded(PNG)))  # as MIME has it
    asked = sent(user(media("image", "data", lines, "image/jpeg")))
    assert (await last_of(agent, asked)).type.value == "RUN_FINISHED"
    assert provider_server.bodies[-1]["messages"][-1]["images"] == [encoded(PNG)]
    if saved:
        thread = {"configurable": {"thread_id": "t"}}
        stored = (await agent.graph.aget_state(thread)).values["messages"][0]
        assert inline(stored.content[1]) == ("image", "image/png", encoded(PNG))
        await last_of(agent, asked)  # the same again is no edit
        again = (await agent.graph.aget_state(thread)).values["messages"]
        assert again[0] == stored
        assert len(again) == 2


async def test_an_edit_is_refused_and_the_thread_stays(
    provider_server: ProviderServer, secret: str
) -> None:
    saver = InMemorySaver()
    agent = seeing(provider_server, saver)
    provider_server.script("ollama", turn(Text("seen")))
    await last_of(agent, sent(user(media("image", "data", encoded(PNG)))))
    refused = await last_of(agent, sent(user(media("image", "data", secret))))
    assert refused.code == "invalid_input"
    state = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert inline(state.values["messages"][0].content[1])[2] == encoded(PNG)


def asking() -> tuple[LangGraphAgent, list[Any]]:
    """An agent that asks before it answers, and the list of the answers with which it has gone
    on."""
    ran: list[Any] = []

    def ask(state: MessagesState) -> Any:
        ran.append(interrupt("go?"))
        return {"messages": [("ai", "gone")]}

    builder = (
        StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    )
    return LangGraphAgent(builder.compile(checkpointer=InMemorySaver())), ran


async def test_nothing_of_a_pause_runs_if_what_comes_with_the_answer_is_refused(
    secret: str,
) -> None:
    agent, ran = asking()
    first = await record_run(agent, sent(user()))
    (pending,) = first.last.outcome.interrupts
    resume = [{"interruptId": pending.id, "status": "resolved", "payload": "yes"}]
    more = user(media("image", "data", secret), message_id="u2")
    refused = await last_of(agent, sent(user(), more, resume=resume))
    assert (refused.type.value, refused.code) == ("RUN_ERROR", "invalid_input")
    assert refused.message.startswith("messages[1].content[1]")
    assert ran == []


async def test_a_late_answer_runs_nothing_whatever_the_pictures_call_themselves() -> None:
    """The client holds its own spelling of what the thread holds in ours."""
    agent, ran = asking()
    asked = user(media("image", "data", encoded(PNG).rstrip("="), "image/jpeg"))
    (pending,) = (await record_run(agent, sent(asked))).last.outcome.interrupts
    answer = {"interruptId": pending.id, "status": "resolved", "payload": "yes"}
    for resume in (answer, {"interruptId": pending.id, "status": "cancelled"}):
        assert (await last_of(agent, sent(asked, resume=[resume]))).type.value == "RUN_FINISHED"
    assert ran == ["yes"]
    assert not (await agent.graph.aget_state({"configurable": {"thread_id": "t"}})).next


def inline(block: Any) -> tuple[str, str, str]:
    """Kind, media type and base64 of a block with data."""
    if block["type"] == "image_url":
        head, data = block["image_url"]["url"].split(";base64,")
        return "image", head.removeprefix("data:"), data
    return block["type"], block["mime_type"], block["base64"]


def admitted(part: dict[str, Any], policy: Any = "public") -> Any:
    """The block that a model gets of a part."""
    (message,) = agui_messages_to_langchain([user(part)], media_urls=policy)
    return message.content[1]


REAL: dict[str, tuple[bytes, str, str]] = {  # name: bytes, kind of the part, its media type
    "png": (files.PNG, "image", "image/png"),
    "jpeg": (files.JPEG, "image", "image/jpeg"),
    "gif": (files.GIF, "image", "image/gif"),
    "webp": (files.WEBP, "image", "image/webp"),
    "bmp": (b"BM" + bytes(12) + b"\x28\0\0\0" + bytes(40), "image", "image/bmp"),
    "tiff": (b"II*\0\x08\0\0\0", "image", "image/tiff"),
    "heic": (files.mpeg4(b"heic"), "image", "image/heic"),
    "avif": (files.mpeg4(b"avif"), "image", "image/avif"),
    "icon": (b"\0\0\1\0\1\0\x10\x10", "image", "image/vnd.microsoft.icon"),
    "svg": (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "image", "image/svg+xml"),
    "mp3": (files.MP3, "audio", "audio/mpeg"),
    "mp3 without a tag": (files.MP3_FRAMES, "audio", "audio/mp3"),
    "wav": (files.wav(), "audio", "audio/x-wav"),
    "aac": (files.ADTS_FRAMES, "audio", "audio/aac"),
    "flac": (b"fLaC\0\0\0\x22", "audio", "audio/flac"),
    "ogg": (b"OggS\0\2", "audio", "audio/ogg"),
    "opus": (b"OggS\0\2", "audio", "audio/ogg;codecs=opus"),
    "aiff": (b"FORM\0\0\0\x20AIFFCOMM", "audio", "audio/aiff"),
    "m4a": (files.mpeg4(b"M4A "), "audio", "audio/x-m4a"),
    "recorded in Chrome": (files.WEBM, "audio", "audio/webm;codecs=opus"),
    "recorded as video": (files.WEBM, "audio", "video/webm"),
    "mp4": (files.MP4, "video", "video/mp4"),
    "webm": (files.WEBM, "video", "video/webm"),
    "mov": (files.mpeg4(b"qt  "), "video", "video/quicktime"),
    "avi": (b"RIFF\x20\0\0\0AVI LIST", "video", "video/x-msvideo"),
    "mpeg": (b"\0\0\1\xba\x44", "video", "video/mpeg"),
    "pdf": (files.PDF, "document", "application/pdf"),
    "pdf after a mark": (b"\xef\xbb\xbf" + files.PDF, "document", "application/pdf"),
    "docx": (files.DOCX, "document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "zip": (files.DOCX, "document", "application/zip"),
    "doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(8), "document", "application/msword"),
    "rtf": (b"{\\rtf1 Hello}", "document", "application/rtf"),
    "text": (b"hello", "document", "text/plain"),
    "csv": (b"a;b\r\n1;2\r\n", "document", "text/csv"),
    "markdown": ("# Größe\n".encode(), "document", "text/markdown"),
    "json": (b'{"a": 1}', "document", "application/json"),
    "html": (b"<!doctype html><svg></svg>", "document", "text/html"),
    "text about formats": (b"GIF89a has 256 colours, ID3 is a tag, a PDF has %PDF-.", "document", "text/markdown"),
    "rtf with letters of Windows": (b"{\\rtf1 Gr\xf6\xdfe}", "document", "text/rtf"),
    "pdf with bytes": (files.PDF + bytes(range(256)), "document", "application/pdf"),
    "pdf behind other bytes": (bytes(range(64)) + files.PDF, "document", "application/pdf"),
    "mpeg transport stream": ((b"G" + bytes(187)) * 3, "video", "video/mp2t"),
    "source": (b"print('hi')\n", "document", "text/x-python"),
    "csv of Excel": ("Straße;Größe in cm\r\n".encode("cp1252"), "document", "text/csv"),
    "text of Windows": ("Größe".encode("utf-16"), "document", "text/plain"),
    "parquet": (b"PAR1\x15\0", "document", "application/vnd.apache.parquet"),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_taken_as_they_are(name: str) -> None:
    data, kind, mime = REAL[name]
    part = media(kind, "data", encoded(data), mime, "a.b")
    (message,) = agui_messages_to_langchain([user(part)], media_urls="none")
    assert inline(message.content[1])[2] == encoded(data)
    (shown,) = langchain_messages_to_agui([message])
    (_, back) = shown.content  # type: ignore[misc]
    assert back.model_dump(by_alias=True) == part  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "spell", [lambda s: s.rstrip("="), lambda s: s + "\n", lambda s: f"  {s[:8]}\r\n{s[8:]}"]
)
def test_other_spellings_of_base64_become_ours(spell: Any) -> None:
    data = files.png("??>>~~??")
    for value in (spell(encoded(data)), spell(urlsafe_b64encode(data).decode())):
        for part in (
            media("image", "data", value),
            media("image", "url", f"data:image/png;base64,{value}"),
        ):
            assert inline(admitted(part))[2] == encoded(data)


@pytest.mark.parametrize(
    ("part", "kind", "mime"),
    [
        (media("image", "data", encoded(files.JPEG), "image/png"), "image", "image/jpeg"),
        (media("image", "data", encoded(files.PNG), "image/jpeg"), "image", "image/png"),
        (media("image", "data", encoded(files.WEBP), ""), "image", "image/webp"),
        (media("image", "data", encoded(files.GIF), "application/octet-stream", "a.png"), "image", "image/gif"),
        (media("image", "data", encoded(files.PDF), "application/pdf"), "file", "application/pdf"),
        (media("audio", "data", encoded(files.wav()), "audio/mpeg"), "audio", "audio/wav"),
        (media("audio", "data", encoded(files.MP4), "audio/webm"), "audio", "audio/mp4"),
        (media("video", "data", encoded(files.WEBM), "video/mp4"), "video", "video/webm"),
        (media("document", "data", encoded(files.PDF), ""), "file", "application/pdf"),
        (media("document", "data", encoded(files.PNG), "application/octet-stream"), "image", "image/png"),
        (media("document", "data", encoded(files.MP3), ""), "audio", "audio/mp3"),
        (media("document", "data", encoded(b"a,b"), "application/octet-stream", "a.csv"), "file", "text/csv"),
        (media("document", "data", encoded(b"hello"), ""), "file", "text/plain"),
        (media("document", "data", encoded(b"hello"), "application/pdf"), "file", "text/plain"),
        (media("document", "data", encoded(b"<svg/>"), "text/plain"), "file", "text/plain"),
        ({"type": "binary", "mimeType": "image/png", "data": encoded(files.JPEG)}, "image", "image/jpeg"),
        ({"type": "binary", "mimeType": "application/octet-stream", "data": encoded(PNG)}, "image", "image/png"),
    ],
)  # fmt: skip
def test_the_media_type_is_that_of_the_bytes(part: dict[str, Any], kind: str, mime: str) -> None:
    assert inline(admitted(part))[:2] == (kind, mime)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (media("image", "data", "not base64!"), "must be an image, such as PNG, JPEG, GIF or WebP, as base64; its data"),
        (media("image", "data", "https://example.com/a.png"), "its data are not base64"),
        (media("image", "data", "aGk"), "its bytes are text/plain"),
        (media("image", "data", encoded(files.PDF)), "its bytes are application/pdf"),
        (media("image", "data", encoded(files.MP3)), "its bytes are audio/mpeg"),
        (media("audio", "data", encoded(files.PNG)), "must be a recording, such as MP3, WAV, Ogg or FLAC, as base64;"),
        (media("video", "data", encoded(files.wav())), "must be a film, such as MP4 or WebM, as base64; its bytes are"),
        (media("document", "data", encoded(PNG)), "must be a document, such as PDF, an Office file, or text in UTF-8"),
        (media("document", "data", encoded(PNG), "text/plain"), "its bytes are image/png"),
        (media("document", "data", "/etc/crontab", "text/plain"), "its bytes are of no known format"),
        (media("document", "data", encoded(b"\xfcber"), "text/plain"), "its bytes are of no known format"),
        (media("document", "data", encoded(bytes(range(256))), ""), "its bytes are of no known format"),
        (media("audio", "data", "//var/log/syslog"), "its bytes are of no known format"),
        (media("audio", "data", "//lib/secrets/aa"), "its bytes are of no known format"),
        (media("image", "url", "data:image/png;base64,%2Fetc%2Fcrontab"), "its bytes are of no known format"),
        (media("image", "url", "data:image/png,hello"), "its bytes are text/plain"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(part: dict[str, Any], text: str) -> None:
    for policy in POLICIES:
        with pytest.raises(RunInputError, match=re.escape(text)) as raised:
            agui_messages_to_langchain(
                [{"id": "u0", "role": "user", "content": "a"}, user(part)], media_urls=policy
            )
        assert raised.value.code.value == "invalid_input"
        assert str(raised.value).startswith("messages[1].content[1] ")
        assert part["source"]["value"] not in str(raised.value)  # nothing of the data


NO_URLS = [
    "/etc/passwd", "file.png", "./a", "..\\a", "C:\\x", "C:/x", "//host/x", "\\\\host\\x", "~/a", "?a",
    " https://a.co/", "https://a.co/ ", "https://a.co/\n", "\0https://a.co/", "file:///etc/passwd", "FILE:/etc/passwd", "#",
]  # fmt: skip


@pytest.mark.parametrize("url", NO_URLS)
@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_what_is_no_url_is_held_by_the_policy(url: str, policy: Any) -> None:
    for part in (
        media("image", "url", url),
        {"type": "binary", "mimeType": "image/png", "url": url},
    ):
        for messages in ([user(part)], answered(part)):
            with pytest.raises(RunInputError, match="media_urls"):
                agui_messages_to_langchain(messages, media_urls=policy)


def test_a_function_is_asked_about_everything_that_is_no_data() -> None:
    asked: list[str] = []
    agui_messages_to_langchain(
        [
            user(
                media("image", "url", "/uploads/1.png"),
                media("image", "data", encoded(PNG)),
                media("image", "url", f"data:image/png;base64,{encoded(PNG)}"),
                {"type": "document", "source": {"type": "file", "value": "files/abc-1"}},
                {"type": "document", "source": {"type": "file", "value": "gs://bucket/a"}},
            )
        ],
        media_urls=lambda url: asked.append(url) is None,
    )
    assert asked == ["/uploads/1.png", "gs://bucket/a"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/a", "gs://bucket/a", "s3://bucket/a", "ftp://a.co/"]
)
def test_any_takes_urls(url: str) -> None:
    block = {"type": "image_url", "image_url": {"url": url}}
    assert admitted(media("image", "url", url), "any") == block


@pytest.mark.parametrize("url", ["cd:notes/a", "mailto:a@b.co", "https:a.co/x"])
def test_a_url_that_may_be_a_path_is_a_standard_block(url: str) -> None:
    """The package for Ollama would open a file of such a name, and refuses a standard block."""
    assert admitted(media("image", "url", url), "any")["url"] == url


@pytest.mark.parametrize("file_id", ["file-1", "files/abc-123", "file.png", "AgACAgQAAx0E"])
def test_ids_of_files_are_the_providers(file_id: str) -> None:
    part = {"type": "document", "source": {"type": "file", "value": file_id, "provider": "openai"}}
    for policy in POLICIES:
        assert admitted(part, policy)["file_id"] == file_id


@pytest.mark.parametrize(
    "file_id", ["/etc/passwd", "../a", "~/a", "C:\\x", "\\\\host\\a", "file:///a", " /etc/passwd"]
)
def test_a_path_is_no_id_of_a_file(file_id: str) -> None:
    part = {"type": "document", "source": {"type": "file", "value": file_id}}
    for policy in POLICIES:
        with pytest.raises(RunInputError, match="media_urls"):
            admitted(part, policy)


def test_an_older_image_url_is_left_out_as_any_unknown_part(secret: str) -> None:
    for value in (secret, {"url": secret}, {"url": f"data:image/png;base64,{secret}"}):
        (message,) = agui_messages_to_langchain([user({"type": "image_url", "image_url": value})])
        assert message.content == [{"type": "text", "text": "see"}]


def test_messages_that_no_client_has_sent_stay_as_they_are() -> None:
    (message,) = agui_messages_to_langchain(
        [user(media("image", "url", "/a.png"))], media_urls=None
    )
    assert message.content[1] == {"type": "image", "url": "/a.png", "mime_type": "image/png"}  # type: ignore[index]


@given(st.binary(min_size=1, max_size=48), st.sampled_from([*OF_KIND]))
def test_what_is_taken_is_canonical_and_known(data: bytes, kind: str) -> None:
    try:
        block = admitted(media(kind, "data", encoded(data), ""))
    except RunInputError:
        found = recognise(data)
        assert found is None or kind not in found.kinds
    else:
        assert inline(block)[2] == encoded(data)
        assert recognise(data) is not None


@given(
    st.text("abcdefghijklmnopqrstuvwxyz/", min_size=3, max_size=60),
    st.sampled_from(["/", "//", "/var/", "//lib/"]),
)
def test_no_path_of_words_is_a_file(rest: str, root: str) -> None:
    path = root + rest
    path = path[: len(path) // 4 * 4]
    found = recognise(b64decode(path))
    assert found is None or path.startswith("/v/")  # a mark of UTF-16, which begins a document


RESTORED: list[dict[str, Any]] = [
    {"type": "image", "base64": "/etc/crontab"},
    {"type": "image", "base64": "PATH"},
    {"type": "image", "base64": b"\xfd\xeb\\\xfd\xca\xe8\x9e\xd6\x9b"},
    {"type": "image", "source_type": "base64", "data": "/etc/crontab"},
    {"type": "image", "source_type": "text", "base64": "/etc/crontab"},
    {"type": "image", "url": "/etc/passwd"},
    {"type": "image", "base64": encoded(PNG), "url": "/etc/passwd"},
    {"type": "image_url", "image_url": "/etc/crontab"},
    {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,/etc/crontab"}},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)},/etc/passwd"}},
    {"type": "image_url", "image_url": {"url": f"a,/etc/passwd;{encoded(PNG)}"}},
    {"type": "image_url", "image_url": {"url": "https://example.com/a,/etc/passwd"}},
    {"type": "image_url", "image_url": "https://example.com/a,/etc/passwd"},
    {"type": "input_audio", "input_audio": {"data": "/etc/crontab", "format": "mp3"}},
    {"type": "file", "file": {"file_data": "/etc/crontab"}},
    {"type": "file", "file_id": "/etc/passwd"},
    {"type": "media", "mime_type": "image/png", "data": "/etc/crontab"},
    {"type": "media", "file_uri": "/etc/passwd"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "/etc/crontab"}},
    {"type": "document", "source": {"type": "url", "url": "/etc/passwd"}},
    {"image": {"format": "png", "source": {"bytes": b"\xfd\xeb\\\xfd\xca\xe8\x9e\xd6\x9b"}}},
    {"type": "non_standard", "value": {"type": "image_url", "image_url": "/etc/crontab"}},
]  # fmt: skip


def restored(message: BaseMessage) -> list[dict[str, Any]]:
    shown = langchain_messages_to_agui([HumanMessage("a", id="u1"), message], thread_id="t")
    return [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in shown]


@pytest.mark.parametrize("block", RESTORED)
def test_an_unsealed_value_of_an_assistant_message_holds_no_path(block: dict[str, Any]) -> None:
    held = restored(AIMessage([{"type": "text", "text": "Here."}, block], id="a1"))
    assert "encryptedValue" in held[1]
    for policy in POLICIES:
        with pytest.raises(RunInputError, match=re.escape("messages[1]")):
            agui_messages_to_langchain(held, thread_id="t", media_urls=policy)


@pytest.mark.parametrize("form", ["data", "image_url"])
async def test_a_forged_message_of_the_model_opens_nothing(
    form: str, provider_server: ProviderServer, secret: str
) -> None:
    url = {"url": f"https://example.com/a,{secret}"}  # which the package cuts
    inline = {"type": "image", "base64": secret, "mime_type": "image/png"}
    block = inline if form == "data" else {"type": "image_url", "image_url": url}
    forged = restored(AIMessage([{"type": "text", "text": "Here."}, block], id="a1"))
    refused = await last_of(seeing(provider_server, None), sent(*forged, user()))
    assert (refused.code, provider_server.requests) == ("invalid_input", [])
    assert refused.message.startswith("messages[1]: ")


def test_a_comma_in_a_users_url_is_fine() -> None:
    """As a standard block: the package for Ollama opens in an `image_url` what is behind a comma."""
    url = "https://images.example.com/w_400,h_300/a.jpg"
    assert admitted(media("image", "url", url))["url"] == url


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "base64": encoded(PNG), "mime_type": "image/png", "id": "ig_1"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}},
        {"type": "audio", "base64": encoded(files.wav()), "mime_type": "audio/wav", "extras": {"signature": "/etc"}},
        {"type": "image_generation_call", "id": "ig_1", "result": "anything", "status": "completed"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A page of the web."}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": encoded(files.PDF)}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}},
        {"image": {"format": "png", "source": {"bytes": PNG}}},
        {"type": "file", "file_id": "file-1"},
    ],
)  # fmt: skip
def test_what_a_model_has_made_comes_back(block: dict[str, Any]) -> None:
    message = AIMessage([{"type": "text", "text": "Here."}, block], id="a1")
    assert (
        agui_messages_to_langchain(restored(message), thread_id="t", media_urls="none")[1]
        == message
    )


def test_a_sealed_result_in_a_packages_own_form_comes_back() -> None:
    options = ReasoningOptions(seal=ReasoningSeal(keys=[bytes(32)]))
    native = [
        {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}", "detail": "low"},
        }
    ]
    messages = [
        AIMessage("", tool_calls=[CALL], id="a1"),
        ToolMessage(native, tool_call_id="c1", name="look", id="t1"),
    ]
    held = langchain_messages_to_agui(messages, reasoning=options, thread_id="t")
    assert (
        agui_messages_to_langchain(held, reasoning=options, thread_id="t", media_urls="none")
        == messages
    )


def test_a_large_file_is_decoded_once_and_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    large = encoded(files.png("x" * 3_000_000))
    (message,) = known_messages([user(media("image", "data", large))])
    gate = ClientMedia("public", [message])
    (taken,) = [gate.admit(message)]  # type: ignore[arg-type]  # a user's
    assert taken.content[1].source.value is message.content[1].source.value  # type: ignore[union-attr,index]
    decoded: list[int] = []
    monkeypatch.setattr(binascii, "a2b_base64", lambda *args, **_: decoded.append(1))
    block = {"type": "image", "base64": taken.content[1].source.value}  # type: ignore[union-attr,index]
    gate.check([HumanMessage([block])])
    assert decoded == []

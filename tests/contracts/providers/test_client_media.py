"""A client's media: inline data reach a graph only as we have encoded them, and nothing is a path
of the server."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, urlsafe_b64encode
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
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
from langgraph_agui.protocol.schema import known_messages, parse_input
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.models import media_files as files
from tests.kit.models.media_files import OF_KIND, PNG, SECRET, encoded
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Text, turn
from tests.kit.run.agents import record_run

Json = dict[str, Any]
MINE = "https://mine.example.com/"
POLICIES: list[Any] = ["public", "none", "any", lambda url: url.startswith(MINE)]
CALL = {"name": "look", "args": {}, "id": "c1"}
THREAD = {"configurable": {"thread_id": "t"}}
OCTETS = "application/octet-stream"


def media(kind: str, form: str, value: str, mime: Any = None, name: str | None = None) -> Json:
    mime = OF_KIND[kind][1] if mime is None else mime
    more = {"metadata": {"filename": name}} if name else {}
    return {"type": kind, "source": {"type": form, "value": value, "mimeType": mime}, **more}


def inlined(kind: str, data: bytes, mime: Any = None, name: str | None = None) -> Json:
    return media(kind, "data", encoded(data), mime, name)


def by_id(file_id: str, **more: Any) -> Json:
    return {"type": "document", "source": {"type": "file", "value": file_id, **more}}


def binary(mime: str, **value: str) -> Json:
    """The part of older clients."""
    return {"type": "binary", "mimeType": mime, **value}


def user(*parts: Json, message_id: str = "u1") -> Json:
    return {"id": message_id, "role": "user", "content": [{"type": "text", "text": "see"}, *parts]}


def answered(*parts: Json) -> list[Json]:
    """A call of a client's tool, and the result that the client sends."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    content = [{"type": "text", "text": "seen"}, *parts]
    return [
        {"id": "u1", "role": "user", "content": "look"},
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": content},
    ]


def sent(*messages: Json, **more: Any) -> RunAgentInput:
    head = {"threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    return parse_input({**head, "messages": [*messages], **more})


def forms_of(path: str, kind: str) -> dict[str, Json]:
    """Every way to put a path where a file is expected."""
    data, mime = OF_KIND[kind]
    commas = f'data:{mime};a=",{path},";base64,{data}'
    return {
        "data": media(kind, "data", path),
        "data without a type": media(kind, "data", path, ""),
        "octets": media(kind, "data", path, OCTETS),
        "a data URL": media(kind, "url", f"data:{mime};base64,{path}"),
        "a data URL as data": media(kind, "data", f"data:{mime};base64,{path}"),
        "a data URL with two commas": media(kind, "url", commas),
        "url": media(kind, "url", path),
        "a file URL": media(kind, "url", f"file://{path}"),
        "space before": media(kind, "url", f" {path}"),
        "file": {"type": kind, "source": {"type": "file", "value": path}},
        "binary data": binary(mime, data=path),
        "binary url": binary(mime, url=path),
    }


FORMS = [*forms_of("", "image")]


def seeing(server: ProviderServer, saver: Any = None, media_urls: Any = "public") -> LangGraphAgent:
    model = make_model("ollama", server)

    async def answer(state: Chat) -> Any:
        if state["messages"][-1].content == "look":
            return {"messages": [AIMessage("", tool_calls=[CALL], id="a1")]}
        return {"messages": [await model.ainvoke(state["messages"])]}

    return agent_of(answer, checkpointer=saver, trust=TrustOptions(media_urls=media_urls))


async def last_of(agent: LangGraphAgent, run_input: RunAgentInput) -> Any:
    return (await record_run(agent, run_input)).last


async def refused(agent: LangGraphAgent, run_input: RunAgentInput) -> str:
    """Why an input is refused."""
    last = await last_of(agent, run_input)
    assert (last.type.value, last.code) == ("RUN_ERROR", "invalid_input"), last
    return str(last.message)


async def finished(agent: LangGraphAgent, run_input: RunAgentInput) -> None:
    assert (await last_of(agent, run_input)).type.value == "RUN_FINISHED"


async def stored(agent: LangGraphAgent) -> list[Any]:
    return (await agent.graph.aget_state(THREAD)).values["messages"]


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
        if (form, path) == ("file", relative) or (form[-6:], kind) == ("commas", "document"):
            continue
        part = forms_of(path, kind)[form]
        agent = seeing(provider_server, InMemorySaver(), POLICIES[(number + number // 4) % 4])
        for messages, place in (([user(part)], 0), (answered(part), 2)):
            why = await refused(agent, sent(*messages))
            assert why.startswith(f"messages[{place}].content[1]")
    assert provider_server.requests == []


async def test_the_result_of_a_call_that_the_thread_holds(
    provider_server: ProviderServer, secret: str
) -> None:
    agent = seeing(provider_server, InMemorySaver())
    look, _, result = answered(media("image", "data", secret))
    await finished(agent, sent(look))
    assert (await refused(agent, sent(result))).startswith(
        "messages[0].content[1] must be an image"
    )
    provider_server.script("ollama", turn(Text("seen")))
    _, _, result = answered(inlined("image", PNG))
    await finished(agent, sent(result))
    assert encoded(PNG) in json.dumps(provider_server.bodies)


async def test_a_file_arrives_and_an_edit_is_refused(
    provider_server: ProviderServer, secret: str
) -> None:
    lines = "\n".join(re.findall(".{1,20}", encoded(PNG)))  # as MIME has it
    asked = sent(user(media("image", "data", lines, "image/jpeg")))
    for agent in (seeing(provider_server), seeing(provider_server, InMemorySaver())):
        provider_server.script("ollama", turn(Text("seen")), turn(Text("again")))
        await finished(agent, asked)
        assert provider_server.bodies[-1]["messages"][-1]["images"] == [encoded(PNG)]
    first = (await stored(agent))[0]
    assert inline(first.content[1]) == ("image", "image/png", encoded(PNG))
    await finished(agent, asked)  # the same again is no edit
    await refused(agent, sent(user(media("image", "data", secret))))
    again = await stored(agent)
    assert (again[0], len(again)) == (first, 2)


def asking() -> tuple[LangGraphAgent, list[Any]]:
    """An agent that asks before it answers, and the list of the answers with which it has gone
    on."""
    ran: list[Any] = []

    def ask(state: Chat) -> Any:
        ran.append(interrupt("go?"))
        return {"messages": [("ai", "gone")]}

    return agent_of(ask, checkpointer=InMemorySaver()), ran


async def test_nothing_of_a_pause_runs_if_what_comes_with_the_answer_is_refused(
    secret: str,
) -> None:
    agent, ran = asking()
    (pending,) = (await last_of(agent, sent(user()))).outcome.interrupts
    resume = [{"interruptId": pending.id, "status": "resolved", "payload": "yes"}]
    more = user(media("image", "data", secret), message_id="u2")
    why = await refused(agent, sent(user(), more, resume=resume))
    assert why.startswith("messages[1].content[1]")
    assert ran == []


async def test_a_late_answer_runs_nothing_whatever_the_pictures_call_themselves() -> None:
    """The client holds its own spelling of what the thread holds in ours."""
    agent, ran = asking()
    asked = user(media("image", "data", encoded(PNG).rstrip("="), "image/jpeg"))
    (pending,) = (await last_of(agent, sent(asked))).outcome.interrupts
    for more in ({"status": "resolved", "payload": "yes"}, {"status": "cancelled"}):
        await finished(agent, sent(asked, resume=[{"interruptId": pending.id, **more}]))
    assert ran == ["yes"]
    assert not (await agent.graph.aget_state(THREAD)).next


def inline(block: Any) -> tuple[str, str, str]:
    """Kind, media type and base64 of a block with data."""
    if block["type"] == "image_url":
        head, data = block["image_url"]["url"].split(";base64,")
        return "image", head.removeprefix("data:"), data
    return block["type"], block["mime_type"], block["base64"]


def admitted(part: Json, policy: Any = "public") -> Any:
    """The block that a model gets of a part."""
    (message,) = agui_messages_to_langchain([user(part)], media_urls=policy)
    return message.content[1]


def check_refused(part: Json, text: str, *more: Json) -> None:
    for policy in POLICIES:
        with pytest.raises(RunInputError, match=re.escape(text)) as raised:
            agui_messages_to_langchain([*more, user(part)], media_urls=policy)
        assert raised.value.code.value == "invalid_input"
        place = f"messages[{len(more)}].content[1]"
        assert str(raised.value).startswith(f"{place} ") or text == "media_urls"


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(8)
BMP = b"BM" + bytes(12) + b"\x28\0\0\0" + bytes(40)
SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>'
ABOUT = b"GIF89a has 256 colours, ID3 is a tag, a PDF has %PDF-."
REAL: list[tuple[bytes, str]] = [
    *((files.PNG, "image/png"), (files.JPEG, "image/jpeg"), (files.GIF, "image/gif")),
    *((files.WEBP, "image/webp"), (BMP, "image/bmp"), (b"II*\0\x08\0\0\0", "image/tiff")),
    *((files.mpeg4(b"heic"), "image/heic"), (files.mpeg4(b"avif"), "image/avif")),
    *((b"\0\0\1\0\1\0\x10\x10", "image/vnd.microsoft.icon"), (SVG, "image/svg+xml")),
    *((files.MP3, "audio/mpeg"), (files.MP3_FRAMES, "audio/mp3"), (files.wav(), "audio/x-wav")),
    *((files.ADTS_FRAMES, "audio/aac"), (b"fLaC\0\0\0\x22", "audio/flac")),
    *((b"OggS\0\2", "audio/ogg"), (b"OggS\0\2", "audio/ogg;codecs=opus")),
    *((b"FORM\0\0\0\x20AIFFCOMM", "audio/aiff"), (files.mpeg4(b"M4A "), "audio/x-m4a")),
    *((files.WEBM, "audio/webm;codecs=opus"), (files.WEBM, "video/webm")),
    *((files.MP4, "video/mp4"), (files.mpeg4(b"qt  "), "video/quicktime")),
    *((b"RIFF\x20\0\0\0AVI LIST", "video/x-msvideo"), (b"\0\0\1\xba\x44", "video/mpeg")),
    *(((b"G" + bytes(187)) * 3, "video/mp2t"), (files.PDF, "application/pdf")),
    *((before + files.PDF, "application/pdf") for before in (b"\xef\xbb\xbf", bytes(range(64)))),
    *((files.PDF + bytes(range(256)), "application/pdf"), (files.DOCX, "application/zip")),
    *((files.DOCX, WORD), (OLE, "application/msword"), (b"{\\rtf1 Hello}", "application/rtf")),
    *((b"{\\rtf1 Gr\xf6\xdfe}", "text/rtf"), (b"hello", "text/plain"), (b"a;b\r\n1", "text/csv")),
    *(("# Größe\n".encode(), "text/markdown"), (b'{"a": 1}', "application/json")),
    *((b"<!doctype html><svg></svg>", "text/html"), (ABOUT, "text/markdown")),
    *((b"print('hi')\n", "text/x-python"), (b"PAR1\x15\0", "application/vnd.apache.parquet")),
    *(("Straße;Größe\r\n".encode("cp1252"), "text/csv"), ("Größe".encode("utf-16"), "text/plain")),
]


@pytest.mark.parametrize(("data", "mime"), REAL)
def test_real_files_are_taken_as_they_are(data: bytes, mime: str) -> None:
    kind = mime.partition("/")[0]
    for one in (kind if kind in OF_KIND else "document", *(["audio"] * (data == files.WEBM))):
        part = inlined(one, data, mime, "a.b")
        (message,) = agui_messages_to_langchain([user(part)], media_urls="none")
        assert inline(message.content[1])[2] == encoded(data)
        (shown,) = langchain_messages_to_agui([message])
        assert shown.content[1].model_dump(by_alias=True) == part


def test_other_spellings_of_base64_become_ours() -> None:
    data = files.png("??>>~~??")
    for value in (encoded(data), urlsafe_b64encode(data).decode()):
        for spelt in (value.rstrip("="), f"{value}\n", f"  {value[:8]}\r\n{value[8:]}"):
            url = media("image", "url", f"data:image/png;base64,{spelt}")
            for part in (media("image", "data", spelt), url):
                assert inline(admitted(part))[2] == encoded(data)


@pytest.mark.parametrize(
    ("part", "kind", "mime"),
    [
        (inlined("image", files.JPEG, "image/png"), "image", "image/jpeg"),
        (inlined("image", files.PNG, "image/jpeg"), "image", "image/png"),
        (inlined("image", files.WEBP, ""), "image", "image/webp"),
        (inlined("image", files.GIF, OCTETS, "a.png"), "image", "image/gif"),
        (inlined("image", files.PDF, "application/pdf"), "file", "application/pdf"),
        (inlined("audio", files.wav(), "audio/mpeg"), "audio", "audio/wav"),
        (inlined("audio", files.MP4, "audio/webm"), "audio", "audio/mp4"),
        (inlined("video", files.WEBM, "video/mp4"), "video", "video/webm"),
        (inlined("document", files.PDF, ""), "file", "application/pdf"),
        (inlined("document", files.PNG, OCTETS), "image", "image/png"),
        (inlined("document", files.MP3, ""), "audio", "audio/mp3"),
        (inlined("document", b"a,b", OCTETS, "a.csv"), "file", "text/csv"),
        (inlined("document", b"hello", ""), "file", "text/plain"),
        (inlined("document", b"hello", "application/pdf"), "file", "text/plain"),
        (inlined("document", b"<svg/>", "text/plain"), "file", "text/plain"),
        (binary("image/png", data=encoded(files.JPEG)), "image", "image/jpeg"),
        (binary(OCTETS, data=encoded(PNG)), "image", "image/png"),
    ],
)
def test_the_media_type_is_that_of_the_bytes(part: Json, kind: str, mime: str) -> None:
    assert inline(admitted(part))[:2] == (kind, mime)


UNKNOWN = "its bytes are of no known format"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (media("image", "data", "not base64!"), "must be an image, such as PNG, JPEG, GIF or WebP, as base64; its data"),
        (media("image", "data", "https://example.com/a.png"), "its data are not base64"),
        (media("image", "data", "aGk"), "its bytes are text/plain"),
        (inlined("image", files.PDF), "its bytes are application/pdf"),
        (inlined("image", files.MP3), "its bytes are audio/mpeg"),
        (inlined("audio", files.PNG), "must be a recording, such as MP3, WAV, Ogg or FLAC, as base64;"),
        (inlined("video", files.wav()), "must be a film, such as MP4 or WebM, as base64; its bytes are"),
        (inlined("document", PNG), "must be a document, such as PDF, an Office file, or text in UTF-8"),
        (inlined("document", PNG, "text/plain"), "its bytes are image/png"),
        (media("document", "data", "/etc/crontab", "text/plain"), UNKNOWN),
        (inlined("document", b"\xfcber", "text/plain"), UNKNOWN),
        (inlined("document", bytes(range(256)), ""), UNKNOWN),
        (media("audio", "data", "//var/log/syslog"), UNKNOWN),
        (media("audio", "data", "//lib/secrets/aa"), UNKNOWN),
        (media("image", "url", "data:image/png;base64,%2Fetc%2Fcrontab"), UNKNOWN),
        (media("image", "url", "data:image/png,hello"), "its bytes are text/plain"),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(part: Json, text: str) -> None:
    check_refused(part, text, {"id": "u0", "role": "user", "content": "a"})
    with pytest.raises(RunInputError) as raised:
        admitted(part)
    assert part["source"]["value"] not in str(raised.value)  # nothing of the data


NO_URLS = [
    "/etc/passwd", "file.png", "./a", "..\\a", "C:\\x", "C:/x", "//host/x", "\\\\host\\x", "~/a", "?a",
    " https://a.co/", "https://a.co/ ", "https://a.co/\n", "\0https://a.co/", "file:///etc/passwd", "FILE:/etc/passwd", "#",
]  # fmt: skip
NO_IDS = ["/etc/passwd", "../a", "~/a", "C:\\x", "\\\\host\\a", "file:///a", " /etc/passwd"]


@pytest.mark.parametrize(
    "part",
    [
        *(media("image", "url", url) for url in NO_URLS),
        *(binary("image/png", url=url) for url in NO_URLS),
        *map(by_id, NO_IDS),
    ],
    ids=str,
)
def test_what_is_no_url_and_no_id_is_held_by_the_policy(part: Json) -> None:
    check_refused(part, "media_urls")
    with pytest.raises(RunInputError, match="media_urls"):
        agui_messages_to_langchain(answered(part))


def test_a_function_is_asked_about_everything_that_is_no_data() -> None:
    asked: list[str] = []
    parts = (
        *(media("image", "url", "/uploads/1.png"), inlined("image", PNG)),
        media("image", "url", f"data:image/png;base64,{encoded(PNG)}"),
        *(by_id("files/abc-1"), by_id("gs://bucket/a")),
    )
    ask = {"media_urls": lambda url: asked.append(url) is None}
    agui_messages_to_langchain([user(*parts)], **ask)
    assert asked == ["/uploads/1.png", "gs://bucket/a"]


def test_urls_that_a_policy_takes() -> None:
    """As an `image_url`; as a standard block where the package for Ollama would open a file of such
    a name, or what is behind a comma."""
    for url in ("http://127.0.0.1/a", "gs://bucket/a", "s3://bucket/a", "ftp://a.co/"):
        block = {"type": "image_url", "image_url": {"url": url}}
        assert admitted(media("image", "url", url), "any") == block
    for url in ("cd:notes/a", "mailto:a@b.co", "https:a.co/x", "https://e.com/w_400,h_300/a.jpg"):
        assert admitted(media("image", "url", url), "any")["url"] == url


@pytest.mark.parametrize("file_id", ["file-1", "files/abc-123", "file.png", "AgACAgQAAx0E"])
def test_ids_of_files_are_the_providers(file_id: str) -> None:
    for policy in POLICIES:
        assert admitted(by_id(file_id, provider="openai"), policy)["file_id"] == file_id


def test_an_older_image_url_is_left_out_as_any_unknown_part(secret: str) -> None:
    for value in (secret, {"url": secret}, {"url": f"data:image/png;base64,{secret}"}):
        (message,) = agui_messages_to_langchain([user({"type": "image_url", "image_url": value})])
        assert message.content == [{"type": "text", "text": "see"}]


def test_messages_that_no_client_has_sent_stay_as_they_are() -> None:
    block = {"type": "image", "url": "/a.png", "mime_type": "image/png"}
    assert admitted(media("image", "url", "/a.png"), None) == block


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


HERE = {"type": "text", "text": "Here."}
DATA_URL = f"data:image/png;base64,{encoded(PNG)}"
CRONTAB = b"\xfd\xeb\\\xfd\xca\xe8\x9e\xd6\x9b"


def image(**members: Any) -> Json:
    return {"type": "image", **members}


def image_url(url: Any) -> Json:
    return {"type": "image_url", "image_url": url}


def claudes(kind: str, media_type: str, value: str) -> Json:
    """A block of Anthropic's."""
    form = "text" if media_type == "text/plain" else "base64"
    return {"type": kind, "source": {"type": form, "media_type": media_type, "data": value}}


RESTORED: list[Json] = [
    *(image(base64="/etc/crontab"), image(base64="PATH"), image(base64=CRONTAB)),
    image(source_type="base64", data="/etc/crontab"),
    image(source_type="text", base64="/etc/crontab"),
    *(image(url="/etc/passwd"), image(base64=encoded(PNG), url="/etc/passwd")),
    *(image_url("/etc/crontab"), image_url({"url": "/etc/passwd"})),
    image_url({"url": "data:image/png;base64,/etc/crontab"}),
    image_url({"url": f"{DATA_URL},/etc/passwd"}),
    image_url({"url": f"a,/etc/passwd;{encoded(PNG)}"}),
    image_url({"url": "https://example.com/a,/etc/passwd"}),
    image_url("https://example.com/a,/etc/passwd"),
    {"type": "input_audio", "input_audio": {"data": "/etc/crontab", "format": "mp3"}},
    {"type": "file", "file": {"file_data": "/etc/crontab"}},
    {"type": "file", "file_id": "/etc/passwd"},
    {"type": "media", "mime_type": "image/png", "data": "/etc/crontab"},
    {"type": "media", "file_uri": "/etc/passwd"},
    claudes("image", "image/png", "/etc/crontab"),
    {"type": "document", "source": {"type": "url", "url": "/etc/passwd"}},
    {"image": {"format": "png", "source": {"bytes": CRONTAB}}},
    {"type": "non_standard", "value": image_url("/etc/crontab")},
]


def restored(block: Json) -> list[Json]:
    """What a client holds of a model's message with this block."""
    messages: list[BaseMessage] = [HumanMessage("a", id="u1"), AIMessage([HERE, block], id="a1")]
    shown = langchain_messages_to_agui(messages, thread_id="t")
    return [json.loads(one.model_dump_json(by_alias=True, exclude_none=True)) for one in shown]


@pytest.mark.parametrize("block", RESTORED)
def test_an_unsealed_value_of_an_assistant_message_holds_no_path(block: Json) -> None:
    held = restored(block)
    assert "encryptedValue" in held[1]
    for policy in POLICIES:
        with pytest.raises(RunInputError, match=re.escape("messages[1]")):
            agui_messages_to_langchain(held, thread_id="t", media_urls=policy)


async def test_a_forged_message_of_the_model_opens_nothing(
    provider_server: ProviderServer, secret: str
) -> None:
    cut_by_the_package = image_url({"url": f"https://example.com/a,{secret}"})
    for block in (image(base64=secret, mime_type="image/png"), cut_by_the_package):
        why = await refused(seeing(provider_server), sent(*restored(block), user()))
        assert why.startswith("messages[1]: ")
    assert provider_server.requests == []


GENERATED = {"id": "ig_1", "result": "anything", "status": "completed"}
SIGNED_WAV = {
    "base64": encoded(files.wav()),
    "mime_type": "audio/wav",
    "extras": {"signature": "/etc"},
}


@pytest.mark.parametrize(
    "block",
    [
        image(base64=encoded(PNG), mime_type="image/png", id="ig_1"),
        image_url({"url": DATA_URL}),
        {"type": "audio", **SIGNED_WAV},
        {"type": "image_generation_call", **GENERATED},
        claudes("document", "text/plain", "A page of the web."),
        claudes("document", "application/pdf", encoded(files.PDF)),
        claudes("image", "image/png", encoded(PNG)),
        {"image": {"format": "png", "source": {"bytes": PNG}}},
        {"type": "file", "file_id": "file-1"},
    ],
)
def test_what_a_model_has_made_comes_back(block: Json) -> None:
    back = agui_messages_to_langchain(restored(block), thread_id="t", media_urls="none")[1]
    assert back == AIMessage([HERE, block], id="a1")


def test_a_sealed_result_in_a_packages_own_form_comes_back() -> None:
    sealed = {"reasoning": ReasoningOptions(seal=ReasoningSeal(keys=[bytes(32)])), "thread_id": "t"}
    native = [image_url({"url": DATA_URL, "detail": "low"})]
    result = ToolMessage(native, tool_call_id="c1", name="look", id="t1")
    messages = [AIMessage("", tool_calls=[CALL], id="a1"), result]
    held = langchain_messages_to_agui(messages, **sealed)
    assert agui_messages_to_langchain(held, **sealed, media_urls="none") == messages


def test_a_large_file_is_decoded_once_and_held_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (message,) = known_messages([user(inlined("image", files.png("x" * 3_000_000)))])
    gate = ClientMedia("public", [message])
    value = gate.admit(message).content[1].source.value
    assert value is message.content[1].source.value
    decoded: list[int] = []
    monkeypatch.setattr(binascii, "a2b_base64", lambda *args, **_: decoded.append(1))
    gate.check([HumanMessage([image(base64=value)])])
    assert decoded == []

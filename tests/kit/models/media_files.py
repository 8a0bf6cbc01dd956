"""Small real files of each kind, for tests that send media."""

from __future__ import annotations

import io
import struct
import wave
import zipfile
import zlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Final

SECRET: Final = "the-secret-of-the-server"
"""What a file of the server holds that no client may read."""


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


def png(comment: str = "") -> bytes:
    """One pixel; a comment makes another file of it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    text = chunk(b"tEXt", b"Comment\0" + comment.encode()) if comment else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + text
        + chunk(b"IDAT", zlib.compress(b"\0\0"))
        + chunk(b"IEND", b"")
    )


def wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(8000)
        recording.writeframes(b"\0\0" * 8)
    return file.getvalue()


def zipped(**members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def box(name: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", 8 + len(data)) + name + data


def mpeg4(brand: bytes) -> bytes:
    return box(b"ftyp", brand + b"\0\0\0\0" + brand + b"isom") + box(b"mdat")


# MPEG-1 layer III, 32 kbit/s at 48 kHz: frames of 96 bytes.
MP3_FRAMES: Final = (b"\xff\xfb\x14\xc4" + bytes(92)) * 2
# AAC in ADTS: frames of 16 bytes.
ADTS_FRAMES: Final = (b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(9)) * 2

PNG: Final = png()
JPEG: Final = b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAf/Z"
)
GIF: Final = b"GIF89a\1\0\1\0\0\0\0;"
WEBP: Final = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0"
PDF: Final = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
MP4: Final = mpeg4(b"isom")
WEBM: Final = b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\xf7\x81\1B\xf2\x81\4B\xf3\x81\x08B\x82\x84webmB\x87\x81\4B\x85\x81\2"
MP3: Final = b"ID3\4\0\0\0\0\0\0" + MP3_FRAMES
DOCX: Final = zipped(**{"[Content_Types].xml": "<Types/>", "word/document.xml": "<document/>"})

# A file of each kind, as a client sends it, and its media type.
OF_KIND: Final = {
    "image": (encoded(PNG), "image/png"),
    "audio": (encoded(MP3), "audio/mpeg"),
    "video": (encoded(MP4), "video/mp4"),
    "document": (encoded(PDF), "application/pdf"),
}


def path_like(folder: Path, text: str) -> str:
    """Write a file whose absolute path is valid base64, and return the path."""
    assert str(folder).isalnum() or str(folder).replace("/", "").isalnum(), folder
    name = "secret"
    while (len(str(folder)) + 1 + len(name)) % 4:
        name += "x"
    path = folder / name
    path.write_text(text)
    assert encoded(b64decode(str(path), validate=True)) == str(path)
    return str(path)

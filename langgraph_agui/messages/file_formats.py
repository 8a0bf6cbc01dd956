"""The format of a file, as its bytes show.

Bytes enter `recognise`, a `Format` leaves. The table has what browsers upload and models take; a
file that is none of these has no format. Base64 may be a path: `//var` is that of the first bytes
of an MP3. So a picture, a recording or a film has more bytes that are always the same, or several
frames that follow each other.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from langgraph_agui.messages.content import Kind, accepted_mime, fitting_kind


class Format(NamedTuple):
    """A format of files.

    Attributes:
        kinds: The kinds of media that a file of it can be.
        mimes: Its media types, the usual ones first.
        is_open: Whether it has more types than these, as ZIP and text do.
    """

    kinds: tuple[Kind, ...]
    mimes: tuple[str, ...]
    is_open: bool = False

    def mime_for(self, kind: Kind, expected: str) -> str:
        """Return the media type of a file of this format: the expected one, if it can be that, or
        the usual one.
        """
        accepted = accepted_mime(expected)
        is_other = self.is_open and accepted is not None and accepted not in _KNOWN_MIMES
        if is_other or accepted in map(accepted_mime, self.mimes):
            return expected
        return next(
            (mime for mime in self.mimes if fitting_kind("document", mime) == kind), self.mimes[0]
        )


def _image(*mimes: str) -> Format:
    return Format(("image",), mimes)


def _audio(*mimes: str) -> Format:
    return Format(("audio",), mimes)


def _container(*mimes: str) -> Format:
    """Return a format that holds sound with or without pictures."""
    return Format(("audio", "video"), mimes)


def _document(*mimes: str, is_open: bool = False) -> Format:
    return Format(("document",), mimes, is_open)


_AAC: Final = _audio("audio/aac", "audio/aacp", "audio/x-aac")
_AIFF: Final = _audio("audio/aiff", "audio/x-aiff")
_ASF: Final = _container("video/x-ms-wmv", "audio/x-ms-wma", "video/x-ms-asf")
_AVI: Final = Format(("video",), ("video/x-msvideo", "video/avi", "video/msvideo"))
_AVIF: Final = _image("image/avif", "image/avif-sequence")
_BMP: Final = _image("image/bmp", "image/x-bmp", "image/x-ms-bmp")
_GIF: Final = _image("image/gif")
_HEIF: Final = _image("image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence")
_JPEG: Final = _image("image/jpeg", "image/pjpeg")
_MP3: Final = _audio("audio/mpeg", "audio/mpga", "audio/x-mp3", "audio/x-mpeg")
_MP4: Final = _container(
    *("video/mp4", "audio/mp4", "audio/m4a", "audio/x-m4a", "video/x-m4v", "application/mp4"),
    *("video/3gpp", "audio/3gpp", "video/3gpp2", "audio/3gpp2"),
)
_MPEG: Final = Format(("video",), ("video/mpeg", "video/mpg", "video/x-mpeg"))
_OGG: Final = _container("audio/ogg", "video/ogg", "application/ogg", "audio/opus", "audio/vorbis")
_PDF: Final = _document("application/pdf")
_PNG: Final = _image("image/png", "image/apng", "image/x-png")
_QUICKTIME: Final = _container("video/quicktime")
_RTF: Final = _document("application/rtf", "text/rtf")
# pages hold some, too
_SVG: Final = Format(("image", "document"), ("image/svg+xml", "text/plain"), is_open=True)
_TEXT: Final = _document("text/plain", is_open=True)
_TAR: Final = _document("application/x-tar")
_TIFF: Final = _image("image/tiff", "image/x-tiff")
_TRANSPORT: Final = Format(("video",), ("video/mp2t",))
_WAV: Final = _audio("audio/wav")
_WEBM: Final = _container(
    "video/webm", "audio/webm", "video/x-matroska", "audio/x-matroska", "video/matroska"
)
_WEBP: Final = _image("image/webp")
_ZIP: Final = _document("application/zip", "application/x-zip-compressed", is_open=True)

# a tag, which may stand before others
# Word, Excel, mail
_PREFIXES: Final[tuple[tuple[bytes, Format], ...]] = (
    (b"\x89PNG\r\n\x1a\n", _PNG),
    (b"\xff\xd8\xff", _JPEG),
    (b"GIF87a", _GIF),
    (b"GIF89a", _GIF),
    (b"II*\0", _TIFF),
    (b"MM\0*", _TIFF),
    (b"\0\0\1\0", _image("image/x-icon", "image/vnd.microsoft.icon")),
    (b"8BPS\0\1", _image("image/vnd.adobe.photoshop")),
    (b"\0\0\0\x0cJXL \r\n\x87\n", _image("image/jxl")),
    (b"\0\0\0\x0cjP  \r\n\x87\n", _image("image/jp2", "image/jpx")),
    (
        b"ID3",
        Format(("audio",), (*_MP3.mimes, *_AAC.mimes, "audio/flac")),
    ),
    (b"fLaC", _audio("audio/flac", "audio/x-flac")),
    (b"#!AMR", _audio("audio/amr", "audio/amr-wb")),
    (b"MThd", _audio("audio/midi", "audio/x-midi")),
    (b".snd", _audio("audio/basic")),
    (b"caff\0\1", _audio("audio/x-caf")),
    (b"OggS\0", _OGG),
    (b"\x1aE\xdf\xa3", _WEBM),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", _ASF),
    (b"FLV\1", Format(("video",), ("video/x-flv",))),
    (b"\0\0\1\xba", _MPEG),
    (b"\0\0\1\xb3", _MPEG),
    (b"PK\3\4", _ZIP),
    (b"PK\5\6", _ZIP),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        _document("application/x-ole-storage", is_open=True),
    ),
    (b"\x1f\x8b\x08", _document("application/gzip", "application/x-gzip")),
    (b"7z\xbc\xaf\x27\x1c", _document("application/x-7z-compressed")),
    (b"Rar!\x1a\x07", _document("application/vnd.rar", "application/x-rar-compressed")),
    (b"PAR1", _document("application/vnd.apache.parquet", "application/x-parquet")),
    (b"ARROW1\0\0", _document("application/vnd.apache.arrow.file")),
    (b"SQLite format 3\0", _document("application/vnd.sqlite3", "application/x-sqlite3")),
    (b"\x89HDF\r\n\x1a\n", _document("application/x-hdf5", "application/x-hdf")),
)
# By the eight bytes behind the length: `RIFF` and `FORM` are followed by what they hold.
_CHUNKED: Final = {
    (b"RIFF", b"WEBP"): _WEBP,
    (b"RIFF", b"WAVE"): _WAV,
    (b"RF64", b"WAVE"): _WAV,
    (b"RIFF", b"AVI "): _AVI,
    (b"FORM", b"AIFF"): _AIFF,
    (b"FORM", b"AIFC"): _AIFF,
}
# ISO media by their brand; all others are MP4.
_BRANDS: Final = {
    **dict.fromkeys(
        (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"), _HEIF
    ),
    **dict.fromkeys((b"avif", b"avis"), _AVIF),
    b"qt  ": _QUICKTIME,
}
_TABLE: Final = (*(one for _, one in _PREFIXES), *_CHUNKED.values(), *_BRANDS.values())
_FORMATS: Final = (*_TABLE, _AAC, _BMP, _MP3, _MP4, _PDF, _RTF, _SVG, _TAR, _TEXT, _TRANSPORT)
_KNOWN_MIMES: Final = {accepted_mime(mime) for one in _FORMATS for mime in one.mimes}

_BMP_HEADERS: Final = (12, 40, 52, 56, 64, 108, 124)
_PDF_START: Final = re.compile(rb"(\xef\xbb\xbf)?\s*%PDF-")
_SVG_START: Final = re.compile(rb"(\xef\xbb\xbf)?\s*<[?!s]")
# Control characters that no text has.
_CONTROL: Final = re.compile(rb"[\0-\x07\x0e-\x1a\x1c-\x1f]")
_NOT_ASCII: Final = bytes(range(128, 256))
# Marks at the beginning of text; a longer one first.
_WIDE: Final = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

# Kilobits per second of MPEG audio, by version (1, or 2 and 2.5) and layer.
_MPEG_RATES: Final = {
    (1, 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
# Samples per second, by the two bits of the version: 2.5, none, 2 and 1.
_MPEG_SAMPLES: Final = ((11025, 12000, 8000), (), (22050, 24000, 16000), (44100, 48000, 32000))


def recognise(data: bytes) -> Format | None:
    """Return the format of a file; None if it is none that is known."""
    if _is_text(data):
        return _text_format(data)
    found = next((one for prefix, one in _PREFIXES if data.startswith(prefix)), None)
    return found or _by_structure(data)


def _by_structure(data: bytes) -> Format | None:
    if chunked := _CHUNKED.get((data[:4], data[8:12])):
        return chunked
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], _MP4)
    if (
        data[:2] == b"BM"
        and int.from_bytes(data[14:18], "little") in _BMP_HEADERS
        and data[6:10] == bytes(4)
    ):
        return _BMP
    if _repeats(data, _mpeg_frame):
        return _MP3
    if _repeats(data, _adts_frame):
        return _AAC
    if data[:1] == data[188:189] == data[376:377] == b"G":
        return _TRANSPORT
    if b"%PDF-" in data[:1024]:
        return _PDF
    return _TAR if data[257:262] == b"ustar" else None


def _repeats(data: bytes, length: Callable[[bytes], int]) -> bool:
    """Return whether two frames follow each other. A header alone may be a path: `//var` in base64
    is one.
    """
    first = length(data[:8])
    return first > 0 and length(data[first : first + 8]) > 0


def _mpeg_frame(header: bytes) -> int:
    """Return the length of the frame of MPEG audio that begins so; 0 if none does."""
    bits = int.from_bytes(header[:4], "big")
    version, layer = bits >> 19 & 3, 4 - (bits >> 17 & 3)
    rate, samples = bits >> 12 & 15, bits >> 10 & 3
    if bits >> 21 != 0x7FF or version == 1 or layer == 4 or rate in (0, 15) or samples == 3:
        return 0
    generation = 1 if version == 3 else 2
    speed = _MPEG_RATES[generation, layer][rate - 1] * 1000
    padding = bits >> 9 & 1
    if layer == 1:
        return (12 * speed // _MPEG_SAMPLES[version][samples] + padding) * 4
    factor = 72 if generation == 2 and layer == 3 else 144
    return factor * speed // _MPEG_SAMPLES[version][samples] + padding


def _adts_frame(header: bytes) -> int:
    """Return the length of the frame of AAC that begins so; 0 if none does."""
    bits = int.from_bytes(header[:7].ljust(7, b"\0"), "big")
    is_header = bits >> 44 == 0xFFF and bits >> 41 & 3 == 0
    length = bits >> 13 & 0x1FFF
    return length if is_header and length > 7 else 0


def _text_format(text: bytes) -> Format:
    if text.startswith(b"{\\rtf"):
        return _RTF
    if _PDF_START.match(text):
        return _PDF
    return _SVG if _SVG_START.match(text) and b"<svg" in text[:4096] else _TEXT


def _is_text(data: bytes) -> bool:
    """Return whether bytes are text: in UTF-8, in UTF-16 or UTF-32 with a mark, or nearly all of it
    in ASCII.
    """
    wide = next((name for mark, name in _WIDE.items() if data.startswith(mark)), None)
    try:
        if wide is not None:
            return _CONTROL.search(data.decode(wide).encode()) is None
        if _CONTROL.search(data):
            return False
        data.decode()
    except UnicodeError:
        return wide is None and _is_mostly_ascii(data)
    return bool(data)


def _is_mostly_ascii(data: bytes) -> bool:
    """Return whether bytes are text as Excel writes it in Windows-1252.

    The base64 of what begins with one of the last four letters begins with a slash, as a path does.
    """
    return data[0] < 0xFC and len(data.translate(None, _NOT_ASCII)) * 4 >= len(data) * 3

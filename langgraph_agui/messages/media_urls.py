"""Which URLs in media a client may send: some provider packages fetch them on the server, in its network.

LangChain messages made from a client's enter `check_media_urls`; a URL that the agent does not take raises. Names are
not resolved: one may lead elsewhere a moment later. The packages follow redirects by themselves, wherever they lead.
An operator who cannot rule that out takes no URLs (`"none"`), decides by a function, or lets nothing out of the
server's network.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from langchain_core.messages import BaseMessage

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.quoting import quoted

MediaUrlPolicy: TypeAlias = Literal["public", "any", "none"]
MediaUrls: TypeAlias = MediaUrlPolicy | Callable[[str], bool]

# Types of media blocks, without `input_` before and `_url` behind; Bedrock's blocks have them as their only key.
_MEDIA: Final = frozenset({"image", "audio", "video", "document", "file", "media", "text-plain"})
# Members of media blocks that are no address.
_OTHERS: Final = frozenset({"base64", "data", "bytes", "file_data", "text", "extras", "metadata", "context", "title"})

# How an address begins. Clients of HTTP skip what stands before; without a scheme, one takes that of its page.
_ADDRESS: Final = re.compile(r"[\s\0-\x20\ufeff]*([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
# Last labels of hosts inside of networks, and those that are reserved.
_LOCAL: Final = ("localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa")
_SPECIAL: Final = ("test", "example", "invalid", "onion", "localdomain6", "svc", "consul", "box", *_LOCAL)
_TAKEN: Final = {"public": "https to public hosts", "none": "data only"}
_NAT64: Final = ipaddress.ip_network("64:ff9b::/32")


def check_media_urls(messages: Iterable[BaseMessage], allowed: MediaUrls) -> None:
    """Check the URLs in the media of messages.

    Raises:
        RunInputError: One of them is not allowed (`invalid_input`).
    """
    if allowed == "any":
        return
    for message in messages:
        for url in _urls_in(message.content):
            if not (allowed(url) if callable(allowed) else allowed == "public" and is_public(url)):
                taken = "not this" if callable(allowed) else _TAKEN[allowed]
                text = f"This agent does not take media from {quoted(url)}; it takes {taken} (media_urls)."
                raise RunInputError(ErrorCode.INVALID_INPUT, text)


def _urls_in(value: object, *, in_media: bool = False) -> Iterator[str]:
    """Yield what has the form of a URL in the media blocks in a message's content, however deep."""
    if isinstance(value, str):
        if in_media and (address := _ADDRESS.match(value)) and address[1].lower() != "data:":
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _urls_in(inner, in_media=in_media)
    elif isinstance(value, Mapping):
        kind = value.get("type")
        named = kind.removeprefix("input_").removesuffix("_url") if isinstance(kind, str) else None
        inside = in_media or named in _MEDIA or (kind is None and not _MEDIA.isdisjoint(value))
        for key, inner in value.items():
            if not (inside and key in _OTHERS) or not isinstance(inner, str):
                yield from _urls_in(inner, in_media=inside and key not in _OTHERS)


def is_public(url: str) -> bool:
    """Return whether a URL is `https` to a host that is public as far as its name shows, without a user name."""
    if not url.isascii() or not url.isprintable() or set(url) & set(" \\"):
        return False  # clients of HTTP do not agree on what these mean; IDNA has a spelling in ASCII
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
        if parts.scheme != "https" or "@" in parts.netloc or "%" in host:
            return False
        if "[" in parts.netloc:
            return _is_public_address(ipaddress.ip_address(host))
    except ValueError:
        return False
    try:
        return _is_public_address(ipaddress.IPv4Address(socket.inet_aton(host)))  # takes 127.1, 0x7f.1 and 2130706433
    except OSError:
        last = host.rpartition(".")[2]
        return "." in host and last not in _SPECIAL and not last[:1].isdigit()


def _is_public_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    # What leads to an IPv4 address may lead to a private one.
    return address.version == 4 or not (address.ipv4_mapped or address.sixtofour or address.teredo or address in _NAT64)

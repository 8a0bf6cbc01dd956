"""Which addresses of media a client may send: some provider packages fetch them on the server, in
its network.

An address enters `check_address`; one that the agent does not take raises. Names are not resolved:
one may lead elsewhere a moment later. The packages follow redirects by themselves, wherever they
lead. An operator who cannot rule that out takes no URLs (`"none"`), decides by a function, or lets
nothing out of the server's network.

Everything that is no inline data is an address, also what is no URL: some packages open a path on
the server.
"""

import ipaddress
import re
import socket
from typing import Final
from urllib.parse import urlsplit

from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.options import MediaUrls

# A URL that leads out of this machine's files. One letter before a colon is a drive of Windows.
_URL: Final = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+:[^\s\0-\x20]+", re.IGNORECASE)
# How a URL begins. Clients of HTTP skip what stands before; without a scheme, one takes that of its
# page.
_URL_BEGINS: Final = re.compile(r"[\s\0-\x20\ufeff]*([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_PATH_BEGINS: Final = re.compile(r"\s*[/\\.~]")
# Last labels of hosts inside of networks, and those that are reserved.
_LOCAL: Final = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
)
_SPECIAL: Final = (
    "test",
    "example",
    "invalid",
    "onion",
    "localdomain6",
    "svc",
    "consul",
    "box",
    *_LOCAL,
)
_TAKEN: Final = {
    "public": "https to public hosts",
    "any": "URLs with a scheme",
    "none": "data only",
}
_NAT64: Final = ipaddress.ip_network("64:ff9b::/32")


def check_address(address: str, allowed: MediaUrls, place: str) -> None:
    """Check an address of media; `place` names where the client has sent it.

    Raises:
        RunInputError: It is not allowed (`invalid_input`).
    """
    if not _is_allowed(address, allowed):
        taken = "not this" if callable(allowed) else _TAKEN[allowed]
        text = (
            f"{place}: this agent does not take media from {quoted(address)}; it takes {taken} "
            "(media_urls)."
        )
        raise RunInputError(ErrorCode.INVALID_INPUT, text)


def looks_like_url(text: str) -> bool:
    """Return whether a text that need not be an address begins as a URL does."""
    return _URL_BEGINS.match(text) is not None


def looks_like_address(file_id: str) -> bool:
    """Return whether a provider's id of a file begins as a URL or as a path does."""
    return looks_like_url(file_id) or _PATH_BEGINS.match(file_id) is not None


def _is_allowed(address: str, allowed: MediaUrls) -> bool:
    if callable(allowed):
        return allowed(address)
    if allowed == "any":
        return _URL.fullmatch(address) is not None
    return allowed == "public" and is_public(address)


def is_public(url: str) -> bool:
    """Return whether a URL is `https` to a host that is public as far as its name shows, without a
    user name.
    """
    if not url.isascii() or not url.isprintable() or set(url) & set(" \\"):
        return (
            False  # clients of HTTP do not agree on what these mean; IDNA has a spelling in ASCII
        )
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
        # takes 127.1, 0x7f.1 and 2130706433
        return _is_public_address(ipaddress.IPv4Address(socket.inet_aton(host)))
    except OSError:
        last = host.rpartition(".")[2]
        return "." in host and last not in _SPECIAL and not last[:1].isdigit()


def _is_public_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    # An address that leads to one of IPv4 may lead to a private one.
    return address.version == 4 or not (
        address.ipv4_mapped or address.sixtofour or address.teredo or address in _NAT64
    )

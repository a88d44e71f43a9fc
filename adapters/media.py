"""Which media of a client a model may be given, and which URLs a server may be made to fetch. Pure, without DNS.

A URL of a client is fetched by the model's provider, or by this server for a provider that cannot: with what either of
them may reach. A handle of a file at a provider is read with the server's own account.
"""

import binascii
import ipaddress
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from urllib.parse import unquote, urlsplit

from ag_ui.core import Message, TextPart, UrlSource, UserMessage

from adapters.base import InputRefused


@dataclass(frozen=True, slots=True)
class Trust:
    """What a client may do. The defaults trust it with nothing."""

    system_messages: bool = False
    """Its system and developer messages have the operator's rank; else they are left out."""
    private_urls: bool = False
    """Its URLs may lead to private, loopback and link-local addresses."""
    url_schemes: frozenset[str] = frozenset({"http", "https"})
    """The schemes that its URLs may have, in lower case."""
    provider_files: bool = False
    """It may name files that the model's provider holds for the server's account."""


class Unusable(ValueError):  # noqa: N818 - a clause about a part
    """A part that cannot be given to a model; the text is the reason, as a clause."""


def refuse_url(url: str, trust: Trust) -> None:
    """Accept a URL that a client may give to be fetched.

    Raises:
        Unusable: It may not give this one.
    """
    scheme, colon, _ = url.partition(":")
    if not colon or scheme.lower() not in trust.url_schemes:
        raise Unusable(f"the URL's scheme is not one of {', '.join(sorted(trust.url_schemes))}")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    if not host and scheme.lower() in _WITH_HOST:
        raise Unusable("the URL names no host")
    if not trust.private_urls and private_host(url) is not None:
        raise Unusable("the URL leads to a private address")


_WITH_HOST = frozenset({"http", "https"})


def refuse_private(messages: Sequence[Message], trust: Trust) -> None:
    """Accept messages whose users name no URL of a private host.

    A tool of this server may have returned one, which the client only sends back: from results they are left out
    when these are read, and the conversation can go on.

    Raises:
        InputRefused: A user message has one, and the client is not trusted with these.
    """
    for place, message in enumerate(messages):
        if trust.private_urls or not isinstance(message, UserMessage) or isinstance(message.content, str):
            continue
        for index, part in enumerate(message.content):
            source = None if isinstance(part, TextPart) else part.source
            host = private_host(source.value) if isinstance(source, UrlSource) else None
            if host is not None:
                path = ("messages", place, "content", index, "source", "value")
                raise InputRefused(path, "a URL that leads to a public host", f"one that leads to {host!r}")


# ---- data and its type ------------------------------------------------------------------------------

_CONTAINERS = frozenset({"3gpp", "mp4", "mpeg", "ogg", "quicktime", "webm", "x-matroska"})
"""Subtypes that hold sound as well as pictures: a recording of one is often labelled as the other."""


def strict_base64(value: str) -> str:
    """Base64 without the white space that some clients break it with.

    Raises:
        Unusable: It is no base64, or empty.
    """
    text = "".join(value.split())
    try:
        if binascii.a2b_base64(text, strict_mode=True):
            return text
    except ValueError:
        raise Unusable("its data is not base64") from None
    raise Unusable("it holds no data")


def bare_type(mime_type: str) -> str:
    """A mime type without its parameters, in lower case: browsers say `audio/webm;codecs=opus`."""
    return mime_type.partition(";")[0].strip().lower()


def type_of_kind(kind: str, mime_type: str) -> str:
    """The mime type of a part's data. A document may be of any; an image, audio or video part stays one.

    Raises:
        Unusable: It is of another kind.
    """
    bare = bare_type(mime_type)
    main, _, subtype = bare.partition("/")
    if subtype and (kind in ("document", main)):
        return bare
    if kind in ("audio", "video") and subtype in _CONTAINERS:
        return f"{kind}/{subtype}"
    raise Unusable("its mime type is of another kind")


# ---- hosts ----------------------------------------------------------------------------------------

_AUTHORITIES = (re.compile(r"[/\\]*([^/?#\\]*)"), re.compile(r"[/\\]*([^/?#]*)"))
"""What follows the scheme, as browsers and as others read it: to some a backslash is a slash, to some it is not."""

_NAMES = frozenset({"localhost", "local", "internal"})
"""Names that lead into the machine or its network, themselves and as top domains."""

_EMBEDDING = (
    (ipaddress.ip_network("::/96"), 0),
    (ipaddress.ip_network("::ffff:0:0/96"), 0),
    (ipaddress.ip_network("64:ff9b::/96"), 0),
    (ipaddress.ip_network("2002::/16"), 80),
)
"""IPv6 networks whose addresses hold an IPv4 address, and how many bits come after it."""


def private_host(url: str) -> str | None:
    """The host of a URL that is this machine or in a network that is not public, in any spelling of an address.

    Names are not resolved: one that leads to a private address is for whoever fetches it to refuse.
    """
    return next((host for host in _hosts(url) if _is_private_host(host)), None)


def _hosts(url: str) -> Iterator[str]:
    """The hosts that a URL may have, by the different ways to read it: normalised, without port and brackets."""
    rest = re.sub(r"[\t\r\n]", "", url).strip().partition(":")[2]
    for authority in _AUTHORITIES:
        found = authority.match(rest)
        netloc = found[1] if found else ""
        for reading in netloc.split("@")[1:] or [netloc]:
            host = unicodedata.normalize("NFKC", unquote(reading)).replace("\u3002", ".").lower()
            bracketed = re.match(r"\[([^\]%]*)", host)
            yield bracketed[1] if bracketed else host.partition(":")[0].rstrip(".")


def _is_private_host(host: str) -> bool:
    if host.rpartition(".")[2] in _NAMES:
        return True
    if ":" in host:
        try:
            return _is_private_address(ipaddress.IPv6Address(host))
        except ValueError:
            return False
    return any(_is_private_address(address) for address in _ipv4_readings(host))


def _ipv4_readings(host: str) -> Iterator[ipaddress.IPv4Address]:
    """The addresses that a host may be: one to four numbers, hexadecimal, octal or decimal, the last filling up.

    A leading zero means octal to some readers and nothing to others, so both are read.
    """
    parts = host.split(".")
    if len(parts) > 4:  # noqa: PLR2004
        return
    for numbers in product(*(_number_readings(part) for part in parts)):
        *heads, tail = numbers
        if all(head < 256 for head in heads) and tail < 256 ** (4 - len(heads)):  # noqa: PLR2004
            high = sum(head << (24 - 8 * place) for place, head in enumerate(heads))
            yield ipaddress.IPv4Address(high + tail)


def _number_readings(text: str) -> set[int]:
    if re.fullmatch(r"0x[0-9a-f]{0,16}", text):
        return {int(text, 16) if text != "0x" else 0}
    if not re.fullmatch(r"[0-9]{1,20}", text):
        return set()
    octal = {int(text, 8)} if text.startswith("0") and not set(text) & {"8", "9"} else set()
    return {int(text), *octal}


def _is_private_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        for network, bits in _EMBEDDING:
            if address in network:
                return _is_private_address(ipaddress.IPv4Address(int(address) >> bits & 0xFFFFFFFF))
    return not address.is_global or address.is_multicast

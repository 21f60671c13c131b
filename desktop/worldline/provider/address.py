"""Addresses of model servers, as people type them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit, urlunsplit

from worldline.core.errors import BadInput

FIRST_PARTY = "https://api.anthropic.com"
_ROUTES = re.compile(r"(/v1)?(/messages(/count_tokens)?|/models)?/*$")


def normalise(text: str) -> str:
    """The base address of a server: with a scheme, without `/v1`, routes and trailing slashes. "" stays "" (the
    first-party API). Raises BadInput for what is no address."""
    text = text.strip()
    if not text:
        return ""
    if "://" not in text:
        place = text.split("/", 1)[0]
        host = place.rsplit(":", 1)[0]
        if place == host and _is_one_word(host):
            # Some name of this network, or a slip: asking it would end as a fault of the network.
            raise BadInput(
                f"{text!r} is no address of a server.", f"If it is the name of one, write http://{host}."
            )
        text = f"{'http' if _is_local_name(host) else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise BadInput(
            f"{text!r} is no address of a server: {error}.", "For example http://localhost:11434."
        ) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", text):
        raise BadInput(f"{text!r} is no address of a server.", "For example http://localhost:11434.")
    if parts.username or parts.password:
        raise BadInput("An address must not hold a password.", "Enter the key in its own field.")
    host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
    netloc = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, netloc, _ROUTES.sub("", parts.path), "", ""))


def is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_first_party(base_url: str) -> bool:
    """Whether the address is the first-party API, the only place where its key belongs."""
    if not base_url:
        return True
    parts = urlsplit(base_url)
    return parts.scheme == "https" and parts.hostname == "api.anthropic.com" and parts.port in (None, 443)


def _is_one_word(host: str) -> bool:
    return "." not in host and ":" not in host and host != "localhost"


def _is_local_name(host: str) -> bool:
    if host in ("localhost", "[::1]") or "." not in host:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False

"""Which server an address means, so that all agents that ask one server are known to share it."""

from __future__ import annotations

import ipaddress
import os
from typing import Final
from urllib.parse import urlsplit

OLLAMA_PORT: Final = 11434
_PORTS: Final = {"http": 80, "https": 443}
_THIS_MACHINE: Final = "localhost"


def server_of(address: str, port: int | None = None) -> str:
    """Return ``host:port`` of an address, ``localhost`` for this machine however it is spelled.

    ``port`` is that of an address without one, where the scheme does not tell. Empty for what is no address.
    """
    scheme, mark, _ = address.partition("://")
    try:
        parts = urlsplit(address if mark else f"//{address}")
        found = parts.port or (_PORTS.get(scheme) if mark else None) or port
    except ValueError:
        return ""
    host = parts.hostname or ""
    return f"{_THIS_MACHINE if is_loopback(host) else host}:{found}" if host else ""


def is_loopback(host: str) -> bool:
    """Tell whether a host name means this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == _THIS_MACHINE or host.endswith(f".{_THIS_MACHINE}")
    return address.is_loopback


def ollama_server(host: str | None) -> str:
    """Return which server the Ollama client asks; ``host`` is the agent's option, and goes before ``OLLAMA_HOST``."""
    given = host or os.environ.get("OLLAMA_HOST") or "127.0.0.1"
    return server_of(given.replace("0.0.0.0", "127.0.0.1"), OLLAMA_PORT)  # noqa: S104 - what a server may be told


def ollama_parallel(server: str, given: int | None) -> int | None:
    """Return how many requests an Ollama server works on at a time, ``None`` where nobody says so.

    Its API does not tell. The server reads ``OLLAMA_NUM_PARALLEL``, and one on this machine most likely from the
    environment that the run has.
    """
    text = os.environ.get("OLLAMA_NUM_PARALLEL", "").strip()
    if given is None and server.startswith(f"{_THIS_MACHINE}:") and text.isascii() and text.isdigit():
        return int(text) or None  # it takes 0 for its own choice
    return given

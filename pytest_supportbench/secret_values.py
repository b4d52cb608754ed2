"""Which values count as secrets: those of variables, headers, options and addresses whose names or places say so."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from pytest_supportbench.patterns import later

MIN_CHARS: Final = 8
"""Shorter values are no secrets worth the name, and blanking them would spoil ordinary text."""


_VARIABLE: Final = later(
    r"(?:^|[\W_]|api|access|private|secret|auth)keys?(?![a-z])|tokens?(?![a-z])|secret|passw|(?<=_)pwd|credential"
    r"|authorization|cookies?(?![a-z])|dsn(?![a-z])",
    re.IGNORECASE,
)
_SENT: Final = later(r"key|token|secret|passw|credential|auth|cookie|session|sig|code", re.IGNORECASE)
_OPTION: Final = later(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_WORDS: Final = later(r"[a-z]+([ _-][a-z]+)*", re.IGNORECASE)
_DATE: Final = later(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_SETTING: Final = later(
    r"expir\w*$|(?:^|[\W_])(?:ttl|limit|max|min|count|size|length|budget|url|uri|endpoint|host|name|file|path|dir|date"
    r"|time|timeout|seconds|at|age|version|type|mode|region|issuer|audience|algorithm)$",
    re.IGNORECASE,
)
_WORD: Final = r"[a-z]{1,24}\d{0,2}"
_HOST: Final = rf"({_WORD}|\d{{1,3}})([.-]({_WORD}|\d{{1,3}}))*(:\d+)?"
_LOOKS_SET: Final = later(
    rf"[\d.,:_+-]+|{_WORD}([ ._/-]{_WORD})*|https?://{_HOST}(/{_WORD}([._-]({_WORD}|\d{{1,3}}))*)*/?"
    rf"|(~|[.]{{1,2}})?(/[.]?{_WORD}([ ._-]{_WORD})*)+",
    re.IGNORECASE,
)
"""What a setting beside a secret looks like, such as the limit of tokens or where they are fetched: never random."""

_ORDINARY: Final = later(rf"{_WORDS.pattern}|[\d.:-]+", re.IGNORECASE)
_USERINFO: Final = later(r"://([^/@\s:?#]*)(?::([^/@\s]*))?@")


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of environment variables whose names say that they are secret, and passwords in addresses.

    Plain words, dates and paths that lead somewhere are left out, such as ``TOKEN_MODE=strict``, and settings such as
    ``TOKEN_LIMIT=1000000``.
    """
    named = [
        value
        for name, value in environment.items()
        if _names_secret(_VARIABLE, name, value) and len(value) >= MIN_CHARS and not _is_plain(value)
    ]
    inside = [secret for value in environment.values() for secret in address_secrets(value)]
    return tuple(dict.fromkeys([*named, *(value for value in inside if not _is_plain(value))]))


def address_secrets(text: str) -> tuple[str, ...]:
    """Return the passwords that addresses in a text carry, as they are and as they are sent; also a user alone."""
    found: list[str] = []
    for match in _USERINFO.finditer(text):
        user, password = unquote(match[1]), unquote(match[2] or "")
        found += [password or user, match[2] or match[1]]
        found.append(base64.b64encode(f"{user}:{password}".encode()).decode())
    return tuple(dict.fromkeys(value for value in found if value))


def with_variables(
    headers: Iterable[tuple[str, str]], variables: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return headers under their own names and those of their variables: either may say that the value is secret."""
    known = dict(variables)
    return [(f"{name} {known.get(name, '')}", value) for name, value in headers]


def sent_secrets(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return what headers and queries hide, whole and in parts.

    Ordinary words, numbers and dates count as secrets only where the name says so.
    """
    return tuple(
        dict.fromkeys(
            part
            for name, value in pairs
            for part in (value, *re.split(r"[\s;,=]+", value))
            if part and (_names_secret(_SENT, name, part) or not _ORDINARY.fullmatch(part))
        )
    )


def option_secrets(options: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Return the values of options that are named like secrets, and the passwords in addresses that options hold.

    An option that names an environment variable, such as ``key_env``, is none.
    """
    found: list[str] = []
    for name, value in options:
        if isinstance(value, str):
            found += address_secrets(value)
            if _names_secret(_OPTION, name, value) and not name.endswith("_env") and not _is_plain(value):
                found.append(value)
    return tuple(dict.fromkeys(found))


def _names_secret(secret: re.Pattern[str], name: str, value: str) -> bool:
    """Tell whether one of the words of a name says that its value is secret, and not a setting that looks like one."""
    is_setting = _LOOKS_SET.fullmatch(value) is not None
    return any(
        secret.search(word) is not None and not (is_setting and _SETTING.search(word))
        for word in name.split()
    )


def _is_plain(value: str) -> bool:
    return any(kind.fullmatch(value) for kind in (_WORDS, _DATE)) or _is_path(value)


def _is_path(value: str) -> bool:
    """Tell whether a text is a path: what it names, or the folder that would hold it, is there. Keys begin so too."""
    if not value.startswith(("/", "~", ".")):
        return False
    try:
        path = Path(value).expanduser()
        near = path.parent
        return path.exists() or (near.is_dir() and near not in {Path(near.anchor), Path()})
    except (OSError, RuntimeError, ValueError):
        return False

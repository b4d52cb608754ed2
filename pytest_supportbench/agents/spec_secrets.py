"""What in a spec is secret: passwords in addresses, and values behind words such as ``key`` in a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from pytest_supportbench.patterns import later

_NAME: Final = r"(?:key|token|secret|passw|credential|auth)[\w-]*"
_SCHEME: Final = r"(?:bearer|basic|token)"
_QUOTED: Final = r"""'[^']*'|"[^"]*"|(?:'[^'\s]*'|"[^"\s]*"|[^&\s'"])+"""
_VALUE: Final = later(rf"({_NAME}[=:\s]\s*(?:{_SCHEME}\s+)?)(?:{_QUOTED})", re.IGNORECASE)
_WORD: Final = later(
    rf"[\w.-]*{_NAME}(?:\s*[=:]\s*(?:{_SCHEME}(?:\s+|$))?(?P<value>.*))?", re.IGNORECASE | re.DOTALL
)
_USER: Final = later(r"-u|--(?:proxy-)?user", re.IGNORECASE)
_USERINFO: Final = later(r"(?<=//)[^/@\s]*@")
_MIN_SEEN: Final = 4
"""A shorter value is blanked only where it stands behind its name, since it may be part of any word."""


def public(text: str) -> str:
    """Return a spec as messages may quote it: no passwords, no query of a URL, no values named like secrets."""
    if text.startswith(("http:", "https:")):
        text = re.split(r"[?#]", text, maxsplit=1)[0]
    return blanked(text)


def blanked(text: str) -> str:
    """Return a text without passwords in URLs and without values named like secrets."""
    text = _USERINFO.sub("***@", text)
    for value in sorted(_of_words(text), key=len, reverse=True):
        if len(value) >= _MIN_SEEN:
            text = text.replace(value, "***")
    return _VALUE.sub(r"\1***", text)


def hidden(text: str) -> tuple[str, ...]:
    """Return the values that `public` blanks in a command."""
    found = [match[0].rstrip("@").rpartition(":")[2] for match in _USERINFO.finditer(text)]
    return tuple(dict.fromkeys([*_of_words(text), *found]))


def _of_words(text: str) -> Iterator[str]:
    """Yield the secret values of a command by its words, as a shell splits it; one may be a command itself."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    before = ""
    for word in words:
        if before and re.fullmatch(_SCHEME, word, re.IGNORECASE):
            continue
        named = _WORD.fullmatch(word)
        if before:
            yield word.partition(":")[2] if _USER.fullmatch(before) and ":" in word else word
            before = ""
        elif _USER.fullmatch(word):
            before = word
        elif named is not None and " " not in word.partition(named["value"] or "\n")[0].strip():
            if named["value"]:
                yield named["value"]
                yield named["value"].split()[0]  # a shell's own command may go on behind it
            else:
                before = word
        elif len(words) > 1 and (" " in word or "\n" in word):
            yield from _of_words(word)
        else:
            yield from (match[0][len(match[1]) :] for match in _VALUE.finditer(word))

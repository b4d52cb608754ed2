"""Regular expressions that are compiled when they are first asked something.

Compiling the few hundred of the scorer takes a fifth of a second, and a run in one language needs half of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """Has the methods of a compiled pattern from the first time on that one of them is needed."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled pattern, and keep it, so that this is asked once for each."""
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            compiled = self.__dict__["_compiled"] = re.compile(self.pattern, self._flags)
        value = getattr(compiled, name)
        self.__dict__[name] = value
        return value


def later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what does as `re.compile` returns it, compiled on first use; errors in ``pattern`` come then, too."""
    return cast("re.Pattern[str]", _Later(pattern, flags))


class _Needing:
    """Searches as a pattern does, in texts that have one of the words which each of its matches has."""

    def __init__(self, words: tuple[str, ...], pattern: str) -> None:
        self.words = words
        self.pattern = later(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        for word in self.words:  # a loop, since any() takes as long as most of the searches that it saves
            if word in text:
                return self.pattern.search(text)
        return None


def needing(words: str, pattern: str) -> re.Pattern[str]:
    """Return what searches a text as `later` would, if there is no match without one of the ``words``.

    That is much cheaper where a pattern begins with common words (``your``) and each match has a rare one.
    """
    return cast("re.Pattern[str]", _Needing(tuple(words.split()), pattern))

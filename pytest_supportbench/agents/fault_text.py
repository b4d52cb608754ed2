"""What the modules that explain exceptions of model servers and agents share: where one came from, in one line."""

from __future__ import annotations

from typing import Final

MAX_DETAIL_CHARS: Final = 300


def chain(error: BaseException) -> list[BaseException]:
    """Return an exception and what it came from, outermost first; clients hide causes with ``from None``."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


def one_line(text: str) -> str:
    """Return a text as one bounded line that can be stored and shown."""
    return " ".join(text.split())[:MAX_DETAIL_CHARS].encode("utf-8", "backslashreplace").decode()

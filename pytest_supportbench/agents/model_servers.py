"""What `openai` and `ollama` read alike in what a model server sent, whichever API it speaks.

Ollama and llama.cpp answer both APIs with the same words, and gateways pass on the words of others.
"""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_supportbench.agents.fault_text import one_line
from pytest_supportbench.protocol import Unreadable

MAX_TEXT_CHARS: Final = 2_000
"""How much of what a server says is searched or kept."""

TLS_REMEDY: Final = (
    "write http:// for a server without TLS; else check the certificate's host name and dates, or set SSL_CERT_FILE to "
    "the authority that signed it; certificates are always checked"
)

_MALFORMED_STATUS: Final = frozenset({400, 422, 500})
_MALFORMED_CODES: Final = frozenset({"json_validate_failed", "output_parse_failed", "tool_use_failed"})
_MALFORMED: Final = re.compile(
    r"error parsing tool call\b"
    r"|\bXML syntax error on line \d"
    r"|\bfailed to parse XML:"
    r"|\bexpected element type <"
    r"|\bfailed to parse tool call(?! arguments)"  # arguments are llama.cpp's word for those of earlier turns
    r"|\brepair failed to produce valid JSON"
    r"|\bfailed to parse input at pos \d"
    r"|\btool call validation failed"
    r"|\bfailed to call a function\b"
    r"|\bfailed to generate JSON\b",
    re.IGNORECASE,
)
_BEGINNING: Final = 200
"""The server's own words stand first, perhaps behind a gateway's; after them it may quote the model or the case."""

_OUT_OF_QUOTA: Final = re.compile(
    r"exceeded your current quota|insufficient[ _](quota|balance|credits?)\b|credit balance is too low"
    r"|billing hard limit|\busage limit\b|requires a subscription",
    re.IGNORECASE,
)
_WAIT: Final = re.compile(r"\b(retry|try again) in \d", re.IGNORECASE)
_MODEL_MISSING: Final = re.compile(
    r"(?<![/\w])model(?![/\w])[^<>]{0,200}?\b(not found|does(n't| not) exist|not exist|is not available)\b"
    r"|\bnot a valid model\b|\binvalid model( name\b| id\b|:)|\b(unknown|no such) model\b|^model: ",
    re.IGNORECASE,
)


def malformed(status: int, text: str, codes: tuple[str, ...] = (), wrote: str = "") -> Unreadable | None:
    """Return a server's error as the model's own invalid reply, where it is about what the model wrote.

    Servers that read native calls out of the model's text refuse the whole answer over one that is malformed. ``wrote``
    is the model's text, where the server shows it.
    """
    known = _MALFORMED_CODES.intersection(codes) or _MALFORMED.search(text[:_BEGINNING])
    if status not in _MALFORMED_STATUS or not known:
        return None
    return not_understood(text, wrote or text)


def not_understood(said: str, wrote: str) -> Unreadable:
    """Return the invalid reply of a model whose text its server could not read, with what the server said."""
    doubt = "its parser, or a limit on tokens, may be at fault as well"
    reason = f"the server could not read what the model wrote: {one_line(said)} ({doubt})"
    return Unreadable(reason=reason[:500], excerpt=wrote[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode())


def out_of_quota(text: str) -> bool:
    """Tell whether an error says that an account has nothing left, and not only to wait for some seconds."""
    return bool(_OUT_OF_QUOTA.search(text)) and not _WAIT.search(text)


def misses_model(text: str) -> bool:
    """Tell whether an error says that a model is not there; the word alone may stand in any path."""
    return bool(_MODEL_MISSING.search(text[:MAX_TEXT_CHARS]))


def is_page(text: str) -> bool:
    """Tell whether a text is a web page, whose words say nothing about the model."""
    return text.lstrip().startswith("<")


def is_stream(text: str) -> bool:
    """Tell whether a body is a stream of events or of JSON lines, which nobody asked for."""
    begun = text.lstrip()
    if begun.startswith(("data:", "event:", ": ")):
        return True
    first, _, rest = begun.partition("\n")
    try:
        return rest.lstrip().startswith("{") and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False

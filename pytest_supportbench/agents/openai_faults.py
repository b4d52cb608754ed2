"""Names what went wrong between us and an OpenAI-compatible server: a stable cause, what was said, and a remedy.

Servers agree on the shape of an error (``{"error": {"message", "type", "code", "param"}}``) and on little else, so the
words are looked at as well.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import openai

from pytest_supportbench.agents.fault_text import MAX_DETAIL_CHARS, chain, one_line
from pytest_supportbench.agents.model_servers import (
    is_page,
    malformed,
    misses_model,
    out_of_quota,
)
from pytest_supportbench.agents.openai_access import TooLongError
from pytest_supportbench.agents.openai_causes import Place, remedy, what
from pytest_supportbench.agents.retries import Transient, retry_after
from pytest_supportbench.errors import InfrastructureError
from pytest_supportbench.protocol import Unreadable

_MASKED: Final = re.compile(r"\S*\*{3}\S*")

FAULTS: Final = (
    openai.OpenAIError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    OSError,
    ValueError,  # among them headers and bodies that are no text
    TypeError,
    AttributeError,  # an error body that is no object
    RecursionError,
)
"""Whatever a call of the client can raise on account of the server or of what was asked of it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said was wrong; ``status`` as in HTTP.

    ``wrote`` is what the model wrote, where that was wrong. ``waits`` says that the server named a time to wait.
    """

    status: int
    text: str
    codes: tuple[str, ...] = ()
    param: str = ""
    wrote: str = ""
    waits: bool = False


_BY_CODE: Final = {
    "DeploymentNotFound": "model_missing",
    "billing_hard_limit_reached": "quota_exhausted",
    "billing_not_active": "quota_exhausted",
    "content_filter": "content_filter",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "insufficient_quota": "quota_exhausted",
    "invalid_api_key": "unauthorised",
    "model_decommissioned": "model_missing",
    "model_not_available": "model_missing",
    "model_not_found": "model_missing",
    "overloaded": "server_busy",
    "overloaded_error": "server_busy",
    "unsupported_parameter": "bad_option",
    "unsupported_value": "bad_option",
}
_BY_TEXT: Final = (
    ("context size", "context_overflow"),
    ("context length", "context_overflow"),
    ("maximum context", "context_overflow"),
    ("maximum model length", "context_overflow"),
    ("prompt is too long", "context_overflow"),
    ("input is too long", "context_overflow"),
    ("input token count", "context_overflow"),
    ("response_format", "bad_format"),
    ("json_schema", "bad_format"),
    ("json schema", "bad_format"),
    ("failed to parse grammar", "bad_format"),
    ("support tool", "no_tools"),
    ("tool use", "no_tools"),
    ("tool choice", "no_tools"),
    ("tool-call-parser", "no_tools"),
    ("tool_choice", "no_tools"),
    ("--jinja", "no_tools"),
    ("unsupported parameter", "bad_option"),
    ("unsupported value", "bad_option"),
    ("out of memory", "out_of_memory"),
)
_BY_STATUS: Final = {
    401: "unauthorised",
    402: "quota_exhausted",
    403: "forbidden",
    405: "not_openai",
    408: "time_out",
    503: "server_busy",
    504: "time_out",
    529: "server_busy",
}
_OTHERWISE: Final = {404: "not_openai", 413: "request_too_large", 429: "rate_limited"}
"""Statuses that stand for several things, with what they are where the words say nothing else."""

_TOO_MANY: Final = 429
_REDIRECTS: Final = range(300, 400)
_CLIENT_ERRORS: Final = range(400, 500)
_RETRIED_STATUS: Final = frozenset({408, 429, 502, 503, 504, 529})
_RETRIED_CAUSE: Final = frozenset({"connection_refused", "connection_lost", "server_busy"})
_FAILS_AGAIN: Final = frozenset({"context_overflow", "model_missing", "quota_exhausted", "request_too_large"})


def explain(error: BaseException, place: Place) -> InfrastructureError:
    """Return the infrastructure error that an exception of the client amounts to."""
    said = said_by(error)
    cause = cause_of(said) if said else _cause(error)
    return fault(cause, said_text(said) if said else _detail(error), place)


def to_raise(error: BaseException, place: Place) -> Transient | InfrastructureError:
    """Return what an attempt raises for an exception: one that is worth another try is `Transient`."""
    found = explain(error, place)
    said = said_by(error)
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    if said is None:
        return Transient(found) if found.cause in _RETRIED_CAUSE else found
    return said_to_raise(said, place, retry_after(headers))


def said_to_raise(said: Said, place: Place, seconds: float | None = None) -> Transient | InfrastructureError:
    """Return what an attempt raises for an error that the server put into words."""
    found = fault(cause_of(said), said_text(said), place)
    again = said.status in _RETRIED_STATUS or found.cause in _RETRIED_CAUSE
    return Transient(found, seconds) if again and found.cause not in _FAILS_AGAIN else found


def malformed_by(error: BaseException) -> Unreadable | None:
    """Return an exception of the client as the model's own invalid reply, where that is what it is about."""
    said = said_by(error)
    return malformed_in(said) if said else None


def malformed_in(said: Said) -> Unreadable | None:
    """Return what the server said as the model's own invalid reply, where that is what it is about."""
    return malformed(said.status, said.text, said.codes, said.wrote)


def fault(cause: str, detail: str, place: Place) -> InfrastructureError:
    """Return the error of one cause, with what was said."""
    said = f" ({_line(detail)})" if detail else ""
    msg = f"{place.address}, model {place.model!r}: {what(cause, place)}{said}"
    return InfrastructureError(cause, msg, remedy(cause, detail, place))


def said_by(error: BaseException) -> Said | None:
    """Return what the server said, if the exception is about an answer of its own."""
    if not isinstance(error, openai.APIStatusError):
        return None
    return said_in(error.body, error.status_code)


def said_in(body: Any, status: int) -> Said:
    """Return what the body of an error says; some servers wrap it in ``error`` or a list, some send plain text."""
    if isinstance(body, list) and body and isinstance(body[0], dict):
        body = body[0]
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return Said(status, inner if isinstance(inner, str) else json.dumps(inner)[:MAX_DETAIL_CHARS])
    text = inner.get("message") or inner.get("detail") or inner
    details = inner.get("details")
    return Said(
        status,
        text if isinstance(text, str) else json.dumps(text)[:MAX_DETAIL_CHARS],
        tuple(str(inner.get(name)) for name in ("code", "type") if inner.get(name)),
        str(inner.get("param") or ""),
        str(inner.get("failed_generation") or ""),
        isinstance(details, list) and any("retryDelay" in item for item in details if isinstance(item, dict)),
    )


def said_text(said: Said) -> str:
    """Return what was said with its status, and the parameter that it is about."""
    about = f" [{said.param}]" if said.param and said.param not in said.text else ""
    return f"status {said.status}: {said.text}{about}"


def cause_of(said: Said) -> str:
    """Return the cause that the words, the code and the status of a server's error amount to."""
    coded = next((_BY_CODE[code] for code in said.codes if code in _BY_CODE), None)
    if coded is not None:
        return coded
    if said.status in _REDIRECTS:
        return "redirected"
    if said.status in _BY_STATUS:
        return _BY_STATUS[said.status]
    fallback = "bad_request" if said.status in _CLIENT_ERRORS else "server_error"
    return _by_text(said) or _OTHERWISE.get(said.status, fallback)


def _by_text(said: Said) -> str | None:
    text = said.text.casefold()
    if is_page(text):
        return None
    if "request too large" in text:
        return "request_too_large"
    if out_of_quota(text) and not said.waits:
        return "quota_exhausted"
    if said.status == _TOO_MANY:
        return None
    found = next((cause for fragment, cause in _BY_TEXT if fragment in text), None)
    if found is None and said.status in _CLIENT_ERRORS and misses_model(text):
        return "model_missing"
    return found


def _cause(error: BaseException) -> str:  # noqa: PLR0911 - one line for each kind of exception
    links = chain(error)

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(link, kinds) for link in links)

    if among(TooLongError):
        return "answer_too_long"
    if among(openai.APITimeoutError, httpx2.TimeoutException):
        return "time_out"
    if among(socket.gaierror):
        return "unknown_host"
    if among(ssl.SSLError):
        return "tls_refused"
    if among(httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError):
        return "bad_address"
    if among(httpx2.ConnectError, ConnectionRefusedError):
        return "connection_refused"
    if among(openai.APIConnectionError, httpx2.TransportError, OSError):
        return "connection_lost"
    return "not_json" if isinstance(error, ValueError) else "invalid_response"


def _detail(error: BaseException) -> str:
    """Return what the innermost exception says; the client's own text is the same for all of them."""
    last = next((str(link) for link in reversed(chain(error)) if str(link)), "")
    return last or type(error).__name__


def _line(text: str) -> str:
    """Return a text as one bounded line; a key of which some letters are masked is masked whole."""
    return one_line(_MASKED.sub("***", text))

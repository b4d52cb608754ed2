"""Names what went wrong between us and an Ollama server: a stable cause, what was said, and a remedy.

The client lets exceptions of four layers through: its own, httpx's, pydantic's and the standard library's.
"""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from typing import Final

import httpx
import ollama
from pydantic import ValidationError

from pytest_supportbench.agents.fault_text import chain, one_line
from pytest_supportbench.agents.model_servers import (
    TLS_REMEDY,
    is_page,
    is_stream,
    malformed,
    misses_model,
    out_of_quota,
)
from pytest_supportbench.agents.retries import Transient, retry_after
from pytest_supportbench.errors import InfrastructureError
from pytest_supportbench.protocol import Unreadable

FAULTS: Final = (
    httpx.HTTPError,
    httpx.InvalidURL,
    ollama.ResponseError,
    ollama.RequestError,
    OSError,  # among them the builtin ConnectionError, which the client raises for a refused connection
    ValueError,  # among them bad JSON, bad UTF-8 and pydantic's ValidationError
    TypeError,  # JSON that is no object
    AttributeError,  # an error body that is no object
    RecursionError,
)
"""Whatever a call of the client can raise on account of the server or of what was asked of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which server and model an error is about; ``host`` carries no password."""

    host: str
    model: str
    timeout: float


_BY_TEXT: Final = (
    ("does not support tools", "no_tools"),
    ("does not support thinking", "no_thinking"),
    ("think value", "no_thinking"),
    ("invalid format", "bad_format"),
    ("failed to parse grammar", "bad_format"),
    ("must be of type", "bad_option"),
    ("invalid option", "bad_option"),
    ("server busy", "server_busy"),
    ("maximum pending requests", "server_busy"),
    ("runner has unexpectedly stopped", "runner_died"),
    ("runner process has terminated", "runner_died"),
    ("runner process no longer running", "runner_died"),
    ("system memory", "out_of_memory"),
    ("out of memory", "out_of_memory"),
    ("context length", "context_overflow"),
    ("context size", "context_overflow"),
)
_BY_STATUS: Final = {
    401: "unauthorised",
    402: "quota_exhausted",
    403: "unauthorised",
    408: "time_out",
    429: "rate_limited",
    503: "server_busy",
    504: "time_out",
}
_SERVER_ERRORS: Final = 500
_RETRIED_STATUS: Final = frozenset({408, 429, 502, 503, 504})
_RETRIED_CAUSE: Final = frozenset({"connection_refused", "connection_lost", "runner_died", "server_busy"})
_NOT_FOUND: Final = 404
_REDIRECTS: Final = range(300, 400)
_STREAMED: Final = -1


def explain(error: BaseException, place: Place) -> InfrastructureError:
    """Return the infrastructure error that ``error`` amounts to."""
    return fault(_cause(error), _detail(error), place)


def to_raise(error: BaseException, place: Place) -> Transient | InfrastructureError:
    """Return what an attempt raises for an exception: one that is worth another try is `Transient`."""
    found = explain(error, place)
    if found.cause == "quota_exhausted":
        return found
    if isinstance(error, ollama.ResponseError) and error.status_code in _RETRIED_STATUS:
        # The client keeps the status and drops the headers; they are with what it came from.
        responses = (link.response for link in chain(error) if isinstance(link, httpx.HTTPStatusError))
        return Transient(found, next((retry_after(response.headers) for response in responses), None))
    return Transient(found) if found.cause in _RETRIED_CAUSE else found


def malformed_by(error: BaseException) -> Unreadable | None:
    """Return an exception of the client as the model's own invalid reply, where that is what it is about."""
    if not isinstance(error, ollama.ResponseError):
        return None
    return malformed(error.status_code, str(error.error))


def fault(cause: str, detail: str, place: Place) -> InfrastructureError:
    """Return the error of one cause, with what was said."""
    said = f" ({detail})" if detail else ""
    return InfrastructureError(
        cause, f"ollama at {place.host}, model {place.model!r}: {_WHAT[cause]}{said}", remedy(cause, place)
    )


def remedy(cause: str, place: Place) -> str:
    """Return what to do about a cause."""
    if cause == "model_missing":
        return f"run: ollama pull {place.model}"
    if cause == "time_out":
        return (
            f"raise the option timeout (now {place.timeout:g} s), or take a smaller model or a faster machine"
        )
    return _REMEDIES[cause]


def _cause(error: BaseException) -> str:  # noqa: PLR0911 - one line for each kind of exception
    if isinstance(error, ollama.ResponseError):
        return _from_response(error)
    if any(isinstance(link, ssl.SSLError) for link in chain(error)):
        return "tls_refused"
    if isinstance(error, httpx.TimeoutException):
        return "time_out"
    if isinstance(error, ConnectionError | httpx.ConnectError):
        unknown = any(isinstance(link, socket.gaierror) for link in chain(error))
        return "unknown_host" if unknown else "connection_refused"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return "bad_host"
    if isinstance(error, httpx.TransportError):
        return "connection_lost"
    if isinstance(error, ValidationError):
        return "bad_format" if error.title.endswith("Request") else "invalid_response"
    if isinstance(error, ValueError):
        return "streamed" if isinstance(error, json.JSONDecodeError) and is_stream(error.doc) else "not_json"
    return "invalid_response"


def _from_response(error: ollama.ResponseError) -> str:
    text = "" if is_page(str(error.error)) else str(error.error).casefold()
    if out_of_quota(text):
        return "quota_exhausted"
    for fragment, cause in _BY_TEXT:
        if fragment in text:
            return cause
    if error.status_code == _STREAMED:
        return "stream_error"
    if error.status_code == _NOT_FOUND:
        return "model_missing" if misses_model(text) else "not_ollama"
    if error.status_code in _REDIRECTS:
        return "redirected"
    fallback = "server_error" if error.status_code >= _SERVER_ERRORS else "bad_request"
    return _BY_STATUS.get(error.status_code, fallback)


def _detail(error: BaseException) -> str:
    """Return what was said, in one bounded line; for a refused connection what the socket said."""
    if isinstance(error, ollama.ResponseError):
        text = f"status {error.status_code}: {error.error}"
    elif isinstance(error, ValidationError):
        text = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_url=False)[:3]
        )
    elif isinstance(error, ConnectionError):
        text = str(chain(error)[-1])
    elif isinstance(error, json.JSONDecodeError) and error.doc:
        text = f"it begins with {error.doc[:80]!r}"
    else:
        text = str(error) or type(error).__name__
    return one_line(text)


_WHAT: Final = {
    "bad_format": "it does not take the JSON Schema of a turn",
    "bad_host": "the host is no address",
    "bad_option": "it does not take one of the options",
    "bad_request": "it refused the request",
    "connection_lost": "the connection broke before the answer was complete",
    "connection_refused": "nothing answers there",
    "context_overflow": "the conversation does not fit into the context",
    "invalid_response": "it answered with JSON that is no chat response",
    "model_missing": "it does not have the model",
    "no_thinking": "the model cannot think",
    "no_tools": "the model cannot call tools",
    "not_json": "it answered with something that is no JSON",
    "not_ollama": "what answers there has no such route",
    "out_of_memory": "the model does not fit into memory",
    "quota_exhausted": "the account's plan does not cover it, or not for now",
    "rate_limited": "it takes no more requests for now",
    "redirected": "it sends requests elsewhere, which is not followed: a key would go along",
    "reply_incomplete": "the server stopped before the answer was complete",
    "runner_died": "the process that runs the model died",
    "server_busy": "it is busy or still loading",
    "server_error": "it failed",
    "stream_error": "it failed in the middle of the answer",
    "streamed": "it streamed the answer, which nobody asked for",
    "tls_refused": "no secure connection came about",
    "time_out": "no answer in time",
    "unauthorised": "it refused access",
    "unknown_host": "the host name is unknown",
}
_LOOK: Final = "look at the server's log (journalctl -u ollama, or ~/.ollama/logs/server.log)"
_REMEDIES: Final = {
    "bad_format": "upgrade Ollama; constrained output needs version 0.5 or later",
    "bad_host": "write the option host or OLLAMA_HOST as http://127.0.0.1:11434",
    "bad_option": "correct the options after '?' in the agent spec",
    "bad_request": "upgrade Ollama, or correct the options in the agent spec",
    "connection_lost": f"{_LOOK}; the server or a proxy before it closed the connection",
    "connection_refused": "start the server with: ollama serve (or set the option host or OLLAMA_HOST)",
    "context_overflow": "raise the option num_ctx (and memory for it), or shorten the prompt",
    "invalid_response": "upgrade Ollama, or check that the host is an Ollama server and not another API",
    "no_thinking": "drop the option think, or take a model that thinks",
    "no_tools": "take a model that supports tools",
    "not_json": "check that the host is an Ollama server and no web page or proxy",
    "not_ollama": "check the host and that no path or proxy comes between; upgrade Ollama",
    "out_of_memory": "take a smaller model or quantisation, or lower the option num_ctx",
    "quota_exhausted": "upgrade the account, wait until its limit is renewed, or take a model of your own",
    "rate_limited": "lower --supportbench-concurrency, or raise the option retries and --supportbench-timeout",
    "redirected": "write the address that it names as the option host or OLLAMA_HOST",
    "reply_incomplete": f"{_LOOK}; a model that was stopped because it repeated itself may need another temperature",
    "runner_died": f"{_LOOK}; most often memory ran out: lower num_ctx or take a smaller model",
    "server_busy": "wait, lower --supportbench-concurrency, or raise the option retries or OLLAMA_MAX_QUEUE",
    "server_error": _LOOK,
    "stream_error": _LOOK,
    "streamed": "switch streaming off at whatever stands before the server, or check that Ollama answers there",
    "tls_refused": TLS_REMEDY,
    "unauthorised": "set OLLAMA_API_KEY, run: ollama signin, or mend the access rules of a proxy before it",
    "unknown_host": "correct the option host or OLLAMA_HOST",
}

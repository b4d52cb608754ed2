"""Tells failures of a model server from those of the agent that an agent framework runs, without importing any client.

Frameworks pass the exceptions of many clients on. What makes one a server's failure: it came out of the framework's
code for models, and it looks like what clients raise: it has an HTTP status, or is about a connection or a time-out.
"""

from __future__ import annotations

import re
import socket
from typing import Final

from pytest_supportbench.agents.base import public_text
from pytest_supportbench.agents.fault_text import one_line
from pytest_supportbench.errors import InfrastructureError

MAX_LINKS: Final = 20
"""How many causes of an exception are looked at."""

_BY_STATUS: Final = {
    401: "unauthorised",
    402: "quota_exhausted",
    403: "unauthorised",
    404: "model_missing",
    408: "time_out",
    413: "context_overflow",
    429: "rate_limited",
    503: "server_busy",
    504: "time_out",
    529: "server_busy",
}
_BY_TEXT: Final = (
    (re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE), "quota_exhausted"),
    (re.compile(r"context.?(length|window|size)|maximum context", re.IGNORECASE), "context_overflow"),
)
_BY_NAME: Final = (
    (re.compile(r"Time(d)?_?out", re.IGNORECASE), "time_out"),
    (re.compile(r"ContextWindow|ContextOverflow"), "context_overflow"),
    (re.compile(r"QuotaExceeded"), "quota_exhausted"),
    (re.compile(r"RateLimit"), "rate_limited"),
    (re.compile(r"Authentication|PermissionDenied"), "unauthorised"),
    (re.compile(r"Connect|Network|RemoteProtocol|ReadError|WriteError|IncompleteRead"), "connection_lost"),
    (re.compile(r"ModelAPIError|ServerError|Unavailable|Overloaded"), "server_error"),
)
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500


def explain(error: BaseException, where: str, packages: tuple[str, ...]) -> InfrastructureError | None:
    """Return the infrastructure error that ``error`` amounts to; ``None`` for a failure of the agent's own.

    ``packages`` are the folders of the framework's code for models, such as ``pydantic_ai/models``.
    """
    links = _links(error)
    if not _came_through(links, packages):
        return None
    cause = next((found for link in links if (found := _cause(link, links)) is not None), None)
    if cause is None:
        return None
    what, remedy = _KNOWN[cause]
    detail = one_line(str(public_text(str(error) or type(error).__name__)))
    return InfrastructureError(cause, f"{where}: {what} ({detail})", remedy)


def _links(error: BaseException) -> list[BaseException]:
    """Return an exception, what it groups and what it came from, outermost first."""
    links: list[BaseException] = []
    waiting = [error]
    while waiting and len(links) < MAX_LINKS:
        link = waiting.pop(0)
        if link in links:
            continue
        links.append(link)
        further = [*getattr(link, "exceptions", ())[:MAX_LINKS], link.__cause__ or link.__context__]
        waiting.extend(item for item in further if isinstance(item, BaseException))
    return links


def _came_through(links: list[BaseException], packages: tuple[str, ...]) -> bool:
    for link in links:
        frame = link.__traceback__
        while frame is not None:
            name = frame.tb_frame.f_code.co_filename.replace("\\", "/")
            if any(f"/{package}/" in name for package in packages):
                return True
            frame = frame.tb_next
    return False


def _cause(error: BaseException, links: list[BaseException]) -> str | None:
    status = _status(error)
    if status is not None:
        text = str(error)
        if status < _SERVER_ERROR:
            found = next((cause for pattern, cause in _BY_TEXT if pattern.search(text)), None)
            if found is not None:
                return found
        fallback = "server_error" if status >= _SERVER_ERROR else "bad_request"
        return _BY_STATUS.get(status, fallback)
    names = " ".join(kind.__name__ for kind in type(error).__mro__[:-3])
    if isinstance(error, TimeoutError):
        return "time_out"
    named = next((cause for pattern, cause in _BY_NAME if pattern.search(names)), None)
    if isinstance(error, ConnectionError) or named == "connection_lost":
        return _connection(links)
    return named


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an exception carries, in one of the ways of clients."""
    response = getattr(error, "response", None)
    for value in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
        if isinstance(value, int) and value >= _CLIENT_ERROR:
            return value
    return None


def _connection(links: list[BaseException]) -> str:
    if any(isinstance(link, socket.gaierror) for link in links):
        return "unknown_host"
    refused = any(isinstance(link, ConnectionRefusedError) for link in links)
    unopened = any(type(link).__name__ == "ConnectError" for link in links)
    return "connection_refused" if refused or unopened else "connection_lost"


_LOOK: Final = "look at the server's log, or the provider's status page"
_KNOWN: Final = {
    "bad_request": ("the server refused the request", "correct the model's settings in the agent's code"),
    "connection_lost": ("the connection broke before the answer was complete", _LOOK),
    "connection_refused": (
        "no connection to the model server",
        "start it, or correct the base URL in the agent's code or environment",
    ),
    "context_overflow": (
        "the conversation does not fit into the context",
        "take a model with a larger context, or shorten the agent's instructions",
    ),
    "model_missing": (
        "the server has no such model or route",
        "correct the model's name or the base URL in the agent's code",
    ),
    "quota_exhausted": (
        "the account's quota is used up",
        "raise it with the provider, or take another account",
    ),
    "rate_limited": ("the server limits the rate of requests", "lower --supportbench-concurrency"),
    "server_busy": ("the server is overloaded", "lower --supportbench-concurrency, or try again later"),
    "server_error": ("the server failed", _LOOK),
    "time_out": (
        "no answer in time",
        "raise the model's time-out in the agent's code, or take a faster model",
    ),
    "unauthorised": (
        "the server refused access",
        "set the key that the agent's code reads, in the environment",
    ),
    "unknown_host": ("the host name is unknown", "correct the base URL in the agent's code or environment"),
}

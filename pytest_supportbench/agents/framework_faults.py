"""Tells failures of a model server from those of the agent that an agent framework runs, without importing any client.

Frameworks pass the exceptions of many clients on. What makes one a server's failure: it came out of the framework's
code for models, and it looks like what clients raise: it has an HTTP status, or is about a connection, a time-out or an
answer that cannot be read.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_supportbench.agents.base import public_text
from pytest_supportbench.agents.fault_text import one_line
from pytest_supportbench.agents.model_servers import TLS_REMEDY, malformed, out_of_quota
from pytest_supportbench.errors import InfrastructureError

if TYPE_CHECKING:
    from types import FrameType

MAX_LINKS: Final = 20
"""How many causes of an exception are looked at."""

_BY_STATUS: Final = {
    401: "unauthorised",
    402: "quota_exhausted",
    403: "unauthorised",
    404: "model_missing",
    408: "time_out",
    413: "request_too_large",
    429: "rate_limited",
    503: "server_busy",
    504: "time_out",
    529: "server_busy",
}
_BY_TEXT: Final = (
    (re.compile(r"\bbilling_(hard_limit_reached|not_active)\b"), "quota_exhausted"),
    (
        re.compile(
            r"context (length|window|size)|\bcontext_length_exceeded\b|\bexceed_context_size_error\b|maximum context"
            r"|maximum model length|(prompt|input) is too long|input token count",
            re.IGNORECASE,
        ),
        "context_overflow",
    ),
    (re.compile(r"\bcontent_filter\b|content management policy", re.IGNORECASE), "content_filter"),
)
"""What a server says that refuses a request; it may quote names of the user's own tools."""

_BY_NAME: Final = (
    (re.compile(r"Time(d)?_?out", re.IGNORECASE), "time_out"),
    (re.compile(r"ContextWindow|ContextOverflow"), "context_overflow"),
    (re.compile(r"LengthFinishReason"), "reply_truncated"),
    (re.compile(r"ContentFilterFinishReason"), "content_filter"),
    (re.compile(r"QuotaExceeded"), "quota_exhausted"),
    (re.compile(r"RateLimit"), "rate_limited"),
    (re.compile(r"Authentication|PermissionDenied"), "unauthorised"),
    (re.compile(r"Connect|Network|RemoteProtocol|ReadError|WriteError|IncompleteRead"), "connection_lost"),
    (re.compile(r"ModelAPIError|ServerError|Unavailable|Overloaded"), "server_error"),
)
_STOPPED: Final = {
    "length": "reply_truncated",
    "max_tokens": "reply_truncated",
    "model_context_window_exceeded": "context_overflow",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "safety": "content_filter",
    "abort": "reply_incomplete",
    "error": "reply_incomplete",
}
"""Why an answer ended before its end, in the words of OpenAI, Anthropic, Google, Bedrock and vLLM, in any case."""

_READS_ANSWERS: Final = re.compile(
    r"_process_\w*response|_validate_completion|_create_chat_result|_format_output|_response_to_result"
)
"""What the frameworks' code for the various providers calls its functions that read an answer."""

_LIBRARIES: Final = tuple(
    {
        str(Path(__file__).parent.parent),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500
_REFUSED: Final = frozenset({400, 413, 422})
"""Statuses of a request that the server read and did not take."""

_TEXT: Final = 10_000
_WORD: Final = 100


def explain(error: BaseException, where: str, packages: tuple[str, ...]) -> InfrastructureError | None:
    """Return the infrastructure error that ``error`` amounts to; ``None`` for a failure of the agent's own.

    ``packages`` are the folders of the framework's code for models, such as ``pydantic_ai/models``.
    """
    links = _links(error, packages)
    if not _came_through(links, packages) or any(map(_wrote_amiss, links)):
        return None
    causes = (_cause(link, links) or _unread(link, packages) for link in links)
    cause = next((found for found in causes if found is not None), None)
    if cause is None:
        return None
    return _fault(cause, str(error) or type(error).__name__, where)


def cut_short(reason: object, where: str) -> InfrastructureError | None:
    """Return the infrastructure error of an answer that ended for ``reason``; ``None`` where the model ended it."""
    word = str(reason or "")[:_WORD].casefold()
    cause = _STOPPED.get(word)
    return _fault(cause, f"it ended with {word!r}", where) if cause else None


def _fault(cause: str, detail: str, where: str) -> InfrastructureError:
    what, remedy = _KNOWN[cause]
    return InfrastructureError(cause, f"{where}: {what} ({one_line(str(public_text(detail)))})", remedy)


def _links(error: BaseException, packages: tuple[str, ...]) -> list[BaseException]:
    """Return an exception, what it groups and what it came from, outermost first.

    What was at hand by chance when the user's own code raised is none of it: it may have been dealt with. Libraries
    hide causes with ``from None``.
    """
    links: list[BaseException] = []
    waiting = [error]
    while waiting and len(links) < MAX_LINKS:
        link = waiting.pop(0)
        if link in links:
            continue
        links.append(link)
        source = link.__cause__
        if source is None and _raised_by_library(link, packages):
            source = link.__context__
        further = [*getattr(link, "exceptions", ())[:MAX_LINKS], source]
        waiting.extend(item for item in further if isinstance(item, BaseException))
    return links


def _came_through(links: list[BaseException], packages: tuple[str, ...]) -> bool:
    return any(_is_of(frame, packages) for link in links for frame in _frames(link))


def _frames(error: BaseException) -> list[FrameType]:
    frames: list[FrameType] = []
    place = error.__traceback__
    while place is not None:
        frames.append(place.tb_frame)
        place = place.tb_next
    return frames


def _is_of(frame: FrameType, packages: tuple[str, ...]) -> bool:
    name = frame.f_code.co_filename.replace("\\", "/")
    return any(f"/{package}/" in name for package in packages)


def _inner(error: BaseException, packages: tuple[str, ...]) -> list[FrameType]:
    """Return the frames from the innermost one of the framework's code for models on; all where there is none."""
    frames = _frames(error)
    last = max((number for number, frame in enumerate(frames) if _is_of(frame, packages)), default=0)
    return frames[last:]


def _raised_by_library(error: BaseException, packages: tuple[str, ...]) -> bool:
    """Tell whether an exception was raised by installed code that the framework or its client called."""
    return all(frame.f_code.co_filename.startswith(("<", *_LIBRARIES)) for frame in _inner(error, packages))


def _unread(error: BaseException, packages: tuple[str, ...]) -> str | None:
    """Return ``invalid_response`` for what an answer that is no chat completion does to the code that reads it."""
    if not _came_through([error], packages) or not _raised_by_library(error, packages):
        return None
    reads = any(_READS_ANSWERS.fullmatch(frame.f_code.co_name) for frame in _inner(error, packages))
    looked_up = isinstance(error, json.JSONDecodeError | LookupError)
    return "invalid_response" if reads or looked_up else None


def _cause(error: BaseException, links: list[BaseException]) -> str | None:
    status = _status(error)
    if status is not None:
        return _by_status(
            status, f"{error} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"[:_TEXT]
        )
    names = " ".join(kind.__name__ for kind in type(error).__mro__[:-3])
    if isinstance(error, TimeoutError):
        return "time_out"
    named = next((cause for pattern, cause in _BY_NAME if pattern.search(names)), None)
    if named == "server_error" and any(isinstance(link, json.JSONDecodeError) for link in links):
        return "invalid_response"
    if isinstance(error, ConnectionError) or named == "connection_lost":
        return _connection(links)
    return named


def _by_status(status: int, text: str) -> str:
    if status >= _SERVER_ERROR:
        return _BY_STATUS.get(status, "server_error")
    if out_of_quota(text):
        return "quota_exhausted"
    found = next((cause for pattern, cause in _BY_TEXT if pattern.search(text)), None)
    if found is not None and (status in _REFUSED or found == "quota_exhausted"):
        return found
    return _BY_STATUS.get(status, "bad_request")


def _wrote_amiss(error: BaseException) -> bool:
    """Tell whether a server refused what the model wrote, such as a native call that is malformed."""
    status, body = _status(error), getattr(error, "body", None)
    if status is None:
        return False
    said = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(said, dict):
        return malformed(status, str(error)) is not None
    codes = tuple(str(said.get(name)) for name in ("code", "type"))
    return malformed(status, str(said.get("message") or error), codes) is not None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an exception carries, in one of the ways of clients."""
    response = getattr(error, "response", None)
    for value in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
        if isinstance(value, int) and value >= _CLIENT_ERROR:
            return value
    return None


def _connection(links: list[BaseException]) -> str:
    if any(isinstance(link, ssl.SSLError) for link in links):
        return "tls_refused"
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
    "content_filter": (
        "the provider's content filter withheld the answer",
        "look at the provider's filter settings; the case may hold words that they do not let pass",
    ),
    "context_overflow": (
        "the conversation does not fit into the context",
        "take a model with a larger context, or shorten the agent's instructions",
    ),
    "invalid_response": (
        "the answer is no chat completion",
        "look at the server's log, or correct the base URL in the agent's code or environment",
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
    "reply_incomplete": ("the server stopped before the answer was complete", _LOOK),
    "reply_truncated": (
        "the answer was cut",
        "raise the limit of tokens in the agent's code, or the server's context",
    ),
    "request_too_large": (
        "the request is larger than the server or the account may take at once",
        "raise the limit that the message names, or shorten the agent's instructions",
    ),
    "server_busy": ("the server is overloaded", "lower --supportbench-concurrency, or try again later"),
    "server_error": ("the server failed", _LOOK),
    "time_out": (
        "no answer in time",
        "raise the model's time-out in the agent's code, or take a faster model",
    ),
    "tls_refused": ("no secure connection came about", TLS_REMEDY),
    "unauthorised": (
        "the server refused access",
        "set the key that the agent's code reads, in the environment",
    ),
    "unknown_host": ("the host name is unknown", "correct the base URL in the agent's code or environment"),
}

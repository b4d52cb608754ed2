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
from pytest_supportbench.agents.openai_access import TooLongError
from pytest_supportbench.agents.retries import Transient, retry_after
from pytest_supportbench.errors import InfrastructureError

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
class Place:
    """Which server and model an error is about; ``address`` carries no password and no query."""

    address: str
    model: str
    timeout: float
    key_env: str
    max_tokens: int
    token_field: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a server said was wrong; ``status`` as in HTTP."""

    status: int
    text: str
    code: str = ""
    param: str = ""


_BY_CODE: Final = {
    "content_filter": "content_filter",
    "context_length_exceeded": "context_overflow",
    "exceed_context_size_error": "context_overflow",
    "insufficient_quota": "quota_exhausted",
    "invalid_api_key": "unauthorised",
    "model_not_found": "model_missing",
    "unsupported_parameter": "bad_option",
    "unsupported_value": "bad_option",
}
_BY_TEXT: Final = (
    ("context size", "context_overflow"),
    ("context length", "context_overflow"),
    ("maximum context", "context_overflow"),
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
    ("not a valid model", "model_missing"),
    ("model not exist", "model_missing"),
    ("invalid model", "model_missing"),
)
_BY_STATUS: Final = {
    401: "unauthorised",
    402: "quota_exhausted",
    403: "forbidden",
    405: "not_openai",
    408: "time_out",
    413: "context_overflow",
    429: "rate_limited",
    503: "server_busy",
    504: "time_out",
    529: "server_busy",
}
_NOT_FOUND: Final = 404
_REDIRECTS: Final = range(300, 400)
_CLIENT_ERRORS: Final = range(400, 500)
_RETRIED_STATUS: Final = frozenset({408, 429, 502, 503, 504, 529})
_RETRIED_CAUSE: Final = frozenset({"connection_refused", "connection_lost"})


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
    again = said.status in _RETRIED_STATUS and found.cause != "quota_exhausted"
    return Transient(found, seconds) if again else found


def fault(cause: str, detail: str, place: Place) -> InfrastructureError:
    """Return the error of one cause, with what was said."""
    said = f" ({_line(detail)})" if detail else ""
    msg = f"{place.address}, model {place.model!r}: {_WHAT[cause]}{said}"
    return InfrastructureError(cause, msg, _remedy(cause, detail, place))


def said_by(error: BaseException) -> Said | None:
    """Return what the server said, if the exception is about an answer of its own."""
    if not isinstance(error, openai.APIStatusError):
        return None
    return said_in(error.body, error.status_code)


def said_in(body: Any, status: int) -> Said:
    """Return what the body of an error says; some servers wrap it in ``error`` once more, some send plain text."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return Said(status, inner if isinstance(inner, str) else json.dumps(inner)[:MAX_DETAIL_CHARS])
    text = inner.get("message") or inner.get("detail") or inner
    codes = (str(inner.get(name)) for name in ("code", "type") if inner.get(name))
    code = next((code for code in codes if code in _BY_CODE), "")
    return Said(
        status,
        text if isinstance(text, str) else json.dumps(text)[:MAX_DETAIL_CHARS],
        code,
        str(inner.get("param") or ""),
    )


def said_text(said: Said) -> str:
    """Return what was said with its status, and the parameter that it is about."""
    about = f" [{said.param}]" if said.param and said.param not in said.text else ""
    return f"status {said.status}: {said.text}{about}"


def cause_of(said: Said) -> str:
    """Return the cause that the words, the code and the status of a server's error amount to."""
    if said.code:
        return _BY_CODE[said.code]
    text = said.text.casefold()
    if said.status in _REDIRECTS:
        return "redirected"
    if said.status == _NOT_FOUND:
        return "model_missing" if "model" in text else "not_openai"
    if said.status in _BY_STATUS:
        return _BY_STATUS[said.status]
    for fragment, cause in _BY_TEXT:
        if fragment in text:
            return cause
    return "bad_request" if said.status in _CLIENT_ERRORS else "server_error"


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


def _remedy(cause: str, detail: str, place: Place) -> str:
    if cause == "bad_option":
        text = detail.casefold()
        if "max_tokens" in text or "max_completion_tokens" in text:
            other = {"max_tokens": "max_completion_tokens"}.get(place.token_field, "max_tokens")
            return f"write the option token_field={other}"
        name = next((name for name in ("temperature", "seed") if name in text), None)
        return f"write the option omit={name}" if name else "correct the options in the agent spec"
    return _REMEDIES[cause].format(place=place, doubled=2 * place.max_tokens)


_WHAT: Final = {
    "answer_too_long": "it sent more than any chat completion has",
    "bad_address": "the address cannot be asked",
    "bad_format": "it does not take the JSON Schema of a turn",
    "bad_option": "the model does not take one of the parameters",
    "bad_request": "it refused the request",
    "connection_lost": "the connection broke before the answer was complete",
    "connection_refused": "nothing answers there",
    "content_filter": "its content filter withheld the answer",
    "context_overflow": "the conversation does not fit into the context",
    "forbidden": "the key may not do this",
    "invalid_response": "it answered with JSON that is no chat completion",
    "model_missing": "it does not have the model",
    "no_tools": "it does not call tools with this model",
    "not_json": "it answered with something that is no JSON",
    "not_openai": "what answers there has no such route",
    "out_of_memory": "the model does not fit into memory",
    "quota_exhausted": "the account has no credit left",
    "rate_limited": "it takes no more requests for now",
    "redirected": "it sends requests elsewhere, which is not followed: the key would go along",
    "reply_truncated": "the answer was cut",
    "server_busy": "it is busy or still loading",
    "server_error": "it failed",
    "time_out": "no answer in time",
    "tls_refused": "its certificate was not accepted",
    "unauthorised": "it refused the key",
    "unknown_host": "the host name is unknown",
}
_ADDRESS: Final = (
    "write the option base_url or OPENAI_BASE_URL up to the /v1, such as http://127.0.0.1:8080/v1"
)
_LOG: Final = "look at the server's log"
_REMEDIES: Final = {
    "answer_too_long": "check that the address is a chat server's",
    "bad_address": _ADDRESS,
    "bad_format": "upgrade the server, try the other value of the option strict, or take another model",
    "bad_request": "correct the options in the agent spec, or upgrade the server",
    "connection_lost": f"{_LOG}; the server or a proxy before it closed the connection",
    "connection_refused": f"start the server, or {_ADDRESS}",
    "content_filter": "look at the provider's filter settings; the case may hold words that they do not let pass",
    "context_overflow": "give the server more context (llama-server -c, vllm --max-model-len), or take another model",
    "forbidden": "look what the key in the environment variable {place.key_env} may do",
    "invalid_response": _ADDRESS,
    "model_missing": "correct the model's name, or have the server load it",
    "no_tools": "drop mode=tools, or have the server call tools (llama-server --jinja, vllm --enable-auto-tool-choice)",
    "not_json": f"check for web pages and proxies there; {_ADDRESS}",
    "not_openai": _ADDRESS,
    "out_of_memory": "take a smaller model or context",
    "quota_exhausted": "add credit, or take another key",
    "rate_limited": "lower --supportbench-concurrency, or raise the option retries and --supportbench-timeout",
    "redirected": "write the address that it names as the option base_url",
    "reply_truncated": "raise the option max_tokens, e.g. ?max_tokens={doubled}, or the server's context",
    "server_busy": f"wait, lower --supportbench-concurrency, or raise the option retries; {_LOG}",
    "server_error": _LOG,
    "time_out": "raise the option timeout (now {place.timeout:g} s), or take a faster model or server",
    "tls_refused": "set SSL_CERT_FILE to the authority that signed it; certificates are always checked",
    "unauthorised": "check the key in the environment variable {place.key_env}",
    "unknown_host": "correct the option base_url or OPENAI_BASE_URL",
}

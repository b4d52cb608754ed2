"""What each cause of an error of an OpenAI-compatible server means, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_supportbench.agents.model_servers import TLS_REMEDY


@dataclass(frozen=True, slots=True)
class Place:
    """Which server and model an error is about; ``address`` carries no password and no query.

    ``key_env`` names the environment variables of the key or the headers; ``key_sent`` tells whether any held one.
    """

    address: str
    model: str
    timeout: float
    key_env: str
    max_tokens: int
    token_field: str
    key_sent: bool = True


WHAT: Final = {
    "answer_too_long": "it sent more than any chat completion has",
    "bad_address": "the address cannot be asked",
    "bad_format": "it does not take the JSON Schema of a turn",
    "bad_option": "the model does not take one of the parameters",
    "bad_request": "it refused the request",
    "connection_lost": "the connection broke before the answer was complete",
    "connection_refused": "nothing answers there",
    "content_filter": "its content filter withheld the answer",
    "context_overflow": "the conversation does not fit into the context",
    "forbidden": "it refused access",
    "invalid_response": "it answered with JSON that is no chat completion",
    "model_missing": "it does not have the model",
    "no_tools": "it does not call tools with this model",
    "not_json": "it answered with something that is no JSON",
    "not_openai": "what answers there has no such route or model",
    "out_of_memory": "the model does not fit into memory",
    "quota_exhausted": "the account has no credit or quota left",
    "rate_limited": "it takes no more requests for now",
    "redirected": "it sends requests elsewhere, which is not followed: the key would go along",
    "reply_incomplete": "the server stopped before the answer was complete",
    "reply_truncated": "the answer was cut",
    "request_too_large": "the request is larger than the server or the account may take at once",
    "server_busy": "it is busy or still loading",
    "server_error": "it failed",
    "streamed": "it streamed the answer, which nobody asked for",
    "time_out": "no answer in time",
    "tls_refused": "no secure connection came about",
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
    "forbidden": "look what the key in the environment variable {place.key_env} may do, and from where",
    "invalid_response": f"{_LOG}; or {_ADDRESS}",
    "model_missing": "correct the model's name (at Azure the deployment's), have the server load it, or look whether "
    "the key may use it",
    "no_tools": "drop mode=tools, or have the server call tools (llama-server --jinja, vllm --enable-auto-tool-choice)",
    "not_json": f"check for web pages and proxies there; {_ADDRESS}",
    "not_openai": f"{_ADDRESS}; or correct the model's name",
    "out_of_memory": "take a smaller model or context",
    "quota_exhausted": "add credit, raise the quota or wait until it is renewed, or take another key",
    "rate_limited": "lower --supportbench-concurrency, or raise the option retries and --supportbench-timeout",
    "redirected": "write the address that it names as the option base_url",
    "reply_truncated": "raise the option max_tokens, e.g. ?max_tokens={doubled}, or the server's context",
    "reply_incomplete": f"{_LOG}, or at the provider's status page",
    "request_too_large": "raise the limit that the message names (a proxy's for bodies, the account's for tokens), or "
    "take another model or account",
    "server_busy": f"wait, lower --supportbench-concurrency, or raise the option retries; {_LOG}",
    "server_error": _LOG,
    "streamed": "switch streaming off at the server or at the gateway before it",
    "time_out": "raise the option timeout (now {place.timeout:g} s), or take a faster model or server",
    "tls_refused": TLS_REMEDY,
    "unauthorised": "check the key in the environment variable {place.key_env}",
    "unknown_host": "correct the option base_url or OPENAI_BASE_URL",
}

_KEYLESS: Final = frozenset({"forbidden", "unauthorised"})


def what(cause: str, place: Place) -> str:
    """Return what a cause means at a server."""
    if cause in _KEYLESS and not place.key_sent:
        return f"it wants a key, and none was sent, since {place.key_env} is not set"
    return WHAT[cause]


def remedy(cause: str, detail: str, place: Place) -> str:
    """Return what to do about a cause; ``detail`` is what the server said."""
    if cause == "bad_option":
        text = detail.casefold()
        if "max_tokens" in text or "max_completion_tokens" in text:
            other = {"max_tokens": "max_completion_tokens"}.get(place.token_field, "max_tokens")
            return f"write the option token_field={other}"
        name = next((name for name in ("temperature", "seed") if name in text), None)
        return f"write the option omit={name}" if name else "correct the options in the agent spec"
    if cause in _KEYLESS and not place.key_sent:
        return f"set the environment variable {place.key_env}, or name another one with the option key_env"
    return _REMEDIES[cause].format(place=place, doubled=2 * place.max_tokens)

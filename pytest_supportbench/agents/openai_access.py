"""Where an OpenAI-compatible server is, what opens it, and an HTTP client that bounds what comes from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2
import openai

from pytest_supportbench.agents.bounded_body import HEADERS, MAX_BYTES, bounded, packed
from pytest_supportbench.agents.servers import is_loopback
from pytest_supportbench.agents.trust import certificates_unusable
from pytest_supportbench.clock import now
from pytest_supportbench.errors import UsageError
from pytest_supportbench.secret_values import address_secrets, sent_secrets, with_variables

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec

OPENAI_URL: Final = "https://api.openai.com/v1"
NO_KEY: Final = "none"

_OWN_HOSTS: Final = (".openai.com", ".openai.azure.com")


@dataclass(frozen=True, slots=True)
class Access:
    """The address and what goes along with each request.

    ``key`` is ``None`` where there is none. ``headers`` have name and value, ``variables`` name what held each header's
    value. ``missing`` names the environment variables that should have held
    something. ``shown`` is the address as messages may quote it.
    """

    url: str
    key_env: str
    key: str | None
    headers: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def host(self) -> str:
        """The name of the host alone."""
        return (urlsplit(self.url).hostname or "").casefold()

    @property
    def shown(self) -> str:
        """The address without user name, password and query."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI itself answers there, or Azure in its place."""
        return f".{self.host}".endswith(_OWN_HOSTS)

    def secrets(self) -> tuple[str, ...]:
        """Return key, header values, and what the address and the client's own variable for headers may hide."""
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        custom = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        headers = with_variables(self.headers, self.variables)
        sent = sent_secrets([*headers, *custom, *parse_qsl(urlsplit(self.url).query)])
        return (*((self.key,) if self.key else ()), *sent, *address_secrets(self.url))


def access_of(spec: AgentSpec) -> Access:
    """Return what the spec and the environment say. Raises `UsageError` for an address that is none."""
    url = spec.option("base_url", None) or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    key_env = spec.option("key_env", "OPENAI_API_KEY")
    if not _is_address(url):
        msg = f"agent {spec.raw!r}: the base_url is no address"
        raise UsageError(f"{msg}; write e.g. base_url=http://127.0.0.1:8080/v1")
    headers = [(name, variable, _value(variable)) for name, variable in spec.headers]
    key = _value(key_env)
    access = Access(
        url=url,
        key_env=key_env,
        key=key,
        headers=tuple((name, value) for name, _, value in headers if value),
        missing=tuple(variable for _, variable, value in headers if not value),
        variables=spec.headers,
    )
    if key is None and not headers and not is_loopback(access.host):
        return Access(url, key_env, None, (), (key_env,))
    return access


def refuse_missing(access: Access, raw: str) -> None:
    """Raise `UsageError` for environment variables that hold nothing, or what no header may hold."""
    if access.missing:
        names, verb = " and ".join(access.missing), "is" if len(access.missing) == 1 else "are"
        remedy = "correct the headers of the agent file"
        if access.missing == (access.key_env,):
            remedy = "name another variable with the option key_env"
        msg = f"agent {raw!r}: {names} {verb} not set in the environment, and {access.shown} is asked with it"
        raise UsageError(f"{msg}; set it, or {remedy}")
    for name, value in (("the key", access.key or ""), *access.headers):
        if not value.isascii() or not value.isprintable():
            what = f"{name} (from {access.key_env})" if name == "the key" else f"the header {name}"
            raise UsageError(f"agent {raw!r}: {what} holds characters that no header may; set it anew")


def _value(variable: str) -> str | None:
    """Return what an environment variable holds, without the line break that files end with."""
    return os.environ.get(variable, "").strip() or None


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable()


class TooLongError(httpx2.RequestError):
    """The server sent more than any completion has, or may send it: a compressed answer has no bound."""


class _Bounded(httpx2.SyncByteStream):
    """A body that is bounded in size and in time."""

    def __init__(self, stream: httpx2.SyncByteStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        too_long = TooLongError(f"more than {MAX_BYTES:,} bytes")
        late = httpx2.ReadTimeout("the answer did not end in time")
        return bounded(self._stream, self._deadline, too_long, late)

    def close(self) -> None:
        self._stream.close()


def _start(request: httpx2.Request) -> None:
    """Note until when the answer must have ended; the client wants a key, and one that is none is not sent."""
    if request.headers.get("Authorization") == f"Bearer {NO_KEY}":
        del request.headers["Authorization"]
    seconds = request.extensions.get("timeout", {}).get("read") or float("inf")
    request.extensions["supportbench_deadline"] = now() + seconds


def _bound(response: httpx2.Response) -> None:
    if packed(response.headers):
        raise TooLongError("a compressed answer, which nobody asked for")
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, response.request.extensions["supportbench_deadline"])


def connect(access: Access, timeout: openai.Timeout) -> openai.OpenAI:
    """Return the official client: no retries of its own, no redirects that could carry the key elsewhere.

    Raises `UsageError` where the certificates of the environment cannot be loaded.
    """
    parts = urlsplit(access.url)
    try:
        http_client = openai.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"request": [_start], "response": [_bound]}
        )
    except OSError as error:
        raise certificates_unusable(access.shown, error) from None
    return openai.OpenAI(
        api_key=access.key or NO_KEY,
        base_url=urlunsplit(parts._replace(query="", fragment="")),
        default_query=dict(parse_qsl(parts.query)),
        max_retries=0,
        timeout=timeout,
        default_headers={**HEADERS, **dict(access.headers)},
        http_client=http_client,
    )

"""``http://…`` and ``https://…``: an agent behind an address, which takes an observation by POST and answers a turn."""

from __future__ import annotations

import os
import re
import urllib.request
from collections.abc import Callable
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import httpx

from pytest_supportbench.agents.base import JSON, BaseAgent
from pytest_supportbench.agents.http_exchange import Answer, CutAnswer, Exchange
from pytest_supportbench.agents.http_faults import (
    Place,
    from_connecting,
    from_exception,
    from_status,
    is_lost,
)
from pytest_supportbench.agents.retries import DEFAULT_RETRIES, Transient, retried, retry_after
from pytest_supportbench.agents.servers import is_loopback, server_of
from pytest_supportbench.agents.trust import certificates_unusable
from pytest_supportbench.agents.wire import (
    DEFAULT_SECONDS,
    MAX_BYTES,
    McpOption,
    decode,
    encode,
    limited,
    unreadable,
)
from pytest_supportbench.errors import AgentFailure, InfrastructureError, UsageError
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.secret_values import address_secrets, sent_secrets, with_variables

if TYPE_CHECKING:
    from pytest_supportbench.agents.base import Case
    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.protocol import Observation

_EARLY: Final = 0.05
"""Seconds that the clock of an event loop may be ahead: an episode's limit is reached when it is reached."""

_PORTS: Final = {"http": 80, "https": 443}
_GOOD: Final = range(200, 300)
_TOO_MANY: Final = 429
_UNAVAILABLE: Final = 503
_VALUE: Final = re.compile(r"[\t\x20-\x7e]+")


class HttpAgent(BaseAgent):
    """Asks a server, several episodes at a time. A reply ends in time whatever the server does.

    Certificates are verified, redirects and cookies ignored. Proxies of the environment are used, except for
    loopback addresses. Raises `UsageError` for a header whose environment variable is missing and for a ``ca_file``
    that cannot be read.
    """

    window = 8

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        parts = urlsplit(spec.target)
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._query = parts.query
        self._host, self._port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        place = parts.netloc.rpartition("@")[2]
        self._url = urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
        self.host = server_of(spec.target)
        self._proxy = not is_loopback(self._host)
        self._headers = {name: _header(spec, name, variable) for name, variable in spec.headers}
        self._place = Place(
            urlunsplit((parts.scheme, place, parts.path, "", "")),
            Redactor(self.secrets()),
            variables=tuple(variable for _, variable in spec.headers),
            proxied=self._proxy and _has_proxy(parts.scheme, self._host),
        )
        self._limit: float | None = spec.option("timeout", None)
        self._retries: int = spec.option("retries", DEFAULT_RETRIES)
        self._mcp = McpOption(spec)
        self._exchange = Exchange(self._client)

    def _client(self, limits: httpx.Limits, timeout: httpx.Timeout) -> httpx.AsyncClient:
        # No compression is asked for, since a small answer could unpack to any size.
        fixed = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        given = {name.casefold() for name in self._headers}
        headers = {name: value for name, value in fixed.items() if name.casefold() not in given}
        try:
            httpx.URL(self._url)
            return httpx.AsyncClient(
                headers={**headers, **self._headers},
                auth=httpx.BasicAuth(self._user, self._password) if self._user or self._password else None,
                verify=self._trust(),
                trust_env=self._proxy,
                # A cookie would carry one episode's state into another.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                limits=limits,
                timeout=timeout,
            )
        except httpx.InvalidURL as error:
            raise UsageError(f"agent {self.spec.raw!r}: this is no address ({error}); correct it") from None
        except (ImportError, ValueError) as error:
            msg = f"agent {self.spec.raw!r}: a proxy of the environment cannot be used ({error})"
            raise UsageError(f"{msg}; correct HTTPS_PROXY, HTTP_PROXY and ALL_PROXY") from None

    def _trust(self) -> Any:
        """Return which certificates are trusted: the usual ones, and those that the CA in ``ca_file`` signed."""
        if self._url.startswith("http:") and not self._place.proxied:
            return False  # there is no TLS to verify, and loading certificates takes a tenth of a second
        try:
            context = httpx.create_ssl_context()
        except OSError as error:  # among them ssl.SSLError
            raise certificates_unusable(f"agent {self.spec.raw!r}", error) from None
        file = self.spec.option("ca_file", None)
        if file is not None:
            path = self.root / file
            try:
                context.load_verify_locations(cafile=path)
            except OSError as error:  # among them ssl.SSLError, for a file that holds no certificate
                reason = error.strerror or error
                msg = f"agent {self.spec.raw!r}: ca_file: {str(path)!r} cannot be used ({reason})"
                raise UsageError(f"{msg}; name a file of certificates in PEM form") from None
        return context

    def check(self) -> None:
        """Connect, without asking anything, and find out within seconds whether something listens there."""
        if self._mcp.wanted:
            self._mcp.open()
        if self._place.proxied:
            return  # whether a proxy reaches the server shows with the first request only
        try:
            self._exchange.reach(self._host, self._port)
        except OSError as error:
            raise from_connecting(error, self._place) from error

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, address without password and query, the names of the headers, and options."""
        names: list[JSON] = [name for name, _ in self.spec.headers]
        return {**super().fingerprint(), "address": self._place.address, "headers": names}

    def asker(self, case: Case) -> Callable[[Observation], Any]:
        """Return what replies in one episode, within its time and with its tools over MCP where that is wanted."""
        return lambda observation: self._ask(observation, case.time_left, case)

    def reply(self, observation: Observation, /) -> Any:
        """Return what the server answers, unparsed.

        Raises `AgentFailure` where the agent failed, and `InfrastructureError` where it could not even be asked.
        """
        return self._ask(observation, limited(DEFAULT_SECONDS))

    def _ask(self, observation: Observation, time_left: Callable[[], float], case: Case | None = None) -> Any:
        body = encode(self._mcp.added(observation, case))
        given = time_left()

        def left() -> float:
            if self._limit is None:
                return time_left()
            return max(min(self._limit - given + time_left(), time_left()), 0.0)  # by the episode's own clock

        attempt = partial(self._attempt, body, left)
        answer, retries = retried(
            attempt, retries=self._retries, time_left=left, waits=case.waits if case else None
        )
        if answer.flooded:
            return unreadable(f"the reply has more than {MAX_BYTES:,} bytes", answer.body)
        coding = answer.headers.get("content-encoding", "identity")
        if coding != "identity":
            return unreadable(f"the reply is compressed ({coding[:40]}), which was not asked for", b"")
        return decode(answer.body, retries)

    def _attempt(self, body: bytes, left: Callable[[], float]) -> Answer:
        """Post once. Raises `Transient` where another attempt may do better."""
        seconds = left()
        try:
            answer = self._exchange.post(self._url, body, seconds + _EARLY)
        except TimeoutError as error:
            text = f"POST {self._place.address}: no whole answer within {seconds:.1f} s"
            raise AgentFailure(text) from error
        except (httpx.HTTPError, httpx.InvalidURL, CutAnswer) as error:
            explained = from_exception(error, self._place)
            if self._may_repeat(explained, error):
                raise Transient(explained) from error
            raise explained from error
        if answer.status in _GOOD:
            return answer
        explained = from_status(answer, self._place)
        wait = retry_after(answer.headers)
        if answer.status == _TOO_MANY or (answer.status == _UNAVAILABLE and wait is not None):
            raise Transient(explained, wait, busy=True)
        raise explained

    def _may_repeat(self, explained: Exception, error: Exception) -> bool:
        """Tell whether a request may be sent again after an exception.

        A lost connection leaves open whether the agent worked on the request. That harms nobody, since it keeps no
        state, unless it called tools over MCP meanwhile.
        """
        if isinstance(explained, InfrastructureError):
            return explained.cause == "connection_refused"
        return is_lost(error) and not self._mcp.wanted

    def secrets(self) -> tuple[str, ...]:
        """Return the values of headers, the password, and what the query carries."""
        headers = with_variables(self._headers.items(), self.spec.headers)
        sent = sent_secrets([*headers, *parse_qsl(self._query)])
        return (*sent, *address_secrets(self.spec.target))

    def close(self) -> None:
        """Break off what is under way and close the connections."""
        self._exchange.close()
        self._mcp.close()


def _header(spec: AgentSpec, name: str, variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        msg = f"agent {spec.raw!r}: header {name}: the environment variable {variable} is not set"
        raise UsageError(f"{msg}; set it to the header's value")
    if not _VALUE.fullmatch(value):
        msg = f"agent {spec.raw!r}: header {name}: the value of {variable} is not plain text in one line"
        raise UsageError(f"{msg}; correct the variable")
    return value


def _has_proxy(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(host)

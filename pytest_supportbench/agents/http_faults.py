"""Names what went wrong between us and an HTTP agent, and tells a wrong set-up from an agent that failed."""

from __future__ import annotations

import html
import re
import socket
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin

import httpx

from pytest_supportbench.agents.fault_text import one_line
from pytest_supportbench.agents.http_exchange import CONNECT_SECONDS, Answer, CutAnswer
from pytest_supportbench.agents.spec_secrets import public
from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.redaction import Redactor

MAX_BODY_CHARS: Final = 500

_MARKUP: Final = re.compile(r"<(style|script)\b.*?(</\1>|$)|<[^<>]*>?", re.IGNORECASE | re.DOTALL)
"""What a page for people has beside its words."""

_SETUP: Final = {
    401: (
        "unauthorised",
        "set the header that it wants: headers: {Authorization: MY_VARIABLE} in an agent file",
    ),
    403: ("unauthorised", "check the header or password that is sent, and what it may do"),
    404: ("not_found", "check the path of the address"),
    405: ("method_not_allowed", "check the path of the address: it must take POST"),
    407: ("proxy_unauthorised", "put the proxy's user and password into HTTPS_PROXY or HTTP_PROXY"),
}
"""Statuses that say that the address, the method or the access is wrong, and nothing about the agent."""

_NO_ROOM: Final = {
    429: "the server limits how much it is asked: wait, raise its limit, lower --supportbench-concurrency, or raise "
    "the option retries in an agent file",
    503: "the server takes no requests now: wait until it has started or has room, raise its limit, or lower "
    "--supportbench-concurrency; it is asked again only where its answer has the header Retry-After",
}
"""What to do about statuses that say that the server has no room, and nothing about how well the agent works."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which server an error is about. ``address`` carries no password and no query.

    ``redactor`` blanks what was sent along before an answer is cut to size: half a secret would slip by later.
    ``variables`` are the environment variables whose values were sent as headers.
    """

    address: str
    redactor: Redactor
    variables: tuple[str, ...] = ()
    proxied: bool = False


def is_wrong_setup(status: int) -> bool:
    """Tell whether a status says nothing about the agent."""
    return status in _SETUP or HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST


def from_status(answer: Answer, place: Place) -> InfrastructureError | AgentFailure:
    """Return the error that an answer's status amounts to."""
    said = f"POST {place.address}: status {answer.status}{_phrase(answer.status)}"
    if answer.status in _SETUP:
        cause, remedy = _SETUP[answer.status]
        if cause == "unauthorised" and place.variables:
            names = " and ".join(place.variables)
            remedy = f"correct {names}: the header's whole value is wanted, such as 'Bearer ' with the token behind it"
        return InfrastructureError(cause, said + _body(answer, place), remedy)
    if is_wrong_setup(answer.status):
        target = _redirect(answer, place)
        remedy = "redirects are not followed; write the final address"
        return InfrastructureError("redirect", f"{said}, to {target}", remedy)
    return AgentFailure(said + _body(answer, place), _NO_ROOM.get(answer.status, ""))


def from_exception(error: Exception, place: Place) -> InfrastructureError | AgentFailure:
    """Return the error that an exception of the exchange amounts to."""
    if isinstance(error, CutAnswer):
        text = (
            f"POST {place.address}: the answer broke off ({one_line(str(error))}){_body(error.answer, place)}"
        )
        return AgentFailure(text)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return from_connecting(error, place)
    if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol | httpx.InvalidURL):
        text = f"POST {place.address}: the request cannot be sent ({_detail(error)})"
        return InfrastructureError("bad_request", text, "check the address and the headers")
    what, hint = "the connection was lost before an answer", ""
    if isinstance(error, httpx.RemoteProtocolError) and not is_lost(error):
        what, hint = "this is no answer over HTTP", "; check that the address is the agent's"
    return AgentFailure(f"POST {place.address}: {what} ({_detail(error)}){hint}")


def is_lost(error: Exception) -> bool:
    """Tell whether a connection was there and went away before anything of an answer came."""
    if isinstance(error, httpx.RemoteProtocolError):
        return "disconnected" in str(error)
    return isinstance(error, httpx.ReadError | httpx.WriteError | httpx.CloseError)


def from_connecting(error: Exception, place: Place) -> InfrastructureError:
    """Return why there is no connection."""
    links = _chain(error)
    if isinstance(error, httpx.ProxyError):
        return InfrastructureError("proxy", f"{place.address}: the proxy refused ({_detail(error)})", _PROXY)
    if any(isinstance(link, ssl.SSLError) for link in links):
        return _tls(next(link for link in links if isinstance(link, ssl.SSLError)), place)
    if any(isinstance(link, TimeoutError | httpx.TimeoutException) for link in links):
        return _unreachable(place)
    if any(isinstance(link, socket.gaierror) for link in links):
        return InfrastructureError(
            "unknown_host", f"{place.address}: the host name is unknown", "correct the address"
        )
    remedy = _PROXY if place.proxied else "start the agent's server, or correct the address"
    return InfrastructureError(
        "connection_refused", f"{place.address}: nothing answers there ({_detail(error)})", remedy
    )


_PROXY: Final = "check HTTPS_PROXY and HTTP_PROXY, or add the host to NO_PROXY"


def _unreachable(place: Place) -> InfrastructureError:
    text = f"{place.address}: no connection within {CONNECT_SECONDS:g} s"
    return InfrastructureError(
        "unreachable", text, "check the address and firewalls" + (f"; {_PROXY}" if place.proxied else "")
    )


def _tls(error: ssl.SSLError, place: Place) -> InfrastructureError:
    if isinstance(error, ssl.SSLCertVerificationError):
        text = f"{place.address}: its certificate is not trusted ({one_line(error.verify_message)})"
        remedy = "name the file of the CA that signed it with the option ca_file of an agent file"
        if "expired" in error.verify_message:
            remedy = "renew the certificate"
        elif "mismatch" in error.verify_message.casefold() or "not valid for" in error.verify_message:
            remedy = "use the host name that the certificate is for"
        return InfrastructureError("tls", text, remedy)
    text = f"{place.address}: TLS failed ({_detail(error)})"
    return InfrastructureError(
        "tls", text, "if the server speaks plain HTTP, write http:// instead of https://"
    )


def _redirect(answer: Answer, place: Place) -> str:
    """Return where a redirect leads, without a password or query."""
    location = answer.headers.get("location", "")
    if not location:
        return "nowhere"
    try:
        return one_line(public(urljoin(place.address, location)))
    except ValueError:
        return "no address"


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _body(answer: Answer, place: Place) -> str:
    """Return the beginning of an answer's body, in one line."""
    text = place.redactor.text(answer.body[: 8 * MAX_BODY_CHARS].decode("utf-8", "replace"))
    if text.lstrip().startswith("<"):
        text = place.redactor.text(html.unescape(_MARKUP.sub(" ", text)))
    text = " ".join(text.split())
    shown = f"{text[:MAX_BODY_CHARS]}…" if len(text) > MAX_BODY_CHARS else text
    return f": {shown}" if shown else ""


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception with what it came from, and what came together."""
    links: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        link = todo.pop(0)
        if link is not None and link not in links:
            links.append(link)
            todo += [link.__cause__, link.__context__]
            if isinstance(link, BaseExceptionGroup):
                todo += link.exceptions
    return links


def _detail(error: BaseException) -> str:
    return one_line(str(error) or type(error).__name__)

"""What the rest of the package uses of an agent, whatever its kind."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_supportbench.agents.spec import AgentSpec, OptionValue
    from pytest_supportbench.protocol import Observation

JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None

_SECRET: Final = re.compile(r"key|token|secret|password|passwd|credential|auth", re.IGNORECASE)
_USERINFO: Final = re.compile(r"(?<=//)[^/@\s]*@|^[^/@\s:]*:[^/@\s]*@")


class LiveAgent(Protocol):
    """An agent that is ready to be asked.

    ``window`` is how many episodes it can usefully serve at a time. ``inline`` tells that it answers at once
    and needs no thread. ``is_async`` tells that `reply` returns an awaitable. ``wants_reference`` tells that
    the episode runner plays the scenario's reference in its place.
    """

    spec: AgentSpec
    window: int
    inline: bool
    is_async: bool
    wants_reference: bool

    def check(self) -> None:
        """Raise `InfrastructureError` with cause and remedy where a first episode could not even start."""

    def fingerprint(self) -> dict[str, JSON]:
        """Return what identifies the agent in results: kind, model, digests, prompt hash, options, seed."""

    def reply(self, observation: Observation, /) -> Any:
        """Return a turn, a `Reply` around one, or raw JSON text of one; an awaitable of it if ``is_async``.

        Raises `InfrastructureError` where the model server failed, `AgentFailure` where the system under test
        did.
        """

    def close(self) -> None:
        """Give back connections and memory; the agent is not asked again."""


class BaseAgent:
    """The parts that most kinds share. It pickles as its spec, and is made anew where it arrives."""

    window: int = 8
    inline: bool = False
    is_async: bool = False
    wants_reference: bool = False

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        self.spec = spec
        self.root = root

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by spec: clients, locks and loaded models do not travel."""
        from pytest_supportbench.agents import make_agent  # noqa: PLC0415 - that module imports this one

        return make_agent, (self.spec, self.root)

    def check(self) -> None:
        """Find nothing wrong: an agent without a server or a file is always ready."""

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind and given options; kinds with a model add to it."""
        return {"kind": self.spec.kind, "options": public_options(dict(self.spec.options))}

    def close(self) -> None:
        """Hold nothing that must be given back."""


def public_options(options: dict[str, OptionValue]) -> dict[str, JSON]:
    """Return options as results may store them: secrets and passwords in URLs blanked, sorted by name."""
    return {
        name: "***" if _SECRET.search(name) and isinstance(value, str) else public_text(value)
        for name, value in sorted(options.items())
    }


def public_text(value: OptionValue) -> OptionValue:
    """Return a value without the user name and password that a URL in it may carry."""
    return _USERINFO.sub("***@", value) if isinstance(value, str) else value


def sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 form, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""What the rest of the package uses of an agent, whatever its kind."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from pytest_supportbench.agents.retries import Waits
from pytest_supportbench.patterns import later
from pytest_supportbench.secret_values import option_secrets

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec, OptionValue
    from pytest_supportbench.protocol import Observation, Step, ToolEntry, ToolInfo

JSON: TypeAlias = dict[str, "JSON"] | list["JSON"] | str | int | float | bool | None

_SECRET: Final = later(r"key|token|secret|password|passwd|credential|auth", re.IGNORECASE)
_WITHIN: Final = r"""[^\s'"=:,;]"""
"""A character that goes on with a path in a command; others begin or end one."""

_USERINFO: Final = later(r"(?<=//)[^/@\s]*@|^[^/@\s:]*:[^/@\s]*@")


class EpisodeTools(Protocol):
    """The tools of a running episode, for agents that run their own tool loop while they work on one reply."""

    @property
    def infos(self) -> tuple[ToolInfo, ...]:
        """The permitted tools with their JSON Schemas."""

    @property
    def closed(self) -> bool:
        """Whether the episode is over, so that every call is refused."""

    @property
    def made(self) -> tuple[tuple[ToolEntry, Step | None], ...]:
        """What came back from the calls that were executed so far, in their order, each with its step."""

    def call(self, tool: str, arguments: Mapping[str, Any], step: Step | None = None) -> ToolEntry:
        """Execute one call, from any thread, and return what came back; never raises for what was sent.

        Calls of one ``step`` are one turn; a call without one is a turn of its own.
        """

    def refuse(self, tool: str, reason: str, step: Step | None = None) -> ToolEntry:
        """Put a call on record whose arguments cannot be read, without executing it."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called when the episode is over."""


@dataclass(frozen=True, slots=True)
class Case:
    """One episode as an adapter may know it. Nothing of it but ``tools`` is the agent's business.

    ``suite``, ``scenario`` and ``trial`` (from 1) say which one it is, for cassettes. ``time_left`` returns the
    seconds until the episode's limit. ``waits`` knows what else asks a server that is busy, if any.
    """

    suite: str
    scenario: str
    trial: int
    tools: EpisodeTools
    time_left: Callable[[], float]
    waits: Waits | None = None


class LiveAgent(Protocol):
    """An agent that is ready to be asked.

    ``window`` is how many episodes it can usefully serve at a time. ``inline`` tells that it answers at once
    and needs no thread. ``is_async`` tells that `reply` returns an awaitable. ``wants_reference`` tells that
    the episode runner plays the scenario's reference in its place.

    ``host`` names the server that it asks, as ``host:port``, empty where there is none: agents of one server share
    what it bears. ``parallel`` is how many episodes that server works on at a time, ``None`` where nobody says so;
    ``queues`` tells that it would keep all others waiting rather than refuse them.
    """

    spec: AgentSpec
    window: int
    inline: bool
    is_async: bool
    wants_reference: bool
    host: str
    parallel: int | None
    queues: bool

    def check(self) -> None:
        """Raise `InfrastructureError` with cause and remedy where a first episode could not even start."""

    def fingerprint(self) -> dict[str, JSON]:
        """Return what identifies the agent in results: kind, model, digests, prompt hash, options, seed."""

    def reply(self, observation: Observation, /) -> Any:
        """Return a turn, a `Reply` around one, or raw JSON text of one; an awaitable of it if ``is_async``.

        Raises `InfrastructureError` where the model server failed, `AgentFailure` where the system under test
        did.
        """

    def asker(self, case: Case) -> Callable[[Observation], Any]:
        """Return what replies in one episode: `reply`, for agents that treat all episodes alike."""

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must not come out: keys, passwords, header values."""

    def close(self) -> None:
        """Give back connections and memory; the agent is not asked again."""


class BaseAgent:
    """The parts that most kinds share. It pickles as its spec, and is made anew where it arrives."""

    window: int = 8
    inline: bool = False
    is_async: bool = False
    wants_reference: bool = False
    host: str = ""
    parallel: int | None = None
    queues: bool = False

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
        """Return kind, given options, and the prompt that an agent file declares; most kinds add to it."""
        options = {
            name: portable(value, self.root) if isinstance(value, str) else value
            for name, value in self.spec.options
        }
        return {
            "kind": self.spec.kind,
            "options": public_options(options),
            **declared_prompt(self.spec),
        }

    def asker(self, case: Case) -> Callable[[Observation], Any]:  # noqa: ARG002 - kinds that need it override this
        """Return `reply`, which the subclass defines: every episode is alike."""
        return self.reply  # type: ignore[attr-defined,no-any-return]

    def secrets(self) -> tuple[str, ...]:
        """Return none but those in the options, which `known_secrets` adds for every agent."""
        return ()

    def close(self) -> None:
        """Hold nothing that must be given back."""


def known_secrets(agent: LiveAgent) -> tuple[str, ...]:
    """Return what an agent knows of as secret, with the options that are named so."""
    return (*agent.secrets(), *option_secrets(agent.spec.options))


def public_options(options: dict[str, OptionValue]) -> dict[str, JSON]:
    """Return options as results may store them: secrets and passwords in URLs blanked, sorted by name."""
    return {
        name: "***" if _SECRET.search(name) and isinstance(value, str) else public_text(value)
        for name, value in sorted(options.items())
    }


def public_text(value: OptionValue) -> OptionValue:
    """Return a value without the user name and password that a URL in it may carry."""
    return _USERINFO.sub("***@", value) if isinstance(value, str) else value


def declared_prompt(spec: AgentSpec) -> dict[str, JSON]:
    """Return hash and place of the prompt that an agent file names, empty where it names none."""
    if spec.prompt is None:
        return {}
    return {"prompt_sha256": sha256(spec.prompt), "prompt_path": spec.prompt_path}


def portable(text: str, root: Path) -> str:
    """Return a text with the paths below the root directory relative to it, so that two checkouts read alike."""
    for folder in dict.fromkeys((root.absolute(), root.resolve())):
        path = rf"(?<!{_WITHIN}){re.escape(str(folder))}(?:([/\\])(?={_WITHIN})|[/\\]?(?!{_WITHIN}))"
        text = re.sub(path, lambda match: "" if match[1] else ".", text)
    return text


def file_digest(source: str | Path | None) -> str | None:
    """Return the SHA-256 of a file, in hexadecimal, ``None`` where there is none.

    CRLF counts as LF, since Git may write another machine's line ends.
    """
    if source is None or not Path(source).is_file():
        return None
    return hashlib.sha256(Path(source).read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 form, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

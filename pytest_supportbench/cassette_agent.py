"""The file of a cassette that says whose replies are in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, StrictBool, StrictFloat, StrictInt, StrictStr

from pytest_supportbench.cassette_file import VERSION, read
from pytest_supportbench.cassette_key import identity
from pytest_supportbench.parts import Part
from pytest_supportbench.protocol import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.agents.spec import AgentSpec

AGENT_FILE: Final = "agent.json"

Options: TypeAlias = dict[str, StrictBool | StrictInt | StrictFloat | StrictStr]


def _known_parts(options: Options) -> Options:
    parts = options.get("without", "memory")
    if not isinstance(parts, str) or not {*parts.split(",")} <= {*get_args(Part)}:
        msg = f"without is {str(parts)[:40]!r}; it takes some of {', '.join(get_args(Part))}"
        raise ValueError(msg)
    return options


class StoredIdentity(Frozen):
    """What makes an agent this one and no other, as `identity` says."""

    kind: str
    target: str
    target_sha256: str
    options: Annotated[Options, AfterValidator(_known_parts)]
    options_sha256: str | None = None
    prompt_sha256: str | None


class StoredAgent(Frozen):
    """Who gave the replies in a folder: its identity, and its whole fingerprint when it was last recorded."""

    cassette: Literal[2] = VERSION
    id: str
    identity: StoredIdentity
    fingerprint: dict[str, Any]

    @property
    def without(self) -> str:
        """The parts that an ablation took away, as the option has them; empty for none."""
        return str(self.identity.options.get("without", ""))


def read_agent(folder: Path) -> StoredAgent | None:
    """Return who was recorded in a folder, ``None`` where nobody was.

    Raises `UsageError` where the file was damaged or edited into something else.
    """
    return read(folder / AGENT_FILE, StoredAgent)


def stored_agent(spec: AgentSpec, fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """Return the file of an agent as JSON data."""
    return {"cassette": VERSION, "id": spec.id, "identity": identity(spec), "fingerprint": dict(fingerprint)}

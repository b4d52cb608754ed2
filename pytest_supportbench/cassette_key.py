"""What a stored reply is found by: which agent was asked, and what it saw."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import public_options, sha256
from pytest_supportbench.agents.kinds import KINDS
from pytest_supportbench.agents.native_tools import tools_prompt
from pytest_supportbench.agents.prompting import COMPACT_PROMPT, default_prompt
from pytest_supportbench.agents.spec import blanked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.protocol import Entry, Observation

Json = dict[str, Any]

DIGESTS: Final = ("model_digest", "module_sha256")
"""Parts of a fingerprint that say which model or code answered; stored beside replies, and compared where known."""

_VARYING: Final = {"episode", "mcp", "transcript", "turns_left"}


def canonical(value: Any) -> str:
    """Return JSON data as the one text that stands for it, by which ``1``, ``1.0`` and ``true`` differ."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def is_recorded(spec: AgentSpec) -> bool:
    """Tell whether an agent's replies are worth storing: the built-in ones give the same reply for ever."""
    kind = KINDS.get(spec.kind)
    return spec.kind != "replay" and (kind is None or kind.target != "none")


def identity(spec: AgentSpec) -> Json:
    """Return what makes an agent this one and no other, as JSON data without secrets.

    That is its kind, target, prompt, and the options that a reply may depend on. Where it is reached, keys, headers
    and the name of its file are none of it.
    """
    kind = KINDS.get(spec.kind)
    known = (kind.options if kind else None) or {}
    options = {name: value for name, value in spec.options if not (name in known and known[name].transport)}
    target = blanked(spec.target)
    return {
        "kind": spec.kind,
        "target": re.split(r"[?#]", target, maxsplit=1)[0] if spec.kind in {"http", "https"} else target,
        "target_sha256": sha256(target),
        "options": public_options(options),
        "prompt_sha256": sha256(_prompt(spec)) if kind is not None and kind.prompt else None,
    }


def _prompt(spec: AgentSpec) -> str:
    """Return the system prompt: the agent file's, or the package's own, so that a changed one is noticed too."""
    if spec.prompt:
        return spec.prompt
    if spec.option("mode", "schema") == "tools":
        return tools_prompt()
    return COMPACT_PROMPT if spec.kind == "local" and spec.option("compact", True) else default_prompt()


def folder_name(spec: AgentSpec) -> str:
    """Return the name of an agent's folder in a cassette: its readable id and the start of its identity's hash."""
    return f"{spec.id}-{sha256(canonical(identity(spec)))[:8]}"


def opening(observation: Observation) -> Json:
    """Return the part of an observation that stays the same through an episode."""
    return observation.model_dump(mode="json", by_alias=True, exclude=_VARYING)


def label(opened: Mapping[str, Any]) -> str:
    """Return the short name under which a file keeps an opening that several trials share."""
    return hashlib.sha256(canonical(opened).encode()).hexdigest()[:12]


def said(entry: Entry) -> Json:
    """Return an entry of the transcript as JSON data, without what is not set."""
    return {"role": entry.role, **entry.model_dump(mode="json", exclude_defaults=True)}


def digests(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests that a fingerprint has, by name; of files below the root directory one each."""
    found = {name: str(fingerprint[name]) for name in DIGESTS if fingerprint.get(name)}
    files = fingerprint.get("files_sha256") or {}
    return found | {f"sha256 of {name}": str(value) for name, value in files.items() if name[:1] not in "/\\"}

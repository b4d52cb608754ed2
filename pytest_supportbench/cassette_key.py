"""What a stored reply is found by: which agent was asked, and what it saw."""

from __future__ import annotations

import hashlib
import re
from json import dumps
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import public_options, sha256
from pytest_supportbench.agents.kinds import KINDS
from pytest_supportbench.agents.prompting import COMPACT_PROMPT, default_prompt
from pytest_supportbench.agents.spec_secrets import blanked
from pytest_supportbench.patterns import later
from pytest_supportbench.redaction import BLANK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_supportbench.agents.spec import AgentSpec, OptionValue
    from pytest_supportbench.protocol import Entry, Observation

Json = dict[str, Any]

DIGESTS: Final = ("model_digest", "module_sha256")
"""Parts of a fingerprint that say which model or code answered; stored beside replies, and compared where known."""

_VARYING: Final = {"episode", "mcp", "transcript", "turns_left"}

_CREDENTIAL: Final = (
    r"(?:[\w-]+[_-])?(?:api[_-]?key|secret|password|passwd|passphrase|credentials?)"
    r"|(?:(?:access|api|auth|private|secret)[_-]?)?(?:key|token)|auth|authorization"
)
"""Whole names of what is a credential for certain: ``api_key`` is one, ``keyword`` and ``token-budget`` are none."""

_CREDENTIAL_NAME: Final = later(_CREDENTIAL, re.IGNORECASE)
_CREDENTIAL_VALUE: Final = later(
    rf"((?:(?<![\w-])(?:--?)?(?:{_CREDENTIAL})\s*[=:]|(?<!\S)--?(?:{_CREDENTIAL})\s)\s*(?:(?:basic|bearer)\s+)?)[^&\s]+",
    re.IGNORECASE,
)
_USERINFO: Final = later(r"(?<=//)[^/@\s]*@")


def canonical(value: Any) -> str:
    """Return JSON data as the one text that stands for it, by which ``1``, ``1.0`` and ``true`` differ."""
    return dumps(value, sort_keys=True, separators=(",", ":"))


def as_seen(value: Any) -> str:
    """Return JSON data as a text like `canonical`, but in its order, which agents see too."""
    return dumps(value, separators=(",", ":"))


def is_recorded(spec: AgentSpec) -> bool:
    """Tell whether an agent's replies are worth storing: the built-in ones give the same reply for ever."""
    kind = KINDS.get(spec.kind)
    return spec.kind != "replay" and (kind is None or kind.target != "none")


def identity(spec: AgentSpec) -> Json:
    """Return what makes an agent this one and no other, as JSON data without secrets.

    That is its kind, target, prompt, and the options that a reply may depend on. Where it is reached, keys, headers
    and the name of its file are none of it. Much is not shown because it may be secret; the hashes leave out only
    what certainly is.
    """
    kind = KINDS.get(spec.kind)
    options = _replying(spec)
    shown, target = public_options(options), blanked(spec.target)
    told = {
        name: BLANK if _CREDENTIAL_NAME.fullmatch(name) else _told(value) for name, value in options.items()
    }
    return {
        "kind": spec.kind,
        "target": re.split(r"[?#]", target, maxsplit=1)[0] if spec.kind in {"http", "https"} else target,
        "target_sha256": sha256(_told(spec.target)),
        "options": shown,
        **({"options_sha256": sha256(canonical(told))} if told != shown else {}),
        "prompt_sha256": sha256(_prompt(spec)) if kind is not None and kind.prompt else None,
    }


def _told(value: OptionValue) -> Any:
    """Return a value without credentials, but with all that tells an agent from others."""
    if not isinstance(value, str):
        return value
    return _CREDENTIAL_VALUE.sub(rf"\1{BLANK}", _USERINFO.sub(f"{BLANK}@", value))


def _prompt(spec: AgentSpec) -> str:
    """Return the system prompt: the agent file's, or the package's own, so that a changed one is noticed too."""
    if spec.prompt:
        return spec.prompt
    if spec.option("mode", "schema") == "tools":
        from pytest_supportbench.agents.native_tools import tools_prompt  # noqa: PLC0415 - few runs have cassettes

        return tools_prompt()
    return COMPACT_PROMPT if spec.kind == "local" and spec.option("compact", True) else default_prompt()


def folder_name(spec: AgentSpec) -> str:
    """Return the name of an agent's folder in a cassette: its readable id and the start of its identity's hash."""
    return f"{spec.id}-{sha256(canonical(identity(spec)))[:8]}"


def whole(spec: AgentSpec) -> str:
    """Return an agent's spec, secrets included and never to be stored, but for time-outs, retries and prices."""
    return canonical([spec.target, {**_replying(spec), **_places(spec)}, spec.headers])


def reached(spec: AgentSpec) -> str:
    """Return a short name for where an agent is reached, by which two of one identity are told apart."""
    return sha256(canonical([blanked(spec.target), public_options(_places(spec)), spec.headers]))[:4]


def _replying(spec: AgentSpec) -> dict[str, OptionValue]:
    """Return the options that a reply may depend on."""
    return {name: value for name, value in spec.options if not _is_transport(spec, name)}


def _places(spec: AgentSpec) -> dict[str, OptionValue]:
    """Return the options that say where and how an agent is reached, and not how long or at what price."""
    return {
        name: value for name, value in spec.options if _is_transport(spec, name) and isinstance(value, str)
    }


def _is_transport(spec: AgentSpec, name: str) -> bool:
    kind = KINDS.get(spec.kind)
    option = ((kind.options if kind else None) or {}).get(name)
    return option is not None and option.transport


def opening(observation: Observation) -> Json:
    """Return the part of an observation that stays the same through an episode."""
    return observation.model_dump(mode="json", by_alias=True, exclude=_VARYING)


def label(opened: Mapping[str, Any]) -> str:
    """Return the short name under which a file keeps an opening that several trials share."""
    return hashlib.sha256(as_seen(opened).encode()).hexdigest()[:12]


def said(entry: Entry) -> Json:
    """Return an entry of the transcript as JSON data, without what is not set."""
    return {"role": entry.role, **entry.model_dump(mode="json", exclude_defaults=True)}


def digests(fingerprint: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests that a fingerprint has, by name; of files below the root directory one each.

    A prompt that code of the user's reads is one of them. One that is sent is part of the identity.
    """
    kind = KINDS.get(str(fingerprint.get("kind")))
    names = (*DIGESTS, "prompt_sha256") if kind is not None and kind.own_code else DIGESTS
    found = {name: str(fingerprint[name]) for name in names if fingerprint.get(name)}
    files = fingerprint.get("files_sha256") or {}
    return found | {f"sha256 of {name}": str(value) for name, value in files.items() if name[:1] not in "/\\"}

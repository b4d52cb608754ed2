"""What ``--supportbench-agent`` says: the grammar of agent specs and what each kind accepts."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from pytest_supportbench.agents.kinds import COMMON, KINDS, Kind, Option
from pytest_supportbench.agents.spec_guesses import guess, has_option, hint, nearest, shell_operator
from pytest_supportbench.agents.spec_secrets import public
from pytest_supportbench.errors import UsageError
from pytest_supportbench.patterns import later

if TYPE_CHECKING:
    from collections.abc import Mapping

OptionValue: TypeAlias = int | float | bool | str

MAX_SPEC_CHARS: Final = 2_000
"""A longer spec is a pasted accident; longer settings belong into an agent file."""

_FORM: Final = "write KIND[:TARGET][?key=value&...] or the path of an agent file"
_IDENTIFIER: Final = later(r"[A-Za-z_][A-Za-z0-9_]*")
_REGISTERED: Final = later(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PYTHON_TARGET: Final = later(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_INTEGER: Final = later(r"[+-]?\d{1,18}", re.ASCII)
_FLOAT: Final = later(r"[+-]?(\d{1,18}\.\d{0,18}|\.\d{1,18}|\d{1,18})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent as the user asked for it; hashable and picklable.

    ``raw`` is how messages quote it, without secrets. ``options`` holds what was given, sorted by name. ``prompt`` is
    the text of the agent file's prompt, with ``prompt_path`` where it came from. ``headers`` has HTTP header names with
    the environment variables that hold their values. ``name`` is the agent file's stem. The kind ``registered``
    carries in ``target`` a name that only the plugin can look up.
    """

    raw: str
    kind: str
    target: str = ""
    options: tuple[tuple[str, OptionValue], ...] = ()
    prompt: str | None = None
    prompt_path: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    name: str | None = None

    @property
    def id(self) -> str:
        """A short label for test ids, of ``[A-Za-z0-9._-]`` only, such as ``ollama-qwen3-4b-instruct``."""
        if self.name:
            label = self.name
        elif self.kind == "registered":
            label = self.target
        else:
            label = f"{self.kind}-{short}" if (short := self._short_target()) else self.kind
        label += "".join(f"-without-{part}" for part in sorted(self.without))
        return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-")[:80] or "agent"

    def _short_target(self) -> str:
        """Return what tells this target from others, without anything that could be secret."""
        if self.kind == "replay":
            return Path(self.target).name
        if self.kind == "local":
            return Path(self.target).stem
        if self.kind in {"http", "https"}:
            parts = urlsplit(self.target)
            return f"{parts.netloc.rpartition('@')[2]}{parts.path}"
        if self.kind == "command":
            words = [
                word for word in shlex.split(self.target)[:2] if not word.startswith("-") and "=" not in word
            ]
            return "-".join(Path(word).name for word in words)
        return self.target

    @property
    def without(self) -> frozenset[str]:
        """The parts that an ablation takes away: some of ``memory``, ``knowledge`` and ``policies``."""
        given = str(self.option("without", ""))
        return frozenset(given.split(",")) if given else frozenset()

    @property
    def own_options(self) -> dict[str, OptionValue]:
        """The options that are the kind's own, or go to the user's class or factory."""
        return {name: value for name, value in self.options if name not in COMMON}

    def option(self, name: str, default: Any) -> Any:
        """Return the value given for an option, or ``default``."""
        return dict(self.options).get(name, default)


def parse_spec(text: str, root: Path, here: Path | None = None) -> AgentSpec:
    """Return what ``text`` asks for: a known kind, else an existing agent file, else a registered name.

    Relative paths are taken from ``here``, where the user typed them, if they lead to something there, else from
    ``root``. Raises `UsageError` that names the spec, the part and the remedy.
    Whether a registered name exists, a model is installed or a module imports is not looked at here.
    """
    text = text.strip()
    if not text or len(text) > MAX_SPEC_CHARS:
        msg = "an agent spec is empty" if not text else f"an agent spec has {len(text):,} characters"
        raise UsageError(f"{msg}; {_FORM}")
    word = re.split(r"[:?]", text, maxsplit=1)[0]
    shown = public(text)
    if word in KINDS and KINDS[word].verbatim:
        rest = text if word in {"http", "https"} else text.partition(":")[2]
        return build_spec(shown, word, _from_root(rest, root, here) if word == "replay" else rest, {})
    head, mark, query = text.partition("?")
    if mark and not query:
        msg = f"agent {shown!r}: nothing follows the question mark; write ?key=value or drop it"
        raise UsageError(msg)
    if word in KINDS:
        _, colon, target = head.partition(":")
        if colon and not target:
            raise UsageError(f"agent {shown!r}: nothing follows the colon; {_FORM}")
        if word == "local":
            target = _from_root(target, root, here)
        return build_spec(shown, word, target, _pairs(shown, query))
    return _without_kind(shown, head, query, root, root / _from_root(head, root, here))


def _without_kind(shown: str, head: str, query: str, root: Path, path: Path) -> AgentSpec:
    """Return the spec of an agent file or a registered name. Raises `UsageError` where it can be neither."""
    word = head.partition(":")[0]
    if meant := guess(head, root):
        full = public(f"{meant}?{query}" if query else meant)
        raise UsageError(f"agent {shown!r}: the kind is missing; write {full}")
    if path.is_file() or head.endswith((".yaml", ".yml")) or "/" in word or "\\" in word:
        return _from_file(shown, path, query)
    if ":" in head or (query and nearest(head, KINDS)):
        raise UsageError(f"agent {shown!r}: {word!r} is no kind of agent; {hint(word, KINDS)}")
    if not _REGISTERED.fullmatch(head):
        raise UsageError(f"agent {shown!r}: a name has letters, digits, '.', '_' and '-' only; {_FORM}")
    options = _checked(shown, "registered", Kind(""), _pairs(shown, query))
    return AgentSpec(raw=shown, kind="registered", target=head, options=options)


def _from_root(path: str, root: Path, here: Path | None) -> str:
    """Return a path that leads from ``root`` to what it leads to from ``here``, if that exists; else as it is."""
    if not path or here is None or here == root or not (here / path).exists():
        return path
    return os.path.relpath(here / path, root)


def _from_file(raw: str, path: Path, query: str) -> AgentSpec:
    """Return the spec of an agent file; an ablation behind it stands for a variant of the same agent."""
    if not path.is_file():
        raise UsageError(f"agent {raw!r}: there is no file {str(path)!r}; {_FORM}")
    from pytest_supportbench.agents.agent_file import read_agent_file  # noqa: PLC0415 - YAML only on use

    spec = read_agent_file(raw, path)
    given = _checked(raw, spec.kind, Kind(""), _pairs(raw, query))
    return replace(spec, options=tuple(sorted({**dict(spec.options), **dict(given)}.items())))


def build_spec(
    raw: str,
    kind: str,
    target: str,
    options: Mapping[str, object],
    *,
    prompt: str | None = None,
    prompt_path: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    name: str | None = None,
) -> AgentSpec:
    """Return the spec of a known kind, its target and options checked; the rest goes into the spec as it is.

    Raises `UsageError` for a target that is missing, unwanted or malformed, and for a bad option.
    """
    known = KINDS[kind]
    if known.target == "required" and not target.strip():
        raise UsageError(f"agent {raw!r}: kind {kind!r} needs a target; write e.g. {known.example}")
    if known.target == "none" and target:
        raise UsageError(f"agent {raw!r}: kind {kind!r} takes no target, got {target!r}; write {kind}")
    _check_target(raw, kind, known, target)
    return AgentSpec(
        raw=raw,
        kind=kind,
        target=target,
        options=_checked(raw, kind, known, options),
        prompt=prompt,
        prompt_path=prompt_path,
        headers=headers,
        name=name,
    )


def _check_target(raw: str, kind: str, known: Kind, target: str) -> None:
    """Raise `UsageError` for a target whose form can be told to be wrong without looking anything up."""
    if kind in {"python", "pydantic-ai", "langchain"} and not _PYTHON_TARGET.fullmatch(target):
        msg = f"agent {raw!r}: {target!r} is not module:callable; write e.g. {known.example}"
        raise UsageError(msg)
    if kind in {"http", "https"}:
        try:
            parts = urlsplit(target)
            good = (
                bool(parts.hostname)
                and (parts.port is None or parts.port > 0)
                and parts.scheme in {"http", "https"}
            )
        except ValueError:
            good = False
        if not good:
            raise UsageError(f"agent {raw!r}: this is no address; write e.g. {known.example}")
    if kind == "command":
        try:
            words = shlex.split(target)
        except ValueError as error:
            raise UsageError(f"agent {raw!r}: {error}; close the quotation marks") from None
        if not words:
            raise UsageError(f"agent {raw!r}: there is no program; write e.g. {known.example}")
        if operator := shell_operator(target):
            msg = f"agent {raw!r}: no shell reads this, so {operator!r} would be an argument"
            raise UsageError(
                f"{msg}; write command:sh -c '…', or put it in quotation marks if it is meant so"
            )
    if kind in {"command", "replay"} and has_option(target, {**COMMON, **(known.options or {})}):
        msg = f"agent {raw!r}: {kind!r} takes no options behind a question mark"
        raise UsageError(f"{msg}; write an agent file with kind: {kind}, target: … and options: {{…}}")


def _pairs(raw: str, query: str) -> dict[str, str]:
    """Split ``key=value&...``; ``%26`` and the like stand for characters that the grammar itself uses."""
    pairs: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"agent {raw!r}: option {part!r} is not key=value; separate options with '&'")
        if key in pairs:
            raise UsageError(f"agent {raw!r}: option {key!r} is given twice; keep one")
        pairs[key] = unquote(value)
    return pairs


def _checked(
    raw: str, kind: str, known: Kind, options: Mapping[str, object]
) -> tuple[tuple[str, OptionValue], ...]:
    return tuple(sorted((key, _value(raw, kind, known, key, value)) for key, value in options.items()))


def _value(raw: str, kind: str, known: Kind, key: str, value: object) -> OptionValue:
    """Return an option's value in its type; text is converted, other values must have it."""
    if known.options is None and key not in COMMON:
        if not _IDENTIFIER.fullmatch(key):
            raise UsageError(f"agent {raw!r}: option {key!r} is no Python keyword argument; rename it")
        if not isinstance(value, int | float | bool | str):
            what = type(value).__name__
            msg = f"agent {raw!r}: option {key!r} is a {what}; give text, a number, true or false"
            raise UsageError(msg)
        return _inferred(value) if isinstance(value, str) else value
    options = {**COMMON, **(known.options or {})}
    option = options.get(key)
    if option is None:
        raise UsageError(f"agent {raw!r}: kind {kind!r} has no option {key!r}; {hint(key, options)}")
    result = _typed(option, value)
    if result is None:
        shown = public(str(value)) if isinstance(value, str) else value
        raise UsageError(f"agent {raw!r}: option {key!r} is {shown!r}; give {option.wanted}")
    return result


def _inferred(text: str) -> OptionValue:
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _typed(option: Option, value: object) -> OptionValue | None:  # noqa: PLR0911 - one for each type
    """Return ``value`` in the option's type, ``None`` where it does not fit."""
    if option.several:
        listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
        words = {word.strip() if isinstance(word, str) else "" for word in listed}
        return ",".join(sorted(words)) if words and words <= {*option.choices} else None
    if option.choices:
        word = str(value).lower() if isinstance(value, str | bool) else ""
        return word if word in option.choices else None
    if option.type is str:
        return value if isinstance(value, str) and value else None
    if isinstance(value, str):
        value = _inferred(value.lower() if option.type is bool else value)
    if option.type is bool:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if option.type is int and not isinstance(value, int):
        return None
    if option.minimum is not None and not value >= option.minimum:
        return None
    return float(value) if option.type is float else value

"""What ``--supportbench-agent`` says: the grammar of agent specs and what each kind accepts."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OptionValue: TypeAlias = int | float | bool | str

MAX_SPEC_CHARS: Final = 2_000
"""A longer spec is a pasted accident; longer settings belong into an agent file."""

_FORM: Final = "write KIND[:TARGET][?key=value&...] or the path of an agent file"
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REGISTERED: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PYTHON_TARGET: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_FLOAT: Final = re.compile(r"[+-]?(\d{1,18}\.\d{0,18}|\.\d{1,18}|\d{1,18})([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Option:
    """What one option accepts: its type, its lowest value, or a fixed choice of words."""

    type: type[int | float | bool | str]
    minimum: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """The accepted values in words, for an error message."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        name = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[self.type]
        return name if self.minimum is None else f"{name} of at least {self.minimum:g}"


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of agent accepts.

    ``factory`` is ``module:attribute``, imported only when such an agent is made, and called with the spec
    and the root directory. ``options`` of ``None`` means any keyword. ``prompt`` tells whether an agent file
    may set one.
    """

    factory: str
    target: Literal["none", "optional", "required"] = "none"
    example: str = ""
    options: Mapping[str, Option] | None = field(default_factory=dict)
    prompt: bool = False


_PACKAGE: Final = "pytest_supportbench.agents"

KINDS: Final[Mapping[str, Kind]] = {
    "rules": Kind(f"{_PACKAGE}.rules:RulesAgent"),
    "oracle": Kind(f"{_PACKAGE}.scripted:OracleAgent"),
    "do-nothing": Kind(f"{_PACKAGE}.builtin:DoNothing"),
    "always-escalate": Kind(f"{_PACKAGE}.builtin:AlwaysEscalate"),
    "always-decline": Kind(f"{_PACKAGE}.builtin:AlwaysDecline"),
    "always-ask": Kind(f"{_PACKAGE}.builtin:AlwaysAsk"),
    "call-every-tool": Kind(f"{_PACKAGE}.builtin:CallEveryTool"),
    "python": Kind(
        f"{_PACKAGE}.python_callable:PythonAgent",
        target="required",
        example="python:my_package.agent:reply",
        options=None,
    ),
    "ollama": Kind(
        f"{_PACKAGE}.ollama:OllamaAgent",
        target="required",
        example="ollama:qwen3:4b-instruct",
        options={
            "host": Option(str),
            "keep_alive": Option(str),
            "num_ctx": Option(int, 256),
            "num_predict": Option(int, 16),
            "seed": Option(int),
            "temperature": Option(float, 0),
            "think": Option(str, choices=("true", "false", "low", "medium", "high")),
            "timeout": Option(float, 0.01),
        },
        prompt=True,
    ),
    "local": Kind(
        f"{_PACKAGE}.local:LocalAgent",
        target="optional",
        example="local:models/support.gguf",
        options={
            "compact": Option(bool),
            "max_tokens": Option(int, 16),
            "n_ctx": Option(int, 512),
            "seed": Option(int, 0),
            "temperature": Option(float, 0),
            "threads": Option(int, 1),
        },
        prompt=True,
    ),
}

MODEL_KINDS: Final = ("ollama", "local")
"""Kinds that run a model as it is: on a slow machine it needs more time, not other code."""

LATER_KINDS: Final = ("openai", "http", "https", "command", "replay")
"""Words of the design that this version does not run yet; they are no names for registered agents."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent as the user asked for it; hashable and picklable.

    ``options`` holds what was given, sorted by name. ``prompt`` is the text of the agent file's prompt, with
    ``prompt_path`` where it came from. ``name`` is the agent file's stem. The kind ``registered`` carries in
    ``target`` a name that only the plugin can look up.
    """

    raw: str
    kind: str
    target: str = ""
    options: tuple[tuple[str, OptionValue], ...] = ()
    prompt: str | None = None
    prompt_path: str | None = None
    name: str | None = None

    @property
    def id(self) -> str:
        """A short label for test ids, of ``[A-Za-z0-9._-]`` only, such as ``ollama-qwen3-4b-instruct``."""
        if self.name:
            label = self.name
        elif self.kind == "registered":
            label = self.target
        else:
            target = Path(self.target).stem if self.kind == "local" else self.target
            label = f"{self.kind}-{target}" if target else self.kind
        return re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-")[:80] or "agent"

    def option(self, name: str, default: Any) -> Any:
        """Return the value given for an option, or ``default``."""
        return dict(self.options).get(name, default)


def parse_spec(text: str, root: Path) -> AgentSpec:
    """Return what ``text`` asks for: a known kind, else an existing agent file, else a registered name.

    Relative paths are taken from ``root``. Raises `UsageError` that names the spec, the part and the remedy.
    Whether a registered name exists, a model is installed or a module imports is not looked at here.
    """
    text = text.strip()
    if not text or len(text) > MAX_SPEC_CHARS:
        msg = "an agent spec is empty" if not text else f"an agent spec has {len(text):,} characters"
        raise UsageError(f"{msg}; {_FORM}")
    word = re.split(r"[:?]", text, maxsplit=1)[0]
    if word in KINDS:
        head, mark, query = text.partition("?")
        _, colon, target = head.partition(":")
        if colon and not target:
            raise UsageError(f"agent {text!r}: nothing follows the colon; {_FORM}")
        if mark and not query:
            raise UsageError(
                f"agent {text!r}: nothing follows the question mark; write ?key=value or drop it"
            )
        pairs = _pairs(text, query) if mark else {}
        return build_spec(text, word, target, pairs)
    if word in LATER_KINDS:
        raise UsageError(later(text, word))
    path = root / text
    if path.is_file():
        from pytest_supportbench.agents.agent_file import read_agent_file  # noqa: PLC0415 - YAML only on use

        return read_agent_file(text, path)
    if text.endswith((".yaml", ".yml")) or "/" in word or "\\" in word:
        raise UsageError(f"agent {text!r}: there is no file {str(path)!r}; {_FORM}")
    if ":" in text or "?" in text:
        raise UsageError(f"agent {text!r}: {word!r} is no kind of agent; {hint(word, KINDS)}")
    if not _REGISTERED.fullmatch(text):
        raise UsageError(f"agent {text!r}: a name has letters, digits, '.', '_' and '-' only; {_FORM}")
    return AgentSpec(raw=text, kind="registered", target=text)


def build_spec(
    raw: str,
    kind: str,
    target: str,
    options: Mapping[str, object],
    **rest: str | None,
) -> AgentSpec:
    """Return the spec of a known kind, its target and options checked; ``rest`` goes into the spec unchecked.

    Raises `UsageError` for a target that is missing, unwanted or malformed, and for a bad option.
    """
    known = KINDS[kind]
    if known.target == "required" and not target:
        raise UsageError(f"agent {raw!r}: kind {kind!r} needs a target; write e.g. {known.example}")
    if known.target == "none" and target:
        raise UsageError(f"agent {raw!r}: kind {kind!r} takes no target, got {target!r}; write {kind}")
    if kind == "python" and not _PYTHON_TARGET.fullmatch(target):
        msg = f"agent {raw!r}: {target!r} is not module:callable; write e.g. {known.example}"
        raise UsageError(msg)
    values = tuple(sorted((key, _value(raw, kind, known, key, value)) for key, value in options.items()))
    return AgentSpec(raw=raw, kind=kind, target=target, options=values, **rest)


def later(raw: str, kind: str) -> str:
    """Return the message for a kind of agent that this version knows by name only."""
    return (
        f"agent {raw!r}: kind {kind!r} comes in a later version of pytest-supportbench; "
        "until then wrap it in a function and use python:your_module:your_function"
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` with the nearest known word, or nothing where none is near."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def hint(word: str, known: Mapping[str, object]) -> str:
    """Return a remedy for an unknown word: the nearest known one where there is one, and all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}known: {', '.join(sorted(known)) or 'none'}"


def _pairs(raw: str, query: str) -> dict[str, str]:
    """Split ``key=value&...``; ``%26`` and the like stand for characters that the grammar itself uses."""
    pairs: dict[str, str] = {}
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"agent {raw!r}: option {part!r} is not key=value; separate options with '&'")
        if key in pairs:
            raise UsageError(f"agent {raw!r}: option {key!r} is given twice; keep one")
        pairs[key] = unquote(value)
    return pairs


def _value(raw: str, kind: str, known: Kind, key: str, value: object) -> OptionValue:
    """Return an option's value in its type; text is converted, other values must have it."""
    if known.options is None:
        if not _IDENTIFIER.fullmatch(key):
            raise UsageError(f"agent {raw!r}: option {key!r} is no Python keyword argument; rename it")
        if not isinstance(value, int | float | bool | str):
            what = type(value).__name__
            msg = f"agent {raw!r}: option {key!r} is a {what}; give text, a number, true or false"
            raise UsageError(msg)
        return _inferred(value) if isinstance(value, str) else value
    option = known.options.get(key)
    if option is None:
        raise UsageError(f"agent {raw!r}: kind {kind!r} has no option {key!r}; {hint(key, known.options)}")
    result = _typed(option, value)
    if result is None:
        raise UsageError(f"agent {raw!r}: option {key!r} is {value!r}; give {option.wanted}")
    return result


def _inferred(text: str) -> OptionValue:
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _typed(option: Option, value: object) -> OptionValue | None:  # noqa: PLR0911 - one for each type
    """Return ``value`` in the option's type, ``None`` where it does not fit."""
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

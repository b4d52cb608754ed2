"""Reads agent files: ``kind``, ``model`` (or ``target``), ``options`` and ``prompt``, in YAML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_supportbench.agents.kinds import KINDS
from pytest_supportbench.agents.spec import AgentSpec, build_spec
from pytest_supportbench.agents.spec_guesses import hint
from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.yaml12 import parse

if TYPE_CHECKING:
    from pathlib import Path

MAX_PROMPT_CHARS: Final = 100_000
"""A longer prompt leaves no room for the case in any model's context."""

_FIELDS: Final = ("kind", "model", "target", "options", "prompt", "headers")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXAMPLE: Final = "write e.g. kind: ollama and model: qwen3:4b-instruct"


def read_agent_file(raw: str, path: Path) -> AgentSpec:
    """Return the spec that an agent file describes; its relative paths are taken from the file's own folder.

    Raises `UsageError` that names the file, the field and the remedy.
    """
    try:
        data = parse(_read(path, "the agent file"), str(path))
    except FileError as error:
        raise UsageError(str(error)) from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}: an agent file is a mapping, not a {type(data).__name__}; {_EXAMPLE}")
    for name in data:
        if name not in _FIELDS:
            raise UsageError(f"{path}: unknown field {name!r}; {hint(str(name), dict.fromkeys(_FIELDS))}")
    kind = _kind(path, data)
    model, target = _text(path, data, "model"), _text(path, data, "target")
    if model is not None and target is not None:
        raise UsageError(f"{path}: model and target say the same thing; keep one")
    target = model or target or ""
    if kind in {"local", "replay"} and target:
        target = str(path.parent / target)
    options = data.get("options")
    if options is not None and not isinstance(options, dict):
        msg = f"{path}: options is a {type(options).__name__}; give a mapping such as {{num_ctx: 8192}}"
        raise UsageError(msg)
    if options and isinstance(options.get("ca_file"), str):
        options = {**options, "ca_file": str(path.parent / options["ca_file"])}
    prompt_path, prompt = _prompt(path, kind, data.get("prompt"))
    return build_spec(
        raw,
        kind,
        target,
        options or {},
        prompt=prompt,
        prompt_path=prompt_path,
        headers=_headers(path, kind, data.get("headers")),
        name=path.stem,
    )


def _headers(path: Path, kind: str, value: object) -> tuple[tuple[str, str], ...]:
    """Return HTTP header names with the environment variables that hold their values."""
    if value is None:
        return ()
    if not KINDS[kind].headers:
        raise UsageError(f"{path}: headers: agents of kind {kind!r} send none; drop the field")
    if not isinstance(value, dict):
        msg = f"{path}: headers is a {type(value).__name__}; give a mapping such as {{X-Api-Key: MY_KEY}}"
        raise UsageError(msg)
    for name, variable in value.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            raise UsageError(f"{path}: headers: {name!r} is no header name; write e.g. X-Api-Key")
        if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
            msg = f"{path}: headers: {name}: the value is not shown here, and is no name of an environment variable"
            raise UsageError(f"{msg}; put the value into one, and write its name, e.g. MY_KEY")
    return tuple(sorted(value.items()))


def _kind(path: Path, data: dict[str, object]) -> str:
    kind = _text(path, data, "kind")
    if kind is None:
        raise UsageError(f"{path}: kind is missing; {_EXAMPLE}")
    if kind not in KINDS:
        raise UsageError(f"{path}: kind: {kind!r} is no kind of agent; {hint(kind, KINDS)}")
    return kind


def _prompt(path: Path, kind: str, value: object) -> tuple[str | None, str | None]:
    """Return the paths and the text of the prompt: one file, or several joined by an empty line.

    Kinds that run a model send it. Code of the user's reads its files itself, and declares here which.
    """
    if value is None:
        return None, None
    known = KINDS[kind]
    if not known.prompt and not known.own_code:
        raise UsageError(f"{path}: prompt: agents of kind {kind!r} take no prompt; drop the field")
    given = value if isinstance(value, list) else [value]
    names = [name for name in given if isinstance(name, str) and name]
    if not names or len(names) < len(given):
        msg = f"{path}: prompt: {value!r} is no path; write e.g. prompts/support.md, or a list of paths"
        raise UsageError(msg)
    sources = [path.parent / name for name in names]
    texts = [_read(source, f"{path}: prompt").strip() for source in sources]
    for source, text in zip(sources, texts, strict=True):
        if not text or (known.prompt and len(text) > MAX_PROMPT_CHARS):
            most = f"1 to {MAX_PROMPT_CHARS:,}" if known.prompt else "at least 1"
            raise UsageError(f"{path}: prompt: {str(source)!r} has {len(text):,} characters; give {most}")
    return ", ".join(map(str, sources)), "\n\n".join(texts)


def _text(path: Path, data: dict[str, object], name: str) -> str | None:
    value = data.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise UsageError(f"{path}: {name}: {value!r} is no text; put it in quotes")


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{what}: cannot read {str(path)!r} ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what}: {str(path)!r} is not UTF-8; save it as UTF-8") from None

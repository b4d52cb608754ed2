"""The kinds of agents: where each is implemented, and which options it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from pytest_supportbench.parts import Part

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Option:
    """What one option accepts: its type, its lowest value, or a fixed choice of words.

    ``several`` takes a list of the choices with commas between. ``transport`` says that the option is about how the
    agent is reached and what that costs, so that no reply depends on it: cassettes do not ask for it.
    """

    type: type[int | float | bool | str]
    minimum: float | None = None
    choices: tuple[str, ...] = ()
    several: bool = False
    transport: bool = False

    @property
    def wanted(self) -> str:
        """The accepted values in words, for an error message."""
        if self.choices:
            words = ", ".join(self.choices)
            return f"some of {words}, with commas between" if self.several else f"one of {words}"
        name = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[self.type]
        return name if self.minimum is None else f"{name} of at least {self.minimum:g}"


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of agent accepts.

    ``factory`` is ``module:attribute``, imported only when such an agent is made, and called with the spec
    and the root directory. ``options`` of ``None`` means any keyword. ``prompt`` tells whether the agent is sent the
    prompt of an agent file, ``own_code`` that code of the user's reads one by itself, so that the file only declares
    it. ``headers`` tells whether an agent file may set them. ``verbatim`` says that the whole rest of a spec is the
    target, question marks included, so that options come from an agent file only.
    """

    factory: str
    target: Literal["none", "optional", "required"] = "none"
    example: str = ""
    options: Mapping[str, Option] | None = field(default_factory=dict)
    prompt: bool = False
    own_code: bool = False
    headers: bool = False
    verbatim: bool = False


COMMON: Final[Mapping[str, Option]] = {"without": Option(str, choices=get_args(Part), several=True)}
"""Options that every kind takes: ``without`` is an ablation, and takes parts of the observation away."""

_MODE: Final = Option(str, choices=("schema", "tools"))
_RETRIES: Final = Option(int, 0, transport=True)
_TIMEOUT: Final = Option(float, 0.01, transport=True)
_MCP: Final = Option(bool)
_HTTP: Final = {"ca_file": Option(str, transport=True), "mcp": _MCP, "retries": _RETRIES, "timeout": _TIMEOUT}
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
        own_code=True,
    ),
    "pydantic-ai": Kind(
        f"{_PACKAGE}.pydantic_ai_agent:PydanticAIAgent",
        target="required",
        example="pydantic-ai:my_package.agents:support",
        own_code=True,
    ),
    "langchain": Kind(
        f"{_PACKAGE}.langchain_agent:LangChainAgent",
        target="required",
        example="langchain:my_package.graphs:support",
        own_code=True,
    ),
    "http": Kind(
        f"{_PACKAGE}.http:HttpAgent",
        target="required",
        example="http://127.0.0.1:8000/reply",
        options=_HTTP,
        own_code=True,
        headers=True,
        verbatim=True,
    ),
    "https": Kind(
        f"{_PACKAGE}.http:HttpAgent",
        target="required",
        example="https://support.example.com/reply",
        options=_HTTP,
        own_code=True,
        headers=True,
        verbatim=True,
    ),
    "command": Kind(
        f"{_PACKAGE}.command:CommandAgent",
        target="required",
        example="command:python my_agent.py",
        options={"mcp": _MCP},
        own_code=True,
        verbatim=True,
    ),
    "replay": Kind(
        f"{_PACKAGE}.replay:ReplayAgent",
        target="required",
        example="replay:cassettes/ollama-qwen3-4b-instruct",
        verbatim=True,
    ),
    "ollama": Kind(
        f"{_PACKAGE}.ollama:OllamaAgent",
        target="required",
        example="ollama:qwen3:4b-instruct",
        options={
            "host": Option(str, transport=True),
            "keep_alive": Option(str, transport=True),
            "mode": _MODE,
            "num_ctx": Option(int, 256),
            "num_predict": Option(int, 16),
            "parallel": Option(int, 1, transport=True),
            "seed": Option(int),
            "temperature": Option(float, 0),
            "think": Option(str, choices=("true", "false", "low", "medium", "high")),
            "retries": _RETRIES,
            "timeout": _TIMEOUT,
        },
        prompt=True,
    ),
    "openai": Kind(
        f"{_PACKAGE}.openai:OpenAIAgent",
        target="required",
        example="openai:gpt-4.1-mini",
        options={
            "base_url": Option(str, transport=True),
            "input_price": Option(float, 0, transport=True),
            "key_env": Option(str, transport=True),
            "max_tokens": Option(int, 16),
            "mode": _MODE,
            "omit": Option(str, choices=("max_tokens", "seed", "temperature"), several=True),
            "output_price": Option(float, 0, transport=True),
            "reasoning_effort": Option(str, choices=("none", "minimal", "low", "medium", "high", "xhigh")),
            "retries": _RETRIES,
            "seed": Option(int),
            "strict": Option(bool),
            "temperature": Option(float, 0),
            "timeout": _TIMEOUT,
            "token_field": Option(str, choices=("max_tokens", "max_completion_tokens")),
        },
        prompt=True,
        headers=True,
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

MODEL_KINDS: Final = ("ollama", "openai", "local")
"""Kinds that run a model as it is: on a slow machine it needs more time, not other code."""

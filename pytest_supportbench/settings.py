"""The plugin's options: command line beats environment beats ini file."""

from __future__ import annotations

import difflib
import os
import secrets
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

import pytest

from pytest_supportbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.cluster import ExecutorSpec

N = TypeVar("N", int, float)

Record: TypeAlias = Literal["auto", "none", "all"]

FILES: Final = "supportbench_files"
AGENT: Final = "supportbench_agent"

MAX_SHOWN: Final = 60
"""So much of a bad value is quoted."""


def is_scenario_file(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path's last part is named as scenario files are: by the ini option ``supportbench_files``."""
    name = path.rpartition("/")[2]
    return any(fnmatch(name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked for, checked.

    ``agents`` are parsed specs by a unique readable id; ``concurrency`` is ``None`` for each agent's own window;
    ``timeout`` is in seconds from an episode's dispatch; ``results`` is ``None`` for the default place. ``cassette`` is
    the folder of stored replies, if any, and ``record`` how it is used; ``max_tokens`` is what the run may spend.
    ``customer`` plays the customer where a scenario's script has nothing to say. ``executor`` is the cluster that runs
    episodes, ``None`` for this process.
    """

    root: Path
    agents: dict[str, AgentSpec]
    trials: int
    concurrency: int | None
    max_turns: int
    timeout: float
    results: Path | None
    cassette: Path | None
    record: Record
    max_tokens: int | None
    inline: bool
    passed_sections: bool
    customer: AgentSpec | None = None
    executor: ExecutorSpec | None = None

    @property
    def alike(self) -> dict[str, str]:
        """The specs of agents that would have the same name, such as two agent files of one name, by their ids."""
        names = Counter(spec.id for spec in self.agents.values())
        return {name: spec.raw for name, spec in self.agents.items() if names[spec.id] > 1}


def add_options(parser: pytest.Parser) -> None:
    """Declare the options, their environment variables and their ini names."""
    group = parser.getgroup("supportbench", "customer-support agents (pytest-supportbench)")
    group.addoption(
        "--supportbench-agent",
        action="append",
        metavar="SPEC",
        help="agent to evaluate: KIND[:TARGET][?key=value&...], such as ollama:qwen3:4b-instruct, "
        "python:my_agent:reply, rules, or an agent file; repeat it to compare agents",
    )
    group.addoption(
        "--supportbench-trials", metavar="N", help="run every scenario N times with each agent (default 1)"
    )
    group.addoption(
        "--supportbench-concurrency",
        metavar="N",
        help="episodes that run at a time (default: 1 for ollama, local, command and sync callables, 8 for the rest)",
    )
    group.addoption("--supportbench-max-turns", metavar="N", help="turns an episode may take (default 6)")
    group.addoption(
        "--supportbench-timeout",
        metavar="SECONDS",
        help="time an episode may take from dispatch (default 120)",
    )
    group.addoption(
        "--supportbench-results",
        metavar="PATH",
        help="results file, JSON lines (default .supportbench/runs/<utc>-<id>.jsonl)",
    )
    group.addoption(
        "--supportbench-cassette",
        metavar="DIR",
        help="folder of stored replies: what is there is played, what is not is asked and stored",
    )
    group.addoption(
        "--supportbench-record",
        metavar="MODE",
        help="with a cassette: auto (default) asks for what is missing, none fails there, all asks for everything anew",
    )
    group.addoption(
        "--supportbench-max-tokens",
        metavar="N",
        help="stop the run when its replies cost so many tokens, as far as servers report them",
    )
    group.addoption(
        "--supportbench-customer",
        metavar="SPEC",
        help="what answers for the customer where a scenario's script has nothing: python:module:callable, or a "
        "model such as ollama:qwen3:4b-instruct; its answers are not deterministic (default: none)",
    )
    group.addoption(
        "--supportbench-executor",
        metavar="WHERE",
        help="where episodes run: local (default), or a Dask cluster by its scheduler: dask:tcp://HOST:PORT",
    )
    parser.addini(FILES, "file name patterns of scenario files", type="args", default=["*.scenario.yaml"])
    parser.addini(AGENT, "agents to evaluate, as for --supportbench-agent", type="linelist", default=[])
    parser.addini("supportbench_trials", "as --supportbench-trials", type="int", default=None)
    parser.addini("supportbench_concurrency", "as --supportbench-concurrency", type="int", default=None)
    parser.addini("supportbench_max_turns", "as --supportbench-max-turns", type="int", default=None)
    parser.addini("supportbench_timeout", "as --supportbench-timeout", type="float", default=None)
    parser.addini("supportbench_cassette", "as --supportbench-cassette", type="string", default=None)
    parser.addini("supportbench_record", "as --supportbench-record", type="string", default=None)
    parser.addini("supportbench_max_tokens", "as --supportbench-max-tokens", type="int", default=None)
    parser.addini("supportbench_customer", "as --supportbench-customer", type="string", default=None)
    parser.addini("supportbench_executor", "as --supportbench-executor", type="string", default=None)
    parser.addini("supportbench_results", "as --supportbench-results", type="string", default=None)


def read_settings(config: pytest.Config) -> Settings:
    """Return the settings of a session. Raises `pytest.UsageError` naming the option, its value and the remedy."""
    root = config.rootpath
    try:
        _refuse_mistyped(config)
        return Settings(
            root=root,
            agents=_agents(config, root),
            trials=number_of(config, "trials", int, 1, 1) or 1,
            concurrency=number_of(config, "concurrency", int, 1, None),
            max_turns=number_of(config, "max_turns", int, 1, 6) or 6,
            timeout=number_of(config, "timeout", float, 0.001, 120.0) or 120.0,
            results=path_of(config, "results"),
            cassette=_cassette(config),
            record=_record(config),
            max_tokens=number_of(config, "max_tokens", int, 1, None),
            inline=config.getoption("capture", "") == "no" or _debugs(config),
            passed_sections=any(letter in config.getoption("reportchars", "") for letter in "PA"),
            customer=_customer(config, root),
            executor=_executor(config),
        )
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _refuse_mistyped(config: pytest.Config) -> None:
    """Raise `UsageError` for an environment variable that is named nearly as one of ours; it would do nothing."""
    prefix = "SUPPORTBENCH_"
    options = (name.upper() for name in vars(config.option))
    known = [name.removeprefix(prefix) for name in options if name.startswith(prefix)]
    for name in sorted(os.environ):
        word = name.removeprefix(prefix)
        if word == name or word in known or not os.environ[name]:
            continue
        if close := difflib.get_close_matches(word, known, n=1, cutoff=0.85):
            msg = (
                f"the environment variable {name[:MAX_SHOWN]} means nothing; did you mean {prefix}{close[0]}?"
            )
            raise UsageError(f"{msg} Rename it, or unset it")


def _cassette(config: pytest.Config) -> Path | None:
    path = path_of(config, "cassette")
    if path is not None and path.exists() and not path.is_dir():
        raise UsageError(f"--supportbench-cassette: {str(path)!r} is a file; name a folder, which may be new")
    return path


def _record(config: pytest.Config) -> Record:
    mode = value_of(config, "record")
    if not mode:
        return "auto"
    if mode not in get_args(Record):
        msg = f"--supportbench-record: {mode[:MAX_SHOWN]!r} is no mode; give {', '.join(get_args(Record))}"
        raise UsageError(msg)
    if not value_of(config, "cassette"):
        raise UsageError(
            "--supportbench-record goes with --supportbench-cassette=DIR; name the folder as well"
        )
    return cast("Record", mode)


def _customer(config: pytest.Config, root: Path) -> AgentSpec | None:
    text = value_of(config, "customer")
    if not text:
        return None
    from pytest_supportbench.simulated_customer import parse_customer  # noqa: PLC0415 - only such runs pay for it

    return parse_customer(text, root)


def _executor(config: pytest.Config) -> ExecutorSpec | None:
    text = value_of(config, "executor")
    if text in {"", "local"}:
        return None
    from pytest_supportbench.cluster import parse_executor  # noqa: PLC0415 - only such runs pay for it

    return parse_executor(text)


def place_results(settings: Settings) -> tuple[str, str]:
    """Return a new run's id, which sorts by time, and the path of its results file; creates nothing.

    Raises `pytest.UsageError` where the path named is something else than an earlier results file.
    """
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
    if settings.results is None:
        return run_id, str(settings.root / ".supportbench" / "runs" / f"{run_id}.jsonl")
    path = settings.results
    if path.is_dir() or (path.exists() and not _is_results(path)):
        msg = f"--supportbench-results: {str(path)!r} exists and is no results file; name another path"
        raise pytest.UsageError(msg)
    return run_id, str(path)


def _is_results(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(16)
    return not start or start.startswith(b'{"type":"run"')


def value_of(config: pytest.Config, name: str) -> str:
    """Return an option as text: of the command line, else the environment, else the ini file; empty if nowhere."""
    return _given(config, name) or str(_ini(config, f"supportbench_{name}") or "")


def _given(config: pytest.Config, name: str) -> str:
    """Return what the command line or the environment says of an option."""
    return str(
        config.getoption(f"supportbench_{name}") or os.environ.get(f"SUPPORTBENCH_{name.upper()}") or ""
    )


def path_of(config: pytest.Config, name: str) -> Path | None:
    """Return a path: one of the ini file is relative to that file, any other to where pytest was called."""
    if given := _given(config, name):
        return config.invocation_params.dir / given
    written = value_of(config, name)
    return (config.inipath.parent if config.inipath else config.rootpath) / written if written else None


def _ini(config: pytest.Config, name: str) -> Any:
    try:
        return config.getini(name)
    except (TypeError, ValueError, pytest.UsageError) as error:  # which one depends on pytest's version
        raise UsageError(f"ini option {name}: {error}") from None


def _debugs(config: pytest.Config) -> bool:
    """Tell whether a debugger may stop the items; it needs them in the main thread."""
    return any(config.getoption(name, False) for name in ("usepdb", "trace"))


def number_of(
    config: pytest.Config, name: str, kind: Callable[[str], N], least: float, default: N | None
) -> N | None:
    """Return an option as a number of at least ``least``, or ``default``. Raises `UsageError` naming the option."""
    text = value_of(config, name)
    if not text:
        return default
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not least <= number < float("inf"):
        wanted = "a whole number" if kind is int else "a number of seconds"
        least_text = f" of at least {least:g}" if kind is int else " above 0"
        shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
        msg = f"--supportbench-{name.replace('_', '-')}: {shown!r} is not {wanted}{least_text}"
        raise UsageError(msg)
    return number


def _agents(config: pytest.Config, root: Path) -> dict[str, AgentSpec]:
    texts: list[str] = config.getoption("supportbench_agent") or []
    here: Path | None = config.invocation_params.dir
    if not texts and os.environ.get("SUPPORTBENCH_AGENT"):
        texts = os.environ["SUPPORTBENCH_AGENT"].split()
    if not texts:
        texts, here = list(_ini(config, AGENT)), None
    if not texts:
        return {}
    from pytest_supportbench.agents.spec import parse_spec  # noqa: PLC0415 - only runs with an agent pay for it

    agents: dict[str, Any] = {}
    for text in texts:
        spec = parse_spec(text, root, here)
        name, number = spec.id, 2
        while name in agents:
            name, number = f"{spec.id}.{number}", number + 1
        agents[name] = spec
    return agents

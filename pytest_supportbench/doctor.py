"""``supportbench doctor``: whether an agent is wired up, told in words by asking it about one scenario."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.base import LiveAgent, public_options
from pytest_supportbench.agents.kinds import COMMON, KINDS
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.agents.spec_guesses import nearest
from pytest_supportbench.bundled import DEFAULT_SUITE, bundled
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import FileError, UsageError
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.records import Episode, EpisodeError, Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.reporting.sections import failure_text, sections
from pytest_supportbench.reporting.text import as_json, clean, wrapped
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scheduler import Scheduler
from pytest_supportbench.secret_values import environment_secrets, option_secrets
from pytest_supportbench.usage import has_tokens, usage_json

SCENARIO: Final = "billing/charge-after-cancellation.scenario.yaml"
"""The scenario of the bundled suite that is run unless another one is named: short, and solved by one tool call."""

EXIT_BROKEN: Final = 1
EXIT_INFRASTRUCTURE: Final = 10

Write = Callable[[str], None]

_LABEL: Final = 20
_ADVICE: Final = {
    "invalid_reply": "mend what it sends; `supportbench schema turn` prints the form of a turn",
    "agent_failed": "mend the agent; what it raised or answered is above",
    "time_limit": "make it faster, or give it more time with --supportbench-timeout",
}
"""What to do about the endings of an episode that say the agent is not wired up."""

_MODEL_ADVICE: Final = {
    "local": "take another model; what this one wrote is above",
    "ollama": "the model wrote something else; try the option mode={other}, a newer Ollama, or another model",
    "openai": "the model wrote something else, so the server seems not to enforce the schema of a turn; try the option "
    "mode={other}, the other value of strict, or another server or model",
}
"""What to do about replies that are no turns where a model wrote them as it liked, and nobody can mend it."""


def diagnose(text: str, write: Write, *, root: Path, scenario: Path | None, limits: Limits) -> int:
    """Say what an agent spec stands for, run one scenario with it, and return the exit code.

    That is 0 where the agent is wired up, whether or not it passes the scenario; 1 where it replied nothing usable, or
    crashed; 10 for an infrastructure error. Raises `UsageError` where the spec is wrong, cannot become an agent here,
    or names one that only pytest knows, and for a scenario file that cannot be used.
    """
    secret = environment_secrets(os.environ)
    try:
        spec = parse_spec(text, root)
        secret = (*secret, *option_secrets(spec.options))
        _refuse_registered(spec)
        bound = _load(scenario)
        agent = make_agent(spec, root)
    except (FileError, UsageError) as error:
        raise UsageError(Redactor(secret).text(str(error))) from None
    loops = EventLoops()
    runner = Runner({spec.id: agent}, limits, loops.wait_for, secrets=secret)
    scheduler = Scheduler(runner, lambda _result: None)
    clear = runner.redactor(spec.id).text
    visit = _Visit(agent, bound, runner, scheduler, clear, lambda line: write(clean(clear(line))))
    try:
        return visit.code()
    except UsageError as error:
        raise UsageError(clear(str(error))) from None
    finally:
        scheduler.close()
        loops.close()
        agent.close()


def _refuse_registered(spec: AgentSpec) -> None:
    """Raise `UsageError` for a name that is no kind and no file: hooks and fixtures are known to pytest only."""
    if spec.kind == "registered":
        guess = nearest(spec.target, KINDS) or "."
        msg = (
            f"{spec.target!r} is no kind of agent and no agent file{guess} If a hook or a fixture gives it, only "
            f"pytest knows it: run pytest with a scenario file and --supportbench-agent={spec.raw}"
        )
        raise UsageError(msg)


def _load(scenario: Path | None) -> BoundScenario:
    path = bundled(DEFAULT_SUITE).folder / SCENARIO if scenario is None else scenario
    if not path.is_file():
        raise UsageError(f"there is no scenario file {str(path)!r}; name one that ends in .scenario.yaml")
    return Loader().load(path)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One examination; ``write`` takes lines that may hold secrets and control characters.

    ``clear`` blanks a text before it is wrapped: of a secret that a line's end cuts, no line has the whole.
    """

    agent: LiveAgent
    bound: BoundScenario
    runner: Runner
    scheduler: Scheduler
    clear: Callable[[str], str]
    write: Write

    def code(self) -> int:
        """Write all there is to say and return the exit code."""
        spec = self.agent.spec
        problem = self.runner.problem(spec.id)
        for label, text in self._setup():
            self._say(label, text)
        if problem is not None:
            return self._broken(problem)
        self._say("check", "found nothing wrong")
        self._say("scenario", f"{self.bound.scenario.id} {self.bound.scenario.title}")
        self.write("")
        unknown = [name for name, value in self._facts().items() if value is None]
        result = self.scheduler.result(Job(spec.id, self.bound, spec.id, 1))
        for label, text in _outcome(result):
            self._say(label, text)
        for name in unknown:  # such as which model the server says that it asked
            self._say(name.replace("_", " "), _shown(self._facts()[name]))
        if result.episode.error is not None:
            return self._broken(result.episode.error)
        advice = result.episode.failure_remedy or _advice(spec, result.episode.ending)
        return self._wired(result) if advice is None else self._unusable(result, advice)

    def _say(self, label: str, text: str) -> None:
        for line in _entry(label, self.clear(text)):
            self.write(line)

    def _facts(self) -> dict[str, Any]:
        """Return what the agent says of itself now, options and what it does not have apart."""
        facts = self.agent.fingerprint()
        absent = {"options", *(["prompt_path"] if facts.get("prompt_path") is None else [])}
        return {name: value for name, value in facts.items() if name not in absent and value != []}

    def _setup(self) -> Iterator[tuple[str, str]]:
        """Yield labels and what the agent would use, in words."""
        agent, spec = self.agent, self.agent.spec
        options = agent.fingerprint().get("options")
        yield ("agent", spec.raw)
        for name, value in self._facts().items():
            if value is not None:
                yield (name.replace("_", " "), _shown(value))
        yield ("options", _options(spec, options if isinstance(options, dict) else {}))
        if "key_env" in (KINDS[spec.kind].options or ()):
            yield ("key", _from_variable(spec.option("key_env", "OPENAI_API_KEY")))
        for header, variable in spec.headers:
            yield ("header", f"{header}, {_from_variable(variable)}")
        if spec.without:
            yield ("without", ", ".join(sorted(spec.without)))
        window = "answers at once" if agent.inline else counted(agent.window, "episode") + " at a time"
        yield ("window", window)
        limits = self.runner.limits
        yield ("limits", f"{limits.timeout:g} s and {limits.max_turns} turns an episode")

    def _broken(self, problem: EpisodeError) -> int:
        self.write("")
        self.write("NOT WIRED UP: something beside the agent is broken.")
        self._say("cause", problem.cause)
        self._say("what is wrong", problem.message)
        if problem.remedy:
            self._say("remedy", problem.remedy)
        return EXIT_INFRASTRUCTURE

    def _unusable(self, result: Result, advice: str) -> int:
        """Write what came from an agent that gave no usable reply, and what to do."""
        for name, text in sections(result):
            if name.endswith((": conversation", ": agent output")):
                self.write(f"\n{name}\n{text}")
        self.write(f"\nNOT WIRED UP: {_why(result.episode)}.")
        self._say("remedy", advice)
        return EXIT_BROKEN

    def _wired(self, result: Result) -> int:
        """Write how the agent did, and what it did badly on the way."""
        self.write("")
        if result.verdict == "failed":
            self.write(f"{failure_text(result)}\n")
        for line in _slips(result.episode):
            self.write(line)
        passed = result.verdict == "passed"
        end = "passed the scenario." if passed else "failed the scenario, which is a finding about the agent."
        self.write(f"WIRED UP. It {end}")
        return 0


def _advice(spec: AgentSpec, ending: str) -> str | None:
    """Return what to do where the way an episode ended says that the agent is not wired up."""
    if ending == "invalid_reply" and spec.kind in _MODEL_ADVICE:
        other = "schema" if spec.option("mode", "schema") == "tools" else "tools"
        return _MODEL_ADVICE[spec.kind].format(other=other)
    return _ADVICE.get(ending)


def _from_variable(name: str) -> str:
    known = "set" if os.environ.get(name, "").strip() else "NOT SET"
    return f"from the environment variable {name}, which is {known}"


def _entry(label: str, text: str) -> Iterator[str]:
    head = f"{label:<{_LABEL - 1}} "
    if " " not in text:  # a hash or an address stays whole, to be copied
        yield f"{head}{text}"
        return
    yield from wrapped(text, head, " " * _LABEL)


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    return value if isinstance(value, str) else as_json(value)


def _options(spec: AgentSpec, used: dict[str, Any]) -> str:
    """Return the options in force, saying which are defaults, and those that the adapter or the server decides."""
    given = public_options(dict(spec.options))
    shown = {name: value for name, value in sorted({**given, **used}.items()) if name not in COMMON}
    parts = [
        f"{name}={'not set' if value is None else _shown(value)}{'' if name in given else ' (default)'}"
        for name, value in shown.items()
    ]
    left = [name for name in sorted(KINDS[spec.kind].options or ()) if name not in shown]
    if left:
        parts.append(f"not given: {', '.join(left)}")
    return "; ".join(parts) or "none"


def _outcome(result: Result) -> Iterator[tuple[str, str]]:
    episode, usage = result.episode, usage_json(result.episode)
    yield ("verdict", result.verdict)
    yield ("ended", episode.ending.replace("_", " "))
    yield ("turns", str(usage["turns"]))
    tools = Counter(call.tool for call in episode.calls)
    named = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in tools.items())
    yield ("tool calls", f"{len(episode.calls)} ({named})" if named else "none")
    counts = "none reported"
    if has_tokens(usage):
        counts = f"{usage['prompt_tokens'] or 0:,} prompt, {usage['completion_tokens'] or 0:,} completion"
    yield ("tokens", counts)
    if usage["cost"] is not None:
        yield ("cost", f"{usage['cost']} USD")
    if usage["retries"]:
        yield ("repeated", counted(usage["retries"], "request"))
    yield ("seconds", f"{episode.seconds:.3g}, of them {episode.agent_seconds:.3g} for the agent")
    if episode.replayed != "no":
        yield ("replayed", episode.replayed)


def _why(episode: Episode) -> str:
    if episode.ending == "invalid_reply":
        return "its replies were no turns"
    if episode.failure_remedy:
        return "its server refused the request"
    return "it took too long" if episode.ending == "time_limit" else "it crashed or refused"


def _slips(episode: Episode) -> Iterator[str]:
    """Yield what went wrong on the way without stopping the agent."""
    for record in episode.turns:
        if record.turn is None:
            yield from wrapped(f"turn {record.number} was no turn: {record.invalid}", "note: ", "    ")
    for call in episode.calls:
        if call.error is not None and call.error.code in {"unknown_tool", "invalid_arguments"}:
            yield from wrapped(f"{call.tool}: {call.error.code}: {call.error.message}", "note: ", "    ")

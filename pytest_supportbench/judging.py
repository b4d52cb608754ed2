"""The model judge in a live run: asked at its end about what every scored episode told the customer.

What breaks here is never the agent's failure: it is kept as a value, told, and leaves a gate on explanation open.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.calibration import rater_name
from pytest_supportbench.calibration_file import Uncalibrated, load
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import InfrastructureError, SupportBenchError, UsageError
from pytest_supportbench.explained import (
    AgentExplained,
    Explained,
    Place,
    Standing,
    agent_explained,
    episode_shares,
    gate_lines,
    place_of,
    places,
    summary_lines,
)
from pytest_supportbench.judge import Judge
from pytest_supportbench.judgements import judge_all, read_judgements
from pytest_supportbench.questions import Fingerprint, Item, matcher_fingerprint, questions
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.results import Json
from pytest_supportbench.results_file import RunFile
from pytest_supportbench.scoring import SCORER_VERSION
from pytest_supportbench.secret_values import environment_secrets
from pytest_supportbench.summary import by_agent

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec

OPTION: Final = "--supportbench-judge"
CALIBRATION: Final = "--supportbench-calibration"
UNNAMED: Final = f"no calibration file is named; name one with {CALIBRATION}, see supportbench calibrate"
STOPPED: Final = "the run was stopped before its end, so the judge was not asked"
INTERRUPTED: Final = "the judge was interrupted"


def judgements_path(results: Path) -> Path:
    """Return where a run's judgements go: beside its results."""
    return results.with_name(f"{results.stem}.judgements.jsonl")


@dataclass(frozen=True, slots=True)
class Errors:
    """Infrastructure errors of a judge with one cause: how many, and the last one's message and remedy."""

    cause: str
    count: int
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of asking the judge: its ``answers``, how many are ``new``, and what kept it from more.

    ``problem`` is none of the infrastructure's, such as a run that was stopped. ``fingerprint`` is ``None`` where it is
    not known which model would answer.
    """

    answers: Mapping[Place, bool]
    fingerprint: Fingerprint | None
    errors: tuple[Errors, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a run shows of explanation: the raters' standing, each agent's shares, and what the judge could not answer.

    ``judge`` is ``None`` where no judge was named; ``path`` is the file of its answers.
    """

    matcher: Standing
    judge: Standing | None
    path: Path
    asked: Asked
    agents: tuple[AgentExplained, ...]

    def to_json(self) -> Json | None:
        """Return it as JSON data for the closing line; ``None`` without a judge."""
        if self.judge is None:
            return None
        return {
            "judge": self.judge.rater,
            "file": self.path.name if self.asked.answers else None,
            "fingerprint": self.asked.fingerprint,
            "calibrated": {"matcher": self.matcher.calibrated, "judge": self.judge.calibrated},
            "reasons": {"matcher": list(self.matcher.reasons), "judge": list(self.judge.reasons)},
            "answers": len(self.asked.answers),
            "agents": [agent.to_json() for agent in self.agents],
            "errors": {error.cause: error.count for error in self.asked.errors},
            "problem": self.asked.problem or None,
        }


class Judging:
    """The raters of one run: the phrase matcher, the judge if ``spec`` names one, and the file that calibrates them."""

    def __init__(self, spec: AgentSpec | None, calibration: Path | None, root: Path) -> None:
        self.judge = None if spec is None else Judge(spec, root, OPTION)
        self._calibration = calibration
        self._asked = Asked({}, None)

    def ready(self, results: Path) -> None:
        """Make the judge, so that a user's mistake is told before a run.

        Raises `UsageError`, also where something else than answers of an earlier run is in the place of its answers.
        """
        if self.judge is None:
            return
        self.judge.ready()
        if (path := judgements_path(results)).exists():
            read_judgements(path)

    def refuse_uncalibrated(self, suites: Iterable[Mapping[str, Any]]) -> None:
        """Raise `UsageError` where the phrase matcher rates and is not calibrated for these suites.

        ``suites`` have a name and a hash each, as in a run line. What model a judge is, only its answers tell.
        """
        if self.judge is not None:
            return
        found = self._standing(matcher_fingerprint({"suites": list(suites), "scorer": SCORER_VERSION}))
        if not found.calibrated:
            remedy = "Calibrate it for these suites (docs/calibration.md), or drop explanation"
            raise UsageError(f"--supportbench-fail-under: {found}. {remedy}")

    def ask(self, run: RunFile, results: Path, files: Iterable[Path], tell: Callable[[str], None]) -> None:
        """Ask the judge about all scored episodes of a run that reached its end; ``tell`` shows a line.

        ``files`` are the scenario files, which have the customers' words. An earlier run's answers are replaced.
        """
        judge, lines, path = self.judge, summary_lines(run), judgements_path(results)
        if judge is None or not lines:
            return
        wanted = places([*lines, *gate_lines(run)])
        errors: list[Errors] = []
        problem = ""
        items: list[Item] = []
        try:
            path.unlink(missing_ok=True)
            items = [item for item in questions([results], [*files]).items if place_of(item) in wanted]
            if items:
                tell(f"judge: {counted(len(items), 'question')} about what customers were told")
                errors = _counted(judge_all(judge, items, path).errors)
            else:
                judge.check()
        except InfrastructureError as error:
            errors = _counted([error])
        except (SupportBenchError, OSError) as error:
            problem = str(error)
        except KeyboardInterrupt:
            problem = INTERRUPTED
        finally:
            judge.close()
        said = read_judgements(path) if path.exists() else None
        fingerprint = said.fingerprint if said else None
        if fingerprint is None and not errors and not problem:
            fingerprint = judge.fingerprint([str(line["suite"]) for line in lines])
        answers = {place_of(item): said.said[item.key] for item in items if said and item.key in said.said}
        hidden = Redactor((*environment_secrets(os.environ), *judge.ready().secrets()))
        shown = (Errors(e.cause, e.count, hidden.text(e.message), hidden.text(e.remedy)) for e in errors)
        self._asked = Asked(answers, fingerprint, tuple(shown), hidden.text(problem))

    def not_asked(self, problem: str) -> None:
        """Note why the judge is not asked."""
        if self.judge is not None:
            self._asked = Asked({}, None, problem=problem)

    def explanation(self, run: RunFile, results: Path) -> Explanation:
        """Return what a run shows of explanation."""
        asked = self._asked
        judge = None
        if self.judge is not None:
            unknown = Standing(f"judge {self.judge.spec.id}", ("which model answers is not known",))
            judge = self._standing(asked.fingerprint) if asked.fingerprint else unknown
        return Explanation(
            matcher=self._standing(matcher_fingerprint(run.run)),
            judge=judge,
            path=judgements_path(results),
            asked=asked,
            agents=tuple(
                agent_explained(agent, lines, asked.answers)
                for agent, lines in by_agent(summary_lines(run)).items()
            ),
        )

    def for_gate(self, found: Explanation, run: RunFile, agent: str) -> Explained:
        """Return one agent's explanation by the rater that gates: the judge, where there is one."""
        lines = [line for line in gate_lines(run) if line["agent"] == agent]
        shares = list(episode_shares(lines, found.asked.answers))
        if found.judge is None:
            unknown = "" if found.matcher.calibrated else str(found.matcher)
            return Explained(found.matcher.rater, tuple((s.family, s.matcher) for s in shares), unknown)
        judged = tuple((s.family, s.judge) for s in shares if s.judge is not None)
        open_ = len(shares) - len(judged)
        if found.asked.problem:
            return Explained(found.judge.rater, judged, found.asked.problem)
        if found.asked.fingerprint is not None and not found.judge.calibrated:
            return Explained(found.judge.rater, judged, str(found.judge))
        if found.asked.errors:
            last = found.asked.errors[-1]
            what = f"{counted(open_, 'episode')} not judged for infrastructure errors of the judge ({last.cause})"
            return Explained(found.judge.rater, judged, what, infrastructure=True)
        return Explained(
            found.judge.rater, judged, f"{counted(open_, 'episode')} not judged" if open_ else ""
        )

    def _standing(self, fingerprint: Fingerprint) -> Standing:
        """Return what a rater is worth by the calibration file; one that cannot be read calibrates nobody."""
        name = rater_name(fingerprint)
        if self._calibration is None:
            return Standing(name, (UNNAMED,))
        try:
            found = load(self._calibration, fingerprint)
        except UsageError as error:
            return Standing(name, (str(error),))
        return Standing(name, found.reasons if isinstance(found, Uncalibrated) else ())


def _counted(errors: Iterable[InfrastructureError]) -> list[Errors]:
    """Return errors by cause, in the order in which the causes were last met."""
    last: dict[str, InfrastructureError] = {}
    counts: Counter[str] = Counter()
    for error in errors:
        cause = error.cause if error.cause.startswith("judge_") else f"judge_{error.cause}"
        last.pop(cause, None)
        last[cause] = error
        counts[cause] += 1
    return [Errors(cause, counts[cause], error.message, error.remedy) for cause, error in last.items()]

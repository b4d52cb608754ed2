"""What one pytest session shares: loader, agents, scheduler, results file, and the rows for the summary."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents import make_agent
from pytest_supportbench.agents.base import LiveAgent
from pytest_supportbench.agents.callables import CallableAgent
from pytest_supportbench.agents.origin import origin_of
from pytest_supportbench.agents.spec import AgentSpec, parse_spec
from pytest_supportbench.budget import TokenBudget
from pytest_supportbench.cassette_use import CassetteUse
from pytest_supportbench.constant_class import constant_class
from pytest_supportbench.errors import SupportBenchError, UsageError
from pytest_supportbench.last_run import point_at
from pytest_supportbench.loading import BoundScenario
from pytest_supportbench.loops import Loops
from pytest_supportbench.records import Limits
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.results import Json, Result, run_line
from pytest_supportbench.results_file import ResultsFile
from pytest_supportbench.runner import Job, Runner
from pytest_supportbench.scheduler import Scheduler
from pytest_supportbench.secret_values import environment_secrets, option_secrets
from pytest_supportbench.session_scenarios import SessionScenarios
from pytest_supportbench.settings import Settings
from pytest_supportbench.suite_identity import suite_facts
from pytest_supportbench.summary import Row, row

if TYPE_CHECKING:
    from pytest_supportbench.remote_runner import Remote
    from pytest_supportbench.simulated_customer import SimulatedCustomer

_LOCAL: Final = frozenset({"python", "registered", "command"})
"""Kinds whose window is 1 because nothing says that the user's code bears more."""


class BenchSession:
    """One session's state in one process; hooks and fixtures delegate to it.

    ``registered`` returns the agents and toolsets that hooks registered; it is asked once, when first needed. ``shard``
    is what the run line says of it where only a part of the run's scenarios is run here; set before any is. ``remote``
    is the cluster that runs the episodes, if any. ``alone`` says that no other process runs items of this session.
    """

    def __init__(
        self,
        settings: Settings,
        path: Path,
        run_id: str,
        registered: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]],
        *,
        alone: bool = True,
    ) -> None:
        self.settings = settings
        self.limits = Limits(max_turns=settings.max_turns, timeout=settings.timeout)
        self.run_id = run_id
        self.results = ResultsFile(path, run_id, self._run_line)
        self._budget = TokenBudget(settings.max_tokens, path, run_id)
        self._registered = registered
        self._names: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
        self.scenarios = SessionScenarios(settings.root, lambda: self.names[1])
        self._loops = Loops()
        self._agents: dict[str, LiveAgent] = {}
        self._making = threading.Lock()
        self._adopted: dict[str, Any] = {}
        self._hidden = hidden = environment_secrets(os.environ)
        self._customer = _customer(settings, hidden)
        self._cassette = CassetteUse(settings.cassette, settings.record, settings.agents, settings.root)
        self.remote = _remote(settings, run_id, self.limits)
        self._runner = (Runner if self.remote is None else self.remote.runner)(
            {},
            self.limits,
            self._loops.wait_for,
            secrets=hidden,
            recorder=self._cassette.recorder,
            customer=self._customer,
        )
        self.scheduler = Scheduler(
            self._runner,
            self._record,
            concurrency=settings.concurrency,
            inline=settings.inline and settings.executor is None,
            admit=self._budget.admit,
            alone=alone,
        )
        self._constants: dict[str, str | None] = {}
        self.shard: Json | None = None

    @property
    def names(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The registered agents and toolsets by name."""
        if self._names is None:
            self._names = self._registered()
        return self._names

    def agent(self, name: str | None) -> LiveAgent:
        """Return the configured agent of that id, made on first use. Raises `UsageError` listing what exists."""
        if name is None:
            raise UsageError(
                "no agent is configured; name one with --supportbench-agent=SPEC, the environment variable "
                "SUPPORTBENCH_AGENT, the ini option supportbench_agent, or a fixture supportbench_agent\n"
                f"{self._known()}"
            )
        with self._making:
            agent = self._agents.get(name)
            if agent is None:
                agent = self._agents[name] = self._make(name, self.settings.agents[name])
                self._runner.add(name, agent)
            return agent

    def given(self, text: str) -> str:
        """Return the id of the agent that a spec names, made on first use; a configured one is that one.

        Raises `UsageError` where the spec is wrong or cannot become an agent.
        """
        spec = parse_spec(text, self.settings.root)
        for name, known in self.settings.agents.items():
            if known == spec:
                self.agent(name)
                return name
        name, number = spec.id, 2
        with self._making:
            while name in self.settings.agents or (name in self._agents and self._agents[name].spec != spec):
                name, number = f"{spec.id}.{number}", number + 1
            if name not in self._agents:
                self._agents[name] = self._make(name, spec)
                self._runner.add(name, self._agents[name])
        return name

    def has_agent(self, name: str) -> bool:
        """Tell whether that agent was made already, so that its episodes can run ahead."""
        return name in self._agents

    def window(self, name: str) -> int:
        """Return how many episodes of that agent, made already, may run at a time."""
        return self.settings.concurrency or self._agents[name].window

    def one_at_a_time(self) -> list[str]:
        """Return the agents that may bear more episodes at a time than the one that they get unasked."""
        if self.settings.concurrency is not None:
            return []
        widths = self.scheduler.widths()
        return [
            name for name, width in widths.items() if width == 1 and self._agents[name].spec.kind in _LOCAL
        ]

    def name_of(self, agent: Any) -> str | None:
        """Return the id of an agent of this session; ``None`` for any other object."""
        return next((name for name, known in self._agents.items() if known is agent), None)

    def _make(self, name: str, spec: AgentSpec) -> LiveAgent:
        """Return an agent ready to be asked. Raises `UsageError`, without secrets that the user's code may quote."""
        try:
            return self._made(name, spec)
        except UsageError as error:
            secrets = (*self._hidden, *option_secrets(spec.options))
            raise UsageError(Redactor(secrets).text(str(error))) from None

    def _made(self, name: str, spec: AgentSpec) -> LiveAgent:
        handed = self.names[0].get(spec.target) if spec.kind == "registered" else None
        stand_in = self._cassette.stand_in(name, spec, handed)
        if stand_in is not None:
            return stand_in
        if spec.kind != "registered":
            made = make_agent(spec, self.settings.root)
            return made if self.remote is None else self.remote.agent(name, made)
        if spec.target not in self.names[0]:
            from pytest_supportbench.agents.kinds import KINDS  # noqa: PLC0415 - only an error needs them
            from pytest_supportbench.agents.spec_guesses import nearest  # noqa: PLC0415 - likewise

            guess = nearest(spec.target, (*KINDS, *self.names[0]))
            raise UsageError(f"there is no agent {spec.target!r}{guess}\n{self._known()}")
        return CallableAgent(spec, self.settings.root, self.names[0][spec.target])

    def _known(self) -> str:
        from pytest_supportbench.agents.kinds import KINDS  # noqa: PLC0415 - only an error needs the list

        registered = ", ".join(sorted(self.names[0])) or "none"
        return f"kinds: {', '.join(KINDS)}\nregistered by hooks: {registered}"

    def adopt(self, name: str, agent: Any, test: str = "") -> str:
        """Take an agent that the user's code supplied and return the id under which results name it.

        A later agent of the same name takes the place of an earlier one, as where a fixture makes one for each
        item; a configured agent keeps its name for itself. Cassettes tell them apart by where they are written and,
        since one function may make many, by the ``test`` that has one of its own. Raises `UsageError` for what cannot
        be called.
        """
        if name in self.settings.agents:
            name = f"{name}.fixture"
        target = " in ".join(filter(None, (origin_of(agent, self.settings.root), test)))
        spec = AgentSpec(raw=name, kind="fixture", target=target, name=f"fixture-{name}")
        if self.remote is not None and not test:
            self.remote.refuse(spec)
        known = self._agents.get(name)
        if known is None or known.spec != spec or self._adopted.get(name) is not agent:
            live: LiveAgent = CallableAgent(spec, self.settings.root, agent)
            live = self._cassette.stand_in(name, spec, agent) or live
            self._adopted[name] = agent
            self._agents[name] = live
            self._runner.add(name, live)
        return name

    @property
    def redactor(self) -> Redactor:
        """What blanks the secrets of all agents made so far, and of the environment."""
        return self._runner.redactor(*self._agents)

    def run(self, job: Job, upcoming: Iterable[Job]) -> Result:
        """Return a job's result, with further jobs running ahead."""
        return self.scheduler.result(job, upcoming)

    def run_inline(self, job: Job, *, own: bool = False) -> Result:
        """Run a job in the caller's thread; ``own`` marks it in the results file as one of the user's own tests.

        Raises `BudgetSpent` where the run's tokens are used up.
        """
        self._budget.admit()
        result = self.scheduler.run_here(job)
        self.results.append({**result.to_json(), "own": True} if own else result.to_json())
        return result

    def busy(self) -> Json:
        """Return by server what those bore that refused requests of this process, as JSON data."""
        return {server: asdict(borne) for server, borne in self.scheduler.busy().items()}

    def _record(self, result: Result) -> None:
        self.results.append(result.to_json())

    def row(self, result: Result) -> Row:
        """Return the summary row of a result, beside what always-escalate would have got."""
        agent = self._agents.get(result.agent)
        return {
            **row(result, self._constant(result.bound)),
            "cassette": self._cassette.note(result, agent),
            "without": self._without(result, agent),
        }

    def _without(self, result: Result, agent: LiveAgent | None) -> dict[str, bool]:
        """Return the parts that an ablated agent goes without, and whether this scenario has any of them."""
        without = agent.spec.without if agent is not None else ()
        if not without:
            return {}
        from pytest_supportbench.ablation import taken_away  # noqa: PLC0415 - only ablated agents pay for it

        taken = taken_away(result.bound, without)
        return {part: part in taken for part in sorted(without)}

    def _constant(self, bound: BoundScenario) -> str | None:
        """Return always-escalate's class on a scenario, worked out once for all agents and trials."""
        if bound.path not in self._constants:
            self._constants[bound.path] = constant_class(bound)
        return self._constants[bound.path]

    def _run_line(self) -> Json:
        point_at(self.results.path, self.settings.root / ".supportbench")
        self.scenarios.keep()
        suites = suite_facts(self.scenarios.suites())
        agents = [self._fingerprint(name) for name in dict.fromkeys((*self.settings.agents, *self._agents))]
        return run_line(
            suites,
            agents,
            run_id=self.run_id,
            trials=self.settings.trials,
            limits=self.limits,
            root=self.settings.root,
            customer=self._customer.fingerprint() if self._customer else None,
            shard=self.shard,
        )

    def _fingerprint(self, name: str) -> Json:
        """Return an agent's fingerprint, its server asked once; one that cannot be made says why instead."""
        try:
            agent = self.agent(name)
            with self.scheduler.output.passed_on(self._runner.redactor(name)):
                self._runner.problem(name)
        except SupportBenchError as error:
            return {"id": name, "unusable": Redactor(self._hidden).text(str(error))}
        without = {"without": sorted(agent.spec.without)} if agent.spec.without else {}
        said = self._runner.redactor(name).reply(agent.fingerprint())
        return {"id": name, **said, **without, **self._cassette.facts(name, agent)}

    def close(self) -> None:
        """Stop the window and give back what agents hold; running calls are left behind."""
        self.results.close()
        self.scenarios.close()
        self.scheduler.close()
        if self.remote is not None:
            self.remote.close()
        self._loops.close()
        for agent in self._agents.values():
            agent.close()
        if self._customer is not None:
            self._customer.close()


def _customer(settings: Settings, secrets: tuple[str, ...]) -> SimulatedCustomer | None:
    if settings.customer is None:
        return None
    from pytest_supportbench.simulated_customer import SimulatedCustomer  # noqa: PLC0415 - few runs have one

    return SimulatedCustomer(settings.customer, settings.root, secrets)


def _remote(settings: Settings, run_id: str, limits: Limits) -> Remote | None:
    if settings.executor is None:
        return None
    from pytest_supportbench.remote_runner import Remote  # noqa: PLC0415 - only runs on a cluster pay for it

    alone = settings.concurrency is None
    return Remote(settings.executor, run_id, settings.root, limits, settings.customer, alone=alone)

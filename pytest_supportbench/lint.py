"""Leaks and weak spots of scenarios that load and pass: what gives the answer away, and what proves nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pytest_supportbench.agents.filling import choices
from pytest_supportbench.calls import strings_in
from pytest_supportbench.expected import MatcherSpec
from pytest_supportbench.lint_personal import personal_data
from pytest_supportbench.lint_reach import unreached
from pytest_supportbench.lint_rules import Weakness
from pytest_supportbench.lint_worth import worth
from pytest_supportbench.scoring.phrases import contains_phrase
from pytest_supportbench.scoring.text import listed
from pytest_supportbench.state import iter_records

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario, BoundSuite
    from pytest_supportbench.yaml_positions import Place

_TELLTALE: Final = frozenset(
    listed(
        "bait correct decoy distractor expected fake forbidden gold incorrect innocent legit legitimate malicious must "
        "needless right should trap unneeded wrong"
    )
)
_OUTCOMES: Final = frozenset(
    listed("abstain decline declined escalate escalated handoff refuse refused resolve resolved")
)

_SIMILAR: Final = 0.5
"""Messages that share half of all their three-word runs are the same message to an agent."""

_RUN: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]+")


def lint_scenario(bound: BoundScenario) -> Iterator[Weakness]:
    """Yield what is weak in one scenario by itself."""
    yield from worth(bound)
    yield from _outcome_words(bound)
    for path in unreached(bound):
        table, _, key = path.partition(".")
        yield Weakness(
            "unused-state",
            path,
            ("state", table, key),
            f"{path} cannot be seen or changed with the permitted tools",
            "permit a tool that reads it, show its table under 'visible', or drop it",
        )
    yield from _echoes(bound)
    yield from _single_wordings(bound)
    yield from _personal(bound)
    code = bound.scenario.failure_mode.code
    examples = bound.scenario.counterexamples
    if len(examples) > 1 and all(example.commits != code for example in examples):
        yield Weakness(
            "failure-mode-uncommitted",
            code,
            ("counterexamples",),
            f"none of them says that it commits the failure mode {code!r}",
            f"write 'commits: {code}' in one that does",
        )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _outcome_words(bound: BoundScenario) -> Iterator[Weakness]:
    """Look at the names that an agent sees, and at tags, which others may show it."""
    scenario = bound.scenario
    places: list[tuple[str, Place, frozenset[str]]] = [
        *((name, ("tools", index), _TELLTALE) for index, name in enumerate(scenario.tools)),
        *((name, ("policies", index), _TELLTALE | _OUTCOMES) for index, name in enumerate(scenario.policies)),
        *((name, ("tags", index), _TELLTALE | _OUTCOMES) for index, name in enumerate(scenario.tags)),
    ]
    actions = {word for action in bound.suite.suite.actions for word in _words(action.name)}
    failure = set(_words(scenario.failure_mode.code))
    for table, record in iter_records(bound.state.tables):
        own = {word for name in (table, table[:-1], table[:-2]) for word in _words(name)}
        telling = (_TELLTALE | _OUTCOMES | actions | failure) - own
        places.append((record.id, ("state", table, record.id), frozenset(telling)))
    for name, place, telling in places:
        told = sorted(telling.intersection(_words(name)))
        if told:
            yield Weakness(
                "outcome-word",
                name,
                place,
                f"{name!r} says {told[0]!r}, which hints at the outcome",
                "give it a name that tells nothing",
            )


def _echoes(bound: BoundScenario) -> Iterator[Weakness]:
    customer = bound.scenario.customer
    texts = [customer.message, *(entry.message for entry in customer.history if entry.role == "customer")]
    for number, outcome in enumerate(bound.scenario.expected):
        for index, concept in enumerate(outcome.explanation):
            for phrase in concept.any_of:
                if any(contains_phrase(text, phrase, customer.language) for text in texts):
                    yield Weakness(
                        "echoed-concept",
                        concept.concept,
                        (*_outcome(bound, number), "explanation", index),
                        f"the customer's own message says {phrase!r}, so that an echo explains",
                        "choose phrases that only the explanation has",
                    )


def _outcome(bound: BoundScenario, number: int) -> Place:
    return ("expected", number) if len(bound.scenario.expected) > 1 else ("expected",)


def _single_wordings(bound: BoundScenario) -> Iterator[Weakness]:
    """Look for demands that only one exact wording meets; ids and choices are no wording."""
    ids = [record.id for _, record in iter_records(bound.state.tables)]
    for number, outcome in enumerate(bound.scenario.expected):
        place = _outcome(bound, number)
        for index, fact in enumerate(outcome.must_state):
            wordings = fact.value.text or fact.value.mention or ()
            if len(set(wordings)) == 1:
                yield _single(fact.fact, (*place, "must_state", index), f"the one text {wordings[0]!r}")
        for index, call in enumerate(outcome.calls):
            spec = bound.suite.toolset.specs[call.tool]
            for name in sorted(call.args.keys() & spec.free_text):
                value = call.args[name]
                value = value.equals if isinstance(value, MatcherSpec) else value
                named = choices(spec.parameters["properties"][name], spec.parameters.get("$defs", {}))
                if isinstance(value, str) and value not in (*named, *ids):
                    yield _single(
                        f"{call.tool}.{name}", (*place, "calls", index, "args", name), "one exact free text"
                    )


def _single(at: str, place: Place, what: str) -> Weakness:
    return Weakness(
        "single-wording",
        at,
        place,
        f"{what} is all that passes",
        "list the wordings that a good agent may use, or demand a typed value",
    )


def _personal(bound: BoundScenario) -> Iterator[Weakness]:
    data = bound.scenario.model_dump(mode="json", by_alias=True)
    for field, value in data.items():
        for text in dict.fromkeys(strings_in([value])):
            for kind, found in personal_data(text):
                yield Weakness(
                    "real-looking-data",
                    found,
                    (field,),
                    f"{found!r} may be a real {kind}",
                    "use example.com, a phone range reserved for fiction, or an invalid number",
                )


def unasked_concepts(scenarios: Iterable[BoundScenario]) -> Iterator[tuple[BoundScenario, Weakness]]:
    """Yield the concepts of a suite that have no question where more than half of them have one."""
    found = [
        (bound, concept, (*_outcome(bound, number), "explanation", index))
        for bound in scenarios
        for number, outcome in enumerate(bound.scenario.expected)
        for index, concept in enumerate(outcome.explanation)
    ]
    if sum(concept.question is not None for _, concept, _ in found) * 2 <= len(found):
        return
    for bound, concept, place in found:
        if concept.question is None:
            yield (
                bound,
                Weakness(
                    "unasked-concept",
                    concept.concept,
                    place,
                    "has no question, while most concepts of the suite have one",
                    "write what annotators and judges are to be asked as its 'question'",
                ),
            )


def similar_messages(scenarios: Sequence[BoundScenario]) -> Iterator[tuple[BoundScenario, Weakness]]:
    """Yield the scenarios whose message is nearly that of an earlier one of the suite; twins may be."""
    runs = [_runs(bound.scenario.customer.message) for bound in scenarios]
    where: dict[tuple[str, ...], list[int]] = {}
    for number, bound in enumerate(scenarios):
        shared: Counter[int] = Counter()
        for run in runs[number]:
            others = where.setdefault(run, [])
            shared.update(others)
            others.append(number)
        for other, common in shared.items():
            earlier = scenarios[other].scenario
            if bound.scenario.twin == earlier.id or bound.suite.path != scenarios[other].suite.path:
                continue
            share = common / (len(runs[number]) + len(runs[other]) - common)
            if share >= _SIMILAR:
                yield (
                    bound,
                    Weakness(
                        "similar-message",
                        earlier.id,
                        ("customer", "message"),
                        f"is nearly the message of {earlier.id} ({share:.0%} of it)",
                        "write another, or make the two twins",
                    ),
                )


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = ["", *_words(text), ""]
    return frozenset(tuple(words[start : start + _RUN]) for start in range(max(len(words) - _RUN + 1, 1)))


def unlike_twin(bound: BoundScenario, other: BoundScenario) -> Iterator[Weakness]:
    """Yield a weakness where two twins have neither the message nor most records in common."""
    one, two = (_runs(twin.scenario.customer.message) for twin in (bound, other))
    records, others = (
        {(table, record.model_dump_json()) for table, record in iter_records(twin.state.tables)}
        for twin in (bound, other)
    )
    if len(one & two) < _SIMILAR * len(one | two) and len(records & others) < _SIMILAR * len(
        records | others
    ):
        yield Weakness(
            "unlike-twin",
            other.scenario.id,
            ("twin",),
            f"has little in common with {other.scenario.id}; twins are one case with one fact flipped",
            "flip one fact only, or drop 'twin' in both",
        )


def suite_personal_data(suite: BoundSuite) -> list[tuple[str, str]]:
    """Return what looks real in a suite's policies and articles: its kind and the value."""
    texts = [policy.text for policy in suite.suite.policies]
    texts += [text for article in suite.suite.knowledge for text in (article.title, article.text)]
    return [found for text in texts for found in personal_data(text)]


def uncited_policies(suite: BoundSuite, scenarios: Iterable[BoundScenario]) -> list[str]:
    """Return the policies of a suite that make no outcome right in any of its scenarios.

    Earlier versions, which another policy ``supersedes``, are read through a tool and are none of them.
    """
    replaced = {policy.supersedes for policy in suite.suite.policies}
    cited = {
        policy for bound in scenarios for outcome in bound.scenario.expected for policy in outcome.because
    }
    return [policy.id for policy in suite.suite.policies if policy.id not in cited | replaced]

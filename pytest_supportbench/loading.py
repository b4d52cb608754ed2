"""Scenario and suite files to typed, checked values; one broken file gives all its problems at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from pytest_supportbench.consistency import check_scenario, check_suite
from pytest_supportbench.errors import FileError, Problem, ToolsetError
from pytest_supportbench.findings import Finding
from pytest_supportbench.packed import PackedScenario, ground, packed
from pytest_supportbench.protocol import ActionInfo, PolicyText
from pytest_supportbench.scenario import Scenario
from pytest_supportbench.source import Source, read_bytes, read_text
from pytest_supportbench.suite import Policy, Suite
from pytest_supportbench.suite_parts import blame_author, suite_part, suite_toolset
from pytest_supportbench.toolset_code import toolset_sha256
from pytest_supportbench.toolsets import resolve
from pytest_supportbench.validation import explain
from pytest_supportbench.vocabulary import Vocabulary, vocabulary
from pytest_supportbench.yaml12 import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_supportbench.parse_cache import ParseCache
    from pytest_supportbench.state import State
    from pytest_supportbench.toolset import Toolset

T = TypeVar("T")

SUITE_FILE: Final = "suite.yaml"


@dataclass(frozen=True, slots=True)
class BoundSuite:
    """A suite with its toolset; ``path`` is its file.

    ``registered`` says that a plugin registered the toolset under the name that the suite gives. Pickles as
    data, so that a toolset which is declared in YAML, and hence in no module, can travel too.
    """

    suite: Suite
    toolset: type[Toolset[Any]]
    path: Path
    registered: bool = False
    known: Vocabulary = field(init=False, repr=False, compare=False)
    actions: tuple[ActionInfo, ...] = field(init=False, repr=False, compare=False)
    policy_texts: Mapping[str, PolicyText] = field(init=False, repr=False, compare=False)
    toolset_sha256: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Gather the names that scenarios may use and the actions that agents see, once."""
        object.__setattr__(self, "known", vocabulary(self.suite, self.toolset))
        actions = (
            ActionInfo(name=action.name, description=action.description, kind=action.kind)
            for action in self.suite.actions
        )
        object.__setattr__(self, "actions", tuple(actions))
        texts = {policy.id: PolicyText(id=policy.id, text=policy.text) for policy in self.suite.policies}
        object.__setattr__(self, "policy_texts", texts)
        code = toolset_sha256(self.suite.toolset, self.toolset, self.path.parent)
        object.__setattr__(self, "toolset_sha256", code)

    def policy(self, policy_id: str) -> Policy | None:
        """Return a policy of the suite's pack, or ``None`` where it has none of that id."""
        return next((policy for policy in self.suite.policies if policy.id == policy_id), None)

    def __reduce__(self) -> tuple[Any, tuple[Suite, type[Toolset[Any]] | None, Path, str]]:
        return _suite_again, (
            self.suite,
            self.toolset if self.registered else None,
            self.path,
            self.toolset_sha256,
        )


def _suite_again(suite: Suite, toolset: type[Toolset[Any]] | None, path: Path, code: str) -> BoundSuite:
    """Return a suite that travelled. Raises `ToolsetError` where its toolset is another one here."""
    found = toolset or resolve(suite.toolset, path.parent)
    bound = BoundSuite(suite, found, path, registered=toolset is not None)
    if bound.toolset_sha256 != code:
        msg = f"the toolset of the suite {suite.name!r} has other files here than where the run began"
        raise ToolsetError(msg)
    return bound


@dataclass(frozen=True, slots=True)
class BoundScenario:
    """A scenario that is known to fit its suite.

    ``path`` names the file as it was given; ``sha256`` is of the canonical JSON of the file's data, so that
    comments and layout do not count.
    """

    scenario: Scenario
    suite: BoundSuite
    path: str
    sha256: str
    _derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def state(self) -> State:
        """The typed initial state, made when it is first asked for; nothing may change it."""
        return self.derived(_typed_state)

    def derived(self, work_out: Callable[[BoundScenario], T]) -> T:
        """Return what a pure function makes of this scenario, worked out once and kept as long as the scenario."""
        if work_out not in self._derived:
            self._derived[work_out] = work_out(self)
        found: T = self._derived[work_out]
        return found

    def __reduce__(self) -> tuple[Any, tuple[Scenario, BoundSuite, str, str]]:
        return BoundScenario, (self.scenario, self.suite, self.path, self.sha256)


def _typed_state(bound: BoundScenario) -> State:
    return bound.suite.toolset.state_type.model_validate(bound.scenario.state)


class Loader:
    """Loads many scenarios and each suite once; ``root`` is where the search for a suite file ends.

    ``toolsets`` are the registered ones by name, which a suite's ``toolset`` may give. ``cache`` may know what is in
    the files.
    A suite that cannot be loaded is remembered as well, so that each of its scenarios reports it at no cost.
    """

    def __init__(
        self,
        root: Path | None = None,
        toolsets: Mapping[str, type[Toolset[Any]]] | None = None,
        cache: ParseCache | None = None,
    ) -> None:
        self.root = root
        self._cache = cache
        self._toolsets = dict(toolsets or {})
        self._suites: dict[Path, BoundSuite | FileError] = {}
        self._grounds: dict[Path, str] = {}
        self._found: dict[Path, Path | None] = {}

    def suite(self, path: Path) -> BoundSuite:
        """Return the suite in the file ``path``. Raises `FileError`."""
        suite = self._suites.get(path)
        if suite is None:
            try:
                suite = load_suite(path, self._toolsets)
            except FileError as error:
                suite = error
            self._suites[path] = suite
        if isinstance(suite, FileError):
            raise FileError(suite.problems)
        return suite

    def suites(self) -> tuple[BoundSuite, ...]:
        """Return the suites loaded so far, in the order of their files."""
        loaded = [suite for suite in self._suites.values() if isinstance(suite, BoundSuite)]
        return tuple(sorted(loaded, key=lambda suite: suite.path))

    def load(self, path: Path) -> BoundScenario:
        """Return the scenario in the file ``path``, bound to the nearest suite. Raises `FileError`."""
        return _bound(Source(path), self._suite_of(path))

    def packed(self, path: Path) -> PackedScenario:
        """Return it packed, by the cache's word where that knows these bytes and this suite. Raises `FileError`."""
        suite = self._suite_of(path)
        if suite.path not in self._grounds:
            self._grounds[suite.path] = ground(suite)
        fits = self._grounds[suite.path]
        raw = read_bytes(path)
        known = self._cache.get(raw) if self._cache is not None else None
        if known is not None and fits and known.fits == fits:
            return PackedScenario(suite, str(path), known.heading, known)
        source = Source(path, raw, known)
        made = packed(_bound(source, suite), source.data, len(raw), fits)
        if self._cache is not None and made.packed is not None:
            self._cache.put(raw, made.packed)
        return made

    def _suite_of(self, path: Path) -> BoundSuite:
        folder = path.parent
        if folder not in self._found:
            self._found[folder] = find_suite(folder, self.root)
        suite_path = self._found[folder]
        if suite_path is None:
            raise FileError((_no_suite(path),))
        return self.suite(suite_path)


def find_suite(path: Path, root: Path | None = None) -> Path | None:
    """Return the nearest ``suite.yaml`` in the folder ``path`` or above it up to ``root``, or ``None``."""
    start = path.absolute()
    last = root.absolute() if root else None
    for folder in (start, *start.parents):
        candidate = folder / SUITE_FILE
        if candidate.is_file():
            return candidate
        if folder == last:
            return None
    return None


def read_yaml(path: Path) -> Any:
    """Return a YAML file as plain values. Raises `FileError` where it cannot be read or is no plain YAML."""
    return parse(read_text(path), str(path))


def load_suite(path: Path, toolsets: Mapping[str, type[Toolset[Any]]] | None = None) -> BoundSuite:
    """Return the suite in a ``suite.yaml``, whose toolset may be one of ``toolsets`` by name.

    Raises `FileError` with all that is wrong in the file and in those it names.
    """
    source = Source(path)
    data = dict(source.mapping("a suite"))
    parts: dict[str, Source] = {}
    for name in ("policies", "knowledge"):
        if isinstance(data.get(name), str):
            data[name] = suite_part(source, name, parts)
    findings = check_suite(data)
    try:
        suite = Suite.model_validate(data)
    except ValidationError as error:
        findings += explain(error, Suite, data)
    toolset, registered = suite_toolset(data.get("toolset", "saas"), source, toolsets or {})
    for finding in findings:
        part = parts.get(str(finding.place[0])) if finding.place else None
        if part is None:
            source.add(finding)
        else:
            part.add(replace(finding, place=finding.place[1:]))
    source.problems += [problem for part in parts.values() for problem in part.problems]
    source.refuse()
    assert toolset is not None
    try:
        return BoundSuite(suite, toolset, path, registered)
    except Exception as error:
        blame_author(error, ("toolset",), source)
        raise FileError(tuple(source.problems)) from error


def _no_suite(path: Path) -> Problem:
    message = f"there is no {SUITE_FILE} beside this file or above it"
    return Problem(str(path), 1, 1, "", message, "add one; `supportbench new` writes one too")


def load_scenario(path: Path, suite: BoundSuite | None = None) -> BoundScenario:
    """Return the scenario in a file, bound to ``suite`` or to the nearest one.

    Raises `FileError` with all that is wrong in the file, in line order.
    """
    if suite is None:
        suite_path = find_suite(path)
        if suite_path is None:
            raise FileError((_no_suite(path),))
        suite = load_suite(suite_path)
    return _bound(Source(path), suite)


def _bound(source: Source, suite: BoundSuite) -> BoundScenario:
    data = source.mapping("a scenario")
    findings: list[Finding] = []
    scenario = state = None
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        findings += explain(error, Scenario, data)
    fits: list[Finding] = []
    try:
        state = _state(data, suite, findings)
        fits = check_scenario(data, suite.known, state)
    except Exception as error:  # noqa: BLE001 - records may be checked by code of the toolset's author
        blame_author(error, ("state",), source)
    # The order of calls is checked here with exact positions; the model only says which outcome is wrong.
    ordered = {finding.place[: finding.place.index("calls")] for finding in fits if "calls" in finding.place}
    for finding in (*(finding for finding in findings if finding.place not in ordered), *fits):
        source.add(finding)
    source.refuse()
    assert scenario is not None
    return BoundScenario(scenario, suite, source.name, source.sha256)


def scenario_files(folder: Path) -> dict[str, Path]:
    """Return every ``*.scenario.yaml`` below a folder by its relative POSIX path, sorted."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.scenario.yaml")}
    return dict(sorted(files.items()))


def _state(data: dict[str, Any], suite: BoundSuite, findings: list[Finding]) -> State | None:
    """Return the typed state, or ``None`` with further findings where it is none."""
    if not isinstance(data.get("state"), dict):
        return None
    model = suite.toolset.state_type
    try:
        return model.model_validate(data["state"])
    except ValidationError as error:
        found = explain(error, model, data["state"])
    findings += [replace(finding, place=("state", *finding.place)) for finding in found]
    return None

"""pytest-html's hooks: our page goes into its file, and its own rows of scenario items stay short."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_supportbench.access import SETTINGS
from pytest_supportbench.controller import Controller
from pytest_supportbench.report_data import carried, carries, of_scenario

if TYPE_CHECKING:
    from pytest_supportbench.loading import BoundScenario
    from pytest_supportbench.reporting.html.episodes import Json
    from pytest_supportbench.summary import Row

EXTRA: Final = "pip install 'pytest-supportbench[html]'"

_STAKE: Final = "stake"


def register_html(config: pytest.Config, controller: Controller) -> None:
    """Add our part to pytest-html's report where one is asked for.

    Raises `pytest.UsageError` where a package of the extra is missing, or where there can be no such file: pytest-html
    would find out when the run is over.
    """
    path = config.getoption("htmlpath", None)
    if not path or not config.pluginmanager.hasplugin("html"):
        return
    from importlib.util import find_spec  # noqa: PLC0415 - only runs with an HTML report

    if missing := [name for name in ("drawsvg", "jinja2", "markupsafe") if find_spec(name) is None]:
        raise pytest.UsageError(
            f"--html: scenarios need {' and '.join(missing)} for their part; run: {EXTRA}"
        )
    where = _file(path)
    config.pluginmanager.register(HtmlReport(config, controller, where), "supportbench-html")


def stake(config: pytest.Config, bound: BoundScenario) -> Mapping[str, Any]:
    """Return what an item's row has to say of its scenario for the report: nothing where there is none.

    It is said while the scenario is at hand; to load them all again at the end would double a run's time.
    """
    if not config.getoption("htmlpath", None):
        return {}
    from pytest_supportbench.reporting.html.stakes import stake_of  # noqa: PLC0415 - only runs with an HTML report

    return {_STAKE: stake_of(bound)}


def _file(path: str) -> Path:
    """Return the report's file, as pytest-html resolves it."""
    where = Path.cwd() / Path(os.path.expandvars(path)).expanduser()
    place = next(folder for folder in (where, *where.parents) if folder.exists())
    if place.is_dir() if place == where else not place.is_dir():
        what = "a folder" if place == where else "no folder"
        raise pytest.UsageError(f"--html={path}: {str(place)!r} is {what}; name another file for the report")
    if not os.access(place, os.W_OK):
        raise pytest.UsageError(
            f"--html={path}: {str(place)!r} may not be written; name another file for the report"
        )
    return where


class HtmlReport:
    """Writes SupportBench's part of pytest-html's file, in the process that reports the run."""

    def __init__(self, config: pytest.Config, controller: Controller, path: Path) -> None:
        self._config = config
        self._controller = controller
        self._path = path
        self._written = False
        self._crashes: list[str] = []
        self._stakes: dict[str, Json] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take each scenario's stake once; note a worker of pytest-xdist that died, which pytest-html does not list."""
        if report.when not in {"setup", "call", "teardown"}:
            self._crashes.append(report.longreprtext)
        for row in carried(report).get("rows", ()):
            if (told := row.pop(_STAKE, None)) is not None:
                self._stakes.setdefault(_case(row), told)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Escape the test's id, which pytest-html takes as markup."""
        from markupsafe import escape  # noqa: PLC0415 - only runs with an HTML report

        if carries(report):
            name = report.nodeid if report.when == "call" else f"{report.nodeid}::{report.when}"
            named = f'<td class="col-testId">{escape(name)}</td>'
            cells[:] = [named if 'class="col-testId"' in cell else cell for cell in cells]

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_html_results_table_html(self, report: pytest.TestReport, data: list[str]) -> None:
        """Keep of a scenario item's log the failure: its story stands in our part, packed."""
        if of_scenario(report):
            data[:] = data[:1] if report.longreprtext else ["See the scenarios above.\n"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str], session: pytest.Session) -> None:
        """Add our page."""
        text = self._page(session)
        if text is not None:
            prefix.append(text)
            self._written = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """Give the written file its language, viewport and content policy."""
        done = yield
        if self._written and self._path.exists():
            from pytest_supportbench.reporting.html.document import finished  # noqa: PLC0415 - likewise
            from pytest_supportbench.reporting.html.page import script  # noqa: PLC0415 - likewise

            text = self._path.read_text(encoding="utf-8")
            self._path.write_text(finished(text, script()), encoding="utf-8")
        return done

    def _page(self, session: pytest.Session) -> str | None:
        finished = self._controller.finished(session)
        if not finished.rows and not self._config.stash[SETTINGS].agents:
            return None  # a project without scenarios, which merely has the plugin installed
        from pytest_supportbench.reporting.html.episodes import blocks, packed  # noqa: PLC0415 - likewise
        from pytest_supportbench.reporting.html.page import Parts, render  # noqa: PLC0415 - likewise
        from pytest_supportbench.reporting.html.setup import setup_of  # noqa: PLC0415 - likewise
        from pytest_supportbench.reporting.html.table import table  # noqa: PLC0415 - likewise
        from pytest_supportbench.reporting.html.verdict import verdict  # noqa: PLC0415 - likewise

        rows = [row for found in finished.rows.values() for row in found]
        stored: list[str] = []
        where: dict[str, int] = {}
        for number, (keys, block) in enumerate(
            blocks(self._stories(finished.path, finished.rows), self._stakes)
        ):
            stored.append(block)
            where |= dict.fromkeys(keys, number)
        return render(
            Parts(
                verdict=verdict(
                    rows,
                    finished.judged,
                    stopped=finished.stopped,
                    planned=session.testscollected,
                    failed_otherwise=finished.failed,
                    mistakes=finished.mistakes,
                    crashes=self._crashes,
                ),
                rows=rows,
                summaries=finished.summaries,
                pairs=finished.comparisons,
                judged=finished.judged,
                baseline=finished.baseline,
                setup=setup_of(finished.path, self._config.rootpath),
                index=packed(table(finished.rows, finished.judged, where)),
                blocks=stored,
            )
        )

    def _stories(self, path: Path, rows: Mapping[str, list[Row]]) -> Iterator[tuple[str, str, Json]]:
        """Yield each reported episode's story from the results file, the attempt that was reported."""
        from pytest_supportbench.reporting.html.episodes import story  # noqa: PLC0415 - likewise
        from pytest_supportbench.results import episode_key  # noqa: PLC0415 - likewise
        from pytest_supportbench.results_file import lines_of  # noqa: PLC0415 - likewise

        known = {
            (row["key"], row["attempt"]): (nodeid, row) for nodeid, found in rows.items() for row in found
        }
        if not path.exists():
            return
        command = self._commands()
        for line in lines_of(path):
            if line.get("type") != "episode" or line.get("own"):
                continue
            nodeid, row = known.get((episode_key(line), line["attempt"]), ("", None))
            if row is not None:
                yield row["key"], _case(row), story(line, row, command(nodeid))

    def _commands(self) -> Callable[[str], str]:
        """Return what makes of a node id a command that runs the item again, from where pytest was called."""
        here = os.path.relpath(self._config.rootpath, self._config.invocation_params.dir)
        chosen = self._config.stash[SETTINGS]
        words = [f"--supportbench-agent={spec.raw}" for spec in chosen.agents.values()]
        if chosen.trials > 1:
            words.append(f"--supportbench-trials={chosen.trials}")
        options = "".join(f" {shlex.quote(word)}" for word in words)

        def command(nodeid: str) -> str:
            path, _, name = nodeid.partition("::")
            file = os.path.normpath(Path(here, path))
            return f"pytest {shlex.quote(f'{file}::{name}')}{options}"

        return command


def _case(row: Mapping[str, Any]) -> str:
    return f"{row['suite']}/{row['scenario']}"

"""``supportbench``: run, copy, check, publish and serve suites, begin a scenario, print schemas, tools and tables."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn, get_args

from pytest_supportbench.cli_gate import add_gate_commands
from pytest_supportbench.cli_labels import add_label_commands
from pytest_supportbench.cli_note import add_note_command
from pytest_supportbench.cli_runs import add_run_commands
from pytest_supportbench.counted import counted
from pytest_supportbench.errors import SupportBenchError, UsageError

EXIT_FOUND = 1
EXIT_USAGE = 4


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave with the exit code that means usage everywhere in this package."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version, which is looked up only here, and leave."""
        from importlib.metadata import version  # noqa: PLC0415 - no command needs it

        print(f"pytest-supportbench {version('pytest-supportbench')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 problems found, 4 wrong usage; ``run`` gives pytest's."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for_pytest: list[str] = []
    if given[:1] == ["run"] and given[1:2] not in (["-h"], ["--help"]):
        given, for_pytest = given[:1], given[1:]  # none of them is ours to understand
    chosen = _parser().parse_args(given)
    chosen.for_pytest = for_pytest
    try:
        code: int = chosen.run(chosen)
        sys.stdout.flush()
    except (UsageError, FileNotFoundError, FileExistsError) as error:
        print(f"supportbench: {_text(error)}", file=sys.stderr)
        return EXIT_USAGE
    except SupportBenchError as error:
        print(error, file=sys.stderr)
        return EXIT_FOUND
    except (
        BrokenPipeError
    ):  # the reader has seen enough; what is still buffered must not break the end of Python
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        decided: int = getattr(chosen, "decided", 0)
        return decided
    return code


def _text(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return f"{error} does not exist; name a scenario file or a folder of them"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    from pytest_supportbench.words import Category  # noqa: PLC0415 - --help alone needs no models

    parser = _Parser(prog="supportbench", description="Evaluate customer-support agents with pytest.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    check = commands.add_parser("check", help="prove that scenarios hold what they claim")
    check.add_argument(
        "paths", nargs="*", default=["scenarios"], help="files or folders (default: scenarios)"
    )
    check.add_argument("-q", "--quiet", action="store_true", help="print problems only")
    check.set_defaults(run=_check)

    schema = commands.add_parser("schema", help="print a JSON Schema, for editors and agents")
    schema.add_argument("kind", choices=["scenario", "suite", "observation", "turn"])
    schema.add_argument(
        "--format", choices=["json", "markdown"], default="json", help="a JSON Schema, or tables to read"
    )
    schema.set_defaults(run=_schema)

    new = commands.add_parser("new", help="begin a scenario from a template that passes supportbench check")
    new.add_argument("id", help="the scenario's id, such as TB-051")
    areas = ", ".join(get_args(Category))
    new.add_argument(
        "--category", default="billing", help=f"{areas}, or a word of your own (default: billing)"
    )
    new.add_argument("--folder", default="scenarios", help="where to put it (default: scenarios)")
    new.set_defaults(run=_new)

    for name, text in (
        ("tools", "list the tools of a suite"),
        ("tables", "list the tables of a suite's state"),
    ):
        listing = commands.add_parser(name, help=f"{text}, with types and defaults")
        listing.add_argument("suite", nargs="?", metavar="SUITE_FOLDER", help="default: the toolset saas")
        listing.add_argument("name", nargs="?", default="", metavar="NAME", help="only this one")
        listing.set_defaults(run=_list, what=name)
    _add_suite_commands(commands)
    add_gate_commands(commands)
    add_label_commands(commands)
    add_run_commands(commands)
    add_note_command(commands)
    return parser


def _add_suite_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="run TinyBench-50, or a suite of your own, with pytest in the current folder",
        usage="supportbench run [SUITE_OR_PATH] [PYTEST_ARGUMENT ...]",
        epilog="example: supportbench run --supportbench-agent=rules -k refund; pytest's exit code is given back",
    )
    run.set_defaults(run=_run)

    copy = commands.add_parser("copy", help="copy a suite that comes with the package, to edit it")
    copy.add_argument("suite", nargs="?", default="tinybench-50", help="default: tinybench-50")
    copy.add_argument("destination", help="a folder that is new or empty")
    copy.set_defaults(run=_copy)

    serve = commands.add_parser(
        "serve", help="serve a scenario's tools over MCP, for any client, until Ctrl-C says what was called"
    )
    serve.add_argument("scenario", help="a scenario file")
    serve.add_argument("--port", type=int, default=0, help="default: one that the system chooses")
    serve.add_argument("--without", metavar="PARTS", help="some of memory,knowledge,policies")
    serve.set_defaults(run=_serve)

    doctor = commands.add_parser(
        "doctor",
        help="say whether an agent is wired up: its server, its model, its options, one scenario",
        epilog="exit codes: 0 wired up, whatever it scored; 1 no usable reply; 4 wrong spec; 10 infrastructure",
    )
    doctor.add_argument("spec", metavar="SPEC", help="an agent as for --supportbench-agent")
    doctor.add_argument("--scenario", type=Path, metavar="FILE", help="default: a short one of TinyBench-50")
    doctor.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="where files and modules are looked for"
    )
    doctor.add_argument(
        "--supportbench-timeout", type=_seconds, default=120.0, metavar="SECONDS", help="default: 120"
    )
    doctor.set_defaults(run=_doctor)

    suites = commands.add_parser("suites", help="list the suites that come with the package")
    suites.set_defaults(run=_suites)

    artifacts = commands.add_parser(
        "artifacts", help="write a suite's CSV, manifest, metadata and page blocks"
    )
    artifacts.add_argument(
        "suite", nargs="?", metavar="SUITE_FOLDER", help="default: scenarios/tinybench-50, or the only one"
    )
    artifacts.add_argument("--check", action="store_true", help="write nothing, report what is out of date")
    artifacts.set_defaults(run=_artifacts)


def _check(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.check import check_files, find_scenarios, overlooked  # noqa: PLC0415 - needed here

    paths = [Path(path) for path in chosen.paths]
    files = find_scenarios(paths)
    missed = overlooked(paths)
    if not files:
        raise UsageError(f"no *.scenario.yaml under {', '.join(chosen.paths)}; name a folder that has some")
    report = check_files(files, Path.cwd())
    problems = [*missed, *report.problems]
    for problem in problems:
        print(problem)
    if report.scenarios and not chosen.quiet:
        print(f"\n{'mutation':<18}{'made':>10}{'caught':>10}{'exempt':>14}")
        for mutation in report.mutations:
            print(f"{mutation.kind:<18}{mutation.made:>10}{mutation.caught:>10}{mutation.exempt:>14}")
        made, caught = (sum(getattr(row, name) for row in report.mutations) for name in ("made", "caught"))
        print(f"{'all':<18}{made:>10}{caught:>10}{sum(row.exempt for row in report.mutations):>14}")
        print(f"\n{'constant agent':<18}{'passes':>10}{'recall':>10}{'specificity':>14}")
        for row in report.constants:
            passes = f"{len(row.passed)}/{row.scenarios}"
            recall, specificity = (_share(*share) for share in (row.recall, row.specificity))
            print(f"{row.agent:<18}{passes:>10}{recall:>10}{specificity:>14}")
    if not chosen.quiet:
        print(
            f"\n{report.scenarios} of {counted(len(files), 'scenario')} loaded, references and "
            f"{counted(report.counterexamples, 'counterexample')} replayed: "
            f"{counted(len(problems), 'problem')}"
        )
    return EXIT_FOUND if problems else 0


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "–"


def _run(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.bundled_run import run_suite  # noqa: PLC0415 - the only command that needs pytest

    return run_suite(chosen.for_pytest)


def _copy(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.bundled import bundled, copy_suite  # noqa: PLC0415 - one command needs it

    suite = bundled(chosen.suite)
    copy_suite(suite, Path(chosen.destination))
    folder = shlex.quote(chosen.destination)
    print(f"copied {suite.name} {suite.version} to {chosen.destination}")
    print(f"next: edit it, then run: supportbench check {folder}")
    print(f"and see it pass: supportbench run {folder} --supportbench-agent=oracle")
    return 0


def _serve(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.serve import serve  # noqa: PLC0415 - one command needs it

    parts = frozenset() if chosen.without is None else frozenset(chosen.without.split(","))
    serve(Path(chosen.scenario), partial(print, flush=True), port=chosen.port, without=parts)
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.doctor import diagnose  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.records import Limits  # noqa: PLC0415 - likewise

    limits = Limits(timeout=chosen.supportbench_timeout)
    write = partial(print, flush=True)
    return diagnose(chosen.spec, write, root=chosen.root.absolute(), scenario=chosen.scenario, limits=limits)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise ValueError(text)
    return seconds


def _suites(_: argparse.Namespace) -> int:
    from pytest_supportbench.bundled import bundled_suites  # noqa: PLC0415 - one command needs it

    for suite in bundled_suites():
        print(f"{suite.name} {suite.version} {suite.folder}")
    return 0


def _artifacts(chosen: argparse.Namespace) -> int:
    from pytest_supportbench import artifacts  # noqa: PLC0415 - one command needs it

    folder = Path(chosen.suite) if chosen.suite else artifacts.default_folder(Path())
    if chosen.check:
        problems = artifacts.drift(folder)
        for problem in problems:
            print(problem)
        return EXIT_FOUND if problems else 0
    changed = artifacts.write_artifacts(folder)
    for path in changed:
        print(f"wrote {artifacts.shown_path(path)}")
    if not changed:
        print(f"all artifacts of {artifacts.shown_path(folder)} are up to date")
    return 0


def _list(chosen: argparse.Namespace) -> int:
    from pytest_supportbench import catalogue  # noqa: PLC0415 - two commands need it

    folder, name = chosen.suite, chosen.name
    if folder is not None and not name and not Path(folder).exists() and folder.isidentifier():
        folder, name = None, folder
    toolset = catalogue.toolset_of(None if folder is None else Path(folder))
    lines = catalogue.tool_lines if chosen.what == "tools" else catalogue.table_lines
    for line in lines(toolset, name):
        print(line)
    return 0


def _schema(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.field_tables import field_tables  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.schemas import json_schema  # noqa: PLC0415 - likewise

    if chosen.format == "markdown":
        print(field_tables(chosen.kind))
        return 0
    print(json.dumps(json_schema(chosen.kind), indent=2, ensure_ascii=False))
    return 0


def _new(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.scaffold import new_scenario  # noqa: PLC0415 - one command needs it

    path = new_scenario(Path(chosen.folder), chosen.id, chosen.category)
    print(f"wrote {path}\nnext: edit it, then run: supportbench check {path}")
    print(f"and see it pass: pytest {path} --supportbench-agent=oracle")
    return 0


if __name__ == "__main__":
    sys.exit(main())

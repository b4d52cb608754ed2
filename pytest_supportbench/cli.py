"""``supportbench``: check scenarios, begin a new one, print schemas, tools and tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, get_args

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
    """Run one command and return its exit code: 0 fine, 1 problems found, 4 wrong usage."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except (UsageError, FileNotFoundError, FileExistsError) as error:
        print(f"supportbench: {_text(error)}", file=sys.stderr)
        return EXIT_USAGE
    except SupportBenchError as error:
        print(error, file=sys.stderr)
        return EXIT_FOUND
    except BrokenPipeError:
        return 0
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
    return parser


def _check(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.check import check_files, find_scenarios  # noqa: PLC0415 - one command needs it

    files = find_scenarios(Path(path) for path in chosen.paths)
    if not files:
        raise UsageError(f"no *.scenario.yaml under {', '.join(chosen.paths)}; name a folder that has some")
    report = check_files(files, Path.cwd())
    for problem in report.problems:
        print(problem)
    if not chosen.quiet:
        print(f"\n{'constant agent':<18}{'passes':>10}{'recall':>10}{'specificity':>14}")
        for row in report.constants:
            passes = f"{len(row.passed)}/{row.scenarios}"
            recall, specificity = (_share(*share) for share in (row.recall, row.specificity))
            print(f"{row.agent:<18}{passes:>10}{recall:>10}{specificity:>14}")
        print(
            f"\n{report.scenarios} of {counted(len(files), 'scenario')} loaded, references and "
            f"{counted(report.counterexamples, 'counterexample')} replayed: "
            f"{counted(len(report.problems), 'problem')}"
        )
    return EXIT_FOUND if report.problems else 0


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "–"


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
    from pytest_supportbench.schemas import json_schema  # noqa: PLC0415 - one command needs it

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

"""``supportbench``: check scenarios, print schemas, begin a new scenario."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, get_args

from pytest_supportbench.errors import SupportBenchError, UsageError

EXIT_FOUND = 1
EXIT_USAGE = 4


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Leave with the exit code that means usage everywhere in this package."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


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
    new.add_argument("--category", default="billing", choices=get_args(get_args(Category)[0]) or None)
    new.add_argument("--folder", default="scenarios", help="where to put it (default: scenarios)")
    new.set_defaults(run=_new)
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
            recall, specificity = ("{}/{}".format(*share) for share in (row.recall, row.specificity))
            print(f"{row.agent:<18}{passes:>10}{recall:>10}{specificity:>14}")
        print(
            f"\n{report.scenarios} of {len(files)} scenarios loaded, their references and "
            f"{report.counterexamples} counterexamples replayed: {len(report.problems)} problem(s)"
        )
    return EXIT_FOUND if report.problems else 0


def _schema(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.schemas import json_schema  # noqa: PLC0415 - one command needs it

    print(json.dumps(json_schema(chosen.kind), indent=2, ensure_ascii=False))
    return 0


def _new(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.scaffold import new_scenario  # noqa: PLC0415 - one command needs it

    path = new_scenario(Path(chosen.folder), chosen.id, chosen.category)
    print(f"wrote {path}\nnext: edit it, then run: supportbench check {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

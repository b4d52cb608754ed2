"""``supportbench labels``, ``judge`` and ``calibrate``: from results to raters that people have checked."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from pytest_supportbench.calibration import Rater
    from pytest_supportbench.labels import Labels

EXIT_INFRASTRUCTURE: Final = 10

_say = partial(print, flush=True)


def add_label_commands(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the commands to those of ``supportbench``."""
    labels = commands.add_parser("labels", help="have people answer whether concepts were explained")
    kinds = labels.add_subparsers(required=True, metavar="COMMAND")

    export = kinds.add_parser(
        "export", help="write blind, shuffled CSV sheets, one an annotator, and their key"
    )
    _add_results(export)
    export.add_argument(
        "--out", type=Path, default=Path("labels.csv"), metavar="FILE", help="default: labels.csv"
    )
    export.add_argument("--annotators", type=_annotators, default=2, metavar="N", help="2 to 9 (default: 2)")
    export.add_argument("--seed", type=int, default=1, help="of ids, orders and the draw (default: 1)")
    export.add_argument(
        "--limit", type=_positive, metavar="N", help="draw so many items at random (default: all)"
    )
    export.set_defaults(run=_export)

    bring = kinds.add_parser("import", help="read filled sheets, every mistake with its line")
    bring.add_argument("sheets", nargs="+", type=Path, metavar="SHEET", help="one of each annotator")
    bring.add_argument(
        "--key", type=Path, metavar="FILE", help="default: beside the first sheet, by its name"
    )
    bring.add_argument(
        "--out", type=Path, default=Path("labels.json"), metavar="FILE", help="default: labels.json"
    )
    bring.set_defaults(run=_import)

    decide = kinds.add_parser("adjudicate", help="take the decisions on which annotators disagree")
    decide.add_argument("labels", type=Path, metavar="LABELS", help="what labels import wrote")
    decide.add_argument("sheet", type=Path, metavar="SHEET", help="the filled sheet of disagreements")
    decide.set_defaults(run=_adjudicate)

    judge = commands.add_parser("judge", help="have a model judge what stored episodes explain")
    _add_results(judge)
    judge.add_argument("--judge", required=True, metavar="SPEC", help="python:…, ollama:…, openai:… or local")
    judge.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="where files and modules are looked for"
    )
    judge.add_argument(
        "--out", type=Path, default=Path("judgements.jsonl"), metavar="FILE", help="default: judgements.jsonl"
    )
    judge.set_defaults(run=_judge)

    calibrate = commands.add_parser("calibrate", help="measure raters of explanations against people")
    calibrate.add_argument("labels", type=Path, metavar="LABELS", help="what labels import wrote")
    calibrate.add_argument(
        "--rater",
        action="append",
        metavar="matcher|JUDGEMENTS",
        help="the phrase matcher, or what supportbench judge wrote; repeatable (default: matcher)",
    )
    calibrate.add_argument(
        "--out", type=Path, default=Path("calibration.json"), metavar="FILE", help="default: calibration.json"
    )
    calibrate.set_defaults(run=_calibrate)


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files of runs")
    parser.add_argument(
        "--scenarios",
        action="append",
        type=Path,
        metavar="PATH",
        help="where the scenarios are; repeatable (default: the folder scenarios, and the package's own suites)",
    )


def _annotators(text: str) -> int:
    if text not in {*"23456789"}:
        msg = f"{text!r} is no number of annotators; agreement takes 2, and at most 9 are supported"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        msg = f"{text!r} is no number of items; give 1 or more"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _found(chosen: argparse.Namespace) -> Any:
    from pytest_supportbench.questions import questions  # noqa: PLC0415 - --help alone needs no models

    default = [Path("scenarios")] if Path("scenarios").is_dir() else []
    found = questions(chosen.results, chosen.scenarios or default)
    if found.silent:
        _say(
            f"left out: {found.silent} of {found.episodes + found.silent} episodes told the customer nothing"
        )
    return found


def _export(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.label_sheets import export, sheet  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.labels import refuse_existing, write_new  # noqa: PLC0415 - likewise

    key = export(_found(chosen), annotators=chosen.annotators, seed=chosen.seed, limit=chosen.limit)
    out: Path = chosen.out
    named = {
        out.with_name(f"{out.stem}-{number}.csv"): sheet(key, number)
        for number in range(1, key.annotators + 1)
    }
    key_file = out.with_name(f"{out.stem}.key.json")
    refuse_existing((*named, key_file))
    for path, text in {**named, key_file: key.text()}.items():
        write_new(path, text)
        _say(f"wrote {path}")
    _say(
        f"{len(key.items)} items for {key.annotators} annotators; each answers yes, no or unsure in the column answer"
    )
    _say(
        f"keep {key_file} from them: it says what each item is. Then: supportbench labels import {_list(named)}"
    )
    return 0


def _list(paths: Iterable[Path]) -> str:
    return " ".join(map(str, paths))


def _import(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.label_sheets import disagreement_sheet, import_sheets  # noqa: PLC0415 - one command
    from pytest_supportbench.labels import read_labels, refuse_existing, write_new  # noqa: PLC0415 - likewise

    first: Path = chosen.sheets[0]
    key_file = chosen.key or first.with_name(re.sub(r"-\d$", "", first.stem) + ".key.json")
    if not key_file.is_file():
        msg = f"there is no key {key_file}; name the .key.json file that labels export wrote with --key"
        raise UsageError(msg)
    labels = import_sheets(read_labels(key_file), chosen.sheets)
    out: Path = chosen.out
    decisions = out.with_name(f"{out.stem}.disagreements.csv")
    refuse_existing((out, decisions))
    write_new(out, labels.text())
    _say(f"wrote {out}: {len(labels.items)} items, {labels.annotators} annotators")
    if labels.disagreements:
        write_new(decisions, disagreement_sheet(labels))
        _say(f"wrote {decisions}: {len(labels.disagreements)} items on which they disagree or are unsure")
        _say(
            f"have somebody decide in its column answer, then: supportbench labels adjudicate {out} {decisions}"
        )
    else:
        _say(f"they agree on all of them; next: supportbench calibrate {out}")
    return 0


def _adjudicate(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.label_sheets import adjudicate  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.labels import read_labels, write_over  # noqa: PLC0415 - likewise

    labels = adjudicate(read_labels(chosen.labels), chosen.sheet)
    write_over(chosen.labels, labels.text())
    _say(f"wrote {chosen.labels}: {len(labels.disagreements)} disagreements are decided")
    _say(f"next: supportbench calibrate {chosen.labels}")
    return 0


def _judge(chosen: argparse.Namespace) -> int:
    from pytest_supportbench.judge import Judge, parse_judge  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.judgements import judge_all  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting.calibration import judged_lines  # noqa: PLC0415 - likewise

    root: Path = chosen.root.absolute()
    judge = Judge(parse_judge(chosen.judge, root), root)
    try:
        found = judge_all(judge, _found(chosen).items, chosen.out)
    except InfrastructureError as error:
        print(f"supportbench: {error}", file=sys.stderr)
        return EXIT_INFRASTRUCTURE
    finally:
        judge.close()
    for line in judged_lines(found):
        _say(line)
    if found.judgements is not None:
        _say(f"{chosen.out} has them; next: supportbench calibrate LABELS --rater {chosen.out}")
    return EXIT_INFRASTRUCTURE if found.errors else 0


def _calibrate(chosen: argparse.Namespace) -> int:
    import hashlib  # noqa: PLC0415 - one command needs it

    from pytest_supportbench import calibration  # noqa: PLC0415 - likewise
    from pytest_supportbench.annotators import people  # noqa: PLC0415 - likewise
    from pytest_supportbench.calibration_file import calibration_text  # noqa: PLC0415 - likewise
    from pytest_supportbench.labels import read_labels, write_over  # noqa: PLC0415 - likewise
    from pytest_supportbench.reporting import calibration as report  # noqa: PLC0415 - likewise
    from pytest_supportbench.statistics import require_statistics  # noqa: PLC0415 - likewise

    require_statistics()
    labels = read_labels(chosen.labels)
    who = people(labels)
    matcher = calibration.matcher_of(labels)
    raters = _raters(chosen.rater or ["matcher"], labels, matcher)
    found = [calibration.calibrate(labels, rater, who) for rater in raters]
    for line in report.people_lines(who):
        _say(line)
    for rater in found:
        _say()
        for line in report.rater_lines(rater):
            _say(line)
    _say()
    judges = [rater for rater in raters if rater is not matcher]
    for judge in judges:
        for line in report.between_lines(
            matcher.name, judge.name, calibration.between(labels, matcher, judge)
        ):
            _say(line)
    if not judges:
        _say("phrase matcher and judge: how far they disagree is unknown, since no judge was named")
        _say("  add --rater JUDGEMENTS, from: supportbench judge RESULTS --judge SPEC")
    sha256 = hashlib.sha256(chosen.labels.read_bytes()).hexdigest()
    write_over(chosen.out, calibration_text(sha256, who, found))
    _say(f"wrote {chosen.out}")
    return 0


def _raters(names: Iterable[str], labels: Labels, matcher: Rater) -> list[Rater]:
    """Return the raters that are named. Raises `UsageError`, also where two files are of one judge."""
    from pytest_supportbench.calibration import Rater  # noqa: PLC0415 - one command needs it
    from pytest_supportbench.judgements import read_judgements, said_of  # noqa: PLC0415 - likewise

    raters: dict[str, Rater] = {}
    for name in names:
        rater = matcher
        if name != "matcher":
            judged = read_judgements(Path(name))
            rater = Rater(judged.fingerprint, said_of(labels, judged, Path(name)))
        for other, known in raters.items():
            if other != name and known.fingerprint == rater.fingerprint:
                msg = f"{name} has the answers of the same judge as {other}"
                raise UsageError(f"{msg}; name one of them")
        raters[name] = rater
    return list(raters.values())

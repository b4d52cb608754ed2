"""The measured cases: ``python -m benchmarks.data FOLDER N`` writes N scenario files, and the same as ``cases.jsonl``.

They are made from a fixed seed, so that every run on every machine measures the same bytes. Names, amounts and
orders differ from file to file, so that no cache of texts helps anybody.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Final

import yaml

from benchmarks.families import FAMILIES, SUITE

SEED: Final = 20_261_130
FOLDER_OF: Final = 250
"""Files in one folder."""

_FIRST: Final = (
    "Ada",
    "Bela",
    "Chidi",
    "Dana",
    "Edda",
    "Farid",
    "Goran",
    "Hana",
    "Ines",
    "Jona",
    "Kofi",
    "Lena",
)
_LAST: Final = (
    "Abara",
    "Brandt",
    "Costa",
    "Dvorak",
    "Ekman",
    "Fontes",
    "Gruber",
    "Hoang",
    "Ivanov",
    "Jansen",
)
_SYLLABLES: Final = ("ba", "do", "ke", "li", "mo", "nu", "ra", "so", "ti")
_PLANS: Final = ("Team", "Studio", "Business", "Solo", "Campus")


def scenarios(count: int) -> Iterator[tuple[str, str]]:
    """Yield the path below the suite's folder and the text of so many scenarios, always the same ones."""
    source = random.Random(SEED)  # noqa: S311 - no secret depends on it
    templates = list(FAMILIES.items())
    for number in range(count):
        family, template = templates[number % len(templates)]
        text = template.substitute(_values(source, number))
        yield f"part-{number // FOLDER_OF:03}/{family}-{number:05}.scenario.yaml", text


def _values(source: random.Random, number: int) -> dict[str, str]:
    name, other = (f"{source.choice(_FIRST)} {source.choice(_LAST)}" for _ in range(2))
    start = date(2025, 4, 1) + timedelta(days=source.randrange(330))
    cents = 2_000 + number * 7_919 % 47_800  # below the suite's limit of 500.00, and another one in each file
    due = date(2026, 4, 1) + timedelta(days=source.randrange(85))
    return {
        "number": f"{number:05}",
        "name": f"{name}-{_second_name(number)}",
        "email": f"{name.lower().replace(' ', '.')}.{number}@example.com",
        "other": other,
        "amount": f"{cents // 100}.{cents % 100:02}",
        "second": f"1{source.randrange(20, 99)}.{source.randrange(100):02}",
        "date": start.isoformat(),
        "due": due.isoformat(),
        "plan": source.choice(_PLANS),
        "order": f"{source.randrange(100_000, 999_999)}-{number}",
    }


def _second_name(number: int) -> str:
    """Return five syllables that no other number below 59,049 has."""
    rest = number * 7_919 % 9**5
    return "".join(_SYLLABLES[rest // 9**place % 9] for place in range(5)).capitalize()


def write_suite(folder: Path, count: int) -> Path:
    """Write ``suite/`` with so many scenario files into a folder, and return it."""
    suite = folder / "suite"
    suite.mkdir(parents=True)
    (suite / "suite.yaml").write_text(SUITE, encoding="utf-8")
    for name, text in scenarios(count):
        path = suite / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return suite


def write_cases(folder: Path, count: int) -> Path:
    """Write the same cases as ``cases.jsonl``, one JSON object a line, for tools that read that, and return it."""
    path = folder / "cases.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for _, text in scenarios(count):
            record = yaml.load(text, yaml.CSafeLoader)
            lines.write(json.dumps(record, default=str) + "\n")
    return path


if __name__ == "__main__":
    _place = Path(sys.argv[1])
    write_suite(_place, int(sys.argv[2]))
    write_cases(_place, int(sys.argv[2]))

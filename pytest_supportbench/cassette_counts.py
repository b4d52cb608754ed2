"""What a run did with its cassettes, counted over the rows of all its processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]


def cassettes_used(rows: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Return for each agent's folder what was played, recorded, asked anew and not used, as JSON data.

    ``unused`` holds the stored replies of files that the run opened and nothing asked for, as
    ``suite/scenario trial 2 turn 1``.
    """
    folders: dict[str, Json] = {}
    known: dict[str, dict[str, set[str]]] = {}
    used: dict[str, set[str]] = {}
    for row in rows:
        note = row.get("cassette")
        if note is None:
            continue
        folder, _, file = note["file"].partition("/")
        scenario = file.removesuffix(".json")
        counts = folders.setdefault(
            folder, {"folder": folder, "played": 0, "recorded": 0, "asked_anew": [], "unused": []}
        )
        counts["played"] += note["played"]
        counts["recorded"] += note["recorded"]
        if note["why"] and note["recorded"]:
            counts["asked_anew"].append({"episode": f"{scenario} trial {row['trial']}", "why": note["why"]})
        known.setdefault(folder, {}).setdefault(file, set()).update(note["known"])
        used.setdefault(note["file"], set()).update(note["used"])
    for folder, files in known.items():
        for file, entries in sorted(files.items()):
            for entry in sorted(entries - used[f"{folder}/{file}"], key=_position):
                trial, _, turn = entry.partition(".")
                folders[folder]["unused"].append(f"{file.removesuffix('.json')} trial {trial} turn {turn}")
    return list(folders.values())


def _position(entry: str) -> tuple[int, int]:
    trial, _, turn = entry.partition(".")
    return int(trial), int(turn)

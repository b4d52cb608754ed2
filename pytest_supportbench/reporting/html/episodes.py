"""What the HTML report holds of each episode: a short row for the table, and its story, in compressed blocks.

The browser unpacks a block when somebody opens one of its episodes. All text stays text on the way: it is JSON,
deflated, in base64, so that nothing which a model or a scenario wrote is ever read as markup.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from pytest_supportbench.results import json_text

Json: TypeAlias = dict[str, Any]

BLOCK: Final = 100
"""Episodes in one block: enough to compress well, few enough to unpack at once."""

MAX_MESSAGE: Final = 120_000
MAX_DATA: Final = 24_000
MAX_SHORT: Final = 4_000
MAX_TITLE: Final = 300
"""Characters that are kept of a message, of a call's data, of a check's text, and of a title.

The results file has all of an episode's.
"""

COLUMNS: Final = (
    "key",
    "name",
    "nodeid",
    "suite",
    "scenario",
    "title",
    "area",
    "agent",
    "trial",
    "outcome",
    "dimensions",
    "class",
    "ending",
    "violations",
    "turns",
    "seconds",
    "tokens",
    "headline",
    "block",
)


def cut(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text, and how many more the results file has."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit:,} more characters in the results file]"


def data_text(value: Any) -> str:
    """Return a value as JSON that people can read, bounded."""
    return cut(json_text(value, indent=1), MAX_DATA)


def story(line: Mapping[str, Any], row: Mapping[str, Any], command: str) -> Json:
    """Return an episode line of a results file as the page shows it; ``row`` has the paths in words."""
    return {
        "permitted": cut(row["permitted"], MAX_SHORT),
        "observed": cut(row["observed"], MAX_SHORT),
        "command": command,
        "expected_escalation": line["expected_escalation"],
        "attempt": line["attempt"],
        "replayed": line["replayed"],
        "simulated": bool(line.get("customer_simulated")),
        "ending": line["ending"],
        "dimensions": {
            name: {"passed": dimension["passed"], "checks": [_check(check) for check in dimension["checks"]]}
            for name, dimension in line["dimensions"].items()
        },
        "turns": [_turn(turn) for turn in line["turns"]],
        "calls": [_call(call) for call in line["calls"]],
        "faults": line["faults"],
        "changes": [
            [cut(change["path"], MAX_SHORT), data_text(change["before"]), data_text(change["after"])]
            for change in line["changes"]
        ],
        "usage": {name: value for name, value in (line["usage"] or {}).items() if value is not None},
        "seconds": line["timing"]["seconds"],
        "failure": cut(line["failure"] or "", MAX_DATA),
        "error": line["error"] and {name: cut(text, MAX_SHORT) for name, text in line["error"].items()},
        "output": cut(line["output"] or "", MAX_DATA),
    }


def _check(check: Mapping[str, Any]) -> list[Any]:
    expected, actual = cut(check["expected"], MAX_SHORT), cut(check["actual"], MAX_SHORT)
    named, reason = cut(check["id"], MAX_SHORT), cut(check["reason"], MAX_SHORT)
    return [check["passed"], named, expected, actual, reason, check["code"], check["basis"]]


def _turn(turn: Mapping[str, Any]) -> Json:
    invalid = turn["invalid_reply"]
    reply = turn["customer_reply"]
    return {
        "action": turn["action"],
        "message": cut(turn["message"], MAX_MESSAGE),
        "asks_for": turn["asks_for"],
        "delivered": turn["delivered"],
        "reply": None if reply is None else cut(reply, MAX_MESSAGE),
        "invalid": invalid and [cut(invalid["reason"], MAX_SHORT), cut(invalid["excerpt"], MAX_SHORT)],
    }


def _call(call: Mapping[str, Any]) -> Json:
    return {
        "turn": call["turn"],
        "tool": cut(call["tool"], MAX_SHORT),
        "arguments": data_text(call["arguments"]),
        "result": None if call["result"] is None else data_text(call["result"]),
        "error": call["error"] and data_text(call["error"]),
        "fault": call["fault"],
        "status": call["status"],
        "effect": call["effect"],
        "committed": call["committed"],
        "handoff": call["handoff"],
    }


def packed(data: Any) -> str:
    """Return JSON data deflated (zlib) in base64."""
    return base64.b64encode(zlib.compress(json_text(data).encode("utf-8", "replace"), 6)).decode()


def blocks(
    stories: Iterable[tuple[str, str, Json]], stakes: Mapping[str, Json]
) -> Iterator[tuple[list[str], str]]:
    """Yield the keys of each block's episodes with the block; a scenario's stake is in each block that needs it.

    ``stories`` are (key, scenario by suite and id, story).
    """
    block: dict[str, Json] = {}
    needed: dict[str, Json] = {}
    for key, scenario, told in stories:
        block[key] = {**told, "stake": scenario}
        if scenario in stakes:
            needed[scenario] = stakes[scenario]
        if len(block) == BLOCK:
            yield list(block), packed({"episodes": block, "stakes": needed})
            block, needed = {}, {}
    if block:
        yield list(block), packed({"episodes": block, "stakes": needed})

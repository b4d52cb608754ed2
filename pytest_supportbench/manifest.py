"""``MANIFEST.json``: what a suite's release consists of, file by file, with hashes that tell any change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.canonical import bytes_sha256, content_sha256
from pytest_supportbench.loading import read_yaml
from pytest_supportbench.scoring import SCORER_VERSION
from pytest_supportbench.suite_counts import counts_by_kind, totals
from pytest_supportbench.suite_identity import suite_facts
from pytest_supportbench.whole_suite import canary

if TYPE_CHECKING:
    from pytest_supportbench.whole_suite import WholeSuite

MANIFEST: Final = "MANIFEST.json"
SCHEMA_VERSION: Final = 1


def manifest_text(whole: WholeSuite) -> str:
    """Return the manifest as JSON text.

    ``root_sha256`` is the hash that the run line of a results file gives for the suite. A file's ``content_sha256``
    is of the canonical JSON of its data (the ``scenario_sha256`` of an episode line); its ``bytes_sha256`` is of its
    bytes with LF line ends, so that a comment counts too and a Windows checkout does not.
    """
    suite = whole.bound.suite
    (facts,) = suite_facts([whole.bound])
    return json_text(
        {
            "schema": SCHEMA_VERSION,
            "name": suite.name,
            "version": suite.version,
            "title": suite.title,
            "license": suite.license,
            "canary": canary(whole.bound.path),
            "toolset": {"name": facts["toolset"], "version": facts["toolset_version"]},
            "scorer": SCORER_VERSION,
            "root_sha256": facts["sha256"],
            "totals": totals(whole),
            "scenarios_by": counts_by_kind(whole),
            "files": {
                name: {
                    "content_sha256": bound.sha256 if bound else content_sha256(read_yaml(path)),
                    "bytes_sha256": bytes_sha256(path),
                }
                for name, path, bound in whole.data_files()
            },
        }
    )


def changed_files(old: str, new: str) -> tuple[str, ...]:
    """Return the names of the files that two manifests disagree about; none where the old one is unreadable."""
    try:
        before, after = (json.loads(text)["files"] for text in (old, new))
        names = before.keys() | after.keys()
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))


def json_text(data: dict[str, Any]) -> str:
    """Return data as the text of a JSON file that people read too."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

"""``croissant.json``: the suite's CSV described in MLCommons Croissant 1.1, which dataset tools read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.facts import ScenarioFacts
from pytest_supportbench.facts_csv import COLUMNS
from pytest_supportbench.manifest import json_text
from pytest_supportbench.words import DIMENSIONS

if TYPE_CHECKING:
    from pytest_supportbench.whole_suite import WholeSuite

CROISSANT: Final = "croissant.json"
_FORMAT: Final = "http://mlcommons.org/croissant/"

# The context that the format prescribes word for word; its addresses are names of vocabularies.
_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": _FORMAT,
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": f"{_FORMAT}RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_HOW_CELLS_READ: Final = "a leading apostrophe keeps spreadsheets from running a text as a formula, drop it"


def croissant_text(whole: WholeSuite, csv_name: str, csv: str) -> str:
    """Return the metadata of a suite's CSV, whose name and text are given, as JSON text.

    Licence, authors and date of release stand in it where the suite file names them; the format recommends them.
    """
    suite = whole.bound.suite
    title = suite.title or suite.name
    languages = sorted({bound.scenario.customer.language for bound in whole.scenarios})
    metadata: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": f"{_FORMAT}1.1",
        "name": title,
        "description": suite.description or f"Scenarios of the SupportBench suite {title}.",
        "version": suite.version if suite.version.count(".") > 1 else f"{suite.version}.0",
        "citeAs": _citation(title, suite.version, suite.authors, suite.released),
        "inLanguage": languages,
        "keywords": ["customer support", "agents", "evaluation", "synthetic data", *DIMENSIONS],
    }
    if suite.license:
        metadata["license"] = suite.license
    if suite.authors:
        metadata["creator"] = [{"@type": "sc:Organization", "name": name} for name in suite.authors]
    if suite.released:
        metadata["datePublished"] = suite.released
    metadata["distribution"] = [
        {
            "@type": "cr:FileObject",
            "@id": csv_name,
            "name": csv_name,
            "description": f"One row a scenario; cells that hold more than a text are JSON; {_HOW_CELLS_READ}.",
            "contentUrl": csv_name,
            "encodingFormat": "text/csv",
            "sha256": hashlib.sha256(csv.encode()).hexdigest(),
        }
    ]
    metadata["recordSet"] = [
        {
            "@type": "cr:RecordSet",
            "@id": "scenarios",
            "name": "scenarios",
            "description": "The scenarios, ordered by id.",
            "key": {"@id": "scenarios/id"},
            "field": [_field(name, csv_name) for name in COLUMNS],
        }
    ]
    return json_text(metadata)


def _citation(title: str, version: str, authors: tuple[str, ...], released: str | None) -> str:
    year = f" ({released[:4]})" if released else ""
    return f"{', '.join(authors)}{year}. {title}, version {version}.".lstrip(". ")


def _field(name: str, csv_name: str) -> dict[str, Any]:
    about = ScenarioFacts.model_fields[name]
    return {
        "@type": "cr:Field",
        "@id": f"scenarios/{name}",
        "name": name,
        "description": about.description,
        "dataType": "sc:Integer" if about.annotation is int else "sc:Text",
        "source": {"fileObject": {"@id": csv_name}, "extract": {"column": name}},
    }

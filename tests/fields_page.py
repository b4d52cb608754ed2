"""Writes the tables of ``docs/fields.md``; run ``python tests/fields_page.py`` after a change of the models."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from pytest_supportbench.blocks import refreshed
from pytest_supportbench.field_tables import field_tables

PAGE = Path(__file__).parent.parent / "docs" / "fields.md"


def fields_page() -> str:
    """Return the page with its blocks as the models have them."""
    writers = {kind: partial(field_tables, kind) for kind in ("scenario", "suite")}
    return refreshed(PAGE.read_text("utf-8"), str(PAGE), writers)


if __name__ == "__main__":
    PAGE.write_text(fields_page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"wrote {PAGE.name}\n")

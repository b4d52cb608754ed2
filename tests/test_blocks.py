"""Generated blocks in a suite's pages."""

from __future__ import annotations

import pytest

from pytest_supportbench.blocks import refreshed
from pytest_supportbench.errors import FileError

WRITERS = {"one": lambda: "1\n", "two": lambda: "a\nb"}


def test_only_what_is_between_the_marks_changes():
    """Old text in a block is replaced, all else stays, and a second time changes nothing."""
    page = "# T\r\n\n<!-- generated: one -->\nold\n<!-- end -->\ntext\x0c\n<!--  generated: no -->\n"
    page += "<!-- generated: two -->\n<!-- end -->\nlast"
    once = refreshed(page, "p.md", WRITERS)
    assert once == (
        "# T\n\n<!-- generated: one -->\n\n1\n\n<!-- end -->\ntext\x0c\n<!--  generated: no -->\n"
        "<!-- generated: two -->\n\na\nb\n\n<!-- end -->\nlast\n"
    )
    assert refreshed(once, "p.md", WRITERS) == once


def test_marks_in_fenced_code_are_examples():
    """A page may show how a block is written."""
    page = "````md\n```\n<!-- generated: nope -->\n```\n````\n~~~\n<!-- end -->\n~~~\n"
    assert refreshed(page, "p.md", WRITERS) == page


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (
            "a\n<!-- generated: ones -->\n<!-- end -->\n",
            "p.md:2:1: there is no generated block 'ones'; did you mean 'one'?",
        ),
        (
            "<!-- generated: xyz -->\n<!-- end -->\n",
            "p.md:1:1: there is no generated block 'xyz'; the blocks are one, two",
        ),
        (
            "<!-- generated: one -->\nrest\n",
            "p.md:1:1: the block 'one' has no end; write <!-- end --> in a line below it",
        ),
        (
            "<!-- generated: one -->\n<!-- generated: two -->\n<!-- end -->\n",
            "p.md:1:1: the block 'one' has no end; write <!-- end --> in a line below it",
        ),
        (
            "\n\n<!-- end -->\n",
            "p.md:3:1: <!-- end --> ends no block; remove it, or write <!-- generated: NAME --> above it",
        ),
    ],
)
def test_broken_marks_are_told_with_their_line(page, told):
    """An unknown name, a missing end and a stray end are errors at file and line, each with its remedy."""
    with pytest.raises(FileError) as caught:
        refreshed(page, "p.md", WRITERS)
    assert str(caught.value) == told

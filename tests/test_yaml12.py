"""The YAML reader: 1.2 core scalars, bounds, and the position of every mistake."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_supportbench.errors import FileError
from pytest_supportbench.yaml12 import MAX_BYTES, MAX_DEPTH, MAX_NODES, decode, parse, scan
from pytest_supportbench.yaml_positions import positions

TEXT = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\u2028\u2029\ufeff\ufffe\uffff"),
    max_size=20,
)
SCALARS = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | TEXT
DATA = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def block(value: Any, indent: int = 0) -> str:
    """Return data as block-style YAML with every string in double quotes."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"\n{pad}{quoted(key)}:{block(item, indent + 1)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"\n{pad}-{block(item, indent + 1)}" for item in value)
    return f" {quoted(value)}"


def quoted(value: Any) -> str:
    return text(value) if isinstance(value, str) else json.dumps(value)


def text(value: str) -> str:
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08X}" for c in value) + '"'


def problem(source: str) -> str:
    with pytest.raises(FileError) as caught:
        parse(source, "f.yaml")
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


@given(DATA)
def test_data_written_in_block_style_is_read_back(data):
    """Whatever JSON can say is read back from block-style YAML as the same values of the same types."""
    assert repr(parse(block(data), "f.yaml")) == repr(data)


@given(DATA)
def test_data_written_in_flow_style_is_read_back(data):
    """Whatever JSON can say is read back from one line of flow style, and each value has a position."""
    source = json.dumps(data, ensure_ascii=False, separators=(", ", ": "))
    if "\\u007f" in source or "\x7f" in source:
        return
    assert repr(parse(source, "f.yaml")) == repr(data)
    assert positions(source).at(()) == (1, 1)


@pytest.mark.parametrize(
    ("plain", "value"),
    [
        *[(word, word) for word in ("no", "on", "yes", "off", "y", "N", "nope", "nULL", "tRue", "True.")],
        *[(word, word) for word in ("12:30", "0123", "00", "007", "2026-03-14", "1_000", "1,000", "0b11")],
        *[(word, word) for word in ("012.5", "0x", "0o8", "0xg", "1e", "+", ".", "1.2.3", "-.", "+-1")],
        *[(word, word) for word in ("\u0661", "\uff11", ".info", ".nano", "=", "<<", "nanny")],
        *[(word, None) for word in ("null", "Null", "NULL", "~", "")],
        *[(word, True) for word in ("true", "True", "TRUE")],
        *[(word, False) for word in ("false", "False", "FALSE")],
        *[
            ("0", 0),
            ("-0", 0),
            ("12", 12),
            ("+12", 12),
            ("-7", -7),
            ("0o17", 15),
            ("0x1f", 31),
            ("0xFF", 255),
        ],
        *[("1.5", 1.5), ("49.00", 49.0), ("-.5", -0.5), ("1.", 1.0), ("1e3", 1000.0), ("+1.5E-2", 0.015)],
        *[('"12"', "12"), ("'no'", "no"), ("! 12", "12"), ('"\\u00e9"', "é"), ("|-\n  a\n  b", "a\nb")],
    ],
)
def test_plain_scalars_follow_the_core_schema(plain, value):
    """A plain scalar is a number, boolean or null by YAML 1.2 alone; anything else stays the string it is."""
    got = parse(f"key: {plain}\n", "f.yaml")["key"]
    assert (type(got), got) == (type(value), value)
    assert parse(f"- {plain}\n", "f.yaml") == [value]


@pytest.mark.parametrize(
    "plain", [".inf", "-.inf", "+.Inf", ".INF", ".nan", ".NaN", ".NAN", "1e999", "9" * 401]
)
def test_what_is_no_finite_number_is_refused(plain):
    """Infinities, NaN and endless digits are errors at their position, since JSON cannot hold them."""
    assert problem(f"a: 1\nb: {plain}").startswith("f.yaml:2:4: ")
    assert parse(f"a: '{plain}'", "f.yaml") == {"a": plain}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("a: 1\nb: 2\na: 3", "3:1: the key 'a' is given twice in one mapping; remove one of them"),
        ('a: {"x": 1, x: 2}', "1:13: the key 'x' is given twice in one mapping; remove one of them"),
        ("a: !!str 1", "1:4: the tag '!!str' is not allowed; remove it; quotes make a string"),
        ("a: !x {b: 1}", "1:4: the tag '!x' is not allowed; remove it; quotes make a string"),
        ("12: x", '1:1: the key 12 is no string; quote it: "12"'),
        ("true: x", '1:1: the key true is no string; quote it: "true"'),
        ("? [a]\n: x", "1:3: the key a list is no string; use a string"),
        ("a: 1\n---\nb: 1", "2:1: a second document starts here; keep one document in a file"),
        ("a: *b", "1:4: the alias *b has no anchor before it; add &b, or quote the text"),
        ("a: &b [*b]", "1:8: the alias *b lies inside its own anchor; write the value out"),
        ("a: &b {c: &d [*b]}", "1:15: the alias *b lies inside its own anchor; write the value out"),
        ("a:\n\tb: 1", "2:1: a tab indents this line; use spaces"),
        (
            "a: 1\n  b: 2",
            "2:3: this line is indented deeper than the key above it; indent it like that key, or",
        ),
        (
            "- a: 1\n# why\n\n   b: 2",
            "4:4: this line is indented deeper than the key above it; indent it like",
        ),
        ("- a: 1\n  b: 2\n  c: d: 3", "3:7: a ': ' stands where no key can; quote the text, or check the"),
        ("a:\n  b: 1\n    c: 2\n", "3:5: this line is indented deeper than the key above it; indent it like"),
        (
            "a: b\n  c: d: 3",
            "2:3: this line is indented deeper than the key above it; indent it like that key",
        ),
        ("a: # why\n  b: c: d", "2:7: a ': ' stands where no key can; quote the text, or check the"),
        ("a: @b", "1:4: a plain text cannot start with '@'; quote it"),
        (
            "a: \x00",
            "1:4: the character U+0000 is not allowed in a file; remove it, or write it as an escape",
        ),
        (
            "a: b\n\ud800",
            "2:1: the character U+D800 is not allowed in a file; remove it, or write it as an escape",
        ),
        ("%YAML 1.9\n---\na: 1", "1:1: the %YAML line names a version that is not read; remove the line"),
        ("[" * 65 + "]" * 65, f"1:65: the file is nested deeper than {MAX_DEPTH} levels; flatten it"),
    ],
)
def test_a_mistake_names_its_position_and_remedy(source, wanted):
    """Each mistake in the YAML itself is one problem, at the line and column where an editor should open."""
    assert problem(source).startswith(f"f.yaml:{wanted}")


def test_an_ordinary_key_is_all_that_a_merge_key_is():
    """``<<`` merges nothing: it is a key like any other, and so an unknown one in a scenario."""
    assert parse("a: &a {x: 1}\nb: {<<: *a}", "f.yaml")["b"] == {"<<": {"x": 1}}


def test_anchors_and_aliases_share_values():
    """A value can be written once and used again, in lists, mappings and keys."""
    source = "a: &a [1, &b {c: 2}]\nd: *a\ne: *b\nf: &f g\n*f : h"
    assert parse(source, "f.yaml") == {
        "a": [1, {"c": 2}],
        "d": [1, {"c": 2}],
        "e": {"c": 2},
        "f": "g",
        "g": "h",
    }


def test_an_alias_bomb_is_refused_before_it_grows():
    """Aliases count in full, so a small file cannot stand for more than 50,000 values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 40)]
    assert f"more than {MAX_NODES:,} values" in problem("\n".join(lines))


def test_an_alias_bomb_of_text_is_refused():
    """A long text that thousands of aliases repeat is refused as well, although its values are few."""
    source = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 1000)}]"
    assert f"more than {MAX_BYTES:,} characters" in problem(source)


def test_aliases_cannot_nest_deeper_than_what_is_written_out():
    """A chain of aliases is measured at the depth that it stands for."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 70)]
    assert f"nests deeper than {MAX_DEPTH} levels" in problem("\n".join(lines))


def test_a_byte_order_mark_is_accepted():
    """Files from editors that write a byte order mark load, and columns do not count it."""
    source = decode(b"\xef\xbb\xbfa: 1\n", "f.yaml")
    assert parse(source, "f.yaml") == {"a": 1}
    assert parse("\ufeffa: 1", "f.yaml") == {"a": 1}
    assert positions("\ufeffa: 1").at(("a",)) == (1, 4)


def test_bytes_that_are_no_utf8_are_named():
    """A file in another encoding is refused at the first byte that is no UTF-8, counted in characters."""
    with pytest.raises(FileError, match=r"f\.yaml:2:3: the byte 0xe9 is no UTF-8; save the file as UTF-8"):
        decode("a: 1\né".encode() + b"x\xe9", "f.yaml")


def test_a_file_that_is_too_large_is_not_read():
    """More than 2 MB is refused without being parsed."""
    with pytest.raises(FileError, match="the file has 2,000,001 bytes; at most 2,000,000 are read"):
        decode(b"x" * (MAX_BYTES + 1), "f.yaml")


def test_readable_mistakes_do_not_hide_one_another():
    """Tags, duplicate keys and odd numbers are all reported at once, and the rest of the data is there."""
    data, problems = scan("a: !!int 1\nb: 2\nb: 3\nc: .nan\n4: d", "f.yaml")
    assert data == {"a": "1", "b": 2, "c": None}
    assert [(item.line, item.column) for item in problems] == [(1, 4), (3, 1), (4, 4), (5, 1)]


def test_positions_tell_keys_from_values():
    """A position is that of the key for unknown keys and of the value otherwise, or of the nearest parent."""
    found = positions("a:\n  - b: 1\n    c: [x, y]\n")
    assert found.at(("a", 0, "c"), key=True) == (3, 5)
    assert found.at(("a", 0, "c", 1)) == (3, 12)
    assert found.at(("a", 0, "missing")) == (2, 5)
    assert positions("").at(("a",)) == (1, 1)


def test_an_empty_file_is_none():
    """A file without content, or with comments only, holds nothing."""
    assert parse("", "f.yaml") is None
    assert parse("# nothing\n", "f.yaml") is None


@given(st.text(max_size=60) | st.text("{}[]:-,&*!|>'\"\n \t#%@ab1", max_size=60))
def test_any_text_is_read_or_refused(source):
    """No text makes the reader fail in another way than by saying what is wrong."""
    with contextlib.suppress(FileError):
        scan(source, "f.yaml")
        positions(source)

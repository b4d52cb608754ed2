"""What pytest-html's file needs beside our part: a language, a viewport for phones, and a strict content policy."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Final

_FOOTER_SCRIPT: Final = re.compile(r"<footer>.*?<script>(.*?)</script>\s*</footer>", re.DOTALL)
"""pytest-html's own program, the last thing in its file."""

_INLINE_HANDLER: Final = ' onclick="location.reload()"'
"""Of pytest-html's button for runs that go on; the policy forbids it, and browsers complain of it at every opening."""


def finished(text: str, script: str) -> str:
    """Return pytest-html's file with language, viewport and a Content-Security-Policy that allows two programs only.

    These are ours, ``script``, and pytest-html's own, by their hashes; so markup of any other origin runs nothing and
    loads nothing. pytest-html's becomes inert text, which ours runs when its list is opened. What is not found where
    pytest-html 4 has it is left as it is.
    """
    program = _FOOTER_SCRIPT.search(text)
    hashes = [_hash(part) for part in (script, program.group(1) if program else None) if part]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(hashes)}",
            "style-src 'unsafe-inline' 'self' file:",
            "img-src data: 'self' file:",
            "media-src data: 'self' file:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>\n'
        '    <meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        '    <meta name="color-scheme" content="light dark"/>'
    )
    if program:
        tag = text.rindex("<script>", 0, program.start(1))
        text = f'{text[:tag]}<script type="text/plain" id="sb-pytest-program">{text[tag + len("<script>") :]}'
    text = text.replace(_INLINE_HANDLER, "").replace("<html>", '<html lang="en">', 1)
    return text.replace('<meta charset="utf-8"/>', f'<meta charset="utf-8"/>\n    {head}', 1)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"

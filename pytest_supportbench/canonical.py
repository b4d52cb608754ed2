"""The hashes of files, by which results and manifests name them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_sha256(data: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a file's data, so that comments and layout do not count."""
    return hashlib.sha256(_CANONICAL.encode(data).encode()).hexdigest()


def bytes_sha256(path: Path) -> str:
    """Return the SHA-256 of a text file's bytes, with the line ends that it has in the repository."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()

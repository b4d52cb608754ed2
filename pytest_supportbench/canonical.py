"""The hash of a file's data, by which results and manifests name it."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_sha256(data: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a file's data, so that comments and layout do not count."""
    return hashlib.sha256(_CANONICAL.encode(data).encode()).hexdigest()

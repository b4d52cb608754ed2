"""What to say where the certificates that the environment names cannot be loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pytest_supportbench.errors import UsageError

_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def certificates_unusable(who: str, error: OSError) -> UsageError:
    """Return the error for ``who`` wanted to ask a server; HTTP clients raise the system's own, without a name."""
    named = [name for name in _VARIABLES if name in os.environ]
    lost = [name for name in named if not Path(os.environ[name]).exists()] or named
    given = [f"{name}={os.environ[name]!r}" for name in lost]
    which = f"of {' and '.join(given)}" if given else "of this system"
    remedy = "correct it, or unset it" if given else "install a bundle of certificates"
    return UsageError(
        f"{who}: the certificates {which} cannot be loaded ({error.strerror or error}); {remedy}"
    )

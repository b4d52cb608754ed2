"""The clock by which everything here is bounded and measured, whatever becomes of the module ``time``."""

from __future__ import annotations

import time
from collections.abc import Callable


def now(_clock: Callable[[], float] = time.perf_counter) -> float:
    """Return seconds that only ever grow.

    The clock is bound at import, and in no name of a module, since tools that freeze the time replace both.
    """
    return _clock()

"""Garbage collection around the collection of scenarios: thousands of models that all stay are no garbage.

Walking them again and again cost a quarter of a run of 1,000 scenarios where it was measured. What pytest leaves
behind with each item is garbage, though, of 3 kB where that was measured: what was made lately is still looked at.
"""

from __future__ import annotations

import gc
from typing import Final

import pytest

_NEVER: Final = 1_000_000_000
_THRESHOLD: Final = pytest.StashKey[tuple[int, int, int]]()


def pause(config: pytest.Config) -> None:
    """Look at new objects only, once each, unless collection is off already."""
    if gc.isenabled() and _THRESHOLD not in config.stash:
        config.stash[_THRESHOLD] = found = gc.get_threshold()
        gc.set_threshold(found[0], _NEVER, _NEVER)


def resume(config: pytest.Config) -> None:
    """Look at all objects again if `pause` ended that, but for those that were made until now.

    Thresholds that somebody else set in between stay.
    """
    if _THRESHOLD in config.stash:
        found = config.stash[_THRESHOLD]
        del config.stash[_THRESHOLD]
        if gc.get_threshold() == (found[0], _NEVER, _NEVER):
            gc.set_threshold(*found)
        gc.collect(0)
        gc.freeze()

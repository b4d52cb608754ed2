"""Garbage collection around the collection of scenarios: thousands of models that all stay are no garbage.

Walking them again and again cost a quarter of a run of 1,000 scenarios where it was measured.
"""

from __future__ import annotations

import gc
from typing import Final

import pytest

_PAUSED: Final = pytest.StashKey[bool]()


def pause(config: pytest.Config) -> None:
    """Switch automatic garbage collection off, unless it is off already."""
    if gc.isenabled():
        gc.disable()
        config.stash[_PAUSED] = True


def resume(config: pytest.Config) -> None:
    """Switch it on again if `pause` switched it off, and set aside for good what was made until now."""
    if config.stash.get(_PAUSED, False):
        config.stash[_PAUSED] = False
        gc.freeze()
        gc.enable()

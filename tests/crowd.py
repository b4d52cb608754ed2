"""Counts how many are at work at the same time."""

from __future__ import annotations

import threading
from typing import Self


class Crowd:
    """Enter it while at work; ``most`` is how many were in it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self.most = 0

    def __enter__(self) -> Self:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1

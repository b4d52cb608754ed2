"""The parts of an observation that an ablation can take away; apart from other words, since a start needs no models."""

from __future__ import annotations

from typing import Literal, TypeAlias

Part: TypeAlias = Literal["memory", "knowledge", "policies"]
"""What an ablation can take away from an agent: that part of the observation, and the tools that read it."""

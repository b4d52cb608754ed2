"""Numbers with their noun, as people write them."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 problem``, ``2 problems`` or ``no problems``; ``many`` is the plural where it takes more than an s."""
    return f"{number or 'no'} {one if number == 1 else many or f'{one}s'}"

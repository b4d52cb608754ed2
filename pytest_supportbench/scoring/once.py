"""Attributes that are worked out once, when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - used as a decorator, like property
    """Like `functools.cached_property` without its lock, which costs more than most of what is worked out here.

    Two threads that ask at the same time may both work it out; a pure function gives them equal values.
    """

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self._work_out = work_out
        self._name = work_out.__name__
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> T | once[T]:
        """Work the value out and keep it in the object, where it is found from then on."""
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._work_out(owner)
        return value

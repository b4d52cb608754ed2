"""Whether a run ends before its last test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

_CUT: Final = pytest.StashKey[bool]()


@contextmanager
def cut_noticed(session: pytest.Session) -> Iterator[None]:
    """Note what ends the loop over the tests before its end, and Ctrl-C in the session's exit status.

    pytest says it only after it has told of it, and a second Ctrl-C may come before that.
    """
    try:
        yield
    except BaseException as error:
        session.stash[_CUT] = True
        if isinstance(error, KeyboardInterrupt):
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        raise


def stopped(session: pytest.Session) -> bool:
    """Tell whether a run ends before its last test, by ``-x``, Ctrl-C, ``pytest.exit`` or a used-up budget."""
    cut = session.stash.get(_CUT, False) or bool(session.shouldstop or session.shouldfail)
    return cut or int(session.exitstatus) in {2, 3}

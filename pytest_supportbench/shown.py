"""Takes secrets out of what pytest itself shows of an item: captured output, whoever wrote it, and warnings."""

from __future__ import annotations

import warnings

import pytest

from pytest_supportbench.access import opened_session
from pytest_supportbench.fixtures import ATTEMPTS


def clear_captured(item: pytest.Item, report: pytest.TestReport) -> None:
    """Blank secrets in the output that pytest captured of an item with an episode: threads and programs write there."""
    session = opened_session(item.config)
    if session is not None and ATTEMPTS in item.stash and report.sections:
        clear = session.redactor.text
        report.sections[:] = [(title, clear(text)) for title, text in report.sections]


class Warned:
    """Blanks secrets in warnings before they are counted and shown."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Change the text of a warning that holds a secret."""
        session = opened_session(self._config)
        if session is not None:
            said = str(warning_message.message)
            clean = session.redactor.text(said)
            if clean != said:
                warning_message.message = clean

"""What is wrong with a declared toolset, with the places in its data."""

from __future__ import annotations

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.findings import Finding


class DeclarationError(ToolsetError):
    """A declared toolset cannot be used; ``findings`` say where in its mapping, and the text names the tool."""

    def __init__(self, message: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(message)
        self.findings = findings

    def __reduce__(self) -> tuple[type[DeclarationError], tuple[str, tuple[Finding, ...]]]:
        """Pickle by parts, since the default would pass the message alone."""
        return type(self), (str(self), self.findings)


def declaration_error(
    where: str, place: tuple[str | int, ...], message: str, *, key: bool = False
) -> DeclarationError:
    """Return the error for one mistake: ``where`` it is in words, and its ``place`` in the mapping.

    ``message`` says what is wrong and, after a semicolon, what to do.
    """
    what, _, remedy = message.partition("; ")
    return DeclarationError(f"{where}: {message}", (Finding(place, what, remedy, key),))

"""A loopback server that says nothing where a client hangs up: its threads would print into another test's output."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """Serves as its base does, and passes over connections that were broken off."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show what went wrong, unless only the client left."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

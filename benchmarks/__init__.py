"""Measurements, never part of the tests."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start jobs in the background so, and what they measure of Ctrl-C would be a run that nobody stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)

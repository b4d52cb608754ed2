"""Plugins of packages that only the tests need, left out of the runs that tests start: one takes longer than a run."""

FOREIGN = ("-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:langsmith_plugin")

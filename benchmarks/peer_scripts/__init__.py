"""The toy work as each peer wants it: copied beside ``toy.py`` and ``cases.jsonl``, and run in the peer's own venv.

``BENCH_DELAY`` is how many seconds the agent takes, ``BENCH_WIDTH`` how many at a time where the peer has such a
setting; without them the agent is at once and the peer's default holds.
"""

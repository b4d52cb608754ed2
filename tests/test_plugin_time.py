"""What a user hears when an episode runs out of time."""

from __future__ import annotations

from types import SimpleNamespace

from desk import bind, out_of_time

from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.records import Limits
from pytest_supportbench.runner import Job, Runner


def test_a_model_that_runs_out_of_time_is_told_which_option_to_raise(tmp_path):
    """The failure of a model's episode at the time limit names the option; that of a function's does not."""
    bound, texts = bind(tmp_path), {}
    for kind in ("ollama", "local", "python"):
        agent = SimpleNamespace(spec=AgentSpec(raw=kind, kind=kind), secrets=tuple, is_async=False)
        limits = Limits(timeout=120.0)
        job = Job("key", bound, kind, 1)
        result = Runner({kind: agent}, limits).result(job, out_of_time(bound, limits, 121.0))
        texts[kind] = result.episode.failure
    told = "the episode took 121.0 s; its limit is 120 s"
    assert texts == {
        "ollama": f"{told}; raise --supportbench-timeout",
        "local": f"{told}; raise --supportbench-timeout",
        "python": told,
    }

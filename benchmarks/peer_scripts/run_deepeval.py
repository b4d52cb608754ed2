"""deepeval's ``evaluate()``, without its cache on disk, which writes the whole run again after each case."""

import os

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig
from deepeval_metric import Checks, cases


def main() -> None:
    """Evaluate all cases."""
    width = os.environ.get("BENCH_WIDTH")
    settings = AsyncConfig(max_concurrent=int(width)) if width else AsyncConfig()
    found = evaluate(cases(), [Checks()], async_config=settings, cache_config=CacheConfig(write_cache=False))
    print(f"{sum(bool(each.success) for each in found.test_results)} passed")  # noqa: T201 - proves that it ran


if __name__ == "__main__":
    main()

"""deepeval under pytest."""

import pytest
from deepeval import assert_test
from deepeval_metric import Checks, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case):  # noqa: ANN001, ANN201, D103
    assert_test(case, [Checks()])

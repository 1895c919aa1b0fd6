"""The runners and modes in which benchmarks are tested."""

import pytest

from tests.conftest import ON_SPARK

SMALL_SPARK = ["--runner=spark", "--key-groups=2", "--batch-seconds=0"]

MODES = [
    pytest.param([], id="local-batch"),
    pytest.param(["--streaming"], id="local-streaming"),
    pytest.param(SMALL_SPARK, marks=ON_SPARK, id="spark-batch"),
    pytest.param([*SMALL_SPARK, "--streaming"], marks=ON_SPARK, id="spark-streaming"),
]


@pytest.fixture(params=MODES)
def flags(request: pytest.FixtureRequest) -> list[str]:
    """The flags of a runner and mode; Spark's session is that of all tests."""
    found: list[str] = request.param
    if "--runner=spark" in found:
        request.getfixturevalue("spark")
    return found

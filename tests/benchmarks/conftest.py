"""The runners and modes in which benchmarks are tested."""

from pathlib import Path

import pytest

from tests.conftest import ON_SPARK
from tests.faults.days import EVERY, by_day

HERE = Path(__file__).parent

SMALL_SPARK = ["--runner=spark", "--key-groups=2", "--batch-seconds=0"]

MODES = [
    pytest.param([], id="local-batch"),
    pytest.param(["--streaming"], id="local-streaming"),
    pytest.param(SMALL_SPARK, marks=ON_SPARK, id="spark-batch"),
    pytest.param([*SMALL_SPARK, "--streaming"], marks=ON_SPARK, id="spark-streaming"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark take turns."""
    own = (item for item in items if HERE in item.path.parents)
    on_spark = (item for item in own if item.get_closest_marker("spark"))
    for number, item in enumerate(on_spark):
        item.add_marker(by_day(number % EVERY))


@pytest.fixture(params=MODES)
def flags(request: pytest.FixtureRequest) -> list[str]:
    """The flags of a runner and mode; Spark's session is that of all tests."""
    found: list[str] = request.param
    if "--runner=spark" in found:
        request.getfixturevalue("spark")
    return found

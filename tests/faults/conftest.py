"""Tests of failures need Java, and Spark's session for what does not kill it."""

from pathlib import Path

import pytest

from tests.runners.spark.conftest import spark

__all__ = ["spark"]  # a fixture

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")

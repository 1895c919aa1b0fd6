"""A pytest plugin: runs one test suite on any runner.

It is installed with Headrace, and pytest loads it automatically. It adds

- ``--runner=NAME``: the runner of all pipelines of the fixture, "local" by default;
- ``--test-pipeline-options="…"``: additional flags for them, as in Beam's own test suite;
- the fixture ``test_pipeline``, which creates pipelines like :class:`headrace.testing.TestPipeline`.

It imports Headrace only when a test uses the fixture.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from headrace.sdk.testing.streams.pipelines import TestPipeline


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("headrace", "pipelines of Headrace")
    group.addoption(
        "--runner",
        metavar="NAME",
        default=None,
        help='runner for the fixture test_pipeline, such as "spark"; "local" by default',
    )
    group.addoption(
        "--test-pipeline-options",
        metavar="FLAGS",
        default="",
        help='additional flags of these pipelines, such as "--streaming --spark-master=local[2]"',
    )


@pytest.fixture
def test_pipeline(pytestconfig: pytest.Config) -> Callable[..., TestPipeline]:
    """Return a function that creates pipelines for the runner of ``--runner``.

    It has the same arguments as TestPipeline: ``with test_pipeline() as p``. Flags in ``argv`` follow those
    of the command line.
    """

    def make(runner: Any = None, argv: list[str] | None = None, **more: Any) -> TestPipeline:
        from headrace.sdk.testing.streams.pipelines import TestPipeline

        flags = shlex.split(pytestconfig.getoption("--test-pipeline-options"))
        chosen = runner or pytestconfig.getoption("--runner")
        return TestPipeline(chosen, argv=[*flags, *(argv or ())], **more)

    return make

"""A plugin for pytest: one suite of tests for every runner.

Installed with Headrace, pytest finds it by itself. It adds

- ``--runner=NAME``: the runner of all pipelines that the fixture makes, "local" by default;
- ``--test-pipeline-options="…"``: further flags for them, as in Beam's own suite;
- the fixture ``test_pipeline``: makes pipelines, as :class:`headrace.testing.TestPipeline` does.

Nothing is imported for it before a test asks for a pipeline.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from headrace.sdk.testing.test_pipeline import TestPipeline


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("headrace", "pipelines of Headrace")
    group.addoption(
        "--runner",
        metavar="NAME",
        default=None,
        help='runner of the pipelines of the fixture test_pipeline, such as "spark"; "local" by default',
    )
    group.addoption(
        "--test-pipeline-options",
        metavar="FLAGS",
        default="",
        help='further flags of these pipelines, such as "--streaming --spark-master=local[2]"',
    )


@pytest.fixture
def test_pipeline(pytestconfig: pytest.Config) -> Callable[..., TestPipeline]:
    """What makes pipelines on the runner of ``--runner``, one for each test or several.

    To be used as TestPipeline is, with the same arguments: ``with test_pipeline() as p``. Flags in
    ``argv`` come after those of the command line.
    """

    def make(runner: Any = None, argv: list[str] | None = None, **more: Any) -> TestPipeline:
        from headrace.sdk.testing.test_pipeline import TestPipeline

        flags = shlex.split(pytestconfig.getoption("--test-pipeline-options"))
        chosen = runner or pytestconfig.getoption("--runner")
        return TestPipeline(chosen, argv=[*flags, *(argv or ())], **more)

    return make

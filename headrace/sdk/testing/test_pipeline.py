"""A pipeline for tests: its options come from the test, not from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from headrace.sdk.observing.observer import RunObserver
from headrace.sdk.options import PipelineOptions, StandardOptions
from headrace.sdk.pipeline import Pipeline
from headrace.sdk.result import PipelineResult
from headrace.sdk.runner_lookup import Runner


class TestPipeline(Pipeline):
    """A pipeline that ignores the command line and waits for its run (Beam's name).

    It refuses functions that change their inputs, unless ``--no-check-mutation`` is set.

    Args:
        runner: name of the runner, "local" by default.
        options: the options; none by default.
        argv: flags, if ``options`` is not given.
        is_integration_test: ignored; accepted for compatibility with Beam.
        blocking: whether ``run`` waits for the end.
        additional_pipeline_args: additional flags.
        observers: are told what happens in the run.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([1]) | Map(print)
    1
    """

    __test__: ClassVar[bool] = False  # pytest must not collect it as a test

    def __init__(
        self,
        runner: str | Runner | None = None,
        options: PipelineOptions | None = None,
        argv: list[str] | None = None,
        is_integration_test: bool = False,
        blocking: bool = True,
        additional_pipeline_args: list[str] | None = None,
        observers: Sequence[RunObserver] = (),
    ) -> None:
        flags = [*(argv or ()), *(additional_pipeline_args or ())]
        options = options if options is not None else PipelineOptions(flags)
        super().__init__(runner, options, observers=observers)
        self._blocking = blocking
        standard = self.options.view_as(StandardOptions)
        if standard.check_mutation is None:
            standard.check_mutation = True

    def run(self, *_: Any) -> PipelineResult:
        """Run the pipeline and, if blocking, wait for its end."""
        result = super().run()
        if self._blocking:
            result.wait_until_finish()
        return result

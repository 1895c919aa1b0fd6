"""Beam's runner that runs programs on Headrace, and the run as a result of Beam."""

from __future__ import annotations

from typing import Any

from apache_beam.options.pipeline_options import TypeOptions
from apache_beam.runners.pipeline_utils import group_by_key_input_visitor
from apache_beam.runners.runner import PipelineResult, PipelineRunner
from apache_beam.transforms.external import ExternalTransform

from headrace.sdk.beam.programs.metrics import HeadraceMetrics
from headrace.sdk.beam.programs.options import RuntimeOptions, own_options, runner_name
from headrace.sdk.beam.programs.sources.external import apply_external
from headrace.sdk.beam.programs.translation import translate
from headrace.sdk.options.pipeline_options import StandardOptions
from headrace.sdk.pipelines.pipeline import Pipeline
from headrace.sdk.pipelines.result import PipelineResult as OwnResult
from headrace.sdk.pipelines.runner_lookup import Runner


class HeadraceResult(PipelineResult):
    """A run of a program on Headrace; its states are Beam's.

    Args:
        own: the run.
    """

    def __init__(self, own: OwnResult) -> None:
        super().__init__(own.state)
        self._own = own

    @property
    def state(self) -> Any:
        """The current state of the run."""
        return self._own.state

    @property
    def own(self) -> OwnResult:
        """The run as Headrace's, which can also be drained."""
        return self._own

    def wait_until_finish(self, duration: Any = None) -> Any:
        """Wait for the end of the run, at most for some milliseconds, and return its state."""
        return self._own.wait_until_finish(duration)

    def cancel(self) -> Any:
        """Stop the run, and return its state."""
        return self._own.cancel()

    def metrics(self) -> HeadraceMetrics:
        """Return the metrics of the run."""
        return HeadraceMetrics(self._own.metrics())


class HeadraceRunner(PipelineRunner):
    """Runs a program of ``apache_beam`` on Headrace: ``beam.Pipeline(runner=HeadraceRunner())``.

    On a command line it is ``--runner=headrace.beam.HeadraceRunner``. Beam's transforms of Kafka run without
    Java; other transforms of other languages are refused when they are applied.

    Args:
        runner: the runner of Headrace, "local", "spark" or an object; by default that of the option
            ``--headrace_runner``.
        is_drain: whether the restrictions of splittable DoFns are cut to what must be done.

    Raises:
        UnsupportedError: when the pipeline runs, it has something that has no equivalent.

    >>> import apache_beam as beam
    >>> with beam.Pipeline(runner=HeadraceRunner()) as p:
    ...     _ = p | beam.Create([1, 2]) | beam.Map(lambda x: x * x) | "Show" >> beam.Map(print)
    1
    4
    """

    def __init__(self, runner: str | Runner | None = None, is_drain: bool = False) -> None:
        super().__init__()
        self._runner = runner
        self._is_drain = is_drain

    def apply(self, transform: Any, input: Any, options: Any) -> Any:
        """Apply a transform; those of other languages are not expanded."""
        if isinstance(transform, ExternalTransform):
            return apply_external(transform, input, options)
        return super().apply(transform, input, options)

    def run_pipeline(self, pipeline: Any, options: Any) -> HeadraceResult:
        """Translate a pipeline, and run it."""
        strict = not options.view_as(TypeOptions).allow_non_deterministic_key_coders
        pipeline.visit(group_by_key_input_visitor(strict))
        RuntimeOptions.begin(options)
        own = own_options(options)
        made = Pipeline(self._runner or runner_name(options), own)
        streaming = bool(own.view_as(StandardOptions).streaming)
        translate(pipeline, made, self._is_drain, streaming)
        return HeadraceResult(made.run())

    def is_fnapi_compatible(self) -> bool:
        """Return whether programs are built as for Beam's portable runners: yes."""
        return True

"""Beam's runner that runs programs on Headrace."""

from __future__ import annotations

from typing import Any

from apache_beam.options.pipeline_options import TypeOptions
from apache_beam.runners.pipeline_utils import group_by_key_input_visitor
from apache_beam.runners.runner import PipelineRunner

from headrace.sdk.beam.programs.options import own_options, runner_name
from headrace.sdk.beam.programs.result import HeadraceResult
from headrace.sdk.beam.programs.translation import translate
from headrace.sdk.options.pipeline_options import StandardOptions
from headrace.sdk.pipelines.pipeline import Pipeline


class HeadraceRunner(PipelineRunner):
    """Runs a program of ``apache_beam`` on Headrace: ``beam.Pipeline(runner=HeadraceRunner())``.

    On a command line it is ``--runner=headrace.beam.HeadraceRunner``.

    Args:
        runner: the runner of Headrace, "local" or "spark"; by default that of the option
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

    def __init__(self, runner: str | None = None, is_drain: bool = False) -> None:
        super().__init__()
        self._runner = runner
        self._is_drain = is_drain

    def run_pipeline(self, pipeline: Any, options: Any) -> HeadraceResult:
        """Translate a pipeline, and run it."""
        strict = not options.view_as(TypeOptions).allow_non_deterministic_key_coders
        pipeline.visit(group_by_key_input_visitor(strict))
        own = own_options(options)
        made = Pipeline(self._runner or runner_name(options), own)
        streaming = bool(own.view_as(StandardOptions).streaming)
        translate(pipeline, made, self._is_drain, streaming)
        return HeadraceResult(made.run())

    def is_fnapi_compatible(self) -> bool:
        """Return whether programs are built as for Beam's portable runners: yes."""
        return True

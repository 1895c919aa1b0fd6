# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The result of a run, its states, and the base of runners, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.pipelines.beam_runners import PipelineRunner
from headrace.sdk.pipelines.result import PipelineResult, PipelineState

__all__ = ["PipelineResult", "PipelineRunner", "PipelineState"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)

# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Options of pipelines, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.options.option_parser import OptionParser as _BeamArgumentParser  # noqa: F401
from headrace.sdk.options.options_context import OptionsContext
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions, TypeOptions
from headrace.sdk.pipelines.beam_options import (
    AzureOptions,
    CrossLanguageOptions,
    DebugOptions,
    DirectOptions,
    FlinkRunnerOptions,
    GoogleCloudOptions,
    HadoopFileSystemOptions,
    JobServerOptions,
    KafkaStreamsRunnerOptions,
    PortableOptions,
    PrismRunnerOptions,
    ProfilingOptions,
    S3Options,
    SetupOptions,
    SparkRunnerOptions,
    StreamingOptions,
    TestDataflowOptions,
    TestOptions,
    WorkerOptions,
)

__all__ = [
    "AzureOptions",
    "CrossLanguageOptions",
    "DebugOptions",
    "DirectOptions",
    "FlinkRunnerOptions",
    "GoogleCloudOptions",
    "HadoopFileSystemOptions",
    "JobServerOptions",
    "KafkaStreamsRunnerOptions",
    "OptionsContext",
    "PipelineOptions",
    "PortableOptions",
    "PrismRunnerOptions",
    "ProfilingOptions",
    "S3Options",
    "SetupOptions",
    "SparkRunnerOptions",
    "StandardOptions",
    "StreamingOptions",
    "TestDataflowOptions",
    "TestOptions",
    "TypeOptions",
    "WorkerOptions",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)

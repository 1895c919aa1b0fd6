# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Options of pipelines, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.beam_options import (
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
from headrace.sdk.option_parser import OptionParser as _BeamArgumentParser  # noqa: F401
from headrace.sdk.options import PipelineOptions, StandardOptions, TypeOptions
from headrace.sdk.options_context import OptionsContext

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

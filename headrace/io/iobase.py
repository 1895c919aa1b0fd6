# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Sources and sinks in Beam's form, under Beam's module path."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.iobase import BoundedSource, SourceBundle
from headrace.sdk.beam.iobase_writing import Sink, Writer
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.pardo.splittable.restrictions import RestrictionProgress, RestrictionTracker
from headrace.sdk.pardo.splittable.watermark_estimators import WatermarkEstimator
from headrace.sdk.sources.range_trackers import RangeTracker
from headrace.sdk.sources.reading import Read
from headrace.sdk.sources.writing import Write

__all__ = [
    "BoundedSource",
    "RangeTracker",
    "Read",
    "RestrictionProgress",
    "RestrictionTracker",
    "Sink",
    "SourceBundle",
    "WatermarkEstimator",
    "Write",
    "Writer",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)

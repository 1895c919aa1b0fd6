# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Scripted sources, under Beam's name for the module."""

from headrace.sdk.sources.scripted_stream import (
    ElementEvent,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
    WindowedValueHolder,
)

__all__ = [
    "ElementEvent",
    "ProcessingTimeEvent",
    "TestStream",
    "WatermarkEvent",
    "WindowedValueHolder",
]

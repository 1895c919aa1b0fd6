"""The local runner: in memory, in this process, the reference for every other runner.

A pipeline with bounded sources alone runs in one round, unless it is told to stream; a pipeline with test
streams runs a round for each event of the script, with the script's clock; anything else runs round after
round with the wall's clock until its sources end or it is told to stop.
"""

from __future__ import annotations

from threading import Event, Thread
from typing import Final

import attrs

from headrace.runners.local.clock import ProcessingClock, ScriptedClock, WallClock
from headrace.runners.local.executor import Executor
from headrace.runners.local.feeding import Feed, ScriptFeed, feed_for
from headrace.runners.local.progress import Progress, progress
from headrace.runners.planning import plan
from headrace.sdk.graph import Graph, Node, Read
from headrace.sdk.io.source import UnboundedSource
from headrace.sdk.options import PipelineOptions, StandardOptions
from headrace.sdk.result import PipelineResult, PipelineState
from headrace.windowing.time import MAX_MICROS

IDLE_SECONDS: Final = 0.05
"""How long to wait before sources that had nothing are asked again."""


def run(graph: Graph, options: PipelineOptions) -> PipelineResult:
    """Run a graph; returns at its end, or at once if a source need not end."""

"""WHEN windows fire, and HOW refinements relate: triggers, panes and the windowing strategy."""

from headrace.triggers.clock_triggers import AfterProcessingTime, AtPeriod
from headrace.triggers.composite_triggers import (
    AfterAll,
    AfterAny,
    AfterEach,
    OrFinally,
    Repeatedly,
)
from headrace.triggers.data_loss import DataLossReason
from headrace.triggers.data_triggers import AfterBytes, AfterCount, AfterElement, Always, Never
from headrace.triggers.pane import PaneInfo, PaneInfoTiming
from headrace.triggers.refinement import AccumulationMode, ClosingBehavior, OnTimeBehavior
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Trigger
from headrace.triggers.watermark_triggers import AfterWatermark, DefaultTrigger

__all__ = [
    "AccumulationMode",
    "AfterAll",
    "AfterAny",
    "AfterBytes",
    "AfterCount",
    "AfterEach",
    "AfterElement",
    "AfterProcessingTime",
    "AfterWatermark",
    "Always",
    "AtPeriod",
    "ClosingBehavior",
    "DataLossReason",
    "DefaultTrigger",
    "Never",
    "OnTimeBehavior",
    "OrFinally",
    "PaneInfo",
    "PaneInfoTiming",
    "Repeatedly",
    "Trigger",
    "WindowingStrategy",
]

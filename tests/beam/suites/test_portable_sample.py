"""A sample of Beam's suite of portable runners on the local runner; `make beam-suites` runs all of it."""

from __future__ import annotations

import apache_beam as beam
import pytest

pytest.importorskip("tenacity", reason="Beam's suite needs it")

from apache_beam.runners.portability.fn_api_runner import fn_runner_test

from headrace.beam import HeadraceRunner

SAMPLE = [
    "test_batch_pardo",
    "test_batch_pardo_overlapping_windows",
    "test_batch_rebatch_pardos",
    "test_callbacks_with_exception",
    "test_custom_merging_window",
    "test_custom_window_type",
    "test_error_message_includes_stage",
    "test_first_pane",
    "test_metrics",
    "test_pardo_dynamic_timer",
    "test_pardo_side_and_main_outputs",
    "test_pardo_timers_clear",
    "test_pardo_windowed_side_inputs",
    "test_read",
    "test_sdf_default_truncate_when_unbounded",
    "test_sdf_with_watermark_tracking",
    "test_unbounded_source_read",
    "test_windowed_pardo_state_timers",
]


@pytest.mark.filterwarnings("ignore")
class TestPortableSample(fn_runner_test.FnApiRunnerTest):
    """Batches, errors, finalizers, metrics, outputs, side inputs, sources, splits, states and windows."""

    def create_pipeline(self, is_drain=False):
        return beam.Pipeline(runner=HeadraceRunner(is_drain=is_drain))


for _name in dir(TestPortableSample):
    if _name.startswith("test_") and _name not in SAMPLE:
        setattr(TestPortableSample, _name, None)
del fn_runner_test

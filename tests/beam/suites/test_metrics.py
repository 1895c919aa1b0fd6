"""Metrics of CombineFns and of bounded sources in unmodified programs."""

from __future__ import annotations

import apache_beam as beam
import pytest
from apache_beam.io.utils import CountingSource
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.metrics.cells import DistributionData
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms import window

from headrace.beam import HeadraceRunner

MODES = pytest.mark.parametrize("streaming", [False, True], ids=["batch", "streaming"])


class Load(beam.CombineFn):
    """Adds numbers, and records each of them."""

    def create_accumulator(self):
        return 0

    def add_input(self, accumulator, element):
        Metrics.counter("mill", "sacks").inc()
        Metrics.distribution("mill", "weight").update(element)
        Metrics.string_set("mill", "kinds").add("rye" if element % 2 else "oats")
        return accumulator + element

    def merge_accumulators(self, accumulators):
        return sum(accumulators)

    def extract_output(self, accumulator):
        Metrics.counter("mill", "loads").inc()
        return accumulator


def counted(pair):
    """Records a pair in a DoFn before, and in one after a combiner."""
    Metrics.counter("mill", "pairs").inc()
    return pair


def totals(result):
    """The metrics of a run by name: the step and the value."""
    found = result.metrics().query(MetricsFilter())
    return {
        (metric.key.metric.name, metric.key.step): metric.committed
        for kind in found.values()
        for metric in kind
    }


@pytest.mark.filterwarnings("ignore")
@MODES
def test_combine_fns_and_sources_have_metrics(streaming):
    check_metrics(HeadraceRunner(), streaming)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("small_spark")
@MODES
def test_combine_fns_and_sources_have_metrics_on_spark(streaming):
    check_metrics(HeadraceRunner("spark"), streaming)


def check_metrics(runner, streaming):
    """Run a program, and compare all that it records."""
    p = beam.Pipeline(runner=runner, options=PipelineOptions([], streaming=streaming))
    numbers = p | "Count" >> beam.io.Read(CountingSource(20))
    stamped = numbers | "At" >> beam.Map(lambda n: window.TimestampedValue((n % 2, n), n))
    before = stamped | "Before" >> beam.Map(counted).with_output_types(tuple[int, int])
    loads = before | beam.WindowInto(window.FixedWindows(10)) | "Load" >> beam.CombinePerKey(Load())
    _ = loads | "After" >> beam.Map(counted)
    result = p.run()
    result.wait_until_finish()

    found = totals(result)
    assert found.pop(("weight", "Load")).data == DistributionData(190, 20, 0, 19)
    assert found == {
        ("recordsRead", "Count/SDFBoundedSourceReader"): 20,
        ("pairs", "Before"): 20,
        ("sacks", "Load"): 20,
        ("kinds", "Load"): {"rye", "oats"},
        ("loads", "Load"): 4,
        ("pairs", "After"): 4,
    }

"""What DoFns count, by step."""

import pytest

import headrace as hr
from headrace.metrics import Metrics, MetricsFilter
from headrace.testing import TestPipeline


class Grinding(hr.DoFn):
    def __init__(self):
        self.bags = Metrics.counter(Grinding, "bags")
        self.turns = Metrics.counter("mill", "turns")
        self.sizes = Metrics.distribution("mill", "sizes")
        self.level = Metrics.gauge("mill", "level")

    def process(self, element):
        self.bags.inc()
        self.turns.inc(element)
        self.turns.dec()
        self.sizes.update(element)
        self.level.set(element)
        yield element


@pytest.fixture
def results():
    with TestPipeline() as p:
        ground = p | hr.Create([3, 5]) | "Grind" >> hr.ParDo(Grinding())
        ground | "Again" >> hr.ParDo(Grinding())
    assert p.result is not None
    return p.result.metrics()


def query(results, chosen, kind="counters"):
    return {(m.key.step, m.key.metric.name): m.committed for m in results.query(chosen)[kind]}


def test_counters_by_step(results) -> None:
    counted = query(results, MetricsFilter().with_namespace("mill"))
    assert counted == {("Grind", "turns"): 6, ("Again", "turns"): 6}


def test_filters_narrow_each_other(results) -> None:
    chosen = MetricsFilter().with_name("bags").with_step("Again").with_namespace(Grinding)
    assert query(results, chosen) == {("Again", "bags"): 2}
    assert query(results, MetricsFilter().with_name("bags").with_namespace("mill")) == {}
    assert query(results, MetricsFilter().with_steps(["Gri"])) == {}


def test_distributions_and_gauges(results) -> None:
    chosen = MetricsFilter().with_step("Grind")
    sizes = query(results, chosen, "distributions")["Grind", "sizes"]
    assert (sizes.sum, sizes.count, sizes.min, sizes.max, sizes.mean) == (8, 2, 3, 5, 4.0)
    assert query(results, chosen, "gauges")["Grind", "level"].value == 5


def test_without_a_filter_everything_is_found(results) -> None:
    found = results.query()
    assert [len(found[kind]) for kind in ("counters", "distributions", "gauges")] == [4, 2, 2]
    assert found["counters"][0].attempted == found["counters"][0].result


def test_outside_of_a_step_nothing_is_counted() -> None:
    Metrics.counter("mill", "turns").inc()


def test_steps_are_counted_by_themselves(results) -> None:
    assert results.steps["Grind"].elements_in == 2
    assert results.steps["Grind"].elements_out == 2


def test_a_distribution_of_timestamps_is_in_whole_seconds() -> None:
    class Times(hr.DoFn):
        def process(self, element, time=hr.DoFn.TimestampParam):
            Metrics.distribution("mill", "times").update(time)
            yield element

    with TestPipeline() as p:
        stamped = p | hr.Create([hr.TimestampedValue("a", 1.5), hr.TimestampedValue("b", 4)])
        stamped | "Times" >> hr.ParDo(Times())
    assert p.result is not None
    (times,) = p.result.metrics().query(MetricsFilter().with_name("times"))["distributions"]
    assert (times.committed.min, times.committed.max, times.committed.sum) == (1, 4, 5)

import math

import apache_beam as beam
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to, is_empty
from apache_beam.transforms import combiners
from apache_beam.transforms.combiners import (
    Count,
    Mean,
    MeanCombineFn,
    Sample,
    ToDict,
    ToList,
    Top,
    TupleCombineFn,
)


class AverageFn(beam.CombineFn):
    def create_accumulator(self):
        return (0.0, 0)

    def add_input(self, accumulator, element):
        total, count = accumulator
        return total + element, count + 1

    def merge_accumulators(self, accumulators):
        totals, counts = zip(*accumulators, strict=True)
        return sum(totals), sum(counts)

    def extract_output(self, accumulator):
        total, count = accumulator
        return total / count if count else float("NaN")


class PercentOf(beam.CombineFn):
    def create_accumulator(self, whole):
        return 0

    def add_input(self, accumulator, element, whole):
        return accumulator + element

    def merge_accumulators(self, accumulators, whole):
        return sum(accumulators)

    def extract_output(self, accumulator, whole):
        return 100 * accumulator / whole


def largest(values):
    return max(values, default=-math.inf)


def run():
    functions()
    counts_and_means()
    extremes()
    collections()


def pairs_of(p):
    return p | "Pairs" >> beam.Create([("a", 1), ("a", 3), ("b", 10)])


def check(label, result, *expected):
    assert_that(result, equal_to(list(expected)), label=label)


def largest_word(words):
    return max(words, default="")


def functions():
    with TestPipeline() as p:
        pairs = pairs_of(p)
        numbers = pairs | beam.Values()
        check("own", pairs | "a" >> beam.CombinePerKey(AverageFn()), ("a", 2.0), ("b", 10.0))
        percents = pairs | "b" >> beam.CombinePerKey(PercentOf(), 20)
        check("args", percents, ("a", 20.0), ("b", 50.0))
        check("callable", numbers | "c" >> beam.CombineGlobally(largest), 10)
        check("sum", numbers | "d" >> beam.CombineGlobally(sum), 14)
        check("values", pairs | beam.GroupByKey() | beam.CombineValues(sum), ("a", 4), ("b", 10))  # type: ignore[arg-type]
        columns = TupleCombineFn(sum, largest_word)
        check("tuple", pairs | beam.KvSwap() | "e" >> beam.CombineGlobally(columns), (14, "b"))
        empty = p | "Empty" >> beam.Create([])
        check("default", empty | "f" >> beam.CombineGlobally(sum), 0)
        nothing = empty | "g" >> beam.CombineGlobally(sum).without_defaults()
        assert_that(nothing, is_empty(), label="nothing")


def counts_and_means():
    with TestPipeline() as p:
        pairs = pairs_of(p)
        numbers = pairs | beam.Values()
        check("mean", numbers | "a" >> beam.CombineGlobally(MeanCombineFn()), 14 / 3)
        check("means", pairs | "b" >> Mean.PerKey(), ("a", 2.0), ("b", 10.0))
        check("count", numbers | "c" >> Count.Globally(), 3)
        check("counts", pairs | "d" >> Count.PerKey(), ("a", 2), ("b", 1))
        check("elements", numbers | "e" >> Count.PerElement(), (1, 1), (3, 1), (10, 1))


def extremes():
    with TestPipeline() as p:
        pairs = pairs_of(p)
        numbers = pairs | beam.Values()
        check("top", numbers | "a" >> Top.Of(2), [10, 3])
        check("largest", numbers | "b" >> Top.Largest(1), [10])
        check("smallest", numbers | "c" >> Top.Smallest(2), [1, 3])
        by_key = pairs | "d" >> Top.PerKey(1, key=lambda x: -x)
        check("by key", by_key, ("a", [1]), ("b", [10]))
        latest = (
            pairs
            | "stamp" >> beam.Map(lambda pair: beam.window.TimestampedValue(pair, pair[1]))  # type: ignore[attr-defined]
            | "e" >> combiners.Latest.PerKey()
        )
        check("latest", latest, ("a", 3), ("b", 10))


def collections():
    with TestPipeline() as p:
        pairs = pairs_of(p)
        numbers = pairs | beam.Values()
        check("list", numbers | ToList() | beam.Map(sorted), [1, 3, 10])
        unique = pairs | "unique" >> beam.CombinePerKey(max)
        check("dict", unique | ToDict(), {"a": 3, "b": 10})
        check("set", numbers | combiners.ToSet(), {1, 3, 10})
        check("sample", numbers | Sample.FixedSizeGlobally(2) | beam.Map(len), 2)

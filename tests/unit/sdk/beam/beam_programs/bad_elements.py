import apache_beam as beam
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, TimestampedValue


class Halves(beam.DoFn):
    def process(self, element):
        yield element / 2
        if element == 0:
            raise ValueError(element)
        if element < 0:
            yield beam.pvalue.TaggedOutput("below", element)


def summary(letter):
    element, (kind, text, lines) = letter
    return element, kind, text, lines[0].split()[0], lines[-1]


ZERO = (0, ValueError, "ValueError(0)", "Traceback", "ValueError: 0\n")


def good_and_bad():
    with TestPipeline() as p:
        good, bad = p | beam.Create([0, 4]) | beam.ParDo(Halves()).with_exception_handling()
        assert_that(good, equal_to([2.0]), "good")
        assert_that(bad | beam.Map(summary), equal_to([ZERO]), "bad")


def partial_outputs_and_other_names():
    with TestPipeline() as p:
        outputs = (
            p
            | beam.Create([0, -4])
            | beam.ParDo(Halves())
            .with_outputs("below", main="all")
            .with_exception_handling(dead_letter_tag="dead", exc_class=ValueError, partial=True)
        )
        assert_that(outputs.all, equal_to([0.0, -2.0]), "all")
        assert_that(outputs.below, equal_to([-4]), "below")
        assert_that(outputs.dead | beam.Map(summary), equal_to([ZERO]), "dead")


def functions():
    with TestPipeline() as p:
        words = p | beam.Create([("a", "1"), ("b", "x")])
        good, bad = words | beam.MapTuple(lambda k, n: (k, int(n))).with_exception_handling()
        assert_that(good, equal_to([("a", 1)]), "mapped")
        assert_that(bad | "Element" >> beam.Keys(), equal_to([("b", "x")]), "unmapped")
        good, bad = good | beam.Filter(lambda pair: pair[1] / 0).with_exception_handling()
        assert_that(good, equal_to([]), "kept")
        assert_that(bad | "Unkept" >> beam.Keys(), equal_to([("a", 1)]), "unkept")


def failures_in_windows(threshold):
    with TestPipeline() as p:
        values = p | beam.Create([0, 1, 2, 3, 61, 62])
        windows = (
            values | beam.Map(lambda x: TimestampedValue(x, x)) | beam.WindowInto(FixedWindows(60))
        )
        windows | "Inverse" >> beam.Map(lambda x: 1 / x).with_exception_handling(
            threshold=threshold
        )


def run():
    good_and_bad()
    partial_outputs_and_other_names()
    functions()
    failures_in_windows(0.25)
    with pytest.raises(Exception, match="threshold"):
        failures_in_windows(0.2)

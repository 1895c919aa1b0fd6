"""Functions get the values that options have in the run, on the workers too."""

import pytest

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.options.value_provider import NestedValueProvider, RuntimeValueProvider
from headrace.testing import TestPipeline, TestStream, assert_that, equal_to


class Mill(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_value_provider_argument("--wheels_of_the_run", type=int, default=2)


class Multiplied(hr.DoFn):
    def __init__(self, factor):
        self.factor = factor

    def process(self, element):
        yield element * self.factor.get()


def check_values(runner, source):
    options = PipelineOptions([])
    wheels = options.view_as(Mill).wheels_of_the_run
    more = NestedValueProvider(wheels, lambda n: n + 1)
    p = TestPipeline(runner, options=options)
    built = p | source
    assert_that(built | hr.ParDo(Multiplied(wheels)), equal_to([50, 100]))
    assert_that(built | hr.Map(lambda x: x * more.get()), equal_to([60, 120]), label="more")
    options.view_as(Mill).wheels_of_the_run = 5
    p.run()
    assert not wheels.is_accessible()


@pytest.mark.alone
@pytest.mark.mode("batch")
def test_values_of_the_run(runner) -> None:
    check_values(runner, hr.Create([10, 20]))


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_values_of_the_run_in_a_stream(runner) -> None:
    check_values(
        runner, TestStream().add_elements([10]).add_elements([20]).advance_watermark_to_infinity()
    )


@pytest.mark.alone
@pytest.mark.mode("batch")
def test_a_flag_that_is_not_given_has_its_default_value(runner) -> None:
    with TestPipeline(runner, options=PipelineOptions([])) as p:
        wheels = RuntimeValueProvider("wheels_of_the_run", int, 7)
        assert_that(p | hr.Create([10]) | hr.ParDo(Multiplied(wheels)), equal_to([70]))

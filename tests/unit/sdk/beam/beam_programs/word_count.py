import re

import apache_beam as beam
from apache_beam.metrics import Metrics  # type: ignore[attr-defined]
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to


class WordOptions(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_argument("--least", type=int, default=1)


class ExtractWords(beam.DoFn):
    def __init__(self):
        self.words = Metrics.counter(self.__class__, "words")
        self.lengths = Metrics.distribution(self.__class__, "lengths")

    def process(self, element):
        for word in re.findall(r"[a-z]+", element):
            self.words.inc()
            self.lengths.update(len(word))
            yield word


def run():
    options = PipelineOptions(["--least=2", "--some_flag=1"])
    least = options.view_as(WordOptions).least
    assert options.view_as(StandardOptions).streaming is False
    with TestPipeline(options=options) as p:
        counts = (
            p
            | "Lines" >> beam.Create(["to be or not to be", "that is"])
            | "Split" >> beam.ParDo(ExtractWords()).with_output_types(str)
            | "PairWithOne" >> beam.Map(lambda word: (word, 1))
            | "GroupAndSum" >> beam.CombinePerKey(sum)
            | "Often" >> beam.Filter(lambda pair, least: pair[1] >= least, least)
            | "Format" >> beam.MapTuple(lambda word, count: f"{word}: {count}")
        )
        assert_that(counts, equal_to(["to: 2", "be: 2"]))
    query = p.result.metrics().query(MetricsFilter().with_name("words"))
    assert [counter.result for counter in query["counters"]] == [8]

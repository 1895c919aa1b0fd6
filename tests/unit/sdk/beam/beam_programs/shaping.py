import apache_beam as beam
from apache_beam import pvalue
from apache_beam.pvalue import TaggedOutput
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.ptransform import PTransform, ptransform_fn
from apache_beam.transforms.util import CoGroupByKey, WithKeys
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue


class Sorting(beam.DoFn):
    NEGATIVE = "negative"

    def process(self, element, limit, *, factor=1):
        if element < 0:
            yield TaggedOutput(self.NEGATIVE, element)
        elif element < limit:
            yield element * factor
        else:
            yield pvalue.TaggedOutput("large", element)


class Batches(beam.DoFn):
    def setup(self):
        self.size = 2

    def start_bundle(self):
        self.batch = []

    def process(self, element):
        self.batch.append(element)
        if len(self.batch) == self.size:
            yield sum(self.batch)
            self.batch = []

    def finish_bundle(self):
        if self.batch:
            yield WindowedValue(sum(self.batch), 0, [GlobalWindow()])  # type: ignore[arg-type]

    def teardown(self):
        pass


class Doubled(PTransform):
    def expand(self, pcoll):
        return pcoll | beam.Map(lambda x: 2 * x)


@ptransform_fn
def Scaled(pcoll, factor):
    return pcoll | beam.Map(lambda x: factor * x)


class ByParity(beam.PartitionFn):
    def partition_for(self, element, num_partitions):
        return element % num_partitions


def run():
    outputs()
    parts()
    composites()
    pairs()
    groups()


def check(label, result, *expected):
    assert_that(result, equal_to(list(expected)), label=label)


def numbers_of(p):
    return p | "Numbers" >> beam.Create([3, -1, 20])


def outputs():
    with TestPipeline() as p:
        results = numbers_of(p) | beam.ParDo(Sorting(), 10, factor=5).with_outputs(
            Sorting.NEGATIVE, "large", main="small"
        )
        check("main", results.small, 15)
        check("by name", results[Sorting.NEGATIVE], -1)
        small, negative, large = results
        check("unpacked", large, 20)
        check("flat", (small, negative) | beam.Flatten(), 15, -1)


def parts():
    with TestPipeline() as p:
        numbers = numbers_of(p)
        even, odd = numbers | beam.Partition(ByParity(), 2)
        check("even", even, 20)
        check("odd", odd, 3, -1)
        by_size = numbers | "size" >> beam.Partition(lambda x, n: min(abs(x) // 10, n - 1), 3)  # type: ignore[arg-type]
        check("partition", by_size[2], 20)


def composites():
    with TestPipeline() as p:
        numbers = numbers_of(p)
        five = p | beam.Impulse() | beam.FlatMap(lambda _: range(5)) | beam.Reshuffle()
        check("batches", five | beam.ParDo(Batches()) | beam.CombineGlobally(sum), 10)
        check("composite", numbers | Doubled() | Scaled(10), 60, -20, 400)
        check("chain", numbers | "chained" >> (Doubled() | beam.Map(str)), "6", "-2", "40")
        lists = p | "lists" >> beam.Create([[1, 2], [3]])
        check("flat map", lists | "items" >> beam.FlatMap(lambda x: x), 1, 2, 3)


def pairs():
    with TestPipeline() as p:
        keyed = numbers_of(p) | WithKeys(lambda x: x > 0)
        check("pairs", keyed, (True, 3), (False, -1), (True, 20))
        check("spread", keyed | beam.FlatMapTuple(lambda key, x: [x] if key else []), 3, 20)
        check("keys", keyed | beam.Keys() | beam.Distinct(), True, False)


def groups():
    with TestPipeline() as p:
        emails = p | "emails" >> beam.Create([("amy", "amy@x")])
        phones = p | "phones" >> beam.Create([("amy", 1), ("bob", 2)])
        joined = {"emails": emails, "phones": phones} | "dict" >> CoGroupByKey()
        rows = joined | "plain" >> beam.MapTuple(
            lambda name, row: (name, list(row["emails"]), list(row["phones"]))
        )
        check("joined", rows, ("amy", ["amy@x"], [1]), ("bob", [], [2]))
        tuples = (emails, phones) | "tuples" >> beam.CoGroupByKey()
        lists = tuples | "lists" >> beam.MapTuple(lambda name, row: (name, *map(list, row)))
        check("tuple", lists, ("amy", ["amy@x"], [1]), ("bob", [], [2]))
        words = p | "words" >> beam.Create(["to", "be", "not"])
        grouped = words | beam.GroupBy(len) | beam.MapTuple(lambda n, ws: (n, sorted(ws)))
        check("group by", grouped, (2, ["be", "to"]), (3, ["not"]))
        records = words | "rows" >> beam.Map(lambda word: beam.Row(word=word, size=len(word)))  # type: ignore[attr-defined]
        sums = records | "sums" >> beam.GroupBy("size").aggregate_field("word", largest, "last")
        check("aggregate", sums | "tuple of" >> beam.Map(tuple), (2, "to"), (3, "not"))


def largest(words):
    return max(words, default="")

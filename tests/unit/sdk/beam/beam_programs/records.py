import dataclasses
import typing

import apache_beam as beam
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.combiners import CountCombineFn, MeanCombineFn


class Trip(typing.NamedTuple):
    quay: str
    minutes: int


@dataclasses.dataclass(frozen=True)
class Leg:
    quay: str
    minutes: int


ROWS = [
    beam.Row(quay="north", minutes=3),  # type: ignore[attr-defined]
    beam.Row(quay="south", minutes=1),  # type: ignore[attr-defined]
    beam.Row(quay="north", minutes=4),  # type: ignore[attr-defined]
]


def run():
    for kind in (beam.Row, Trip, Leg):  # type: ignore[attr-defined]
        with TestPipeline() as p:
            records = p | beam.Create([kind(**row.as_dict()) for row in ROWS])
            groups(records)
            aggregations(records)
            selections(records)
    with TestPipeline() as p:
        keys(p)


def check(label, result, *expected):
    assert_that(result, equal_to(list(expected)), label=label)


def named(record):
    return (record._fields, *record)


def minutes_of(key, records):
    return key, sorted(record.minutes for record in records)


def groups(records):
    one = records | beam.GroupBy("quay") | "one" >> beam.MapTuple(minutes_of)
    check("one field", one, ("north", [3, 4]), ("south", [1]))
    odd = records | beam.GroupBy(lambda x: x.minutes % 2 == 1) | "odd" >> beam.MapTuple(minutes_of)
    check("a function", odd, (True, [1, 3]), (False, [4]))
    forced = records | "forced" >> beam.GroupBy("quay").force_tuple_keys()
    names = forced | "names" >> beam.MapTuple(lambda key, _: named(key))
    check("a tuple", names, (("quay",), "north"), (("quay",), "south"))
    several = records | "several" >> beam.GroupBy(
        "quay", len_of_quay, even=lambda x: x.minutes % 2 == 0
    )
    fields = several | "fields" >> beam.MapTuple(
        lambda key, values: (key._fields, *key, len(values))
    )
    parts = ("quay", "key1", "even")
    check(
        "several",
        fields,
        (parts, "north", 5, True, 1),
        (parts, "north", 5, False, 1),
        (parts, "south", 5, False, 1),
    )
    everything = records | "everything" >> beam.GroupBy()
    check("all", everything | "of all" >> beam.MapTuple(minutes_of), ((), [1, 3, 4]))


def len_of_quay(record):
    return len(record.quay)


def aggregations(records):
    totals = records | "totals" >> (
        beam.GroupBy("quay")
        .aggregate_field("minutes", sum, "total")
        .aggregate_field(lambda x: x.minutes * 2, max, "most")
        .aggregate_field("minutes", CountCombineFn(), "count")
    )
    parts = ("quay", "total", "most", "count")
    check(
        "chained",
        totals | "of totals" >> beam.Map(named),
        (parts, "north", 7, 8, 2),
        (parts, "south", 1, 2, 1),
    )
    mean = records | "mean" >> beam.GroupBy().aggregate_field("minutes", MeanCombineFn(), "mean")
    check("global", mean | "of mean" >> beam.Map(named), (("mean",), 8 / 3))
    check("rows for results", mean, beam.Row(mean=8 / 3))  # type: ignore[attr-defined]


def selections(records):
    selected = records | beam.Select("quay", len_of_quay, half=lambda x: x.minutes / 2, m="minutes")
    check(
        "selected",
        selected | "of selected" >> beam.Map(lambda row: tuple(row.as_dict().items())),
        (("quay", "north"), ("arg01", 5), ("half", 1.5), ("m", 3)),
        (("quay", "south"), ("arg01", 5), ("half", 0.5), ("m", 1)),
        (("quay", "north"), ("arg01", 5), ("half", 2.0), ("m", 4)),
    )


def keys(p):
    trips = [(Trip("north", 3), 1), (Trip("north", 3), 2), (Trip("south", 3), 4)]
    sums = p | "trips" >> beam.Create(trips) | "by trip" >> beam.CombinePerKey(sum)
    check(
        "named tuples",
        sums | "quays" >> beam.MapTuple(lambda t, n: (t.quay, n)),
        ("north", 3),
        ("south", 4),
    )
    declared = (
        p
        | "words" >> beam.Create(["to", "be", "not"])
        | beam.Map(lambda word: Trip(word, len(word))).with_output_types(Trip)
    )
    longest = declared | "longest" >> beam.GroupBy("minutes").aggregate_field("quay", max, "last")
    check("declared", longest | "of longest" >> beam.Map(tuple), (2, "to"), (3, "not"))

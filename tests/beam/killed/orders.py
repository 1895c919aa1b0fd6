"""Orders of shops as sessions, totals of minutes and an archive: ``python orders.py BROKER FOLDER [FLAGS]``.

A program of apache_beam that knows no runner. Orders come from a topic, and can arrive late. The rates of
currencies and the names of shops come from files that appear meanwhile.
"""

import argparse
import json

import apache_beam as beam
from apache_beam.coders import StrUtf8Coder, VarIntCoder
from apache_beam.io import fileio
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.kafka import ReadFromKafka, WriteToKafka
from apache_beam.io.watch import PollResult, Watch
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.trigger import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    Repeatedly,
)
from apache_beam.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    TimerSpec,
    on_timer,
)
from apache_beam.transforms.window import FixedWindows, GlobalWindows, Sessions, TimestampedValue

MINUTE = 60
GAP = 30
"""Seconds without an order after which a session ends."""
LATENESS = 120
STRING = "org.apache.kafka.common.serialization.StringSerializer"


def published(pattern) -> PollResult[str]:
    """The files of rates, each with its minute, whose number is its name."""
    (found,) = FileSystems.match([pattern])
    paths = sorted(each.path for each in found.metadata_list)
    starts = [int(FileSystems.split(path)[1].partition(".")[0]) for path in paths]
    files = tuple(map(TimestampedValue, paths, starts))
    complete = max(starts, default=0) + MINUTE
    return PollResult(files).with_watermark(complete)


def lines(path):
    with FileSystems.open(path) as file:
        for line in file.read().decode().splitlines():
            yield tuple(json.loads(line))


def order_of(pair):
    order = json.loads(pair[1])
    return TimestampedValue(order, order["at"])


def priced(order, rates):
    """A shop, and the number and the price of its order."""
    return order["shop"], (order["n"], order["amount"] * rates[order["currency"]])


class Totals(beam.DoFn):
    """The total of each shop and minute, when the minute is over, and again after late orders."""

    TOTAL = CombiningValueStateSpec("total", VarIntCoder(), sum)
    ORDERS = BagStateSpec("orders", VarIntCoder())
    OVER = TimerSpec("over", TimeDomain.WATERMARK)

    def process(
        self,
        element,
        window=beam.DoFn.WindowParam,
        total=beam.DoFn.StateParam(TOTAL),
        orders=beam.DoFn.StateParam(ORDERS),
        over=beam.DoFn.TimerParam(OVER),
    ):
        number, price = element[1]
        total.add(price)
        orders.add(number)
        over.set(window.end)

    @on_timer(OVER)
    def minute_is_over(
        self,
        shop=beam.DoFn.KeyParam,
        window=beam.DoFn.WindowParam,
        total=beam.DoFn.StateParam(TOTAL),
        orders=beam.DoFn.StateParam(ORDERS),
    ):
        yield shop, [int(window.start), sorted(orders.read()), total.read()]


def session_row(pair, names, window=beam.DoFn.WindowParam, pane=beam.DoFn.PaneInfoParam):
    """A shop, and a pane of a session: bounds, numbers of orders, total, name of the shop, and number."""
    shop, orders = pair
    numbers, prices = zip(*sorted(orders), strict=True)
    bounds = [int(window.start), int(window.end)]
    return shop, [*bounds, list(numbers), sum(prices), names[shop], pane.index]


def as_message(pair):
    return pair[0], json.dumps(pair[1])


def build(p, broker, folder):
    config = {"bootstrap.servers": broker}
    orders = (
        p
        | "Orders"
        >> ReadFromKafka(
            {**config, "auto.offset.reset": "earliest"},
            ["orders"],
            timestamp_policy=ReadFromKafka.create_time_policy,
        )
        | "Order" >> beam.Map(order_of)
    )
    rates = (
        p
        | "Rates" >> beam.Create([FileSystems.join(folder, "rates", "*.json")])
        | Watch(published, poll_interval=0.5, output_coder=StrUtf8Coder())
        | "Rate" >> beam.FlatMap(lambda pair: lines(pair[1]))
        | "RateMinutes" >> beam.WindowInto(FixedWindows(MINUTE))
    )
    names = (
        p
        | fileio.MatchContinuously(FileSystems.join(folder, "names", "*.json"), interval=0.5)
        | "Name" >> beam.FlatMap(lambda found: lines(found.path))
        | "Names"
        >> beam.WindowInto(
            GlobalWindows(),
            trigger=Repeatedly(AfterCount(1)),
            accumulation_mode=AccumulationMode.ACCUMULATING,
        )
    )
    minutes = orders | "Minutes" >> beam.WindowInto(
        FixedWindows(MINUTE),
        trigger=AfterWatermark(late=AfterCount(1)),
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=LATENESS,
    )
    prices = minutes | "Price" >> beam.Map(priced, beam.pvalue.AsDict(rates))
    totals = prices | beam.ParDo(Totals())
    sessions = (
        prices
        | "Sessions"
        >> beam.WindowInto(
            Sessions(GAP),
            trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
            accumulation_mode=AccumulationMode.ACCUMULATING,
            allowed_lateness=LATENESS,
        )
        | beam.GroupByKey()
        | "Session" >> beam.Map(session_row, beam.pvalue.AsDict(names))
    )
    for name, rows in (("totals", totals), ("sessions", sessions)):
        messages = rows | f"{name} as text" >> beam.Map(as_message).with_output_types(
            beam.typehints.Tuple[str, str]
        )
        write = WriteToKafka(config, name, key_serializer=STRING, value_serializer=STRING)
        _ = messages | f"Write {name}" >> write
    _ = (
        orders
        | "InTime" >> beam.Filter(lambda order: order["at"] == order["sent"])
        | "Archive" >> beam.WindowInto(FixedWindows(MINUTE))
        | "Line" >> beam.Map(json.dumps)
        | fileio.WriteToFiles(FileSystems.join(folder, "archive"), shards=1)
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("broker")
    parser.add_argument("folder")
    given, flags = parser.parse_known_args()
    with beam.Pipeline(options=PipelineOptions(flags)) as p:
        build(p, given.broker, given.folder)


if __name__ == "__main__":
    main()

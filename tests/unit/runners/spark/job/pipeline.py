"""A pipeline as a user would write it: classes and functions in the script itself, and code beside it.

python pipeline.py DIRECTORY [--trips] [flags of the pipeline]

Keys, elements and accumulators are of classes of ``__main__``; they cross every shuffle, stay in the
state of a stream, and come back to the driver. Prints what came back.
"""

import json
import sys
from enum import Enum
from pathlib import Path

import attrs
from shapes import IntoTills

import headrace as hr
from headrace.windowing import FixedWindows

SALES, PARTITIONS = 80, 2


class Kind(Enum):
    BREAD = 1
    MILK = 2


@attrs.frozen
class Shop:
    name: str


@attrs.frozen
class Sale:
    shop: Shop
    amount: int
    kind: Kind


@attrs.define
class Basket:
    total: int = 0
    kinds: set[Kind] = attrs.field(factory=set)

    def plus(self, other: "Basket") -> "Basket":
        assert type(other) is Basket, "of the same class, whoever made it"
        return Basket(self.total + other.total, self.kinds | other.kinds)


class Fill(hr.CombineFn):
    def create_accumulator(self):
        return Basket()

    def add_input(self, basket, sale):
        return basket.plus(Basket(sale.amount, {sale.kind}))

    def merge_accumulators(self, baskets):
        whole = Basket()
        for basket in baskets:
            whole = whole.plus(basket)
        return whole

    def extract_output(self, basket):
        return basket


class Sales(hr.io.BoundedSource):
    def partitions(self):
        return range(PARTITIONS)

    def read(self, partition):
        for number in range(partition, SALES, PARTITIONS):
            sale = Sale(Shop(f"{'ab'[number % 2]}{number % 4}"), number, Kind(1 + number % 2))
            yield hr.TimestampedValue(sale, number)


class Trip(hr.DoFn):
    def __init__(self, trips):
        self.trips = trips

    def process(self, sale):
        if self.trips and sale.amount == 50:
            raise ValueError("the milk is spilled")
        yield sale


@attrs.define
class Back(hr.io.Sink):
    """What came back to the driver."""

    rows: list = attrs.field(factory=list)

    def write(self, batch):
        for shop, basket in batch.bundle.values:
            assert (type(shop), type(basket)) == (Shop, Basket)
            assert all(kind in Kind for kind in basket.kinds)
            self.rows.append(f"{shop.name} {basket.total}")


def line(group):
    till, baskets = group
    total = sum(basket.total for basket in baskets)
    return f"{till.name} {total} {sorted({kind.name for b in baskets for kind in b.kinds})}"


def main(directory, *flags):
    back = Back()
    place = Path(directory)
    flags = list(flags)
    with hr.Pipeline(argv=[flag for flag in flags if flag != "--trips"]) as p:
        sales = p | hr.Read(Sales()) | hr.ParDo(Trip("--trips" in flags))
        windowed = sales | hr.WindowInto(FixedWindows(60))
        baskets = windowed | hr.WithKeys(lambda sale: sale.shop) | hr.CombinePerKey(Fill())
        tills = baskets | hr.ParDo(IntoTills()) | hr.GroupByKey() | hr.Map(line)
        tills | hr.io.WriteToText(place / "tills", num_shards=2)
        baskets | hr.Write(back)
    print(json.dumps(sorted(back.rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Groupings and joins of Parquet files on the local runner: on columns, on elements, and by other means.

pip install polars                                # for its column; without it there is none
python benchmarks/columns.py                      # 1,000,000 rows
python benchmarks/columns.py --rows 100000 --repeat 1
python benchmarks/columns.py --rows 300000 --others 16    # of 20 columns, 4 are used
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
from comparison import CLOCKS
from in_turn import seconds_of, table_of

import headrace as hr
from headrace.sdk.sources.sink import SinkBatch

WINDOW: Final = 60
"""Length of the windows in seconds."""

Totals: TypeAlias = dict[tuple[Any, ...], Any]
"""The total of each key and window."""

Way: TypeAlias = Callable[[str], Totals]


@attrs.frozen
class Shape:
    """An input.

    Attributes:
        title: what is special about it.
        keys: the number of keys.
        windows: the number of windows over which the rows are spread.
    """

    title: str
    keys: int
    windows: int


SHAPES: Final = (
    Shape("10,000 keys, 10 windows (10 rows per key and window)", 10_000, 10),
    Shape("100 keys, 100 windows (100 rows per key and window)", 100, 100),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--others", type=int, default=0, help="number of columns that no step uses")
    flags = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        for shape in SHAPES:
            path = str(Path(directory) / f"{shape.keys}.parquet")
            _write(path, flags.rows, shape, flags.others)
            for job, ways in JOBS.items():
                print(f"{job}: {shape.title}, {flags.rows:,} rows\n{_table(path, ways, flags)}\n")
    return 0


def _write(path: str, rows: int, shape: Shape, others: int) -> None:
    """Write sales: time, shop, price and quantity; a quarter has no quantity."""
    source = random.Random(2015)
    shops = [f"shop-{number}" for number in range(shape.keys)]
    span = shape.windows * WINDOW
    columns = {
        "time": pa.array([row * span // rows for row in range(rows)], pa.int64()),
        "shop": [source.choice(shops) for _ in range(rows)],
        "price": [source.randrange(100) for _ in range(rows)],
        "quantity": [source.randrange(4) for _ in range(rows)],
    }
    for number in range(others):
        columns[f"other-{number}"] = [f"{source.randrange(rows)}" for _ in range(rows)]
    pq.write_table(pa.table(columns), path)


def _table(path: str, ways: dict[str, Way], flags: argparse.Namespace) -> str:
    """Compare the totals of all ways, then time them."""
    if not find_spec("polars"):
        ways = {name: way for name, way in ways.items() if name != POLARS}
    totals = {name: _by_start(way(path)) for name, way in ways.items()}
    for name, found in totals.items():
        assert found == totals[LOOP], f"{name} has other totals"
    timed = {name: partial(way, path) for name, way in ways.items()}
    seconds = seconds_of(timed, flags.repeat, CLOCKS["cpu"])
    return table_of(seconds, dict.fromkeys(ways, flags.rows), LOOP)


def _by_start(totals: Totals) -> Totals:
    """Return totals whose windows are their starts in seconds."""
    return {
        (shop, window if isinstance(window, int) else window.start.micros // 1_000_000): total
        for (shop, window), total in totals.items()
    }


@attrs.define(eq=False)
class Totalling(hr.io.Sink):
    """Keeps totals by shop and window."""

    totals: Totals = attrs.field(factory=dict)

    def write(self, batch: SinkBatch) -> None:
        """Keep the panes of a batch."""
        bundle = batch.bundle
        for (shop, total), (window,) in zip(bundle.values, bundle.windows, strict=False):
            self.totals[shop, window] = total


def by_columns(path: str) -> Totals:
    """Run the pipeline with expressions."""
    found = Totalling()
    with hr.Pipeline("local") as p:
        sales = p | hr.io.ReadFromParquet(path, as_rows=True, timestamp="time")
        _ = (
            sales
            | hr.Filter(nw.col("quantity") > 0)
            | hr.WithFields(paid=nw.col("price") * nw.col("quantity"))
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.Map(attrgetter("shop", "paid"))
            | hr.CombinePerKey(sum)
            | hr.Write(found)
        )
    return found.totals


def by_elements(path: str) -> Totals:
    """Run the pipeline with functions."""
    found = Totalling()
    with hr.Pipeline("local") as p:
        sales = p | hr.io.ReadFromParquet[hr.Row](path, as_rows=True, timestamp="time")
        _ = (
            sales
            | hr.Filter(lambda sale: sale.quantity > 0)
            | hr.WindowInto(hr.window.FixedWindows(WINDOW))
            | hr.Map(lambda sale: (sale.shop, sale.price * sale.quantity))
            | hr.CombinePerKey(sum)
            | hr.Write(found)
        )
    return found.totals


def by_dict_loop(path: str) -> Totals:
    """Read with pyarrow, and add in a dictionary."""
    totals: Totals = defaultdict(int)
    for moment, shop, price, quantity in _rows(path):
        if quantity > 0:
            totals[shop, moment // WINDOW * WINDOW] += price * quantity
    return totals


def _rows(path: str) -> Iterator[tuple[Any, ...]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["time", "shop", "price", "quantity"]):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def by_polars(path: str) -> Totals:
    """Read and group with polars."""
    pl = import_module("polars")
    window = pl.col("time") // WINDOW * WINDOW
    frame = pl.scan_parquet(path).filter(pl.col("quantity") > 0)
    paid = (pl.col("price") * pl.col("quantity")).sum().alias("total")
    grouped = frame.group_by("shop", window.alias("window")).agg(paid).collect()
    return {(shop, start): total for shop, start, total in grouped.iter_rows()}


def joined_by(path: str, prices: Any, quantities: Any) -> Totals:
    """Join the prices of a shop and window with the quantities, and add each."""
    found = Totalling()
    with hr.Pipeline("local") as p:
        sides = []
        for number, pairs in enumerate((prices, quantities)):
            sales = p | f"Read {number}" >> hr.io.ReadFromParquet(
                path, as_rows=True, timestamp="time"
            )
            windowed = sales | f"Windows {number}" >> hr.WindowInto(hr.window.FixedWindows(WINDOW))
            sides.append(windowed | f"Pairs {number}" >> hr.Map(pairs))
        _ = tuple(sides) | hr.CoGroupByKey() | hr.Map(_added) | hr.Write(found)
    return found.totals


def _added(group: Any) -> tuple[str, tuple[int, int]]:
    key, (prices, quantities) = group
    return key, (sum(prices), sum(quantities))


def join_of_columns(path: str) -> Totals:
    """Join fields."""
    return joined_by(path, attrgetter("shop", "price"), attrgetter("shop", "quantity"))


def join_of_elements(path: str) -> Totals:
    """Join what functions return."""
    return joined_by(path, lambda s: (s.shop, s.price), lambda s: (s.shop, s.quantity))


def join_by_dict_loop(path: str) -> Totals:
    """Read with pyarrow, and join in a dictionary of lists."""
    sides: dict[tuple[Any, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side in (0, 1):
        for moment, shop, *values in _rows(path):
            sides[shop, moment // WINDOW * WINDOW][side].append(values[side])
    return {key: (sum(prices), sum(quantities)) for key, (prices, quantities) in sides.items()}


LOOP: Final = "dict loop"
POLARS: Final = "polars"
ELEMENTS: Final = "on elements"
COLUMNS: Final = "on columns"
JOBS: Final[dict[str, dict[str, Way]]] = {
    "sums": {LOOP: by_dict_loop, ELEMENTS: by_elements, COLUMNS: by_columns, POLARS: by_polars},
    "join": {LOOP: join_by_dict_loop, ELEMENTS: join_of_elements, COLUMNS: join_of_columns},
}


if __name__ == "__main__":
    sys.exit(main())

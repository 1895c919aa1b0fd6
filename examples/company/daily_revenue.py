"""The revenue of each shop and day, from orders in YAML: a project with a module and a requirement.

    python daily_revenue.py [--input FILE] [--output DIR] [flags of the pipeline]

Each result is a line with the day, the shop and the revenue in cents.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import shop_orders

import headrace as hr

DAY = 24 * 3600


def to_line(revenue: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> str:
    """Return the line of a result."""
    shop, cents = revenue
    return f"{window.start.to_rfc3339()[:10]} {shop} {cents}"


class DailyRevenue(hr.PTransform):
    """Lines of orders to lines of results."""

    def expand(self, lines: hr.PCollection[str]) -> hr.PCollection[str]:
        found = lines | "Parse" >> hr.Map(shop_orders.parse)
        timed = found | hr.Map(lambda order: hr.TimestampedValue(order, order.second))
        days = timed | hr.WindowInto(hr.window.FixedWindows(DAY))
        pairs = days | hr.Map(lambda order: (order.shop, order.cents))
        return pairs | hr.CombinePerKey(sum) | hr.Map(to_line)


def main(argv: list[str]) -> None:
    """Run the job."""
    parser = ArgumentParser()
    parser.add_argument("--input", type=Path)
    parser.add_argument("--output", type=Path, default=Path("out/company"))
    known, flags = parser.parse_known_args(argv)
    known.output.mkdir(parents=True, exist_ok=True)
    source = known.input or known.output / "orders.yaml"
    if not source.exists():
        shop_orders.write(source, 3_000)
    with hr.Pipeline(argv=flags) as p:
        results = p | hr.io.ReadFromText(str(source)) | DailyRevenue()
        results | hr.io.WriteToText(str(known.output / "revenue"), file_name_suffix=".txt")


if __name__ == "__main__":
    main(sys.argv[1:])

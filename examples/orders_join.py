"""Daily books: orders joined with their payments, by a job that can be killed and resumed.

    python examples/orders_join.py
    python examples/orders_join.py --runner=spark --streaming --checkpoint=out/orders_join/checkpoint

The job joins orders and payments of the same day, and reports for each order what was ordered, what was paid,
and whether both agree. An order is reported once a day, when the day is complete, so nothing is retracted.

On Spark in streaming mode with a checkpoint, kill the job at any time, with SIGKILL too, and start the same
command again: it continues, and every line is written once. ``tools/kill_once.py`` does this.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from random import Random
from typing import Any

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

DAY = 24 * 60 * 60
RECORDS_PER_BATCH = 40
"""In streaming mode; small, so that the run has several batches and can be killed between them."""

Record = dict[str, Any]


def orders_and_payments(days: int = 4, seed: int = 1) -> tuple[list[Record], list[Record]]:
    """Return orders and payments, each in order of time; some orders are paid wrongly or not at all."""
    random = Random(seed)
    orders: list[Record] = []
    payments: list[Record] = []
    for number in range(days * 60):
        order = f"order-{number:04}"
        time = 1_767_225_600 + random.randrange(days * DAY)
        amount = random.randrange(10, 100)
        orders.append({"order": order, "amount": amount, "time": time})
        parts = random.choice([[], [amount], [amount], [amount - 5, 5], [amount + 1]])
        for part in parts:
            paid = time + random.randrange(2 * 60 * 60)  # around midnight, on the next day
            payments.append({"order": order, "amount": part, "time": paid})
    return sorted(orders, key=_time), sorted(payments, key=_time)


def _time(record: Record) -> int:
    return int(record["time"])


def write_input(directory: Path) -> None:
    """Write the input files, unless they exist: a run that resumes reads the same files again."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, records in zip(("orders", "payments"), orders_and_payments(), strict=True):
        path = directory / f"{name}.json"
        if not path.exists():
            path.write_text("".join(json.dumps(record) + "\n" for record in records))


def to_line(joined: tuple[str, dict[str, list[int]]], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return the line of an order and a day in the books."""
    order, amounts = joined
    ordered, paid = sum(amounts["orders"]), sum(amounts["payments"])
    status = "paid" if ordered == paid else "open" if ordered > paid else "overpaid"
    day = window.start.to_rfc3339()[:10]
    return hr.Row(day=day, order=order, ordered=ordered, paid=paid, status=status)


def build(pipeline: hr.Pipeline, directory: Path) -> None:
    """Build the pipeline."""
    sides = {}
    for name in ("orders", "payments"):
        sides[name] = (
            pipeline
            | f"Read {name}"
            >> hr.io.ReadFromJson(
                directory / f"{name}.json",
                {"order": str, "amount": int, "time": int},
                timestamp="time",
                watermark=hr.Monotonic(),
            )
            | f"{name} by number" >> hr.Map(lambda record: (record.order, record.amount))
            | f"{name} into days" >> hr.WindowInto(hr.window.FixedWindows(DAY))
        )
    (
        sides
        | "Join" >> hr.CoGroupByKey()
        | "To lines" >> hr.Map(to_line)
        | "Write" >> hr.io.WriteToJson(directory / "books" / "day")
    )


def read_books(directory: Path) -> list[Record]:
    """Return the lines of all files that the job has written."""
    paths = sorted((directory / "books").glob("day-*.json"))
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    return sorted(lines, key=lambda line: (line["day"], line["order"]))


def main(argv: list[str] | None = None) -> Any:
    """Run the job, print the orders that are not settled, and return the result of the run."""
    parser = ArgumentParser(
        description=__doc__, epilog="Other flags go to the pipeline, such as --runner."
    )
    parser.add_argument("--directory", type=Path, default=Path("out/orders_join"))
    args, flags = parser.parse_known_args(argv)
    write_input(args.directory)

    flags = [f"--max-records-per-batch={RECORDS_PER_BATCH}", *flags]
    with hr.Pipeline(options=PipelineOptions(flags)) as pipeline:
        build(pipeline, args.directory)

    if pipeline.result and pipeline.result.state == "CANCELLED":
        print("The run was cancelled, so its results are not complete.")
        return pipeline.result
    for line in read_books(args.directory):
        if line["status"] != "paid":
            print(*line.values())
    return pipeline.result


if __name__ == "__main__":
    sys.exit(main().state != "DONE")

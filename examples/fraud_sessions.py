"""Fraud alerts: sessions of card payments, from a directory of JSON files that grows.

    python examples/fraud_sessions.py                        # batch
    python examples/fraud_sessions.py --streaming            # a stream of the files that exist
    python examples/fraud_sessions.py --live --runner=spark  # files are written while the job runs

A session is a series of payments of one card with less than ten minutes between them. The job reports each
session with many payments or a large sum. Some payments arrive late, and a late payment can merge two
sessions that were reported before. So panes are retracting: an alert that is no longer right is retracted.

The alerts are JSON lines with a column "diff", +1 or -1. Their sum is the set of current alerts.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions, StandardOptions

MINUTE = 60
GAP = 10 * MINUTE
"""A session ends when its card is not used for this time, in seconds."""

MANY = 4
LARGE_SUM = 400

Payment = dict[str, Any]


def payments(count: int = 400, seed: int = 2) -> list[Payment]:
    """Return payments in order of arrival: most within a minute, some up to forty minutes late."""
    random = Random(seed)
    arrivals: list[tuple[int, int, Payment]] = []
    for _ in range(count):
        second = 1_767_225_600 + random.randrange(6 * 60) * MINUTE + random.randrange(MINUTE)
        delay = random.randrange(MINUTE) if random.random() < 0.8 else random.randrange(40 * MINUTE)
        card = f"card-{random.randrange(20):02}"
        payment = {"card": card, "amount": random.randrange(5, 250), "time": second}
        arrivals.append((second + delay, len(arrivals), payment))
    return [payment for _, _, payment in sorted(arrivals)]


def write_files(directory: Path, records_per_file: int = 100) -> Iterator[int]:
    """Write the payments to files; yield the number of payments written so far."""
    arrived = payments()
    for start in range(0, len(arrived), records_per_file):
        records = arrived[start : start + records_per_file]
        hidden = directory / f".payments-{start:05}.json"
        hidden.write_text("".join(json.dumps(record) + "\n" for record in records))
        hidden.rename(directory / hidden.name[1:])  # a complete file appears at once
        yield start + len(records)


def to_alert(session: tuple[str, tuple[int, int]], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return an alert; the window of a session ends one gap after its last payment."""
    card, (number, total) = session
    first, last = window.start.to_rfc3339(), (window.end - GAP).to_rfc3339()
    return hr.Row(first=first, last=last, card=card, payments=number, total=total)


def build(pipeline: hr.Pipeline, directory: Path, watch: bool) -> None:
    """Build the pipeline; ``watch`` continues with new files."""
    (
        pipeline
        | "Read"
        >> hr.io.ReadFromJson(
            directory / "payments",
            {"card": str, "amount": int, "time": int},
            timestamp="time",
            watermark=hr.BoundedOutOfOrderness(2 * MINUTE),
            watch=0.1 if watch else False,
        )
        | "By card" >> hr.Map(lambda payment: (payment.card, payment.amount))
        | "Into sessions"
        >> hr.WindowInto(
            hr.window.Sessions(GAP),
            trigger=hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.RETRACTING,
            allowed_lateness=40 * MINUTE,
        )
        | "Sessions"
        >> hr.CombinePerKey(
            hr.combiners.SingleInputTupleCombineFn(hr.combiners.CountCombineFn(), sum)
        )
        | "Suspicious"
        >> hr.Filter(lambda session: session[1][0] >= MANY or session[1][1] > LARGE_SUM)
        | "To alerts" >> hr.Map(to_alert)
        | "Write" >> hr.io.WriteToJson(directory / "alerts" / "alerts", diff_column="diff")
    )


def write_while_running(result: Any, directory: Path) -> None:
    """Write the files one by one, each when the one before it has been read; then drain the run."""
    for written in write_files(directory / "payments"):
        while result.state == "RUNNING" and result.metrics().steps["Read"].elements_out < written:
            time.sleep(0.05)
    result.drain()


def current_alerts(directory: Path) -> list[dict[str, Any]]:
    """Return the alerts that are not retracted: the sum of the diffs of equal alerts."""
    diffs: Counter[tuple[tuple[str, Any], ...]] = Counter()
    for path in (directory / "alerts").glob("alerts-*.json"):
        for alert in map(json.loads, path.read_text().splitlines()):
            diff = alert.pop("diff")
            diffs[tuple(alert.items())] += diff
    return [dict(alert) for alert in sorted(diffs.elements())]


def main(argv: list[str] | None = None) -> Any:
    """Run the job, print the current alerts, and return the result of the run."""
    parser = ArgumentParser(
        description=__doc__, epilog="Other flags go to the pipeline, such as --runner."
    )
    parser.add_argument("--directory", type=Path, default=Path("out/fraud_sessions"))
    parser.add_argument("--live", action="store_true", help="write files while the job runs")
    args, flags = parser.parse_known_args(argv)
    (args.directory / "payments").mkdir(parents=True, exist_ok=True)
    for old in args.directory.glob("*/*.json"):
        old.unlink()

    options = PipelineOptions(flags)
    streaming = args.live or options.view_as(StandardOptions).streaming
    if not args.live:
        list(write_files(args.directory / "payments"))
        options.view_as(StandardOptions).until_caught_up = streaming  # ends after these files
    pipeline = hr.Pipeline(options=options)
    build(pipeline, args.directory, watch=streaming)
    result = pipeline.run()
    if args.live:
        write_while_running(result, args.directory)
    if result.wait_until_finish() == "CANCELLED":
        print("The run was cancelled, so its alerts are not complete.")
        return result
    for alert in current_alerts(args.directory):
        print(*alert.values())
    return result


if __name__ == "__main__":
    sys.exit(main().state != "DONE")

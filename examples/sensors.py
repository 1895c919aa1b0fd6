"""Power meters: fixed and sliding windows over readings that arrive out of order.

    python examples/sensors.py
    python examples/sensors.py --streaming [--runner=spark]

The job computes the mean, the lowest and the highest reading of each meter for every ten minutes, and for the
last half hour every ten minutes. Early panes show a window before it is complete. The watermark trails the
newest reading by one minute, and windows accept late readings for five minutes more. Readings that are later
than that go to an output of their own.

The results are CSV files with a column "diff": +1 for a result, and -1 if a later pane replaces it.
"""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions

MINUTE = 60
WINDOWS = {
    "fixed": hr.window.FixedWindows(10 * MINUTE),
    "sliding": hr.window.SlidingWindows(30 * MINUTE, 10 * MINUTE),
}
STATISTICS = hr.combiners.SingleInputTupleCombineFn(hr.combiners.MeanCombineFn(), min, max)

Record = tuple[str, ...]


def write_readings(path: Path, minutes: int = 90, meters: int = 4, seed: int = 1) -> None:
    """Write one reading per meter and minute in order of arrival: most in time, some much later."""
    random = Random(seed)
    arrivals = []
    for minute in range(minutes):
        for number in range(meters):
            second = 1_767_225_600 + minute * MINUTE + random.randrange(MINUTE)
            delay = random.choices([30, 8 * MINUTE, 30 * MINUTE], [85, 10, 5])[0]
            arrivals.append((second + random.randrange(delay), second, f"meter-{number}"))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "meter", "watts"])
        writer.writerows(
            (time, meter, random.randrange(900)) for _, time, meter in sorted(arrivals)
        )


def to_record(
    result: tuple[str, tuple[float, int, int]], window: Any = hr.DoFn.WindowParam
) -> hr.Row:
    """Return a result with the start of its window."""
    meter, (mean, lowest, highest) = result
    return hr.Row(
        start=window.start.to_rfc3339(), meter=meter, mean=mean, lowest=lowest, highest=highest
    )


def to_late_record(reading: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> hr.Row:
    """Return a late reading with the start of the window that it came too late for."""
    meter, watts = reading
    return hr.Row(start=window.start.to_rfc3339(), meter=meter, watts=watts)


def build(pipeline: hr.Pipeline, directory: Path) -> None:
    """Build the pipeline: a branch for each kind of windows, with results and late readings."""
    readings = (
        pipeline
        | "Read"
        >> hr.io.ReadFromCsv(
            directory / "readings.csv",
            {"time": int, "meter": str, "watts": int},
            timestamp="time",
            watermark=hr.BoundedOutOfOrderness(MINUTE),
        )
        | "By meter" >> hr.Map(lambda reading: (reading.meter, reading.watts))
    )
    for name, window_fn in WINDOWS.items():
        results = (
            readings
            | f"Into {name} windows"
            >> hr.WindowInto(
                window_fn,
                trigger=hr.trigger.AfterWatermark(
                    early=hr.trigger.AfterCount(5), late=hr.trigger.AfterCount(1)
                ),
                accumulation_mode=hr.AccumulationMode.RETRACTING,
                allowed_lateness=5 * MINUTE,
                late_output_tag="late",
            )
            | f"Statistics ({name})" >> hr.CombinePerKey(STATISTICS)
        )
        (
            results
            | f"To records ({name})" >> hr.Map(to_record)
            | f"Write {name}" >> hr.io.WriteToCsv(directory / name, diff_column="diff")
        )
        (
            results.late
            | f"To late records ({name})" >> hr.Map(to_late_record)
            | f"Write late ({name})" >> hr.io.WriteToCsv(directory / f"late-{name}")
        )


def current_records(directory: Path, prefix: str) -> Counter[Record]:
    """Return the records of the files with a prefix, without those that were retracted."""
    found: Counter[Record] = Counter()
    for path in directory.glob(f"{prefix}-*.csv"):
        with path.open(newline="") as file:
            for record in csv.DictReader(file):
                diff = int(record.pop("diff", 1))
                found[tuple(record.values())] += diff
    return Counter({record: count for record, count in found.items() if count})


def main(argv: list[str] | None = None) -> Any:
    """Run the job, print what it found, and return the result of the run."""
    parser = ArgumentParser(
        description=__doc__, epilog="Other flags go to the pipeline, such as --runner."
    )
    parser.add_argument("--directory", type=Path, default=Path("out/sensors"))
    args, flags = parser.parse_known_args(argv)
    args.directory.mkdir(parents=True, exist_ok=True)
    for old in args.directory.glob("*.csv"):
        old.unlink()
    write_readings(args.directory / "readings.csv")

    with hr.Pipeline(options=PipelineOptions(["--max-records-per-batch=20", *flags])) as pipeline:
        build(pipeline, args.directory)

    if pipeline.result and pipeline.result.state == "CANCELLED":
        print("The run was cancelled, so its results are not complete.")
        return pipeline.result
    for name in WINDOWS:
        for record in sorted(current_records(args.directory, name)):
            print(name, *record)
        late = current_records(args.directory, f"late-{name}")
        print(f"{late.total()} readings were too late for {name} windows")
    return pipeline.result


if __name__ == "__main__":
    sys.exit(main().state != "DONE")

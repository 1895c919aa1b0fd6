"""A small stream by Headrace on Spark; see ``spark_start``."""

from __future__ import annotations

import json
import sys

import headrace as hr


def main(directory: str) -> None:
    """Print the sums by key of the first batch, as JSON."""
    totals: dict[str, int] = {}

    class Show(hr.io.Sink):
        def write(self, batch: hr.io.SinkBatch) -> None:
            totals.update(batch.bundle.values)
            print(json.dumps(dict(sorted(totals.items()))), flush=True)

    flags = ["--runner=spark", "--spark-master=local[2]", "--until-caught-up"]
    with hr.Pipeline(argv=flags) as p:
        rows = p | hr.io.ReadFromJson(directory, timestamp="time", watch=True)
        pairs = rows | hr.Map(lambda row: (row.key, row.value))
        every = hr.WindowInto(
            hr.window.GlobalWindows(),
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.ACCUMULATING,
        )
        _ = pairs | every | hr.CombinePerKey(sum) | hr.Write(Show())


if __name__ == "__main__":
    main(sys.argv[1])

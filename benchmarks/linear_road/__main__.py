"""Linear Road on each runner: ``python -m benchmarks.linear_road [--events N] [--write]``."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.linear_road.job import check, run
from benchmarks.linear_road.plain import answers
from benchmarks.linear_road.records import Config, write_records
from benchmarks.rates import Job, arguments, rates, report

INTRO: Final = """
The queries of Linear Road (Arasu et al., 2004) in one pipeline over generated expressways of twenty segments:
position reports each thirty seconds, tolls by the latest average velocity and the number of cars in the
minute before, accident alerts in five segments, account balances, and expenditures on earlier days. Records
are out of order by up to ten seconds. The number of cars up to which a segment is free is five, in place of
fifty, since the road is small. Unlike in the original, the input is read as fast as possible, so there is no
response time to measure; travel times are left out, as in most implementations.
"""

EVENTS_PER_EXPRESSWAY: Final = 9_400
"""About the number of records that are generated for an expressway in half an hour."""


def job(config: Config, records: Path) -> Job:
    """Return a job over records, which it writes."""
    number = write_records(config, records)
    return Job(
        "all queries",
        number,
        number // config.files,
        partial(run, config, records),
        partial(check, answers=answers(config)),
    )


def main() -> None:
    """Measure the pipeline."""
    args = arguments(__doc__, 200_000).parse_args()
    config = Config(expressways=max(1, round(args.events / EVENTS_PER_EXPRESSWAY)))
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name)
        table = rates([job(config, inputs / "records")], job(Config(), inputs / "small"))
    report("linear-road", INTRO, "make bench-linear-road ARGS=--write", table, args.write)


if __name__ == "__main__":
    main()

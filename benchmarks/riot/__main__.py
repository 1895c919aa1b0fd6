"""RIoTBench's applications on each runner: ``python -m benchmarks.riot [--events N] [--write]``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.rates import Job, arguments, rates, report
from benchmarks.riot.job import APPLICATIONS, check, run
from benchmarks.riot.messages import RANGES, Config, write_messages
from benchmarks.riot.plain import answers

INTRO: Final = """
The ETL and STATS applications of RIoTBench (Shukla, Chaturvedi and Simmhan, 2017) over readings of
sensors in SenML: out of order by up to five seconds, some missing, some out of range, some of
sensors that are not registered. ETL: parse, range filter, Bloom filter, interpolation of missing
values, join of the fields of a message, annotation from a side input, and publication as CSV and
SenML. STATS, for each sensor and field: block averages, a Kalman filter followed by a sliding
linear regression, and an approximate count of distinct values. An event is a reading of a field; a
message has five. Unlike in the original, filters and windows are in event-time order, so the
answers do not depend on the order of arrival, and results are published into files, in place of
MQTT and Azure.
"""

WARM_UP: Final = 1_000


def job(name: str, applications: Sequence[str], config: Config, messages: Path) -> Job:
    """Return a job over messages, which it writes."""
    write_messages(config, messages)
    expected = answers(config)
    return Job(
        name,
        config.readings,
        config.messages // config.files,
        lambda directory, flags: run(config, messages, directory, flags, applications),
        partial(check, answers=expected, applications=applications),
    )


def main() -> None:
    """Measure the applications."""
    args = arguments(__doc__, 200_000).parse_args()
    messages = args.events // len(RANGES)
    config = Config(messages=messages, sensors=100, rate=200)
    small = Config(messages=WARM_UP // len(RANGES))
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name)
        warm_up = job("warm-up", APPLICATIONS, small, inputs / "small")
        jobs = [job(app, [app], config, inputs / "messages") for app in APPLICATIONS]
        table = rates(jobs, warm_up)
    report("riot", INTRO, "make bench-riot ARGS=--write", table, args.write)


if __name__ == "__main__":
    main()

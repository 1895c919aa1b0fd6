"""The results of the sensors job are those of plain Python over all readings that were not too late."""

import csv
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

import sensors
from sensors import MINUTE, current_records

SIZES = {"fixed": 10 * MINUTE, "sliding": 30 * MINUTE}
PERIOD = 10 * MINUTE


def in_windows(directory: Path, size: int):
    """The readings as (start, meter, watts), once for each of their windows."""
    with (directory / "readings.csv").open(newline="") as file:
        for reading in csv.DictReader(file):
            second = int(reading["time"])
            newest = second - second % PERIOD
            for start in range(newest, newest - size, -PERIOD):
                moment = datetime.fromtimestamp(start, UTC)
                text = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
                yield text, reading["meter"], reading["watts"]


def expected_records(readings):
    by_place = defaultdict(list)
    for start, meter, watts in readings.elements():
        by_place[start, meter].append(int(watts))
    return Counter(
        (*place, str(sum(watts) / len(watts)), str(min(watts)), str(max(watts)))
        for place, watts in by_place.items()
    )


def check_results(directory: Path) -> int:
    """Compare all results; return the number of readings that were too late."""
    found_late = 0
    for name, size in SIZES.items():
        readings, late = (
            Counter(in_windows(directory, size)),
            current_records(directory, f"late-{name}"),
        )
        assert late <= readings
        assert current_records(directory, name) == expected_records(readings - late)
        found_late += late.total()
    return found_late


def test_batch(tmp_path: Path) -> None:
    sensors.main([f"--directory={tmp_path}"])
    assert check_results(tmp_path) == 0


def test_streaming(tmp_path: Path) -> None:
    check_streaming(tmp_path)


def check_streaming(directory: Path, *flags: str) -> None:
    result = sensors.main([f"--directory={directory}", "--streaming", *flags])
    assert check_results(directory) > 0
    for name in SIZES:
        step = result.metrics().steps[f"Statistics ({name})"]
        assert min(step.panes[timing] for timing in ("EARLY", "ON_TIME", "LATE")) > 0
        assert step.late_dropped == current_records(directory, f"late-{name}").total()

"""A backfill that is killed: ``python -m tests.faults.backfill_program HOME ADDRESS TOPIC NUMBERS``.

It lists the elements of a history and of the topic after it in windows, and dies once at each of the
numbers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.options import PipelineOptions
from headrace.transforms.combiners import ToList
from headrace.windowing import BoundedOutOfOrderness, FixedWindows
from tests.faults.kill_points import kill_processes
from tests.faults.program import session_flags

SEAM = 130
"""The time of the seam in seconds; the element with the number n has the time 100 + n."""

WINDOW = 20


@attrs.frozen
class Dies:
    """A function that kills all processes of the run, once for each of some numbers."""

    home: str
    numbers: frozenset[int]

    def __call__(self, pair: tuple[Any, int]) -> int:
        number = pair[1]
        if number in self.numbers:
            try:
                Path(self.home, f"killed-{number}").touch(exist_ok=False)
            except FileExistsError:
                return number
            kill_processes("all")
        return number


def as_row(numbers: list[int], window: Any = hr.DoFn.WindowParam) -> dict[str, Any]:
    """The numbers of a window as an object of JSON."""
    return {"start": int(window.start), "numbers": sorted(numbers)}


def build(p: hr.Pipeline, home: Path, address: str, topic: str, numbers: frozenset[int]) -> None:
    """Write each element, and the numbers of each window."""
    rows = hr.io.ReadFromJson(home / "history.json", timestamp="t", schema={"t": int, "n": int})
    then = hr.io.ReadFromKafka(
        {"bootstrap.servers": address},
        topic,
        value_deserializer=hr.io.JsonSerde(),
        watermark=BoundedOutOfOrderness(0),
    )
    history = rows | hr.Map(lambda row: (None, row.n))
    found = (
        p | hr.io.Backfill(history, then=then, at=SEAM) | "Die" >> hr.Map(Dies(str(home), numbers))
    )
    _ = found | "Row" >> hr.Map(lambda n: {"n": n}) | "Each" >> hr.io.WriteToJson(home / "each")
    lists = found | hr.WindowInto(FixedWindows(WINDOW)) | ToList().without_defaults()
    _ = lists | "Rows" >> hr.Map(as_row) | "Windows" >> hr.io.WriteToJson(home / "windows")


def main(home: Path, address: str, topic: str, numbers: frozenset[int]) -> None:
    """Run the pipeline until the present end of the topic."""
    options = PipelineOptions([*session_flags(home, limit=6), "--until-caught-up"])
    with hr.Pipeline(options=options) as p:
        build(p, home, address, topic, numbers)


if __name__ == "__main__":
    home, address, topic, numbers = sys.argv[1:]
    main(Path(home), address, topic, frozenset(map(int, filter(None, numbers.split(",")))))

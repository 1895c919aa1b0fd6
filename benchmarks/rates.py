"""Events per second and core of a pipeline on each runner, each run's answers checked."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

import attrs

from benchmarks.page import machine, markdown_table, write_section

Run = Callable[[Path, Sequence[str]], object]
"""Runs a pipeline, which writes to a directory, with flags."""

Check = Callable[[Path], None]
"""Raises an error if what was written to a directory is wrong."""


@attrs.frozen
class Engine:
    """A runner in a mode.

    Attributes:
        name: head of its column.
        flags: its flags.
        cores: number of cores that it uses.
    """

    name: str
    flags: Sequence[str]
    cores: int

    @property
    def streams(self) -> bool:
        """Whether it runs in streaming mode."""
        return "--streaming" in self.flags


def engines(cores: int) -> list[Engine]:
    """Return the runners and modes of the tables; Spark has some cores."""
    spark = ["--runner=spark", f"--spark-master=local[{cores}]", f"--key-groups={cores}"]
    return [
        Engine("local", [], 1),
        Engine("Spark batch", spark, cores),
        Engine("Spark streaming", [*spark, "--streaming", "--batch-seconds=0"], cores),
    ]


WIDTH: Final = 118
"""Length of a line of the page."""

ROUNDS: Final = 5
"""Number of batches with events in streaming mode."""


@attrs.frozen
class Job:
    """A pipeline to measure.

    Attributes:
        name: its row.
        events: number of events.
        records: number of records of each partition of its source.
        run: runs it.
        check: checks its answers.
    """

    name: str
    events: int
    records: int
    run: Run
    check: Check

    def rate(self, engine: Engine) -> float:
        """Run once, check the answers, and return events per second and core."""
        limit = [f"--max-records-per-batch={-(-self.records // ROUNDS)}"] if engine.streams else []
        with tempfile.TemporaryDirectory() as name:
            start = time.perf_counter()
            self.run(Path(name), [*engine.flags, *limit])
            seconds = time.perf_counter() - start
            self.check(Path(name))
        return self.events / seconds / engine.cores


def rates(jobs: Sequence[Job], warm_up: Job) -> str:
    """Return a table of events per second and core.

    Args:
        jobs: the rows.
        warm_up: a small job that runs before the others on each engine; it starts Spark.
    """
    found = engines(os.cpu_count() or 1)
    rows = [[job.name] for job in jobs]
    for engine in found:
        warm_up.rate(engine)
        for job, row in zip(jobs, rows, strict=True):
            row.append(f"{job.rate(engine):,.0f}")
            print(f"{job.name}, {engine.name}: {row[-1]} events per second and core", flush=True)
    return markdown_table(["events per second and core", *(e.name for e in found)], rows)


def report(
    section: str, intro: str, command: str, table: str, write: bool, judge: str = "plain Python"
) -> None:
    """Print a section of the page of benchmarks, and write it if asked to.

    Args:
        section: its name.
        intro: what was measured.
        command: writes the section.
        table: the tables, as Markdown.
        write: whether to write the page.
        judge: what else computed the answers.
    """
    note = f"Each run's answers were compared with those of {judge} before its rate was noted."
    made = f"{machine()} `{command}` writes this section. {note}"
    text = "\n\n".join([fill(intro.strip(), WIDTH), fill(made, WIDTH), table])
    print(text)
    if write:
        write_section(section, text)


def arguments(description: str | None, events: int) -> argparse.ArgumentParser:
    """Return a parser of the flags that benchmarks of this kind share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--events", type=int, default=events, help=f"(default: {events:,})")
    parser.add_argument("--write", action="store_true", help="write the page of benchmarks")
    return parser

"""Keep the checkpoints of this version: ``python -m tests.compatibility.make``.

It runs the program until half of its records are read, stops it, packs what is there, and lets a copy run to
its end; and it does the first part with the program whose source Spark reads, with that of splittable DoFns,
and with that of late outputs. Earlier checkpoints of the same version are replaced.
``python -m tests.compatibility.make native`` does only the second program, ``splittable`` only the third, and
``late`` only the fourth.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from headrace.options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare
from headrace.runners.spark.cluster.spark_versions import minor
from headrace.stored_formats import VERSION, formats_of
from tests.compatibility import late_program, native_program, program, splittable_program
from tests.compatibility.kept import (
    FOLDER,
    READ_BY_SPARK,
    SPLITTABLE,
    WITH_LATE_OUTPUTS,
    Kept,
    sinks,
    start,
)


def main() -> int:
    """Write the kept checkpoints of this version."""
    session = prepare(PipelineOptions(["--spark-master=local[2]"]))
    programs = {
        "all": lambda: keep(minor(session.spark.version)),
        "native": lambda: keep_stopped(READ_BY_SPARK, partial(native_program.run_until, windows=2)),
        "splittable": lambda: keep_stopped(SPLITTABLE, splittable_program.stop_in_the_middle),
        "late": lambda: keep_stopped(WITH_LATE_OUTPUTS, late_program.stop_in_the_middle),
    }
    for name in sys.argv[1:] or programs:
        programs[name]()
    session.spark.stop()
    return 0


def keep(spark: str) -> None:
    """Keep the checkpoint of the program with all kinds of state, on a version of Spark."""
    with tempfile.TemporaryDirectory() as directory:
        home, made = Path(directory), Kept(FOLDER / VERSION)
        stop_in_the_middle(home)
        made.pack(home)
        print(f"{made.folder}: {made.size} bytes")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        made.unpack(home)
        program.write(home, program.REST)
        assert start(home).wait_until_finish() == "DONE"
        made.expect(formats_of(VERSION), spark, home)


def keep_stopped(archive: str, run: Callable[[Path], None]) -> None:
    """Keep the checkpoint of a program that runs until it is stopped in the middle."""
    with tempfile.TemporaryDirectory() as directory:
        home, made = Path(directory), Kept(FOLDER / VERSION, archive)
        run(home)
        made.pack(home)
        print(f"{made.folder / made.archive}: {made.size} bytes")


def stop_in_the_middle(home: Path) -> None:
    """Run the program until the first records are read and all sinks have what follows from them."""
    program.write(home, program.FIRST)
    records = sum(len(tuple(lines)) for parts in program.FIRST.values() for lines in parts.values())
    run = start(home)
    while len(sinks(home)["records"]) < records:
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"


if __name__ == "__main__":
    sys.exit(main())

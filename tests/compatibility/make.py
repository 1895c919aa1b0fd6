"""Keep a checkpoint of this version: ``python -m tests.compatibility.make``.

It runs the program until half of its records are read, stops it, packs what is there, and lets a copy run to
its end. An earlier checkpoint of the same version is replaced.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from headrace.options import PipelineOptions
from headrace.runners.spark.cluster.session import prepare
from headrace.runners.spark.cluster.spark_versions import minor
from headrace.stored_formats import VERSION, formats_of
from tests.compatibility import program
from tests.compatibility.kept import FOLDER, Kept, sinks, start


def main() -> int:
    """Write the kept checkpoint of this version."""
    session = prepare(PipelineOptions(["--spark-master=local[2]"]))
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
        made.expect(formats_of(VERSION), minor(session.spark.version), home)
    session.spark.stop()
    return 0


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

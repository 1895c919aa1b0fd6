"""Runs in the Spark session of this process, and the contents of their sinks."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.io import Batch, LatestOffset, UnboundedSource
from headrace.options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult


def start(build: Callable[[hr.Pipeline], Any], home: Path, *flags: str) -> PipelineResult:
    """Start a pipeline on Spark with a checkpoint and two key groups."""
    options = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", *flags]
    if not any(flag.startswith("--key-groups") for flag in flags):
        options.append("--key-groups=2")
    p = hr.Pipeline(options=PipelineOptions(options))
    build(p)
    return p.run()


def finish(build: Callable[[hr.Pipeline], Any], home: Path, *flags: str) -> str:
    """Run a pipeline to its end."""
    return start(build, home, *flags).wait_until_finish()


@attrs.frozen
class Lines(UnboundedSource):
    """Partitions are files of lines ``time key value``; a line "end" ends a partition.

    Files may grow, and new ones may appear, while the source is read.
    """

    folder: str

    def partitions(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def read(self, partition: str, offset: Any, limit: int) -> Batch:
        start = offset or 0
        lines = Path(self.folder, partition).read_text().splitlines()[start : start + limit]
        if "fail" in lines:
            raise OSError("injected read error")
        ended = lines[-1:] == ["end"]
        records = [record(line) for line in lines if line != "end"]
        return Batch(records, start + len(lines), finished=ended)


class ToldLines(Lines):
    """The same, with offsets that are told without reading, so that the workers read the records."""

    def latest_offset(self, partition: str, start: Any, limit: int) -> LatestOffset:
        start = start or 0
        lines = Path(self.folder, partition).read_text().splitlines()[start : start + limit]
        return LatestOffset(start + len(lines), len(lines), finished=lines[-1:] == ["end"])


def record(line: str) -> hr.TimestampedValue:
    time, key, value = line.split()
    return hr.TimestampedValue((key, int(value)), float(time))


def write(folder: Path, **partitions: Iterable[str]) -> Lines:
    """Write the partitions, and return a source that reads them."""
    folder.mkdir(exist_ok=True)
    for name, lines in partitions.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return Lines(str(folder))


def append(folder: Path, partition: str, *lines: str) -> None:
    with open(folder / partition, "a") as file:
        file.writelines(f"{line}\n" for line in lines)


class FaultDoFn(hr.DoFn):
    """Passes elements on; fails or kills its process when a file requests it."""

    def __init__(self, fault: Path) -> None:
        self.fault = str(fault)

    def process(self, element: Any) -> Any:
        inject_fault(self.fault, element)
        yield element


class InjectedError(Exception):
    """The injected error."""


def inject_fault(fault: str | Path, element: object = None) -> None:
    """Raise an error as long as the file says "raise"; kill this process once if it says "die"."""
    try:
        order = Path(fault).read_text()
    except FileNotFoundError:
        return
    if order == "die":
        os.unlink(fault)
        os.kill(os.getpid(), signal.SIGKILL)
    raise InjectedError(f"injected at {element!r}")


def lines_of(home: Path, name: str) -> list[str]:
    """The lines of a file sink, sorted."""
    files = sorted((home / "files").glob(f"{name}-*"))
    return sorted(line for file in files for line in file.read_text().splitlines())


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a file, and delete its checksum."""
    path.write_text(change(path.read_text()))
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

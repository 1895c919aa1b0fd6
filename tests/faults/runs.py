"""Runs in the session of this process, and what their sinks hold."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs

import headrace as hr
from headrace.io import Batch, UnboundedSource
from headrace.options import PipelineOptions
from headrace.sdk.result import PipelineResult


def start(build: Callable[[hr.Pipeline], Any], home: Path, *flags: str) -> PipelineResult:
    """Start a pipeline on Spark with a checkpoint, few key groups and a fast heartbeat."""
    said = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", *flags]
    if not any(flag.startswith("--key-groups") for flag in flags):
        said.append("--key-groups=2")
    p = hr.Pipeline(options=PipelineOptions(said))
    build(p)
    return p.run()


def finish(build: Callable[[hr.Pipeline], Any], home: Path, *flags: str) -> str:
    """Run a pipeline to its end."""
    return start(build, home, *flags).wait_until_finish()


@attrs.frozen
class Lines(UnboundedSource):
    """Partitions that are files of lines ``time key value``; "end" ends them.

    They may grow, and new ones may come, while the source is read.
    """

    folder: str

    def partitions(self) -> list[str]:
        return sorted(os.listdir(self.folder))

    def read(self, partition: str, offset: Any, limit: int) -> Batch:
        start = offset or 0
        lines = Path(self.folder, partition).read_text().splitlines()[start : start + limit]
        if "fail" in lines:
            raise OSError("the reading fails")
        ended = lines[-1:] == ["end"]
        records = [record(line) for line in lines if line != "end"]
        return Batch(records, start + len(lines), finished=ended)


def record(line: str) -> hr.TimestampedValue:
    time, key, value = line.split()
    return hr.TimestampedValue((key, int(value)), float(time))


def write(folder: Path, **partitions: Iterable[str]) -> Lines:
    """A source of these lines."""
    folder.mkdir(exist_ok=True)
    for name, lines in partitions.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return Lines(str(folder))


def append(folder: Path, partition: str, *lines: str) -> None:
    with open(folder / partition, "a") as file:
        file.writelines(f"{line}\n" for line in lines)


class Trap(hr.DoFn):
    """A step that passes elements on, and fails or dies once a file says so."""

    def __init__(self, trap: Path) -> None:
        self.trap = str(trap)

    def process(self, element: Any) -> Any:
        spring(self.trap, element)
        yield element


class SprungError(Exception):
    """What a trap raises."""


def spring(trap: str | Path, what: object = None) -> None:
    """Fail if the file says "raise", for as long as it is there; die if it says "die", once."""
    try:
        order = Path(trap).read_text()
    except FileNotFoundError:
        return
    if order == "die":
        os.unlink(trap)
        os.kill(os.getpid(), signal.SIGKILL)
    raise SprungError(f"sprung at {what!r}")


def lines_of(home: Path, name: str) -> list[str]:
    """What a file sink has written, sorted."""
    files = sorted((home / "files").glob(f"{name}-*"))
    return sorted(line for file in files for line in file.read_text().splitlines())


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a file, and forget its checksum."""
    path.write_text(change(path.read_text()))
    (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

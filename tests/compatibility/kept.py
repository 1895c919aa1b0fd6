"""Kept checkpoints: a run that was stopped, packed in one file, and what its sinks hold at the end."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, Final

import attrs

import headrace as hr
from headrace.options import PipelineOptions
from headrace.sdk.pipelines.result import PipelineResult
from tests.compatibility import program
from tests.faults.runs import lines_of

FOLDER: Final = Path(__file__).parent / "checkpoints"
ARCHIVE: Final = "run.tar.xz"
READ_BY_SPARK: Final = "read-by-spark.tar.xz"
SPLITTABLE: Final = "splittable.tar.xz"
WITH_LATE_OUTPUTS: Final = "late-outputs.tar.xz"
EXPECTED: Final = "expected.json"

ROUND: Final = 3
"""Records per partition and round."""


@attrs.frozen
class Kept:
    """A kept checkpoint.

    Attributes:
        folder: where it is kept; its name is the version that wrote it.
        archive: the name of its file.
    """

    folder: Path
    archive: str = ARCHIVE

    @property
    def version(self) -> str:
        """The version of Headrace that wrote it."""
        return self.folder.name

    @property
    def expected(self) -> dict[str, Any]:
        """The formats, the version of Spark, and the lines of each sink at the end of the run."""
        found: dict[str, Any] = json.loads((self.folder / EXPECTED).read_text())
        return found

    @property
    def size(self) -> int:
        """The size of the archive in bytes."""
        return (self.folder / self.archive).stat().st_size

    def unpack(self, home: Path) -> None:
        """Unpack what the run has left: checkpoint, sources and sinks."""
        with tarfile.open(self.folder / self.archive) as archive:
            archive.extractall(home, filter="data")

    def pack(self, home: Path) -> None:
        """Pack what a run has left, without the checksums that Hadoop writes beside each file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(self.folder / self.archive, "w:xz") as archive:
            for path in sorted(home.rglob("*")):
                if path.is_file() and path.suffix != ".crc":
                    archive.add(path, path.relative_to(home), filter=_anonymous)

    def expect(self, formats: dict[str, int], spark: str, home: Path) -> None:
        """Write what the sinks hold at the end of the run."""
        found = {"formats": formats, "spark": spark, "sinks": sinks(home)}
        (self.folder / EXPECTED).write_text(json.dumps(found, indent=1) + "\n")


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def kept() -> list[Kept]:
    """Return the kept checkpoints."""
    return [Kept(path.parent) for path in sorted(FOLDER.glob(f"*/{EXPECTED}"))]


def kept_of(archive: str) -> list[Kept]:
    """Return the kept checkpoints of a program of its own, by the name of their files."""
    return [Kept(path.parent, path.name) for path in sorted(FOLDER.glob(f"*/{archive}"))]


def sinks(home: Path) -> dict[str, list[str]]:
    """Return the lines of each sink, sorted."""
    return {name: lines_of(home, name) for name in program.SINKS}


def start(home: Path) -> PipelineResult:
    """Start or resume the program on Spark."""
    flags = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}", "--key-groups=2"]
    flags += [f"--max-records-per-batch={ROUND}", "--batch-seconds=0", "--side-input-bytes=20"]
    p = hr.Pipeline(options=PipelineOptions(flags))
    program.build(p, home)
    return p.run()

"""Copies Nexmark out of Beam's wheel, and lets it import Headrace in place of Beam."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PACKAGE = "swapped_nexmark"
_IN_BEAM = "apache_beam.testing.benchmarks.nexmark"


def copy_nexmark(directory: Path) -> None:
    """Write the package to a directory."""
    beam = importlib.util.find_spec("apache_beam")
    assert beam is not None
    assert beam.origin is not None
    root = Path(beam.origin).parent.joinpath(*_IN_BEAM.split(".")[1:])
    for path in root.rglob("*.py"):
        target = directory / PACKAGE / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(swapped(path.read_text()))


def swapped(source: str) -> str:
    """Return a module with its imports changed.

    >>> swapped(
    ...     "from apache_beam.testing.benchmarks.nexmark import monitor; import apache_beam as beam"
    ... )
    'from swapped_nexmark import monitor; import headrace as beam'
    """
    return source.replace(_IN_BEAM, PACKAGE).replace("apache_beam", "headrace")

"""A Spark home from which Python processes import PySpark as it is installed.

Spark puts ``python/lib/pyspark.zip`` of its home in front of the path of each Python process that it starts.
The zip file has no byte code, so each process would compile PySpark anew, for half a second. The home of a
local session has all of PySpark's directories but ``python``; PySpark is then found where this process found
it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyspark

SPARK_HOME: Final = "SPARK_HOME"
_SOURCES: Final = "python"


@contextmanager
def without_zip() -> Iterator[None]:
    """Let Spark start in a home without ``pyspark.zip``, if it would start in the Python package's home."""
    home = None if SPARK_HOME in os.environ else _links_to(Path(pyspark.__file__).parent)
    if home is None:
        yield
        return
    os.environ[SPARK_HOME] = home
    try:
        yield
    finally:
        del os.environ[SPARK_HOME]


def _links_to(package: Path) -> str | None:
    """Return a new directory with links to the directories of a Spark home; None if that is not possible."""
    if not (package / "jars").is_dir():
        return None
    home = tempfile.mkdtemp(prefix="headrace-spark-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with suppress(OSError):  # some file systems have no links
        for found in package.iterdir():
            if found.is_dir() and found.name != _SOURCES:
                os.symlink(found, os.path.join(home, found.name))
        return home
    return None

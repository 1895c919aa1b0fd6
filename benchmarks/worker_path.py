"""The Python path of Spark's Python processes."""

from __future__ import annotations

import os
from pathlib import Path


def add_to_python_path() -> None:
    """Add this directory to the Python path of all of Spark's Python processes.

    Shipped files reach the workers, but not the processes on the driver that analyze transformWithState and
    Python data sources.
    """
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

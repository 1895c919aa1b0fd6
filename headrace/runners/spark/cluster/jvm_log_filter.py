"""What the JVM prints, without what says nothing to a user.

Spark's launcher warns of a module that it asked for itself, and the process that tells Spark about a
streaming query's state prints every step that it takes. All else goes to standard error as it comes.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from subprocess import PIPE
from typing import Any, Final

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

_NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|(Starting )?Streaming TransformWithStateInPandas Python worker"
)

_STDERR: Final = 2

_LAUNCH: Final[Any] = launch_gateway


def gateway(conf: SparkConf) -> Any:
    """Start a JVM, and let it print quietly."""
    started = _LAUNCH(conf, {"stderr": PIPE})
    if started.proc is not None:
        copying = (started.proc.stderr,)
        threading.Thread(target=copy, args=copying, name="headrace-stderr", daemon=True).start()
    return started


def copy(lines: Iterable[bytes]) -> None:
    """Copy lines to standard error, but noise and the empty lines behind it."""
    after_noise = False
    for line in lines:
        after_noise = _NOISE.match(line) is not None or (after_noise and not line.strip())
        if not after_noise:
            os.write(_STDERR, line)

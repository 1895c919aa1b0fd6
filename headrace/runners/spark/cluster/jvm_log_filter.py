"""Removes noise from the output of the JVM.

Spark's launcher warns about a module that it requests itself, and the process that describes a streaming
query's state to Spark logs each of its steps. All other output goes to standard error unchanged.
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
    """Start a JVM whose output is filtered."""
    started = _LAUNCH(conf, {"stderr": PIPE})
    if started.proc is not None:
        copying = (started.proc.stderr,)
        threading.Thread(target=copy, args=copying, name="headrace-stderr", daemon=True).start()
    return started


def copy(lines: Iterable[bytes]) -> None:
    """Copy lines to standard error, except noise and the empty lines that follow it."""
    after_noise = False
    for line in lines:
        after_noise = _NOISE.match(line) is not None or (after_noise and not line.strip())
        if not after_noise:
            os.write(_STDERR, line)

"""The connection between a worker process and the JVM of its executor.

The JVM sends the function of a task, and then the rows. Small rows wait until the function is acknowledged
(Nagle's algorithm). Linux delays that by 40 ms on a connection on which the process has answered before, as
it does in each task. So each stage of a small micro-batch took 40 ms longer.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import suppress
from functools import cache

from pyspark import TaskContext


def acknowledge() -> None:
    """Acknowledge at once what the JVM has sent; no effect outside tasks, and on other systems than Linux.

    The system delays acknowledgements again after the next answer, so this is called in each task, before it
    reads its rows.
    """
    if sys.platform != "linux" or TaskContext.get() is None:
        return
    connection = connection_to_jvm()
    if connection is not None:
        with suppress(OSError):  # a system without the option; then the rows come later
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


@cache
def connection_to_jvm() -> socket.socket | None:
    """Return the connection to the JVM: the first of TCP in this process; None if there is none."""
    for descriptor in sorted(map(int, os.listdir("/proc/self/fd"))):
        if _is_socket(descriptor):
            found = socket.socket(fileno=os.dup(descriptor))
            if found.family in {socket.AF_INET, socket.AF_INET6}:
                return found
            found.close()
    return None


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:  # the descriptor with which the directory was listed
        return False

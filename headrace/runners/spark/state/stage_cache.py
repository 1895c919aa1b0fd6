"""Stages kept in a worker from one micro-batch to the next, so that DoFns are set up once.

Spark uses a worker's process for many tasks, and makes everything that a task needs anew. What a DoFn does
in ``setup`` may be dear (a model, a connection), so the stages of a run are kept in the process. A few
runs are kept side by side; those that have not been used for longest are torn down, and so is a stage that
has failed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from headrace.runners.spark.stage import Stage

STAGES: Final = 32
"""So many stages are kept in a process."""

_kept: Final[OrderedDict[Hashable, Stage]] = OrderedDict()


@contextmanager
def kept(name: Hashable, make: Callable[[], Stage]) -> Iterator[Stage]:
    """Work with the stage of a name.

    Args:
        name: tells it from all others that may work in this process.
        make: makes it, and sets it up.
    """
    stage = _kept.pop(name, None) or make()
    try:
        yield stage
    except BaseException:
        stage.executor.release()
        raise
    _kept[name] = stage
    while len(_kept) > STAGES:
        _, oldest = _kept.popitem(last=False)
        oldest.executor.release()

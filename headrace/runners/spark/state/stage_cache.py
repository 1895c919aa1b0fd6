"""A cache of stages on a worker, so that DoFns are set up once and not in every micro-batch.

Spark uses a worker process for many tasks, and creates everything anew for each task. ``DoFn.setup`` can be
expensive (a model, a connection), so the process keeps the stages of its runs. The least recently used
stages are torn down, and so is a stage that fails.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from headrace.runners.spark.stage import Stage

STAGES: Final = 32
"""Maximum number of cached stages in a process."""

_cache: Final[OrderedDict[Hashable, Stage]] = OrderedDict()


@contextmanager
def cached(name: Hashable, make: Callable[[], Stage]) -> Iterator[Stage]:
    """Yield the cached stage of a name, or a new one.

    Args:
        name: identifies the stage in this process.
        make: creates the stage and sets it up.
    """
    stage = _cache.pop(name, None) or make()
    try:
        yield stage
    except BaseException:
        stage.executor.release()
        raise
    _cache[name] = stage
    while len(_cache) > STAGES:
        _, oldest = _cache.popitem(last=False)
        oldest.executor.release()

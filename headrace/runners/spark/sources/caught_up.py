"""Tells from a query's progress when its sources have read what existed when the query started.

Sources that Python reads end by themselves then. A source that Spark reads has no end; it is caught up when
its offset reaches the latest offset of the first batch, or does not change in a batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from headrace.runners.sources.source_positions import position_of


@attrs.define
class CaughtUp:
    """Observes the progress of one query.

    Args:
        natives: labels of the sources that Spark reads.
    """

    natives: frozenset[str]
    _targets: dict[int, object] = attrs.field(factory=dict, init=False)

    def observe(self, progress: str | None) -> bool:
        """Return whether all sources are caught up.

        Args:
            progress: Spark's progress of the last batch, as JSON, whose offsets are JSON too; in the
                dictionary that PySpark makes of it they are not, before Spark 4.2. None before the first
                batch.
        """
        if progress is None:
            return False
        sources = json.loads(progress)["sources"]
        states = [self._is_caught_up(n, source) for n, source in enumerate(sources)]
        return all(states)

    def _is_caught_up(self, number: int, source: Mapping[str, object]) -> bool:
        start, end, latest = map(source.get, ("startOffset", "endOffset", "latestOffset"))
        if isinstance(end, dict) and "position" in end:
            return self._python_sources_ended(end)
        if latest is not None:
            self._targets.setdefault(number, latest)
        target = self._targets.get(number)
        return start is not None and (
            start == end or (target is not None and has_reached(end, target))
        )

    def _python_sources_ended(self, offset: Mapping[str, object]) -> bool:
        reads = position_of(offset).reads.items()
        return all(read.done for label, read in reads if label not in self.natives)


def has_reached(offset: object, target: object) -> bool:
    """Return whether an offset is at least as far as another, for JSON with numbers or objects of them.

    >>> has_reached({"topic": {"0": 7, "1": 3}}, {"topic": {"0": 5}})
    True
    >>> has_reached({"topic": {"0": 4}}, {"topic": {"0": 5}})
    False
    """
    if isinstance(target, dict):
        return isinstance(offset, dict) and all(
            name in offset and has_reached(offset[name], own) for name, own in target.items()
        )
    if isinstance(target, int) and isinstance(offset, int):
        return offset >= target
    return bool(offset == target)

"""Reports of the tasks of a batch to the observers of a run: samples, and the sizes of states."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import attrs

from headrace.sdk.metrics.run_records import Samples

Told = tuple[int, Mapping[str, Samples], Mapping[str, int]]
"""A key group, its samples by label, and the number of its stored states by label."""


@attrs.define
class ObservedRows:
    """Puts together what the tasks of a batch tell.

    Attributes:
        samples: the samples of the last batch by label.
    """

    samples: dict[str, Samples] = attrs.field(factory=dict, init=False)
    _sizes: dict[tuple[str, int], int] = attrs.field(factory=dict, init=False)

    def take(self, told: Iterable[Told]) -> None:
        """Take what the tasks of a batch tell."""
        found: dict[str, Samples] = defaultdict(Samples)
        for group, samples, sizes in told:
            for label, some in samples.items():
                found[label].elements += some.elements
                found[label].panes += some.panes
            self._sizes.update({(label, group): size for label, size in sizes.items()})
        self.samples = dict(found)

    @property
    def state(self) -> dict[str, int]:
        """The number of stored states by label, over all key groups."""
        sizes: Counter[str] = Counter()
        for (label, _), size in self._sizes.items():
            sizes[label] += size
        return dict(sizes)

"""The elements that arrive for a stateful DoFn in a round, by key.

If all elements of a round have the same timestamp, windows and pane, each bundle is divided when it arrives,
while its elements are in the cache of the processor. Other bundles are kept, and divided when the round ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from itertools import repeat
from typing import Any, TypeAlias

import attrs

from headrace.grouping.bundle import Bundle
from headrace.sdk.coders.keys import identities
from headrace.sdk.pardo.stateful_dofn import keys_of_pairs

RepeatedMetadata: TypeAlias = "tuple[repeat[Any], ...]"


@attrs.define(eq=False)
class KeyedElements:
    """Elements by key."""

    _common: RepeatedMetadata | None = None
    _values: dict[Hashable, list[object]] = attrs.field(factory=lambda: defaultdict(list))
    _bundles: list[Bundle] = attrs.field(factory=list)

    def add(self, bundle: Bundle) -> None:
        """Add a bundle.

        Raises:
            ElementError: an element is not a pair.
        """
        if not bundle.values:
            return
        if self._shares_metadata(bundle):
            values = self._values
            for key, value in zip(_identities(bundle), bundle.values, strict=True):
                values[key].append(value)
        else:
            self._bundles += [*self._common_bundles().values(), bundle]

    def _shares_metadata(self, bundle: Bundle) -> bool:
        """Return whether all elements so far have the metadata of a bundle."""
        columns = bundle.timestamps, bundle.windows, bundle.panes, bundle.diffs
        common = tuple(column for column in columns if isinstance(column, repeat))
        if self._bundles or len(common) < len(columns):
            return False
        if self._common is None:
            self._common = common
        return all(map(_repeats_same, common, self._common))

    def _common_bundles(self) -> dict[Hashable, Bundle]:
        """Return the bundle of each key whose elements have the same metadata, and forget them."""
        values, self._values = self._values, defaultdict(list)
        common, self._common = self._common or (), None
        return {key: Bundle(values.pop(key), *common) for key in list(values)}

    def drain(self) -> Iterator[tuple[Hashable, Bundle]]:
        """Return and forget the elements of each key, in the order of their arrival.

        Raises:
            ElementError: an element is not a pair.
        """
        found = self._common_bundles()
        if self._bundles:
            whole, self._bundles = Bundle.concat(self._bundles), []
            return whole.by_key(_identities(whole))
        return ((key, found.pop(key)) for key in list(found))


def _repeats_same(one: repeat[Any], other: repeat[Any]) -> bool:
    return bool(next(one) == next(other))


def _identities(bundle: Bundle) -> list[object]:
    return identities(keys_of_pairs(bundle.values))

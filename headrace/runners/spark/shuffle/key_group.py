"""Key groups (Flink's term): a fixed number of hash buckets of keys, the unit of shuffling and state."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final
from zlib import crc32

import attrs

from headrace.sdk.coders.keys import encode_key, identities

CACHED_KEYS: Final = 1 << 18
"""Maximum number of keys whose groups are cached; then the cache is cleared."""


def key_group(encoding: bytes, groups: int) -> int:
    """Return the group of a key, which depends only on its encoding.

    >>> key_group(b"sapple", 16) == key_group(b"sapple", 16)
    True
    """
    return crc32(encoding) % groups


@attrs.define
class KeyGroups:
    """Computes and caches the groups of keys.

    Args:
        number: number of groups.
    """

    number: int
    _known: dict[Hashable, int] = attrs.field(factory=dict, init=False)

    def of(self, keys: list[Any]) -> list[int]:
        """Return the group of each key."""
        if self.number == 1:
            return [0] * len(keys)
        found: Sequence[Hashable] = identities(keys)
        known = self._known
        try:
            return list(map(known.__getitem__, found))
        except KeyError:
            pass
        if len(known) > CACHED_KEYS:
            known.clear()
        number = self.number
        for identity, key in zip(found, keys, strict=True):
            if identity not in known:
                known[identity] = key_group(encode_key(key), number)
        return list(map(known.__getitem__, found))

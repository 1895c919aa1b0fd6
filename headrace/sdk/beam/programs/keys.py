"""Keys that only Beam's coders can encode: they travel as their encodings.

Keys of Headrace are equal if their encodings are equal. Numbers, strings, bytes and tuples of them need no
coder of Beam. A key of another type is replaced by its encoding, by the coder of its collection, before a
shuffle, and decoded after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from apache_beam.coders import coders, typecoders
from apache_beam.typehints import typehints

from headrace.grouping.bundle import Bundle
from headrace.sdk.pardo.bundle_dofn import BundleDoFn
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import Outputs

_first: Final = itemgetter(0)

_PLAIN: Final = frozenset({str, bytes, int, float, bool, type(None)})
"""The types of keys that both sides encode alike."""

_DYNAMIC: Final = (
    coders.FastPrimitivesCoder,
    coders.DeterministicFastPrimitivesCoder,
    coders.PickleCoder,
)
"""The coders of keys whose type is not known: the type of each key decides."""

_KNOWN: Final = (
    coders.StrUtf8Coder,
    coders.BytesCoder,
    coders.VarIntCoder,
    coders.FloatCoder,
    coders.BooleanCoder,
)
"""The coders of plain types."""


class CodedKey(NamedTuple):
    """The encoding of a key."""

    encoding: bytes


class KeyCoding:
    """Encodes the keys of a collection that are not plain.

    Args:
        coder: Beam's coder of the keys.
        always: whether plain keys are encoded, too.

    Attributes:
        always: whether plain keys are encoded, too.
    """

    def __init__(self, coder: Any, always: bool) -> None:
        self._coder = coder
        self.always = always

    def encoded(self, key: Any) -> Any:
        """Return a key as it travels."""
        if not self.always and _is_plain(key):
            return key
        return CodedKey(self._coder.encode(key))

    def decoded(self, key: Any) -> Any:
        """Return a key as the program sees it."""
        return self._coder.decode(key.encoding) if type(key) is CodedKey else key

    def with_key_decoded(self, key: Any, pairs: Iterator[Any]) -> Iterator[Any]:
        """Return pairs of a key with it as the program sees it."""
        if type(key) is not CodedKey:
            return pairs
        seen = self.decoded(key)
        return ((seen, value) for _, value in pairs)


def _is_plain(key: Any) -> bool:
    kind = type(key)
    return kind in _PLAIN or (kind is tuple and all(map(_is_plain, key)))


def coding_of(element_type: Any, label: str) -> KeyCoding | None:
    """Return how keys are encoded, given the type of the pairs; None if plain keys are certain.

    Args:
        element_type: Beam's type of the pairs.
        label: the label of the grouping, for Beam's errors about keys without a deterministic encoding.
    """
    pair = typehints.coerce_to_kv_type(element_type, label)
    coder = typecoders.registry.get_coder(pair.tuple_types[0])
    if _is_known(coder):
        return None
    return KeyCoding(coder.as_deterministic_coder(label), not _is_dynamic(coder))


def _is_known(coder: Any) -> bool:
    if type(coder) is coders.TupleCoder:
        return all(map(_is_known, coder._coders))
    return type(coder) in _KNOWN


def _is_dynamic(coder: Any) -> bool:
    if type(coder) is coders.TupleCoder:
        return all(_is_known(part) or _is_dynamic(part) for part in coder._coders)
    return type(coder) in _DYNAMIC


class _KeyDoFn(BundleDoFn):
    """Changes the keys of pairs."""

    def __init__(self, coding: KeyCoding) -> None:
        self._coding = coding

    def last_outputs(self) -> Outputs:
        return {}


def _have_plain_keys(values: list[Any]) -> bool:
    """Return whether values are pairs, and none of their keys needs a coder."""
    pairs = set(map(type, values)) == {tuple} and set(map(len, values)) == {2}
    return pairs and _PLAIN.issuperset(map(type, map(_first, values)))


class EncodeKeys(_KeyDoFn):
    """Encodes the keys of pairs before a shuffle."""

    def process_bundle(self, bundle: Bundle, *sides: Any) -> Outputs:
        if not self._coding.always and _have_plain_keys(bundle.values):
            return {MAIN: bundle}
        encode = self._coding.encoded
        return {MAIN: bundle.with_values([(encode(key), value) for key, value in bundle.values])}


class DecodeKeys(_KeyDoFn):
    """Decodes the keys of pairs after a shuffle."""

    def process_bundle(self, bundle: Bundle, *sides: Any) -> Outputs:
        if CodedKey not in set(map(type, map(_first, bundle.values))):
            return {MAIN: bundle}
        decode = self._coding.decoded
        return {MAIN: bundle.with_values([(decode(key), value) for key, value in bundle.values])}

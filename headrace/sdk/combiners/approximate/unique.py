"""Estimates of the number of distinct values from the largest hashes, under Beam's names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from heapq import nlargest
from math import ceil
from typing import Any, Final

from headrace.errors import PipelineError
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.groups.combine_fn import CombineFn

_HASHES: Final = 2**64


class ApproximateUniqueCombineFn(CombineFn):
    """An estimate of the number of distinct values from the largest of their hashes; cannot subtract.

    If n hashes of 64 bits are kept and the least of these is h, then n hashes share the space from h to
    2⁶⁴, and all hashes are as dense. Below n distinct values the number is exact. The result does not
    depend on the order of the values.

    Args:
        sample_size: number of hashes that are kept, 16 or more; the error is about 2/√size.
        coder: encodes values before they are hashed, a coder of Beam's kind; by default the encoding by
            which keys are compared.

    Raises:
        PipelineError: the sample size is not valid, or the coder is not deterministic.

    >>> ApproximateUniqueCombineFn(16).apply(["a", "b", "a"])
    2
    """

    def __init__(self, sample_size: int, coder: Any = None) -> None:
        self._sample_size = ApproximateUnique.parse_input_params(sample_size)
        if coder is not None and not coder.is_deterministic():
            raise PipelineError(
                f"the coder {type(coder).__name__} is not deterministic, so equal values could have "
                "different hashes",
                remedy="use a deterministic coder, or no coder",
            )
        self._encode: Callable[[Any], bytes] = encode_value if coder is None else coder.encode

    def create_accumulator(self) -> set[int]:
        return set()

    def add_input(self, mutable_accumulator: set[int], element: object) -> set[int]:
        return self.add_inputs(mutable_accumulator, (element,))

    def add_inputs(self, mutable_accumulator: set[int], elements: Iterable[object]) -> set[int]:
        mutable_accumulator.update(map(self._hash, elements))
        return self._largest(mutable_accumulator, 2 * self._sample_size)

    def merge_accumulators(self, accumulators: Iterable[set[int]]) -> set[int]:
        return self._largest(set().union(*accumulators), self._sample_size)

    def compact(self, accumulator: set[int]) -> set[int]:
        return self._largest(accumulator, self._sample_size)

    def extract_output(self, accumulator: set[int]) -> int:
        kept = self._largest(accumulator, self._sample_size)
        if len(kept) < self._sample_size:
            return len(kept)
        return round((len(kept) - 1) * _HASHES / (_HASHES - min(kept)))

    def _hash(self, value: object) -> int:
        digest = blake2b(self._encode(value), digest_size=8).digest()
        return int.from_bytes(digest, "big")

    def _largest(self, hashes: set[int], most: int) -> set[int]:
        return hashes if len(hashes) <= most else set(nlargest(self._sample_size, hashes))


class _ApproximateUnique(Ready[object, int]):
    _name = "ApproximateUnique"

    def __init__(self, size: int | None = None, error: float | None = None) -> None:
        size = ApproximateUnique.parse_input_params(size, error)
        super().__init__(ApproximateUniqueCombineFn(size))


class ApproximateUnique:
    """Transforms that estimate the number of distinct values (Beam's name).

    :class:`ApproximateCountDistinct` needs less memory for the same error.

    >>> with Pipeline() as p:
    ...     _ = p | Create(["a", "b", "a"]) | ApproximateUnique.Globally(size=16) | Map(print)
    2
    """

    _NO_VALUE_ERR_MSG = "ApproximateUnique needs a sample size or an error"
    _MULTI_VALUE_ERR_MSG = (
        "ApproximateUnique takes a sample size or an error, not both: size is %s and error %s"
    )
    _INPUT_SIZE_ERR_MSG = "ApproximateUnique needs a sample of 16 or more hashes; size is %s"
    _INPUT_ERROR_ERR_MSG = "ApproximateUnique needs an error from 0.01 to 0.5; error is %s"

    @staticmethod
    def parse_input_params(size: int | None = None, error: float | None = None) -> int:
        """Return the sample size for a size or an error.

        Raises:
            PipelineError: neither or both are given, or one is out of range.
        """
        names = ApproximateUnique
        if size is None and error is None:
            raise _refused(names._NO_VALUE_ERR_MSG)
        if size is not None and error is not None:
            raise _refused(names._MULTI_VALUE_ERR_MSG % (size, error))
        if size is None:
            if error is None or not 0.01 <= error <= 0.5:
                raise _refused(names._INPUT_ERROR_ERR_MSG % error)
            return names._get_sample_size_from_est_error(error)
        if not isinstance(size, int) or size < 16:
            raise _refused(names._INPUT_SIZE_ERR_MSG % size)
        return size

    @staticmethod
    def _get_sample_size_from_est_error(error: float) -> int:
        """Return the size whose error, 2/√size, is the given one."""
        return ceil(4 / error**2)

    class Globally(_ApproximateUnique, CombineGlobally[object, int]):
        """An estimate of the number of distinct elements.

        Args:
            size: number of hashes that are kept; or
            error: the error as a part of the number, from 0.01 to 0.5.
        """

    class PerKey(_ApproximateUnique, CombinePerKey[object, int]):
        """An estimate of the number of distinct values of each key.

        Args:
            size: number of hashes that are kept; or
            error: the error as a part of the number, from 0.01 to 0.5.
        """


def _refused(problem: str) -> PipelineError:
    return PipelineError(problem, remedy="use size=1024 or error=0.05, for example")

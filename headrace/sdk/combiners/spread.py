"""Transforms that compute variances, standard deviations, covariances and correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.sdk.combiners.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.moments import (
    CorrelationCombineFn,
    CovarianceCombineFn,
    StandardDeviationCombineFn,
    VarianceCombineFn,
)
from headrace.sdk.combiners.ready import Ready
from headrace.sdk.elements.type_variables import KeyT
from headrace.sdk.pipelines.pvalue import PCollection

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    Number: TypeAlias = float | Decimal | Fraction
    NumberPair: TypeAlias = tuple[Number, Number]


class _NumbersGlobally(CombineGlobally[Any, float]):
    if TYPE_CHECKING:

        def expand(self, pcoll: PCollection[Number]) -> PCollection[float]: ...


class _NumbersPerKey(CombinePerKey[Any, float]):
    if TYPE_CHECKING:

        def expand(
            self, pcoll: PCollection[tuple[KeyT, Number]]
        ) -> PCollection[tuple[KeyT, float]]: ...


class _PairsGlobally(CombineGlobally[Any, float]):
    if TYPE_CHECKING:

        def expand(self, pcoll: PCollection[NumberPair]) -> PCollection[float]: ...


class _PairsPerKey(CombinePerKey[Any, float]):
    if TYPE_CHECKING:

        def expand(
            self, pcoll: PCollection[tuple[KeyT, NumberPair]]
        ) -> PCollection[tuple[KeyT, float]]: ...


class _Variance(Ready[Any, float]):
    _name = "Variance"

    def __init__(self, population: bool = False) -> None:
        super().__init__(VarianceCombineFn(population))


class Variance:
    """Transforms that compute the variance of numbers: by default that of a sample.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3, 4, 5]) | Variance.Globally() | Map(print)
    2.5
    """

    class Globally(_Variance, _NumbersGlobally):
        """The variance of all elements.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

    class PerKey(_Variance, _NumbersPerKey):
        """The variance of the values of each key.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """


class _StandardDeviation(Ready[Any, float]):
    _name = "StandardDeviation"

    def __init__(self, population: bool = False) -> None:
        super().__init__(StandardDeviationCombineFn(population))


class StandardDeviation:
    """Transforms that compute the standard deviation of numbers: by default that of a sample.

    >>> with Pipeline() as p:
    ...     pairs = p | Create([("a", 1), ("a", 5)])
    ...     _ = pairs | StandardDeviation.PerKey(population=True) | Map(print)
    ('a', 2.0)
    """

    class Globally(_StandardDeviation, _NumbersGlobally):
        """The standard deviation of all elements.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

    class PerKey(_StandardDeviation, _NumbersPerKey):
        """The standard deviation of the values of each key.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """


class _Covariance(Ready[Any, float]):
    _name = "Covariance"

    def __init__(self, population: bool = False) -> None:
        super().__init__(CovarianceCombineFn(population))


class Covariance:
    """Transforms that compute the covariance of (x, y) pairs: by default that of a sample.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(1, 2), (2, 4), (3, 9)]) | Covariance.Globally() | Map(print)
    3.5
    """

    class Globally(_Covariance, _PairsGlobally):
        """The covariance of all elements, which are (x, y) pairs.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

    class PerKey(_Covariance, _PairsPerKey):
        """The covariance of the values of each key, which are (x, y) pairs.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """


class _Correlation(Ready[Any, float]):
    _name = "Correlation"

    def __init__(self) -> None:
        super().__init__(CorrelationCombineFn())


class Correlation:
    """Transforms that compute Pearson's correlation of (x, y) pairs, from -1 to 1.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(1, 6), (2, 4), (3, 2)]) | Correlation.Globally() | Map(print)
    -1.0
    """

    class Globally(_Correlation, _PairsGlobally):
        """The correlation of all elements, which are (x, y) pairs."""

    class PerKey(_Correlation, _PairsPerKey):
        """The correlation of the values of each key, which are (x, y) pairs."""

"""Transforms that compute variances, standard deviations, covariances and correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.sdk.combine import CombineGlobally, CombinePerKey
from headrace.sdk.combiners.moments import (
    CorrelationCombineFn,
    CovarianceCombineFn,
    StandardDeviationCombineFn,
    VarianceCombineFn,
)
from headrace.sdk.pvalue import PCollection
from headrace.sdk.type_variables import KeyT

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    Number: TypeAlias = float | Decimal | Fraction
    Pairs: TypeAlias = tuple[Number, Number]


class Variance:
    """Transforms that compute the variance of numbers: by default that of a sample.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3, 4, 5]) | Variance.Globally() | Map(print)
    2.5
    """

    class Globally(CombineGlobally[Any, float]):
        """The variance of all elements.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(VarianceCombineFn(population))

        def default_label(self) -> str:
            return "Variance.Globally"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[Number]) -> PCollection[float]: ...

    class PerKey(CombinePerKey[Any, float]):
        """The variance of the values of each key.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(VarianceCombineFn(population))

        def default_label(self) -> str:
            return "Variance.PerKey"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, Number]]
            ) -> PCollection[tuple[KeyT, float]]: ...


class StandardDeviation:
    """Transforms that compute the standard deviation of numbers: by default that of a sample.

    >>> with Pipeline() as p:
    ...     pairs = p | Create([("a", 1), ("a", 5)])
    ...     _ = pairs | StandardDeviation.PerKey(population=True) | Map(print)
    ('a', 2.0)
    """

    class Globally(CombineGlobally[Any, float]):
        """The standard deviation of all elements.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(StandardDeviationCombineFn(population))

        def default_label(self) -> str:
            return "StandardDeviation.Globally"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[Number]) -> PCollection[float]: ...

    class PerKey(CombinePerKey[Any, float]):
        """The standard deviation of the values of each key.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(StandardDeviationCombineFn(population))

        def default_label(self) -> str:
            return "StandardDeviation.PerKey"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, Number]]
            ) -> PCollection[tuple[KeyT, float]]: ...


class Covariance:
    """Transforms that compute the covariance of (x, y) pairs: by default that of a sample.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(1, 2), (2, 4), (3, 9)]) | Covariance.Globally() | Map(print)
    3.5
    """

    class Globally(CombineGlobally[Any, float]):
        """The covariance of all elements, which are (x, y) pairs.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(CovarianceCombineFn(population))

        def default_label(self) -> str:
            return "Covariance.Globally"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[Pairs]) -> PCollection[float]: ...

    class PerKey(CombinePerKey[Any, float]):
        """The covariance of the values of each key, which are (x, y) pairs.

        Args:
            population: whether these are the whole population, rather than a sample of it.
        """

        def __init__(self, population: bool = False) -> None:
            super().__init__(CovarianceCombineFn(population))

        def default_label(self) -> str:
            return "Covariance.PerKey"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, Pairs]]
            ) -> PCollection[tuple[KeyT, float]]: ...


class Correlation:
    """Transforms that compute Pearson's correlation of (x, y) pairs, from -1 to 1.

    >>> with Pipeline() as p:
    ...     _ = p | Create([(1, 6), (2, 4), (3, 2)]) | Correlation.Globally() | Map(print)
    -1.0
    """

    class Globally(CombineGlobally[Any, float]):
        """The correlation of all elements, which are (x, y) pairs."""

        def __init__(self) -> None:
            super().__init__(CorrelationCombineFn())

        def default_label(self) -> str:
            return "Correlation.Globally"

        if TYPE_CHECKING:

            def expand(self, pcoll: PCollection[Pairs]) -> PCollection[float]: ...

    class PerKey(CombinePerKey[Any, float]):
        """The correlation of the values of each key, which are (x, y) pairs."""

        def __init__(self) -> None:
            super().__init__(CorrelationCombineFn())

        def default_label(self) -> str:
            return "Correlation.PerKey"

        if TYPE_CHECKING:

            def expand(
                self, pcoll: PCollection[tuple[KeyT, Pairs]]
            ) -> PCollection[tuple[KeyT, float]]: ...

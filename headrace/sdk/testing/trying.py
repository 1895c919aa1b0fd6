"""How a law is tried: on cases that Hypothesis draws, the same each time, down to the smallest that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.property_testing import HealthCheck, given, settings, st

Drawn: TypeAlias = st.SearchStrategy[Any] | Iterable[Any]
"""A strategy, or some values to choose from."""


def drawn_from(values: Drawn) -> st.SearchStrategy[Any]:
    """Return a strategy as it is, and one that chooses from values.

    >>> drawn_from([3, 5])
    sampled_from([3, 5])
    """
    return values if isinstance(values, st.SearchStrategy) else st.sampled_from(list(values))


def try_each(strategy: st.SearchStrategy[Any], law: Callable[[Any], None], cases: int) -> None:
    """Try a law, or several, on so many cases.

    Args:
        strategy: draws the cases.
        law: raises what is broken.
        cases: how many.

    Raises:
        LawBroken: the law that was found to be broken first, with the smallest case that breaks it.

    >>> try_each(st.integers(), lambda n: None, cases=3)
    """
    broken: list[str] = []

    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def tried(case: Any) -> None:
        try:
            law(case)
        except LawBroken as found:
            broken.append(found.law)
            if found.law == broken[0]:  # what breaks it may break others, but one of them is told
                raise

    tried()

"""How a law is tried: on cases that Hypothesis draws, the same each time, down to the smallest that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.property_testing import HealthCheck, Phase, given, settings, st

Drawn: TypeAlias = st.SearchStrategy[Any] | Iterable[Any]
"""A strategy, or some values to choose from."""


def drawn_from(values: Drawn) -> st.SearchStrategy[Any]:
    """Return a strategy as it is, and one that chooses from values.

    >>> drawn_from([3, 5])
    sampled_from([3, 5])
    """
    return values if isinstance(values, st.SearchStrategy) else st.sampled_from(list(values))


def try_each(
    strategy: st.SearchStrategy[Any],
    law: Callable[[Any], None],
    cases: int,
    order: Sequence[str] = (),
) -> None:
    """Try a law, or several, on so many cases.

    Args:
        strategy: draws the cases.
        law: raises what is broken.
        cases: how many.
        order: the laws, those first that are to be told if several are broken.

    Raises:
        LawBroken: a law is broken; with the smallest case that breaks it.

    >>> try_each(st.integers(), lambda n: None, cases=3)
    """
    broken: set[str] = set()

    def note(case: Any) -> None:
        try:
            law(case)
        except LawBroken as found:
            broken.add(found.law)

    def tell(case: Any) -> None:
        try:
            law(case)
        except LawBroken as found:
            if found.law == told:
                raise

    _draw(strategy, note, cases, [Phase.generate])
    if broken:
        told = min(broken, key=[*order, *sorted(broken)].index)
        _draw(strategy, tell, cases, [Phase.generate, Phase.shrink])


def _draw(
    strategy: st.SearchStrategy[Any],
    test: Callable[[Any], None],
    cases: int,
    phases: Sequence[Phase],
) -> None:
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        derandomize=True,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def tried(case: Any) -> None:
        test(case)

    tried()

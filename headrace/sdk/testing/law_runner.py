"""Checks a law on random cases of Hypothesis, always the same ones, and shrinks a failing case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.property_testing import HealthCheck, Phase, given, settings, st

Drawn: TypeAlias = st.SearchStrategy[Any] | Iterable[Any]
"""A strategy, or some values to choose from."""


def drawn_from(values: Drawn) -> st.SearchStrategy[Any]:
    """Return a strategy unchanged, or a strategy that chooses from values.

    >>> drawn_from([3, 5])
    sampled_from([3, 5])
    """
    return values if isinstance(values, st.SearchStrategy) else st.sampled_from(list(values))


def check_law(
    strategy: st.SearchStrategy[Any],
    law: Callable[[Any], None],
    cases: int,
    order: Sequence[str] = (),
) -> None:
    """Check one or several laws on random cases.

    Args:
        strategy: draws the cases.
        law: raises LawBroken if a law is broken.
        cases: number of cases.
        order: the laws in the order in which they are reported if several are broken.

    Raises:
        LawBroken: a law is broken; reports the smallest case that breaks it.

    >>> check_law(st.integers(), lambda n: None, cases=3)
    """
    broken: set[str] = set()

    def record(case: Any) -> None:
        try:
            law(case)
        except LawBroken as found:
            broken.add(found.law)

    def report(case: Any) -> None:
        try:
            law(case)
        except LawBroken as found:
            if found.law == reported:
                raise

    _draw(strategy, record, cases, [Phase.generate])
    if broken:
        reported = min(broken, key=[*order, *sorted(broken)].index)
        _draw(strategy, report, cases, [Phase.generate, Phase.shrink])


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
    def run(case: Any) -> None:
        test(case)

    run()

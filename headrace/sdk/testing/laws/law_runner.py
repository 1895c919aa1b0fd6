"""Checks a law on random cases of Hypothesis, always the same ones, and shrinks a failing case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.property_testing import (
    HealthCheck,
    HypothesisException,
    Phase,
    given,
    settings,
    st,
)

Drawn: TypeAlias = st.SearchStrategy[Any] | Iterable[Any]
"""A strategy, or some values to choose from."""


def drawn_from(values: Drawn) -> st.SearchStrategy[Any]:
    """Return a strategy that draws copies of values, so that a law that changes them can be repeated.

    >>> drawn_from([3, 5])
    sampled_from([3, 5]).map(_copied)
    """
    drawn = values if isinstance(values, st.SearchStrategy) else st.sampled_from(list(values))
    return drawn.map(_copied)


def _copied(value: object) -> object:
    try:
        return deepcopy(value)
    except Exception:  # a class can raise anything
        return value


def check_law(
    strategy: st.SearchStrategy[Any],
    law: Callable[[Any], None],
    cases: int,
    order: Sequence[str] = (),
    smaller: Callable[[Any], Iterable[object]] = lambda case: (),
) -> None:
    """Check one or several laws on random cases.

    Args:
        strategy: draws the cases.
        law: raises LawBroken if a law is broken, or the error of the code that it checks.
        cases: number of cases.
        order: the laws in the order in which they are reported if several are broken.
        smaller: returns slightly smaller cases, for what Hypothesis does not shrink.

    Raises:
        LawBroken: a law is broken; reports the smallest case that breaks it. An error of the code is raised
            in the same way, before broken laws.

    >>> check_law(st.integers(), lambda n: None, cases=3)
    """
    found: dict[str, int] = {}

    def record(case: object) -> None:
        error = _error(law, case)
        if error is not None:
            found[_kind(error)] = _rank(error, order)

    _draw(strategy, record, cases, [Phase.generate])
    if found:
        reported = min(found, key=lambda kind: (found[kind], kind))
        raise _smallest(law, _shrunk(law, strategy, cases, reported), reported, smaller)


def _shrunk(
    law: Callable[[Any], None], strategy: st.SearchStrategy[Any], cases: int, reported: str
) -> tuple[object, Exception]:
    """Return a case that is shrunk by Hypothesis, and its error."""
    failed: list[tuple[object, Exception]] = []

    def report(case: object) -> None:
        original = _copied(case)
        error = _error(law, case)
        if error is not None and _kind(error) == reported:
            failed[:] = [(original, error)]
            raise error

    try:
        _draw(strategy, report, cases, [Phase.generate, Phase.shrink])
    except HypothesisException:
        raise
    except Exception as error:
        return failed[0][0], error
    raise AssertionError(f"no case breaks this again: {reported}")


def _smallest(
    law: Callable[[Any], None],
    failed: tuple[object, Exception],
    reported: str,
    smaller: Callable[[Any], Iterable[object]],
) -> Exception:
    """Return the error of the smallest case that is found by removing parts."""
    case, error = failed
    for less in smaller(case):
        try:
            found = _error(law, _copied(less))
        except HypothesisException:  # the case is not valid
            continue
        if found is not None and _kind(found) == reported:
            return _smallest(law, (less, found), reported, smaller)
    return error


def _error(law: Callable[[Any], None], case: object) -> Exception | None:
    """Return the error that a law raises for a case."""
    try:
        law(case)
    except HypothesisException:
        raise
    except Exception as error:
        return error
    return None


def _kind(error: Exception) -> str:
    """Return the law that is broken, or the class of another error."""
    return error.law if isinstance(error, LawBroken) else repr(type(error))


def _rank(error: Exception, order: Sequence[str]) -> int:
    """Return a smaller number for what is reported first: errors, then laws in their order."""
    if not isinstance(error, LawBroken):
        return -1
    return order.index(error.law) if error.law in order else len(order)


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
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(case: object) -> None:
        test(case)

    run()

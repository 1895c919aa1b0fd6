"""Matchers of Hamcrest for metrics and display data (Beam's names); they need the package PyHamcrest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from headrace.errors import PipelineError
from headrace.sdk.metrics.cells import DistributionResult, MetricResult
from headrace.sdk.typehints.display_data import DisplayDataItem

try:
    from hamcrest import assert_that, equal_to, has_entry, has_item
    from hamcrest.core.base_matcher import BaseMatcher
    from hamcrest.core.description import Description
    from hamcrest.core.matcher import Matcher
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "these matchers are for Hamcrest, which is not installed\n"
        "  what to do: pip install 'headrace[hamcrest]'"
    ) from missing

_ANY: Final = object()


class PartsMatcher(BaseMatcher[Any]):
    """Matches an object by some of its parts, each with a matcher or a value.

    Args:
        cls: the class of the object.
        expected: the matchers or values by the path of the part, such as ``key.step``.

    >>> PartsMatcher(slice, {"start": 1}).matches(slice(1, 2))
    True
    """

    def __init__(self, cls: type, expected: Mapping[str, Any]) -> None:
        self._cls = cls
        self._expected = {path: as_matcher(value) for path, value in expected.items()}

    def _matches(self, item: object) -> bool:
        return isinstance(item, self._cls) and all(
            matcher.matches(_part(item, path)) for path, matcher in self._expected.items()
        )

    def describe_to(self, description: Description) -> None:
        """Append the expected parts to a description."""
        description.append_text(f"a {self._cls.__name__}")
        for path, matcher in self._expected.items():
            description.append_text(f", {path} ").append_description_of(matcher)


class MetricResultMatcher(PartsMatcher):
    """Matches a metric of a step in the results of a run; each argument is a value or a matcher.

    Args:
        namespace: namespace of the metric.
        name: name of the metric.
        step: full label of the step.
        labels: entries of the labels of the result.
        attempted: its value.
        committed: its value.
        sum_value: sum of a distribution.
        count_value: count of a distribution.
        min_value: minimum of a distribution.
        max_value: maximum of a distribution.

    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 4]) | "Grind" >> Map(hr.metrics.Metrics.counter("mill", "bags").inc)
    >>> (result,) = p.result.metrics().query()["counters"]
    >>> MetricResultMatcher(step="Grind", committed=7).matches(result)
    True
    """

    def __init__(
        self,
        namespace: Any = None,
        name: Any = None,
        step: Any = None,
        labels: Mapping[Any, Any] | None = None,
        attempted: Any = None,
        committed: Any = None,
        sum_value: Any = None,
        count_value: Any = None,
        min_value: Any = None,
        max_value: Any = None,
    ) -> None:
        given = {
            "key.metric.namespace": namespace,
            "key.metric.name": name,
            "key.step": step,
            "attempted": attempted,
            "committed": committed,
            "committed.sum": sum_value,
            "committed.count": count_value,
            "committed.min": min_value,
            "committed.max": max_value,
        }
        super().__init__(MetricResult, _given(given))
        self._labels = [has_entry(as_matcher(k), as_matcher(v)) for k, v in (labels or {}).items()]

    def _matches(self, item: Any) -> bool:
        return super()._matches(item) and all(m.matches(item.key.labels) for m in self._labels)


class DistributionMatcher(PartsMatcher):
    """Matches the value of a distribution; each argument is a value or a matcher.

    Args:
        sum_value: sum of the values.
        count_value: number of the values.
        min_value: minimum.
        max_value: maximum.

    >>> DistributionMatcher(sum_value=8).matches(hr.metrics.DistributionResult(8, 2, 3, 5))
    True
    """

    def __init__(
        self,
        sum_value: Any = None,
        count_value: Any = None,
        min_value: Any = None,
        max_value: Any = None,
    ) -> None:
        given = {"sum": sum_value, "count": count_value, "min": min_value, "max": max_value}
        super().__init__(DistributionResult, _given(given))


class DisplayDataItemMatcher(PartsMatcher):
    """Matches an item of display data; each argument is a value or a matcher.

    Args:
        key: name of the item.
        value: its value.
        namespace: full name of the class that it describes.
        label: its name for readers.
        shortValue: a shorter form of the value.

    Raises:
        PipelineError: no argument is given.

    >>> DisplayDataItemMatcher("wheels", 3).matches(DisplayDataItem(3, key="wheels"))
    True
    """

    IGNORED: Final = _ANY

    def __init__(
        self,
        key: Any = _ANY,
        value: Any = _ANY,
        namespace: Any = _ANY,
        label: Any = _ANY,
        shortValue: Any = _ANY,
    ) -> None:
        parts = {"key": key, "value": value, "namespace": namespace, "label": label}
        given = {**parts, "shortValue": shortValue}
        expected = {name: part for name, part in given.items() if part is not _ANY}
        if not expected:
            raise PipelineError("the matcher matches every item", remedy="expect a key or a value")
        super().__init__(DisplayDataItem, expected)


def verify_all(all_metrics: Iterable[MetricResult], matchers: Iterable[object]) -> list[str]:
    """Return a description of each matcher that matches none of the results of a run.

    >>> verify_all([], [MetricResultMatcher(name="bags")])
    ["...a sequence containing a MetricResult, key.metric.name 'bags'..."]
    """
    results, errors = list(all_metrics), []
    for matcher in matchers:
        try:
            assert_that(results, has_item(matcher))
        except AssertionError as error:
            errors.append(str(error))
    return errors


def as_matcher(value: object) -> Matcher[Any]:
    """Return a matcher, or the matcher of what is equal to a value."""
    return value if isinstance(value, Matcher) else equal_to(value)


def _given(parts: Mapping[str, object]) -> dict[str, object]:
    return {name: part for name, part in parts.items() if part is not None}


def _part(item: object, path: str) -> object:
    for name in path.split("."):
        item = getattr(item, name, None)
    return item

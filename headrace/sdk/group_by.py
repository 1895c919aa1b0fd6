"""Grouping by expressions: fields by name, or functions of the element (Beam's GroupBy and Select)."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.sdk.combine import CombinePerKey, Combiner
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.group_by_key import GroupByKey
from headrace.sdk.pardo import Map
from headrace.sdk.pvalue import PCollection
from headrace.sdk.row import Row, record_type
from headrace.sdk.transform import PTransform
from headrace.sdk.type_variables import T

Expression: TypeAlias = str | Callable[[Any], Any]


class GroupBy(PTransform[PCollection[Any], PCollection[Any]]):
    """Groups elements by the values of expressions: (key, list of elements).

    With one expression, the key is its value; with several, a named tuple of their values.

    Args:
        fields: names of the elements' attributes, or functions of an element.
        kwargs: expressions by the name of the key's field.

    >>> with Pipeline() as p:
    ...     words = p | Create(["to", "be", "not"])
    ...     _ = words | GroupBy(len) | Map(print)
    (2, ['to', 'be'])
    (3, ['not'])
    """

    def __init__(self, *fields: Expression, **kwargs: Expression) -> None:
        super().__init__()
        lone = len(fields) == 1 and not kwargs
        self._names = [
            *(f if isinstance(f, str) else f"key{'' if lone else i}" for i, f in enumerate(fields)),
            *kwargs,
        ]
        self._expressions = tuple(map(_function_of, (*fields, *kwargs.values())))
        self._lone = lone

    def aggregate_field(self, field: Expression, combine_fn: Combiner, dest: str) -> Aggregation:
        """Return the transform that combines values of each group instead of listing its elements.

        Args:
            field: the value to combine: name of an attribute, or a function of an element.
            combine_fn: how to combine the values.
            dest: name of the result's field.

        >>> with Pipeline() as p:
        ...     words = p | Create(["to", "be", "not"])
        ...     _ = words | GroupBy(size=len).aggregate_field(str, max, "last") | Map(print)
        Result(size=2, last='to')
        Result(size=3, last='not')
        """
        return Aggregation(self, (_Aggregate(_function_of(field), combine_fn, dest),))

    def force_tuple_keys(self, value: bool = True) -> GroupBy:
        """Return a transform whose key is a named tuple even for one expression."""
        forced = GroupBy()
        forced._names, forced._expressions, forced._lone = self._names, self._expressions, not value
        return forced

    def default_label(self) -> str:
        return f"GroupBy({', '.join(self._names)})"

    def key_function(self) -> Callable[[Any], Any]:
        """Return the function that computes the key of an element."""
        if not self._expressions:
            raise PipelineError(
                "GroupBy has no expressions", remedy="pass the name of a field or a function"
            )
        if self._lone and len(self._expressions) == 1:
            return self._expressions[0]
        return _Record("Key", self.key_fields, self._expressions)

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The names of the key's fields."""
        return tuple(self._names)

    def expand(self, pcoll: PCollection[T]) -> PCollection[tuple[Any, list[T]]]:
        keyed = pcoll | "Key" >> Map(_Pair(self.key_function(), _itself))
        return keyed | GroupByKey()


@attrs.frozen
class _Aggregate:
    """The arguments of an ``aggregate_field`` call."""

    value: Callable[[Any], Any]
    combine_fn: Combiner
    dest: str


class Aggregation(PTransform[PCollection[Any], PCollection[Any]]):
    """A grouping whose values are combined (see :meth:`GroupBy.aggregate_field`)."""

    def __init__(self, grouping: GroupBy, aggregates: tuple[_Aggregate, ...]) -> None:
        super().__init__()
        self._grouping = grouping.force_tuple_keys()
        self._aggregates = aggregates

    def aggregate_field(self, field: Expression, combine_fn: Combiner, dest: str) -> Aggregation:
        """Return the transform that combines one more value of each group."""
        more = _Aggregate(_function_of(field), combine_fn, dest)
        return Aggregation(self._grouping, (*self._aggregates, more))

    def default_label(self) -> str:
        return self._grouping.label

    def expand(self, pcoll: PCollection[Any]) -> PCollection[Any]:
        values = _Tuple(tuple(aggregate.value for aggregate in self._aggregates))
        combine = TupleCombineFn(*(aggregate.combine_fn for aggregate in self._aggregates))
        fields = (*self._grouping.key_fields, *(aggregate.dest for aggregate in self._aggregates))
        keyed = pcoll | "Key" >> Map(_Pair(self._grouping.key_function(), values))
        combined = keyed | "Combine" >> CombinePerKey(combine)
        return combined | "Result" >> Map(_Result(fields))


class Select(PTransform[PCollection[Any], PCollection[Row]]):
    """Turns elements into rows of the values of expressions.

    Args:
        fields: names of the elements' attributes, or functions of an element.
        kwargs: expressions by the name of the row's field.

    >>> with Pipeline() as p:
    ...     _ = p | Create([2j]) | Select("imag", double=lambda x: 2 * x.imag) | Map(print)
    Row(imag=2.0, double=4.0)
    """

    def __init__(self, *fields: Expression, **kwargs: Expression) -> None:
        super().__init__()
        names = (f if isinstance(f, str) else f"arg{i:02d}" for i, f in enumerate(fields))
        self._expressions = dict(zip(names, map(_function_of, fields), strict=True))
        self._expressions |= {name: _function_of(field) for name, field in kwargs.items()}

    def default_label(self) -> str:
        return f"Select({', '.join(self._expressions)})"

    def expand(self, pcoll: PCollection[Any]) -> PCollection[Row]:
        return pcoll | "Row" >> Map(_MakeRow(self._expressions))


def _function_of(expression: Expression) -> Callable[[Any], Any]:
    return attrgetter(expression) if isinstance(expression, str) else expression


def _itself(element: Any) -> Any:
    return element


@attrs.frozen
class _Pair:
    key: Callable[[Any], Any]
    value: Callable[[Any], Any]

    def __call__(self, element: Any) -> tuple[Any, Any]:
        return self.key(element), self.value(element)


@attrs.frozen
class _Tuple:
    items: tuple[Callable[[Any], Any], ...]

    def __call__(self, element: Any) -> tuple[Any, ...]:
        return tuple(item(element) for item in self.items)


@attrs.frozen
class _Record:
    name: str
    fields: tuple[str, ...]
    expressions: tuple[Callable[[Any], Any], ...]

    def __call__(self, element: Any) -> Any:
        make = record_type(self.name, self.fields)
        return make(*[expression(element) for expression in self.expressions])


@attrs.frozen
class _Result:
    fields: tuple[str, ...]

    def __call__(self, pair: tuple[tuple[Any, ...], tuple[Any, ...]]) -> Any:
        key, values = pair
        return record_type("Result", self.fields)(*key, *values)


@attrs.frozen
class _MakeRow:
    expressions: dict[str, Callable[[Any], Any]]

    def __call__(self, element: Any) -> Row:
        return Row(**{name: expression(element) for name, expression in self.expressions.items()})

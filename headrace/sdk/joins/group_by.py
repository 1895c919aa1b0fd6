"""Grouping by expressions: fields by name, or functions of the element (Beam's GroupBy)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from headrace.sdk.combiners.combine import CombinePerKey, Combiner
from headrace.sdk.combiners.tuples import TupleCombineFn
from headrace.sdk.elements.record_tables import Fields
from headrace.sdk.elements.row import record_type
from headrace.sdk.elements.schemas import Schema
from headrace.sdk.elements.table_form import TableForm
from headrace.sdk.elements.taken_fields import FlatPairs, KeyedByFields, TakenFields, fields_taken
from headrace.sdk.elements.type_variables import T
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.joins.field_expressions import (
    Expression,
    Named,
    function_of,
    names_alone,
    refuse_element,
    require_expression,
    require_names,
    value_type,
)
from headrace.sdk.pardo.transforms import Map
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type


class GroupBy(PTransform[PCollection[Any], PCollection[Any]]):
    """Groups elements by the values of expressions: (key, list of elements).

    With one expression, the key is its value; with several, a named tuple of their values. Without any,
    all elements are one group, and the key is an empty tuple.

    Args:
        fields: names of the elements' fields, or functions of an element. A function without a name has the
            field ``key``, or ``key0``, ``key1``, … by its position if there are several expressions.
        kwargs: expressions by the name of the key's field.

    Raises:
        PipelineError: the elements are known not to have a field, or two fields have the same name.

    >>> with Pipeline() as p:
    ...     words = p | Create(["to", "be", "not"])
    ...     _ = words | GroupBy(len) | Map(print)
    (2, ['to', 'be'])
    (3, ['not'])
    """

    def __init__(self, *fields: Expression, **kwargs: Expression) -> None:
        super().__init__()
        for expression in (*fields, *kwargs.values()):
            require_expression(expression)
        self._lone = len(fields) == 1 and not kwargs
        names = (
            f if isinstance(f, str) else f"key{'' if self._lone else i}"
            for i, f in enumerate(fields)
        )
        self._key = Named((*zip(names, fields, strict=True), *kwargs.items()))

    def aggregate_field(self, field: Expression, combine_fn: Combiner, dest: str) -> Aggregation:
        """Return the transform that combines values of each group instead of listing its elements.

        Args:
            field: the value to combine: name of a field, or a function of an element, such as
                ``operator.attrgetter("x", "y")`` for the pairs of a covariance.
            combine_fn: how to combine the values.
            dest: name of the result's field.

        >>> with Pipeline() as p:
        ...     words = p | Create(["to", "be", "not"])
        ...     _ = words | GroupBy(size=len).aggregate_field(str, max, "last") | Map(print)
        Result(size=2, last='to')
        Result(size=3, last='not')
        """
        return Aggregation(self, ()).aggregate_field(field, combine_fn, dest)

    def force_tuple_keys(self, value: bool = True) -> GroupBy:
        """Return a transform whose key is a named tuple even for one expression."""
        forced = GroupBy()
        forced._key, forced._lone = self._key, not value
        return forced

    def default_label(self) -> str:
        return f"GroupBy({', '.join(self._key.names)})"

    @property
    def key(self) -> Named:
        """The expressions of the key."""
        return self._key

    @property
    def single(self) -> bool:
        """Whether the key is the value of the only expression, and not a tuple."""
        return self._lone and len(self._key.expressions) == 1

    def key_type(self, element_type: object) -> Any:
        """Return the type of the key, given the type of the elements."""
        if self.single:
            return value_type(self._key.expressions[0][1], element_type)
        return self._key.schema(element_type, record_type("Key", self._key.names))

    def key_fields(self) -> Fields | None:
        """Return the fields of the key; None if it also has functions of an element."""
        names = names_alone(expression for _, expression in self._key.expressions)
        if names is None or self.single:
            return None if names is None else Fields(names, single=True)
        return Fields(names, ("Key", self._key.names))

    def key_function(self) -> Callable[[Any], Any]:
        """Return the function that computes the key of an element."""
        if self.single:
            return self._key.functions[0]
        require_names(self._key.names)
        return _Record("Key", self._key.names, self._key.functions)

    def expand(self, pcoll: PCollection[T]) -> PCollection[tuple[Any, list[T]]]:
        self._key.check(pcoll)
        fields = self.key_fields()
        form = None if fields is None else KeyedByFields.rows(fields)
        pair = _Pair(self.key_function(), _itself, self._key, form)
        kind = pair_type(self.key_type(pcoll.element_type), pcoll.element_type)
        return pcoll | "Key" >> Map(pair).with_output_types(kind) | GroupByKey()


@attrs.frozen
class _Aggregate:
    """The arguments of an ``aggregate_field`` call."""

    value: Expression
    combine_fn: Combiner
    dest: str

    def result_type(self, element_type: object) -> object:
        """Return the known type of the combined value, given the type of the elements."""
        kind = value_type(self.value, element_type)
        keeps = self.combine_fn in (min, max) or (self.combine_fn is sum and kind in (int, float))
        return kind if keeps else Any


class Aggregation(PTransform[PCollection[Any], PCollection[Any]]):
    """A grouping whose values are combined (see :meth:`GroupBy.aggregate_field`).

    An element of the result is a named tuple of the key's fields and the combined values.
    """

    def __init__(self, grouping: GroupBy, aggregates: tuple[_Aggregate, ...]) -> None:
        super().__init__()
        self._grouping = grouping.force_tuple_keys()
        self._aggregates = aggregates

    def aggregate_field(self, field: Expression, combine_fn: Combiner, dest: str) -> Aggregation:
        """Return the transform that combines one more value of each group."""
        require_expression(field)
        more = _Aggregate(field, combine_fn, dest)
        return Aggregation(self._grouping, (*self._aggregates, more))

    def default_label(self) -> str:
        return self._grouping.label

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        used = Named(
            (
                *self._grouping.key.expressions,
                *((aggregate.dest, aggregate.value) for aggregate in self._aggregates),
            )
        )
        used.check(pcoll)
        require_names(used.names)
        values = _Tuple(tuple(function_of(aggregate.value) for aggregate in self._aggregates))
        combine = TupleCombineFn(*(aggregate.combine_fn for aggregate in self._aggregates))
        taken = fields_taken(aggregate.value for aggregate in self._aggregates)
        key, form = self._grouping.key_fields(), None
        if key is not None and taken is not None:
            form = TakenFields.pairs(key, taken)
        keyed = pcoll | "Key" >> Map(_Pair(self._grouping.key_function(), values, used, form))
        combined = keyed | "Combine" >> CombinePerKey(combine)
        result = Map(_Result(used.names)).with_output_types(self._result_type(pcoll.element_type))
        return combined | "Result" >> result

    def _result_type(self, element_type: object) -> Schema:
        fields = [
            *self._grouping.key.schema(element_type).fields,
            *((a.dest, a.result_type(element_type)) for a in self._aggregates),
        ]
        return Schema(record_type("Result", tuple(name for name, _ in fields)), tuple(fields))


def _itself(element: object) -> object:
    return element


@attrs.frozen
class _Pair:
    key: Callable[[Any], Any]
    value: Callable[[Any], Any]
    used: Named
    """The expressions that both use."""
    form: TableForm | None
    """The same for tables; None if the key or the value is not made of fields alone."""

    def table_form(self) -> TableForm | None:
        """Return how it works on tables."""
        return self.form

    def __call__(self, element: Any) -> tuple[Any, Any]:
        try:
            return self.key(element), self.value(element)
        except AttributeError as error:
            refuse_element(element, self.used, error)


@attrs.frozen
class _Tuple:
    items: tuple[Callable[[Any], Any], ...]

    def __call__(self, element: Any) -> tuple[Any, ...]:
        return tuple([item(element) for item in self.items])


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

    def table_form(self) -> FlatPairs:
        """Return the records that it makes of pairs."""
        return FlatPairs("Result", self.fields)

    def __call__(self, pair: tuple[tuple[Any, ...], tuple[object, ...]]) -> Any:
        key, values = pair
        return record_type("Result", self.fields)(*key, *values)

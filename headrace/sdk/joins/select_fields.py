"""Rows of fields: Select makes rows of some values of an element, WithFields adds fields to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.elements.column_expressions import (
    check_expression,
    is_expression,
    types_of_fields,
)
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema, plain_type, schema_of
from headrace.sdk.elements.taken_fields import TakenFields
from headrace.sdk.joins.field_expressions import (
    Expression,
    Named,
    names_alone,
    refuse_element,
    require_expression,
)
from headrace.sdk.pardo.elementwise_transform import ElementwiseTransform
from headrace.sdk.pipelines.elementwise import Elementwise, FieldsEach, Function, MapEach
from headrace.sdk.pipelines.pvalue import PCollection

if TYPE_CHECKING:  # narwhals is an extra
    from narwhals import Expr


class Select(ElementwiseTransform[Any, Row]):
    """Turns elements into rows of the values of expressions.

    If one of them is an expression of narwhals, the others must be expressions, too, or names.

    Args:
        fields: names of the elements' fields, or functions of an element. A function without a name has the
            field ``arg00``, ``arg01``, … by its position.
        kwargs: expressions by the name of the row's field: names, functions, or expressions of narwhals, such
            as ``nw.col("price") * nw.col("quantity")``.

    Raises:
        PipelineError: the elements are known not to have a field, or an expression looks at other rows.

    >>> with Pipeline() as p:
    ...     _ = p | Create([2j]) | Select("imag", double=lambda x: 2 * x.imag) | Map(print)
    Row(imag=2.0, double=4.0)
    >>> import narwhals as nw
    >>> with Pipeline() as p:
    ...     delays = p | Create([hr.Row(airport="EWR", delay=90)])
    ...     _ = delays | Select("airport", hours=nw.col("delay") / 60) | Map(print)
    Row(airport='EWR', hours=1.5)
    """

    def __init__(self, *fields: Expression, **kwargs: Expression | Expr) -> None:
        for expression in fields:
            require_expression(expression)
        names = (f if isinstance(f, str) else f"arg{i:02d}" for i, f in enumerate(fields))
        given: dict[str, Any] = dict(zip(names, fields, strict=True)) | kwargs
        self._named = Named(tuple(given.items()))
        super().__init__(None, _operation(self._named), self._schema)

    def _schema(self, element_type: object) -> Schema:
        """Return the fields of the rows, with their types as far as they are known."""
        fields = dict(self._named.schema(element_type).fields)
        computed = {n: each for n, each in self._named.expressions if is_expression(each)}
        if computed:
            fields |= types_of_fields(computed, element_type)
        return Schema(Row, tuple(fields.items()))

    def default_label(self) -> str:
        return f"Select({', '.join(self._named.names)})"

    def expand_tags(self, pcoll: PCollection[object], tags: tuple[str, ...]) -> PCollection[Row]:
        self._named.check(pcoll)
        return super().expand_tags(pcoll, tags)


class WithFields(ElementwiseTransform[Any, Row]):
    """Turns elements into rows with additional fields, which are computed from the others.

    A field with the name of another one replaces it. This is ``withColumns`` of Spark; the transforms of Beam
    say "field".

    Args:
        fields: expressions of narwhals by the name of the field, such as
            ``total=nw.col("price") * nw.col("quantity")``.

    Raises:
        PipelineError: a field has no expression of narwhals, or the expression looks at other rows.

    >>> import narwhals as nw
    >>> with Pipeline() as p:
    ...     lines = p | Create([hr.Row(price=3, quantity=2)])
    ...     _ = lines | hr.WithFields(total=nw.col("price") * nw.col("quantity")) | Map(print)
    Row(price=3, quantity=2, total=6)
    """

    def __init__(self, **fields: Expr) -> None:
        for name, expression in fields.items():
            if not is_expression(expression):
                raise PipelineError(
                    f"the field {name!r} is {expression!r}, which is not an expression of narwhals",
                    remedy=f"write {name}=nw.col(…), or use hr.Map for a function of the element",
                )
            check_expression(expression)
        self._fields = fields
        super().__init__(None, FieldsEach(fields, keep=True), self._schema)

    def default_label(self) -> str:
        return f"WithFields({', '.join(self._fields)})"

    def display_data(self) -> dict[str, Any]:
        return {name: repr(expression) for name, expression in self._fields.items()}

    def _schema(self, element_type: object) -> Any:
        """Return the fields of the rows, if those of the elements are known."""
        schema = schema_of(plain_type(element_type))
        if schema is None:
            return Row
        types = types_of_fields(self._fields, element_type)
        return Schema(Row, tuple({**dict(schema.fields), **types}.items()))


def _operation(named: Named) -> Elementwise:
    """Return the operation that makes rows.

    Raises:
        PipelineError: there are expressions of narwhals beside functions.
    """
    fields = dict(named.expressions)
    computed = {name: each for name, each in fields.items() if is_expression(each)}
    for expression in computed.values():
        check_expression(expression)
    others = {name: each for name, each in fields.items() if name not in computed}
    for name, expression in others.items():
        require_expression(expression)
        if computed and not isinstance(expression, str):
            raise PipelineError(
                f"the field {name!r} is a function of an element, beside expressions of narwhals",
                remedy="compute it in a step of its own: another hr.Select, or hr.Map",
            )
    return FieldsEach(fields) if computed else MapEach(Function(_MakeRow(named)))


@attrs.frozen
class _MakeRow:
    named: Named
    functions: tuple[tuple[str, Callable[[Any], object]], ...] = attrs.field(init=False)

    @functions.default
    def _functions(self) -> tuple[tuple[str, Callable[[Any], object]], ...]:
        return tuple(zip(self.named.names, self.named.functions, strict=True))

    def table_form(self) -> TakenFields | None:
        """Return the fields that it takes; None if it calls other functions."""
        names = dict(self.named.expressions)
        fields = names_alone(names.values())
        return None if fields is None else TakenFields.row(dict(zip(names, fields, strict=True)))

    def __call__(self, element: Any) -> Row:
        try:
            return Row(**{name: function(element) for name, function in self.functions})
        except AttributeError as error:
            refuse_element(element, self.named, error)

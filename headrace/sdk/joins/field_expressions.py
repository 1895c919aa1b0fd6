"""Expressions over elements: the name of a field, or a function of the element.

Where the fields of the elements are known, a name that is not among them is refused while the pipeline is
built; else when an element does not have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from keyword import iskeyword
from operator import attrgetter
from typing import Any, NoReturn, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.column_expressions import is_expression
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema, fields_of, is_record, plain_type, schema_of
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.typehints.element_types import result_type

Expression: TypeAlias = str | Callable[[Any], Any]


@attrs.frozen
class Named:
    """Expressions by the names of the fields that hold their values.

    Attributes:
        expressions: the name and the expression of each field.

    >>> Named((("airport", "airport"), ("late", bool))).names
    ('airport', 'late')
    """

    expressions: tuple[tuple[str, Expression], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(name for name, _ in self.expressions)

    @property
    def functions(self) -> tuple[Callable[[Any], Any], ...]:
        """The functions that compute the fields of an element."""
        return tuple(function_of(expression) for _, expression in self.expressions)

    def schema(self, element_type: object, record: type = Row) -> Schema:
        """Return the schema of the fields, given the type of the elements."""
        return Schema(
            record, tuple((name, value_type(e, element_type)) for name, e in self.expressions)
        )

    def check(self, pcoll: PCollection[object]) -> None:
        """Check that the elements of a collection have the fields, as far as it is known.

        Raises:
            PipelineError: they do not have a field.
        """
        require_collection(pcoll)
        for _, expression in self.expressions:
            if isinstance(expression, str):
                _check_field(pcoll, expression)


def function_of(expression: Expression) -> Callable[[Any], Any]:
    """Return the function that an expression stands for.

    >>> function_of("real")(1j)
    0.0
    """
    return attrgetter(expression) if isinstance(expression, str) else expression


def names_alone(expressions: Iterable[Expression]) -> tuple[str, ...] | None:
    """Return the names of fields; None if there are functions of an element among them.

    >>> names_alone(["airport", "delay"]), names_alone(["airport", len])
    (('airport', 'delay'), None)
    """
    found = list(expressions)
    names = tuple(name for name in found if isinstance(name, str))
    return names if len(names) == len(found) else None


def require_expression(expression: object) -> None:
    """Check that a value is the name of a field, or a function.

    Raises:
        PipelineError: it is neither.
    """
    if is_expression(expression):
        raise PipelineError(
            f"the expression {expression!r} has no name, by which the result could be used",
            remedy="compute a field first, with hr.WithFields(name=…) or hr.Select(name=…), and use its name",
        )
    if not isinstance(expression, str) and not callable(expression):
        raise PipelineError(
            f"{shorten(expression)} is neither the name of a field nor a function",
            remedy="pass a name, such as 'airport', or a function of the element",
        )


def require_names(names: Iterable[str]) -> None:
    """Check that names can be the fields of a named tuple.

    Raises:
        PipelineError: a name is used twice, or is not valid.
    """
    seen = set()
    for name in names:
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            raise PipelineError(
                f"{name!r} cannot be the name of a field of the result",
                remedy=f"give it another name: total={name!r} in place of {name!r}",
            )
        if name in seen:
            raise PipelineError(
                f"two fields of the result have the name {name!r}",
                remedy="give one of them another name",
            )
        seen.add(name)


def value_type(expression: Expression, element_type: object) -> Any:
    """Return the known type of an expression's values.

    >>> value_type("minutes", Schema(Row, (("minutes", int),))), value_type(len, str)
    (<class 'int'>, typing.Any)
    """
    if is_expression(expression):
        return Any
    if not isinstance(expression, str):
        return result_type(expression)
    kind = element_type
    for name in expression.split("."):
        schema = schema_of(plain_type(kind))
        kind = Any if schema is None else dict(schema.fields).get(name, Any)
    return kind


def _check_field(pcoll: PCollection[object], path: str) -> None:
    kind = pcoll.element_type
    for name in path.split("."):
        schema = schema_of(plain_type(kind))
        if schema is None:
            return
        if name not in schema.names and not hasattr(schema.record, name):
            raise PipelineError(
                f"the elements of {pcoll!r} have no field {path!r}",
                remedy=f"use one of {', '.join(schema.names)}, or a function of the element",
            )
        kind = dict(schema.fields).get(name, Any)


def refuse_element(element: object, used: Named, error: AttributeError) -> NoReturn:
    """Raise an error that names the first field that an element does not have, or else the given error.

    Args:
        element: the element.
        used: the expressions; one of them raised the error.
        error: the error.
    """
    for path in _missing(element, used):
        if not is_record(element):
            remedy = "turn the element into an hr.Row with an hr.Map, or pass a function of it"
        elif isinstance(element, Mapping):
            remedy = f"a dict has no attributes: pass a function, such as lambda x: x[{path!r}]"
        else:
            remedy = f"use one of {', '.join(fields_of(element))}, or a function of the element"
        raise ElementError(
            f"the element {shorten(element)} has no field {path!r}", remedy=remedy
        ) from error
    raise error


def _missing(element: object, used: Named) -> Iterator[str]:
    for _, expression in used.expressions:
        if isinstance(expression, str):
            try:
                attrgetter(expression)(element)
            except AttributeError:
                yield expression

"""Which expressions of narwhals mean the same in Spark's plan as on Arrow tables.

Those are comparisons, logic, and sums, differences and products of integers. In others the two differ in
some value: NaN is equal to itself in Spark, division is another one, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from headrace.sdk.elements.column_expressions import is_expression


class Value(NamedTuple):
    """What is known of the values of an expression.

    Attributes:
        kind: their Python type.
        exact: whether they are equal where a field is null; if not, one is false and the other null.
    """

    kind: type
    exact: bool = True


def is_alike(expression: Any, kinds: Mapping[str, type], filters: bool) -> bool:
    """Return whether an expression means the same in Spark's plan.

    Args:
        expression: the expression.
        kinds: the Python types of the fields that it may use.
        filters: whether elements are kept where it is true, so that false and null are alike.

    >>> import narwhals as nw
    >>> is_alike(nw.col("delay") > 15, {"delay": int}, filters=True)
    True
    >>> is_alike(nw.col("delay") / 60, {"delay": int}, filters=False)
    False
    """
    found = _value(expression, kinds)
    return found is not None and (found.exact or (filters and found.kind is bool))


def _value(expression: Any, kinds: Mapping[str, type]) -> Value | None:
    """Return what is known of the values of an operand; None if the two may differ."""
    if not is_expression(expression):
        return _of_literal(expression)
    found: Value | None = None
    for node in expression._nodes:
        if node.kind.name == "COL":
            found = _of_columns(node.kwargs.get("names", ()), kinds)
        elif node.kind.name == "LITERAL":
            found = None if node.kwargs.get("dtype") else _of_literal(node.kwargs.get("value"))
        elif found is not None and node.name in _RULES:
            rule, keywords = _RULES[node.name]
            named = [_operand(node.kwargs[name], kinds) for name in keywords]
            operands = [*(_value(each, kinds) for each in node.exprs), *named]
            found = None if None in operands else rule(found, operands)
        else:
            found = None
        if found is None:
            return None
    return found


def _operand(value: Any, kinds: Mapping[str, type]) -> Value | None:
    """Return what is known of a literal, or of a list of literals of the same type."""
    if not isinstance(value, (list, tuple, set, frozenset)):
        return _of_literal(value)
    found = {_of_literal(each) for each in value}
    return found.pop() if len(found) == 1 else None


def _of_columns(names: Sequence[str], kinds: Mapping[str, type]) -> Value | None:
    kind = kinds.get(names[0]) if len(names) == 1 else None
    return None if kind is None else Value(kind)


def _of_literal(value: object) -> Value | None:
    if isinstance(value, datetime) or type(value) not in (int, str, bool, date):
        return None
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return None
    return Value(type(value))


Rule = Callable[[Value, Sequence[Any]], Value | None]
"""Returns what is known of a result, given the first operand and the others."""


def _compared(first: Value, others: Sequence[Value]) -> Value | None:
    alike = all(other.kind is first.kind and other.exact for other in others)
    return Value(bool) if alike and first.exact else None


def _both(first: Value, others: Sequence[Value]) -> Value | None:
    values = (first, *others)
    return (
        Value(bool, all(v.exact for v in values)) if all(v.kind is bool for v in values) else None
    )


def _not(first: Value, others: Sequence[Value]) -> Value | None:
    return first if first.kind is bool and first.exact else None


def _added(first: Value, others: Sequence[Value]) -> Value | None:
    return first if all(value == Value(int) for value in (first, *others)) else None


def _is_null(first: Value, others: Sequence[Value]) -> Value | None:
    return Value(bool) if first.exact else None


def _is_in(first: Value, others: Sequence[Value]) -> Value | None:
    """A null is in no list on Arrow tables, and null in Spark."""
    return Value(bool, exact=False) if _compared(first, others) else None


_RULES: Final[Mapping[str, tuple[Rule, tuple[str, ...]]]] = {
    **dict.fromkeys(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"), (_compared, ())),
    **dict.fromkeys(("__and__", "__or__", "__rand__", "__ror__"), (_both, ())),
    **dict.fromkeys(
        ("__add__", "__sub__", "__mul__", "__radd__", "__rsub__", "__rmul__"), (_added, ())
    ),
    "__invert__": (_not, ()),
    "is_null": (_is_null, ()),
    "is_between": (_compared, ()),
    "is_in": (_is_in, ("other",)),
}
"""The rule of each function, and the names of its keyword arguments that are literals."""

"""Steps on columns as Spark's plan: filters, computed fields, pairs of fields, and words of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from headrace.runners.spark.pushdown.expressions import is_alike
from headrace.runners.spark.pushdown.frames import PYTHON_KINDS, TIME
from headrace.runners.spark.pushdown.stays import require
from headrace.runners.spark.pushdown.words import words, words_at_blanks
from headrace.sdk.elements.taken_fields import TakenFields
from headrace.sdk.elements.value_tables import PairsWithNone, Words
from headrace.sdk.io.frames.frame_source import quoted
from headrace.sdk.pipelines.elementwise import FieldsEach, WhereEach, table_form_of
from headrace.sdk.pipelines.graph import Node, ParDo


def after(node: Node, frame: DataFrame, *, at_blanks: bool) -> DataFrame:
    """Return the rows after a step.

    Args:
        node: the step, which works on columns.
        frame: the rows before it.
        at_blanks: whether text is split at blanks only.

    Raises:
        StaysInPython: Spark's plan would give other rows.
    """
    if not isinstance(node, ParDo):
        return frame  # the last window function is that of the grouping
    match node.fn:
        case WhereEach(expression=expression):
            return _filtered(frame, expression)
        case FieldsEach() as fn:
            return _with_fields(fn, frame)
    match table_form_of(node.fn):
        case Words():
            return words_at_blanks(frame) if at_blanks else words(frame)
        case TakenFields(names=names):
            _require_fields(frame, names.values())
            return _selected(frame, names)
        case form:
            assert isinstance(form, PairsWithNone)  # else it would not be in a chain
            return frame  # None has no column


def _filtered(frame: DataFrame, expression: Any) -> DataFrame:
    import narwhals as nw

    _require_alike(frame, expression, filters=True)
    kept: DataFrame = nw.from_native(frame).filter(expression).to_native()
    return kept


def _with_fields(fn: FieldsEach, frame: DataFrame) -> DataFrame:
    computed = {name: each for name, each in fn.fields.items() if not isinstance(each, str)}
    _require_fields(frame, (each for each in fn.fields.values() if isinstance(each, str)))
    for expression in computed.values():
        _require_alike(frame, expression, filters=False)
    places = {name: f"__{number}" for number, name in enumerate(computed)}
    made = _with_columns(frame, {places[name]: each for name, each in computed.items()})
    fields = {name: places.get(name, str(each)) for name, each in fn.fields.items()}
    kept = {name: name for name in frame.columns if fn.keep and name != TIME}
    return _selected(made, {**kept, **fields})


def _with_columns(frame: DataFrame, computed: Mapping[str, Any]) -> DataFrame:
    if not computed:
        return frame
    import narwhals as nw

    made: DataFrame = nw.from_native(frame).with_columns(**computed).to_native()
    return made


def _selected(frame: DataFrame, fields: Mapping[str, str]) -> DataFrame:
    """Return some columns of a DataFrame, by their new names, with the timestamps."""
    times = [TIME] if TIME in frame.columns else []
    renamed = (f"{quoted(old)} AS {quoted(new)}" for new, old in fields.items())
    return frame.selectExpr(*renamed, *times)


def _require_alike(frame: DataFrame, expression: Any, filters: bool) -> None:
    kinds = {
        name: PYTHON_KINDS[kind]
        for name, kind in frame.dtypes
        if kind in PYTHON_KINDS and name != TIME
    }
    why = f"the expression {expression!r} can have other values in Spark"
    require(is_alike(expression, kinds, filters), why)


def _require_fields(frame: DataFrame, names: Iterable[str]) -> None:
    missing = set(names) - set(frame.columns)
    require(not missing, f"there is no field {', '.join(sorted(missing))}")

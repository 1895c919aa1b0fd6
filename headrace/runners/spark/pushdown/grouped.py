"""A chain as Spark's plan: one row for each key and window, with the results of the CombineFns.

The plan is built of expressions of SQL, since each Column object costs several calls to the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import attrs
from pyspark.sql import DataFrame, SparkSession, functions as F

from headrace.runners.spark.pushdown.aggregates import ANY, aggregate_of, parts_of
from headrace.runners.spark.pushdown.chains import ColumnChain
from headrace.runners.spark.pushdown.frames import (
    PYTHON_KINDS,
    TIME,
    micros_of,
    require_plain_names,
    rows_of,
    time_of,
    types_of,
    widened,
)
from headrace.runners.spark.pushdown.panes import ELEMENT_COUNT, key_name, result_name
from headrace.runners.spark.pushdown.required import required
from headrace.runners.spark.pushdown.stays import require
from headrace.runners.spark.pushdown.steps import after
from headrace.runners.spark.pushdown.windows import windowed
from headrace.runners.spark.pushdown.words import begins_with_blanks, few_split_again, split_again
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.io.frames.frame_source import quoted


@attrs.frozen
class GroupedFrame:
    """A chain as a DataFrame.

    Attributes:
        chain: the chain.
        frame: a row for each key and window: the fields of the key, the results, the bounds, and the count.
        at_blanks: whether text was split at blanks only.
    """

    chain: ColumnChain
    frame: DataFrame
    at_blanks: bool

    def collected(self) -> Any:
        """Run it, and return its rows as an Arrow table."""
        rows = self.frame.toArrow()
        return split_again(rows) if self.at_blanks else rows


class _Combined(NamedTuple):
    """A result of a group.

    Attributes:
        aggregate: an expression of SQL.
        required: the field that may not be null, if there is one.
        can_be_null: whether the result can be null, and may not.
    """

    aggregate: str
    required: str | None
    can_be_null: bool


def grouped(chain: ColumnChain, session: SparkSession) -> GroupedFrame:
    """Return a chain as Spark's plan.

    Args:
        chain: the chain.
        session: the session.

    Raises:
        StaysInPython: Spark's results could be others.
    """
    frame = _timed(time_of(chain.source), widened(rows_of(chain.source, session)))
    at_blanks = chain.counts_split_words and begins_with_blanks(chain.source)
    for node in chain.steps:
        frame = after(node, frame, at_blanks=at_blanks)
    require_plain_names(frame.columns)
    names = chain.pairs.key.names
    types = types_of(frame)
    for name in names:
        require(
            types[name] in PYTHON_KINDS, f"keys of the type {types[name]} can be others in Spark"
        )
    results = list(_results(chain, frame))
    fields = dict.fromkeys(each.required for each in results if each.required)
    frame, by, bounds, elements = windowed(chain.strategy.window_fn, frame)
    keys = [f"{quoted(name)} AS {key_name(n)}" for n, name in enumerate(names)]
    made = [f"{each.aggregate} AS {result_name(n)}" for n, each in enumerate(results)]
    counted = (
        required(frame, fields)
        .groupBy(*map(F.expr, [*keys, *by]))
        .agg(*map(F.expr, [*made, f"{elements} AS {ELEMENT_COUNT}"]))
    )
    unsure = (result_name(n) for n, each in enumerate(results) if each.can_be_null)
    rows = required(counted, unsure)
    if bounds:  # else these are the columns already
        kept = [key_name(n) for n in range(len(names))]
        found = [result_name(n) for n in range(len(results))]
        rows = rows.selectExpr(*kept, *found, *bounds, ELEMENT_COUNT)
    return GroupedFrame(chain, few_split_again(rows) if at_blanks else rows, at_blanks)


def _timed(time: str | None, frame: DataFrame) -> DataFrame:
    """Return a DataFrame with timestamps, if there are some."""
    require_plain_names(frame.columns)
    if time is None:
        return frame
    micros = micros_of(time, types_of(frame).get(time, ""))
    return required(frame.selectExpr("*", f"{micros} AS {TIME}"), [TIME])


def _results(chain: ColumnChain, frame: DataFrame) -> Iterator[_Combined]:
    """Yield the results of a group."""
    values, types = chain.pairs.value, types_of(frame)
    fn: CombineFn = chain.step.node.combine_fn  # type: ignore[union-attr]  # a chain ends with a CombinePerKey
    for name, part in zip(values.names, parts_of(fn, values), strict=True):
        aggregate = aggregate_of(part)
        any_type = aggregate.types == ANY
        kind = types.get(name, "None")
        why = f"{part.default_label()} of the type {kind} is not an aggregate of Spark"
        require(any_type or kind in aggregate.types, why)
        field = None if any_type else name
        yield _Combined(aggregate.of(quoted(name)), field, aggregate.can_be_null)

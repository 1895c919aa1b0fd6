"""The arguments of all sinks of tables: key, columns and windows, and what they require of a collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import PipelineError, shorten, warn
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, Pattern, names_in
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.sources.writing import warn_of_repeats
from headrace.windowing.windows import GlobalWindows


def key_columns(
    key: str | Iterable[str] | None, pattern: tuple[Pattern, ...] | None, windows: bool | None
) -> tuple[str, ...]:
    """Return the columns of the key, with the columns of the window if they are written.

    Args:
        key: the column or columns that a user names; None for none.
        pattern: the columns to write, if they are named.
        windows: whether the bounds of the window are written.

    Raises:
        PipelineError: a column is named twice, or the key is not among the columns.

    >>> key_columns("shop", None, windows=True)
    ('shop', 'window_start', 'window_end')
    """
    keys = names_of_key(key)
    if keys and windows:
        keys += tuple(name for name in WINDOW_COLUMNS if name not in keys)
    check_names(keys, pattern, bool(windows))
    return keys


def pattern_of(columns: Iterable[Any]) -> tuple[Pattern, ...]:
    """Return the names of columns as a pattern.

    Raises:
        PipelineError: the columns are a string.

    >>> pattern_of([["shop", "day"], "total"])
    (('shop', 'day'), 'total')
    """
    if isinstance(columns, str):
        raise PipelineError(
            f"columns must be a list, not the string {shorten(columns)}",
            remedy=f"use [{columns!r}]",
        )
    return tuple(part if isinstance(part, str) else pattern_of(part) for part in columns)


def check_collection(pcoll: PCollection[Any], keyed: bool, windows: bool | None) -> None:
    """Check that a collection can be written to a table; warn if it probably does not mean what it says.

    Args:
        pcoll: the collection.
        keyed: whether the table has a key.
        windows: whether the bounds of the window are written; None if the user does not say.

    Raises:
        PipelineError: retractions without a key, or the bounds of the global window.
    """
    if pcoll.collection.changing and not keyed:
        raise PipelineError(
            "the collection can contain retractions, but rows are only added to a table without a key",
            remedy="set key to the columns of a key, or apply hr.ToChangelog() first to write "
            "(diff, value) pairs",
        )
    windowed = not isinstance(pcoll.windowing.window_fn, GlobalWindows)
    if windows and not windowed:
        raise PipelineError(
            "the global window has no bounds to write",
            remedy="remove windows=True, or window the collection with hr.WindowInto",
        )
    if windows is None and keyed and windowed:
        warn(
            f"{pcoll!r} has windows, but the key has no window, so each key keeps the row of one window",
            where=pcoll.pipeline.scope,
            remedy="pass windows=True to add the window to the key, or windows=False if one is wanted",
        )
    if not keyed:
        warn_of_repeats(pcoll, "rows")


def names_of_key(key: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the columns of a key; none for None.

    >>> names_of_key("shop")
    ('shop',)
    """
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)


def check_names(keys: tuple[str, ...], pattern: tuple[Pattern, ...] | None, windows: bool) -> None:
    """Check that each column is named once, and that the key is among them.

    Args:
        keys: the columns of the key.
        pattern: the columns to write, if they are named.
        windows: whether the bounds of the window are written.

    Raises:
        PipelineError: it is not so.
    """
    if pattern is None:
        return
    names = [*names_in(pattern), *(WINDOW_COLUMNS if windows else ())]
    for name in names:
        if names.count(name) > 1:
            raise PipelineError(
                f"the column {name!r} is named twice", remedy="name each column once"
            )
    for name in keys:
        if name not in names:
            raise PipelineError(
                f"the key {name!r} is not in the columns {names}",
                remedy="add it to columns, or choose another key",
            )

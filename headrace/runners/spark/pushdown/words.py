"""Words of text as Spark's plan.

Spark splits text at one character faster than at any of several, and does not look for others then. So text
that begins with no other white space than blanks is split there, and the driver, which gets the counts of the
words, splits those again that have other white space. If they are not few, the batch works on elements.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from pyspark.sql import DataFrame

from headrace.runners.spark.pushdown.frames import TIME, types_of
from headrace.runners.spark.pushdown.panes import WINDOW_END, WINDOW_START, key_name
from headrace.runners.spark.pushdown.required import refused
from headrace.runners.spark.pushdown.stays import require
from headrace.runners.spark.sources.native import is_native
from headrace.sdk.elements.value_tables import WHITE_SPACE
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.frames.frame_source import quoted

FIRST_TEXTS: Final = 1_000
"""Number of texts that are looked at before a batch."""

MOST_WORDS: Final = 100_000
"""Maximum number of words of a partition of Spark among which the driver splits some again."""

_OTHERS: Final = f"[{WHITE_SPACE.replace(' ', '')}]"
"""White space other than a blank, as a regular expression."""


def words(frame: DataFrame) -> DataFrame:
    """Return the words of text."""
    where = f"IF({quoted(_only_field(frame))} RLIKE '[^ -~]', '[{WHITE_SPACE}]', ' ')"
    return _split(frame, where)


def words_at_blanks(frame: DataFrame) -> DataFrame:
    """Return the words of text; those between which is other white space than a blank are one."""
    return _split(frame, "' '")


def _split(frame: DataFrame, where: str) -> DataFrame:
    name = _only_field(frame)
    require(types_of(frame)[name] == "string", "it splits values that are not text")
    text = quoted(name)
    found = f"IF({text} IS NULL, {refused('ARRAY<STRING>')}, split({text}, {where}))"
    times = [TIME] if TIME in frame.columns else []
    return frame.selectExpr(f"explode({found}) AS {text}", *times).filter(f"{text} <> ''")


def _only_field(frame: DataFrame) -> str:
    (name,) = (name for name in frame.columns if name != TIME)
    return name


def begins_with_blanks(source: object) -> bool:
    """Return whether the first texts of a source have no white space but blanks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(source, ParquetFiles) or is_native(source):
        return False
    for path in chain.from_iterable(source.partitions()):
        with source.opened_file(path) as file:
            for batch in file.iter_batches(FIRST_TEXTS, columns=source.fields_read):
                texts = (each for each in batch.columns if pa.types.is_string(each.type))
                others = (pc.match_substring_regex(each, _OTHERS) for each in texts)
                return not any(pc.any(found).as_py() for found in others)
    return False


def few_split_again(counted: DataFrame) -> DataFrame:
    """Return counts of :func:`words_at_blanks`, with an error if the driver would split too many again.

    In Spark's numbers of rows the lower 33 bits are the place in the partition.
    """
    place = f"monotonically_increasing_id() & {(1 << 33) - 1}L"
    many = f"({place}) >= {MOST_WORDS} AND {key_name(0)} RLIKE '{_OTHERS}'"
    return counted.filter(f"CASE WHEN {many} THEN {refused('BOOLEAN')} ELSE TRUE END")


def split_again(counts: Any) -> Any:
    """Return the counts of all words, if some of :func:`words_at_blanks` are several.

    Args:
        counts: an Arrow table of words, bounds of windows, and numbers of elements.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    word = key_name(0)
    several = pc.match_substring_regex(counts[word], _OTHERS)
    if not pc.any(several).as_py():
        return counts
    lists = [text.split() for text in counts[word].filter(several).to_pylist()]
    rows = pa.array([row for row, found in enumerate(lists) for _ in found], pa.int64())
    parts = pa.array([part for found in lists for part in found], pa.string())
    split = counts.filter(several).take(rows)
    split = split.set_column(split.column_names.index(word), word, parts)
    by = [name for name in counts.column_names if name in (word, WINDOW_START, WINDOW_END)]
    numbers = [name for name in counts.column_names if name not in by]
    both = pa.concat_tables([counts.filter(pc.invert(several)), split.cast(counts.schema)])
    merged = both.group_by(by).aggregate([(name, "sum") for name in numbers])
    return merged.rename_columns([name.removesuffix("_sum") for name in merged.column_names])

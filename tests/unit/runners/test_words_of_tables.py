"""Words of text on columns: the same as of ``str.split``."""

from __future__ import annotations

import sys
from operator import attrgetter, itemgetter
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.grouping.table_bundle import TableBundle
from headrace.sdk.elements.record_tables import AS_DICTS, AS_ROWS, PairRecords, ValueRecords
from headrace.sdk.elements.value_tables import WHITE_SPACE, PairsWithNone, Words
from headrace.testing import capture

TEXT = st.text(st.sampled_from(WHITE_SPACE) | st.sampled_from("ab ß日\u200b\0"), max_size=12)


def bundle_of(texts: list[Any], times: Any = None) -> TableBundle:
    return TableBundle(pa.table({"line": texts}), ValueRecords("line"), times)


def test_python_splits_at_these_characters():
    assert "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1)))) == WHITE_SPACE


@given(st.lists(TEXT, max_size=8))
def test_words_have_the_times_of_their_text(texts):
    check_words(texts)


def check_words(texts):
    import numpy as np

    made = Words().apply(bundle_of(pa.array(texts, pa.string()), np.arange(len(texts))))
    words = [(word, time) for time, text in enumerate(texts) for word in text.split()]
    assert made is not None
    assert list(zip(made.values, made.timestamps, strict=True)) == words


@pytest.mark.slow
def test_nothing_is_read_beyond_the_last_text():
    """pyarrow reads what follows in memory, which is something else each time."""
    random, characters = Random(1), f"{WHITE_SPACE}{'ab ß日' * 3}"
    for _ in range(5_000):
        sizes = [random.randint(0, 12) for _ in range(random.randint(1, 8))]
        check_words(["".join(random.choices(characters, k=size)) for size in sizes])


@pytest.mark.parametrize("values", [["a", None], [1, 2], [b"a b"]])
def test_what_is_not_text_is_left_to_the_function(values):
    assert Words().apply(bundle_of(values)) is None


def test_pairs_of_a_value_and_none():
    made = PairsWithNone().apply(bundle_of(["a", "b"]))
    assert made is not None
    assert isinstance(made.records, PairRecords)
    assert made.values == [("a", None), ("b", None)]


def test_pairs_of_a_row_and_none():
    table = pa.table({"shop": ["quay", None], "day": [1, 2]})
    made = PairsWithNone().apply(TableBundle(table, AS_ROWS))
    assert made is not None
    assert made.values == [(hr.Row(shop="quay", day=1), None), (hr.Row(shop=None, day=2), None)]


def test_pairs_need_rows_and_a_name_that_is_free():
    taken = pa.table({"shop": ["quay"], "shop paired": [1]})
    assert PairsWithNone().apply(TableBundle(taken, AS_ROWS)) is None
    assert PairsWithNone().apply(TableBundle(pa.table({"shop": ["quay"]}), AS_DICTS)) is None


@pytest.fixture
def path(tmp_path):
    """A file of lines."""
    lines = ["to be", " or not\tto be ", ""]
    pq.write_table(pa.table({"line": lines, "time": [5, 50, 70]}), tmp_path / "lines.parquet")
    return tmp_path / "lines.parquet"


def works_on(p: hr.Pipeline) -> list[str]:
    return [line.partition(": ")[2] for line in hr.explain(p).splitlines() if "works on" in line]


@pytest.mark.parametrize(("as_rows", "take"), [(False, itemgetter), (True, attrgetter)])
def test_words_are_counted_without_elements(path, as_rows, take):
    p = hr.Pipeline("local", argv=[])
    read = hr.io.ReadFromParquet(str(path), as_rows=as_rows, timestamp="time")
    words = p | read | hr.Map(take("line")) | hr.FlatMap(str.split)
    found = capture(
        words | hr.WindowInto(hr.window.FixedWindows(60)) | hr.combiners.Count.PerElement()
    )
    assert works_on(p) == ["columns"] * 6
    p.run()
    assert sorted(found.values) == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]


def test_what_splits_in_another_way_takes_elements(path):
    p = hr.Pipeline("local", argv=[])
    lines = p | hr.io.ReadFromParquet(str(path)) | hr.Map(itemgetter("line"))
    words = lines | hr.FlatMap(str.split, " ")
    found = capture(words | hr.combiners.Count.PerElement())
    assert works_on(p)[2] == "elements, because it calls a function of an element"
    p.run()
    assert dict(found.values)["not\tto"] == 1

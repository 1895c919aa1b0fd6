"""The visits that the job makes of views are those of plain Python."""

from collections import defaultdict
from itertools import pairwise

import pytest

import headrace as hr
from headrace.testing import capture

pytest.importorskip("pyspark", reason="the example imports pyspark")

from dataframe_in_and_out import GAP, Visits, views


def expected_visits():
    by_visitor = defaultdict(list)
    for visitor, second, page in views():
        by_visitor[visitor].append((second, page))
    visits = []
    for visitor, seen in by_visitor.items():
        seen.sort()
        begins = [i for i, (one, two) in enumerate(pairwise(seen), 1) if two[0] - one[0] >= GAP]
        for begin, end in pairwise([0, *begins, len(seen)]):
            pages = [page for _, page in seen[begin:end]]
            visits.append((visitor, seen[begin][0], len(pages), " > ".join(pages)))
    return sorted(visits)


def test_some_visits_have_several_pages() -> None:
    assert any(pages > 2 for _, _, pages, _ in expected_visits())


@pytest.mark.parametrize("mode", [[], ["--streaming"]])
def test_rows_in_memory(mode: list[str]) -> None:
    names = ("visitor", "second", "page")
    rows = [
        hr.TimestampedValue(hr.Row(**dict(zip(names, view, strict=True))), view[1])
        for view in views()
    ]
    with hr.Pipeline(argv=mode) as p:
        visits = capture(p | hr.Create(rows) | Visits())
    assert sorted(tuple(visit) for visit in visits.values) == expected_visits()

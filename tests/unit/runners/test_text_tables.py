"""CSV and JSON lines as tables: the results and errors are those of elements."""

import csv
import json
from datetime import date
from decimal import Decimal
from operator import attrgetter

import narwhals as nw
import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.errors import HeadraceError
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_steps import with_tables
from headrace.sdk.io.formats.lines.column_tables import TypedFiles
from headrace.sdk.testing.assertions.capturing import capture

KINDS = {"time": int, "key": str, "whole": int, "part": float, "good": bool, "day": date}

words = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=3)
parts = st.one_of(st.floats(), st.integers(-2, 2).map(float), st.none())
days = st.dates(date(1, 1, 1), date(9999, 12, 31))


valid = {
    "time": st.integers(0, 300),
    "key": words,
    "whole": st.integers(-3, 3) | st.none(),
    "part": parts,
    "good": st.booleans() | st.none(),
    "day": days.map(str) | st.none(),
}
wrong = st.sampled_from(["x", "1.5", "true", "2013", None, 2**63, "-0", "nan"])
files = st.lists(st.fixed_dictionaries(valid), max_size=8)
changed = st.builds(
    lambda found, name, value: [*found[:-1], {**found[-1], name: value}],
    st.lists(st.fixed_dictionaries(valid), min_size=1, max_size=4),
    st.sampled_from(sorted(valid)),
    wrong,
)
"""Files whose last record has another value."""

WHOLE = nw.col("whole") > 0
STEPS = {
    "filter": lambda rows: rows | hr.Filter(WHOLE),
    "fields": lambda rows: rows | hr.WithFields(later=nw.col("time") + 60, none=nw.col("key").is_null()),
    "names": lambda rows: rows | hr.Select("day", "good", name="key"),
    "count": lambda rows: (
        rows
        | hr.WindowInto(hr.window.FixedWindows(60))
        | hr.GroupBy("key").aggregate_field("whole", hr.combiners.CountCombineFn(), "count")
    ),
    "least": lambda rows: (
        rows
        | hr.Filter(~nw.col("whole").is_null())
        | hr.Map(attrgetter("good", "whole"))
        | hr.CombinePerKey(min)
    ),
    "list": lambda rows: rows | hr.Map(attrgetter("day", "part")) | hr.GroupByKey(),
}  # fmt: skip


def write(directory, form, found):
    path = directory / f"records.{form}"
    with open(path, "w", encoding="utf-8", newline="") as file:
        if form == "json":
            file.writelines(json.dumps(each) + "\n" for each in found)
        else:
            writer = csv.writer(file)
            writer.writerow(KINDS)
            writer.writerows([each[name] for name in KINDS] for each in found)
    return path


def read(path, schema=KINDS, **how):
    form = hr.io.ReadFromJson if path.suffix == ".json" else hr.io.ReadFromCsv
    return form(path, schema, **{"timestamp": "time", **how})


def results(path, step, argv=(), **how):
    """Return all elements of a step, or the error."""
    try:
        with hr.Pipeline("local", argv=list(argv)) as p:
            captured = capture(STEPS[step](p | read(path, **how)))
    except (HeadraceError, TypeError) as error:
        return type(error), str(error)
    return sorted(repr((e.value, e.timestamp, e.windows, e.pane)) for e in captured.elements)


def results_of_elements(*args, **how):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TypedFiles, "records", None)
        return results(*args, **how)


forms = pytest.mark.parametrize("form", ["csv", "json"])


@forms
@settings(max_examples=60)
@given(found=files | changed, step=st.sampled_from(sorted(STEPS)))
def test_results_are_those_of_elements(tmp_path_factory, form, found, step):
    path = write(tmp_path_factory.getbasetemp(), form, found)
    assert results(path, step) == results_of_elements(path, step)


ROWS = [
    {"time": n, "key": "ab"[n % 2], "whole": n, "part": n / 2, "good": True, "day": "2013-01-01"}
    for n in range(10)
]


@forms
@pytest.mark.parametrize("step", STEPS)
def test_streaming(tmp_path, form, step):
    argv = ["--streaming", "--max-records-per-batch=3"]
    path, how = write(tmp_path, form, ROWS), {"watermark": hr.BoundedOutOfOrderness(0)}
    found = results(path, step, argv, **how)
    assert isinstance(found, list)
    assert found == results_of_elements(path, step, argv, **how)


def tables(path, *args, **how):
    """Return whether each bundle of a file is a table."""
    files = read(path, *args, **how).files
    assert files.records is not None
    found = [bundle for part in files.partitions() for bundle in files.read_tables(part)]
    return [isinstance(bundle, TableBundle) for bundle in found]


@forms
def test_bundles_are_tables(tmp_path, form):
    path = write(tmp_path, form, ROWS)
    assert tables(path) == [True]
    assert tables(path, None) == [True]


@forms
def test_chunks_of_large_integers_are_elements(tmp_path, form):
    path = write(tmp_path, form, [*ROWS * 410, {**ROWS[0], "whole": 2**63}, *ROWS * 410])
    assert tables(path) == [True, False, True]
    assert results(path, "count") == results_of_elements(path, "count")


def test_chunks_of_text_that_is_not_unicode_are_elements(tmp_path):
    path = write(tmp_path, "json", [{**ROWS[0], "key": "\ud800"}])
    assert tables(path) == [False]


@forms
def test_only_needed_fields_become_columns(tmp_path, form, monkeypatch):
    path, columns = write(tmp_path, form, ROWS), []
    table = TypedFiles._table

    def noted(files, chunk):
        made = table(files, chunk)
        assert made is not None
        columns.append(made.table.column_names)
        return made

    monkeypatch.setattr(TypedFiles, "_table", noted)
    assert len(results(path, "count")) == 2
    assert columns == [["key", "whole"]]


@pytest.mark.parametrize(
    ("form", "how", "why"),
    [
        ("csv", {"schema": {**KINDS, "part": Decimal}}, "values of the type Decimal in 'part'"),
        ("json", {"schema": {**KINDS, "part": object}}, "values of the type object in 'part'"),
        ("csv", {"timestamp": attrgetter("time")}, "a function of them gives the timestamps"),
    ],
)
def test_the_plan_says_why_records_stay_elements(tmp_path, form, how, why):
    path = write(tmp_path, form, ROWS)
    p = hr.Pipeline()
    records = p | "Read" >> read(path, **how)
    _ = records | "Keys" >> hr.Select("key") | hr.Map(print)
    assert with_tables(plan(p.graph), Execution.BATCH).works_on == {}
    _ = records | "Some" >> hr.Filter(WHOLE)
    found = dict(with_tables(plan(p.graph), Execution.BATCH).works_on)
    assert found.pop("Read").startswith("elements, because ")
    assert why in hr.explain(p)
    assert found == {"Some": "columns that are made of the elements of each bundle"}

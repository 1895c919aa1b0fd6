"""FromChangelog: diffs, rows with diffs, and retractions of what was never added."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture


def changes(elements: Any, *transforms: Any, **how: Any) -> list[tuple[int, Any, float]]:
    with TestPipeline() as p:
        source = elements if isinstance(elements, TestStream) else hr.Create(elements)
        found = capture(p | source | hr.FromChangelog(**how))
    return [(e.diff, e.value, float(e.timestamp)) for e in found.elements]


def pair(diff: int, value: Any, at: float = 0) -> hr.TimestampedValue[Any]:
    return hr.TimestampedValue((diff, value), at)


def apart(elements: Any) -> list[Any]:
    """Without timestamps."""
    return sorted(element[:2] for element in elements)


def test_pairs_become_values_and_retractions() -> None:
    assert changes([pair(1, "a", 3), pair(-1, "a", 3)]) == [(1, "a", 3), (-1, "a", 3)]


def test_it_undoes_a_changelog_of_a_grouping() -> None:
    stream = (
        TestStream()
        .add_elements([hr.TimestampedValue(("k", 1), 1)])
        .add_elements([hr.TimestampedValue(("k", 2), 2)])
        .advance_watermark_to_infinity()
    )
    with TestPipeline() as p:
        panes = (
            p
            | stream
            | hr.WindowInto(
                hr.window.FixedWindows(10),
                trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
                accumulation_mode=hr.trigger.AccumulationMode.RETRACTING,
            )
            | hr.CombinePerKey(sum)
        )
        log = panes | hr.ToChangelog() | "all" >> hr.WindowInto(hr.window.GlobalWindows())
        before, after = capture(panes, "before"), capture(log | hr.FromChangelog(), "after")
    seen = [[(e.diff, e.value, e.timestamp) for e in c.elements] for c in (before, after)]
    assert seen[0] == seen[1]
    assert [diff for diff, *_ in seen[0]] == [1, -1, 1]


def test_a_diff_is_a_number_of_values() -> None:
    assert apart(changes([(2, "a"), (-1, "a"), (0, "b")])) == [(-1, "a"), (1, "a"), (1, "a")]


@pytest.mark.parametrize("row", [{"n": 1, "diff": 1}, hr.Row(n=1, diff=1)])
def test_a_row_loses_its_diff(row: Any) -> None:
    (change,) = changes([row], diff_column="diff")
    assert change[1] == ({"n": 1} if isinstance(row, dict) else hr.Row(n=1))


def test_the_time_is_that_of_the_value() -> None:
    stream = TestStream().add_elements([pair(1, {"at": 3}, 50)])
    stream = stream.add_elements([pair(-1, {"at": 3}, 90)]).advance_watermark_to_infinity()
    assert changes(stream, timestamp="at") == [(1, {"at": 3}, 3), (-1, {"at": 3}, 3)]


@pytest.mark.parametrize("bad", [(True, "a"), ("+", "a"), "a", (1.0, "a"), {"diff": 1}])
def test_a_diff_is_a_whole_number(bad: Any) -> None:
    with pytest.raises(hr.ElementError, match=r"whole number|pair"):
        changes([bad])


def test_a_row_has_the_column() -> None:
    with pytest.raises(hr.ElementError, match="no column 'op'"):
        changes([{"n": 1}], diff_column="op")
    with pytest.raises(hr.ElementError, match="no named fields"):
        changes([7], diff_column="op")


# Retractions without a value


def test_an_unmatched_retraction_is_an_error_with_its_place() -> None:
    with pytest.raises(hr.ElementError, match="the retraction of 'a'") as caught:
        changes([(-1, "a")])
    assert "in FromChangelog/Match" in caught.value.__notes__
    assert "on_unmatched" in caught.value.remedy


def test_a_second_retraction_is_unmatched() -> None:
    with pytest.raises(hr.ElementError, match="has no value"):
        changes([(1, "a"), (-1, "a"), (-1, "a")])


def test_a_retraction_at_another_time_is_unmatched() -> None:
    with pytest.raises(hr.ElementError, match="with this timestamp"):
        changes([pair(1, "a", 3), pair(-1, "a", 4)])


def letters(elements: Any) -> tuple[list[Any], list[Any]]:
    with TestPipeline() as p:
        source = elements if isinstance(elements, TestStream) else hr.Create(elements)
        good, bad = p | source | hr.FromChangelog(on_unmatched="dead_letter")
        found = capture(good, "good"), capture(bad, "bad")
    return (
        sorted((e.diff, e.value) for e in found[0].elements),
        [(e.value[0], e.value[1][0], float(e.timestamp)) for e in found[1].elements],
    )


def test_unmatched_and_malformed_elements_are_dead_letters() -> None:
    good, bad = letters([pair(1, "a", 3), pair(-1, "b", 5), hr.TimestampedValue("c", 6)])
    assert good == [(1, "a")]
    assert sorted(bad, key=str) == [("c", hr.ElementError, 6), ((-1, "b"), hr.ElementError, 5)]


def test_a_retraction_waits_for_its_value_until_the_watermark_has_passed() -> None:
    def between(watermark: float) -> TestStream:
        early = TestStream().add_elements([pair(-1, "a", 5)]).advance_watermark_to(watermark)
        return early.add_elements([pair(1, "a", 5)]).advance_watermark_to_infinity()

    assert letters(between(5)) == ([], [])
    good, bad = letters(between(6))
    assert (good, bad) == ([(1, "a")], [((-1, "a"), hr.ElementError, 5)])


def test_all_pass_unchecked() -> None:
    assert apart(changes([(-1, "a"), (-1, "a")], on_unmatched="pass")) == [(-1, "a"), (-1, "a")]


def test_late_changes_are_dropped_together() -> None:
    stream = TestStream().advance_watermark_to(100).add_elements([pair(1, "a", 90)])
    stream = stream.advance_watermark_to(101).add_elements([pair(-1, "a", 90), pair(1, "b", 91)])
    found = changes(stream.advance_watermark_to_infinity(), allowed_lateness=10)
    assert found == [(1, "a", 90), (1, "b", 91)]


def test_its_arguments_are_checked() -> None:
    for wrong in ({"on_unmatched": "no"}, {"diff_column": 3}, {"allowed_lateness": -1}):
        with pytest.raises(hr.PipelineError):
            hr.FromChangelog(**wrong)  # type: ignore[arg-type]
    with pytest.raises(hr.PipelineError, match="window of its row"), TestPipeline() as p:
        p | hr.Create([(1, "a")]) | hr.WindowInto(hr.window.FixedWindows(1)) | hr.FromChangelog()
    with (
        pytest.raises(hr.PipelineError, match="itself can contain retractions"),
        TestPipeline() as p,
    ):
        p | hr.Create([(1, (1, 2))]) | hr.FromChangelog() | "again" >> hr.FromChangelog()


def test_a_grouping_that_would_drop_retractions_is_refused() -> None:
    stream = TestStream().add_elements([pair(1, ("a", 1))])
    fixed = hr.WindowInto(hr.window.FixedWindows(10))
    p = hr.Pipeline()
    rows = p | stream | hr.FromChangelog() | "any" >> fixed
    with pytest.raises(hr.PipelineError, match="late without a limit"):
        rows | hr.GroupByKey()
    rows = p | "s" >> stream | "to" >> hr.FromChangelog(allowed_lateness=60) | "60 s" >> fixed
    with pytest.raises(hr.PipelineError, match="60 s late"):
        rows | "group" >> hr.GroupByKey()


def test_the_global_window_takes_any_retraction_and_passes_the_lateness_on() -> None:
    p = hr.Pipeline()
    stream = TestStream().add_elements([pair(1, ("a", 1))]).advance_watermark_to_infinity()
    sums = p | stream | hr.FromChangelog() | hr.CombinePerKey(sum)
    later = sums | hr.WithTimestamps(lambda row: 0) | hr.WindowInto(hr.window.FixedWindows(10))
    with pytest.raises(hr.PipelineError, match="late without a limit"):
        later | hr.GroupByKey()


@pytest.mark.parametrize("form", ["Csv", "Json", "Parquet"])
def test_files_with_a_diff_column_are_read_back(form: str, tmp_path: Path) -> None:
    """Also if a retraction is in a file that is read before that of its value."""
    upserts = hr.Create([("ann", 1), ("bob", 2), ("ann", 3), ("bob", None)])
    with hr.Pipeline(argv=["--streaming", "--max-records-per-batch=1"]) as p:
        rows = p | upserts | hr.FromUpserts() | hr.MapTuple(lambda k, v: hr.Row(k=k, v=v))
        rows | getattr(hr.io, f"WriteTo{form}")(tmp_path / "log", diff_column="diff")
    assert len(list(tmp_path.glob("log*"))) > 1
    found = changes_of(getattr(hr.io, f"ReadFrom{form}")(tmp_path / "log*"))
    net = Counter[Any]()
    for diff, row in found:
        net[tuple(row.items())] += diff
    assert +net == {(("k", "ann"), ("v", 3)): 1}
    assert -net == {}


def changes_of(read: Any) -> list[tuple[int, dict[str, Any]]]:
    with TestPipeline() as p:
        found = capture(p | read | hr.FromChangelog(diff_column="diff"))
    return [(e.diff, dict(getattr(e.value, "__dict__", e.value))) for e in found.elements]

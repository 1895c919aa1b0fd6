"""hr.show: the elements of a collection as a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import attrs
import pytest

import headrace as hr
from headrace.io import Batch, UnboundedSource
from headrace.sdk.metrics.observer import RunObserver
from headrace.testing import TestStream
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows


def never(element: object) -> Any:
    raise AssertionError("a step ran that is not needed")


def lines(text: str) -> str:
    return dedent(text).strip()


def test_pairs_have_columns_for_key_and_value() -> None:
    p = hr.Pipeline()
    delays = [hr.TimestampedValue(("EWR", 7), 10), hr.TimestampedValue(("LaGuardia", 12.5), 70)]
    windowed = p | hr.Create(delays) | hr.WindowInto(FixedWindows(60))
    assert str(hr.show(windowed)) == lines("""
        key        value  timestamp             window                                        pane  diff
        ---------  -----  --------------------  --------------------------------------------  ----  ----
        EWR            7  1970-01-01T00:00:10Z  [1970-01-01T00:00:00Z, 1970-01-01T00:01:00Z)  -       +1
        LaGuardia   12.5  1970-01-01T00:01:10Z  [1970-01-01T00:01:00Z, 1970-01-01T00:02:00Z)  -       +1
        """)


class Flight(NamedTuple):
    origin: str
    delay: int | None


@attrs.frozen
class Airport:
    code: str


HEADERS: list[tuple[list[Any], list[str]]] = [
    ([hr.Row(a=1, b="x"), hr.Row(a=2, b="y")], ["a", "b"]),
    ([Flight("EWR", None)], ["origin", "delay"]),
    ([Airport("EWR")], ["code"]),
    ([{"a": 1}, {"a": 2}], ["a"]),
    ([hr.Row(a=1), hr.Row(b=2)], ["value"]),
    ([("a", 1), ("b", 2, 3)], ["value"]),
    ([1, ("a", 1)], ["value"]),
]


@pytest.mark.parametrize(("values", "header"), HEADERS)
def test_records_have_a_column_for_each_field(values: list[Any], header: list[str]) -> None:
    table = hr.show(hr.Pipeline() | hr.Create(values))
    assert str(table).split("\n")[0].split() == [*header, "timestamp", "window", "pane", "diff"]
    assert table.values == values


def test_panes_and_retractions_are_in_the_order_of_emission() -> None:
    stream = TestStream().add_elements([hr.TimestampedValue(("a", 1), 1)])
    stream = stream.add_elements([hr.TimestampedValue(("a", 2), 2)])
    windows = hr.WindowInto(
        FixedWindows(60),
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    read = hr.Pipeline() | stream.advance_watermark_to_infinity()
    summed = read | windows | hr.CombinePerKey(sum)
    rows = [line.split() for line in str(hr.show(summed)).split("\n")[2:]]
    assert [(row[1], *row[-3:]) for row in rows] == [
        ("1", "EARLY", "0", "+1"),
        ("1", "EARLY", "0", "-1"),
        ("3", "EARLY", "1", "+1"),
        ("3", "EARLY", "1", "-1"),
        ("3", "ON_TIME", "2", "+1"),
    ]


def test_a_long_table_is_cut() -> None:
    p = hr.Pipeline()
    many = p | hr.Create(range(1500))
    table = hr.show(many)
    assert table.values == list(range(20))
    assert str(table).endswith("\nand 1,480 more elements")
    assert "and 1,480 more elements" in table._repr_html_()
    assert hr.show(many, n=1499).more == 1
    assert len(hr.show(many, n=None).values) == 1500
    with pytest.raises(hr.PipelineError, match="n must be at least 1"):
        hr.show(many, n=0)


def test_an_empty_collection_says_so() -> None:
    none = hr.Pipeline() | hr.Create([1]) | "None" >> hr.Filter(lambda n: n > 1)
    assert repr(hr.show(none)) == "PCollection[None] has no elements"
    assert "has no elements" in hr.show(none)._repr_html_()


def test_a_cell_is_one_line_of_limited_length() -> None:
    values = hr.Pipeline() | hr.Create(["a\nb", "x" * 100, list(range(1000)), None])
    _, _, *rows = str(hr.show(values)).split("\n")
    cells = [row.split("  ")[0] for row in rows]
    assert cells == ["'a\\nb'", "x" * 59 + "…", "[0, 1, 2, 3, ...]", "None"]


def test_a_table_in_a_notebook_is_escaped() -> None:
    page = hr.show(hr.Pipeline() | hr.Create([("<b>", 1)]))._repr_html_()
    assert '<td>&lt;b&gt;</td><td class="number">1</td>' in page
    assert "<b>" not in page


# ------------------------------------------------------------------------------------ what runs, and what not


def test_only_the_steps_before_the_collection_run(tmp_path: Path) -> None:
    p = hr.Pipeline()
    read = p | "Read" >> hr.Create([1, 2])
    shared = p | "Side" >> hr.Create([10])
    _ = read | "Beside" >> hr.Map(never)
    added = read | "Add" >> hr.Map(lambda n, more: n + more, hr.pvalue.AsSingleton(shared))
    _ = added | "After" >> hr.Map(never)
    _ = added | "Text" >> hr.Map(str) | "Write" >> hr.io.WriteToText(str(tmp_path / "out"))
    assert sorted(hr.show(added).values) == [11, 12]
    assert list(tmp_path.iterdir()) == []


def test_the_pipeline_can_be_built_further_and_run() -> None:
    seen: list[int] = []
    p = hr.Pipeline()
    numbers = p | hr.Create([1, 2])
    before = p.graph
    assert hr.show(numbers).values == hr.show(numbers).values == [1, 2]
    assert p.graph == before
    assert p.result is None
    _ = numbers | hr.Map(seen.append)
    p.run()
    assert seen == [1, 2]
    assert hr.show(numbers).values == [1, 2]


def test_it_runs_on_the_local_runner_and_tells_no_observer() -> None:
    class Observer(RunObserver):
        def start(self, run: object) -> None:
            raise AssertionError("observed")

    options = hr.options.PipelineOptions([], observers=[Observer()], progress=True)
    p = hr.Pipeline(runner="spark", options=options)
    assert hr.show(p | hr.Create([1])).values == [1]


def test_it_runs_in_the_mode_of_the_pipeline() -> None:
    def panes(*flags: str) -> int:
        p = hr.Pipeline(argv=["--max-records-per-batch=1", *flags])
        windows = hr.WindowInto(
            FixedWindows(60),
            trigger=AfterWatermark(early=AfterCount(1)),
            accumulation_mode=AccumulationMode.DISCARDING,
        )
        at = [hr.TimestampedValue(("a", n), n) for n in range(3)]
        return len(hr.show(p | hr.Create(at) | windows | hr.CombinePerKey(sum)).values)

    assert panes("--streaming") > panes()


class Letters(UnboundedSource[str]):
    """Has two letters now, and never ends."""

    def read(self, partition: Any, offset: int | None, limit: int) -> Batch[str]:
        start = offset or 0
        letters = ["a", "b"][start : start + limit]
        return Batch(letters, next_offset=start + len(letters))


def test_an_unbounded_source_is_refused_or_read_until_caught_up() -> None:
    letters = hr.Pipeline() | hr.Read(Letters())
    with pytest.raises(hr.PipelineError, match="unbounded source") as refused:
        hr.show(letters)
    assert "until_caught_up=True" in str(refused.value)
    assert hr.show(letters, until_caught_up=True).values == ["a", "b"]
    by_flag = hr.Pipeline(argv=["--until-caught-up"]) | hr.Read(Letters())
    assert hr.show(by_flag).values == ["a", "b"]


def test_an_unbounded_source_elsewhere_does_not_matter() -> None:
    p = hr.Pipeline()
    _ = p | "Unbounded" >> hr.Read(Letters())
    assert hr.show(p | hr.Create([1])).values == [1]


def test_an_error_of_a_step_is_that_of_a_run() -> None:
    failing = hr.Pipeline() | hr.Create([0]) | "Divide" >> hr.Map(lambda n: 1 // n)
    with pytest.raises(ZeroDivisionError) as raised:
        hr.show(failing)
    assert "in Divide" in raised.value.__notes__


WRONG: list[tuple[Callable[[hr.Pipeline], Any], str]] = [
    (lambda p: p, "hr.show shows a collection, not"),
    (lambda p: (p | hr.Create([1]), p), "of several outputs, pass one"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_only_collections_can_be_shown(make: Callable[[hr.Pipeline], Any], message: str) -> None:
    with pytest.raises(hr.PipelineError) as refused:
        hr.show(make(hr.Pipeline()))
    assert message in str(refused.value)


def test_a_collection_whose_step_was_taken_back_cannot_be_shown() -> None:
    class Broken(hr.PTransform[Any, Any]):
        def expand(self, pcoll: Any) -> Any:
            self.inner = pcoll | hr.Map(str)
            raise ValueError("half way")

    broken, p = Broken(), hr.Pipeline()
    with pytest.raises(ValueError, match="half way"):
        _ = p | hr.Create([1]) | broken
    with pytest.raises(hr.PipelineError, match="not in the pipeline"):
        hr.show(broken.inner)


def retracted_sums() -> hr.PCollection[Any]:
    """Sums with an early pane for each of two keys, the first of which is retracted."""
    early = hr.WindowInto(
        FixedWindows(60),
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    stream = TestStream().add_elements([("a", 1)]).add_elements([("a", 2), ("b", 5)])
    return hr.Pipeline() | stream.advance_watermark_to_infinity() | early | hr.CombinePerKey(sum)


def test_a_net_table_has_only_what_stands() -> None:
    sums = retracted_sums()
    found = hr.show(sums, net=True)
    assert sorted(found.values) == [("a", 3), ("b", 5)]
    assert len(hr.show(sums).values) > 2
    assert all(element.diff == 1 for element in found.elements)


def test_a_net_table_counts_what_stands() -> None:
    found = hr.show(retracted_sums(), n=1, net=True)
    assert (len(found.values), found.more) == (1, 1)
    assert "and 1 more element" in str(found)

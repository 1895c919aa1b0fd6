"""ParDo nodes on whole bundles: which columns are made anew, and which are shared."""

import pickle
from itertools import repeat

import pytest

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.sdk.pipelines.graph import ParDo
from headrace.triggers.pane import NO_FIRING
from headrace.windowing import IntervalWindow, TimestampedValue
from headrace.windowing.window import GLOBAL_WINDOW

ONE, OTHER = IntervalWindow(0, 10), IntervalWindow(10, 20)


def invoker(transform):
    p = hr.Pipeline()
    _ = p | hr.Create([1]) | transform
    node = p.graph.nodes[-1]
    assert isinstance(node, ParDo)
    made = ParDoInvoker(node)
    made.setup()
    made.start_bundle()
    return made


def main(transform, bundle):
    return invoker(transform).process(bundle)["main"]


@pytest.fixture
def bundle():
    return Bundle(
        values=[1, 2, 3],
        timestamps=[10, 20, 30],
        windows=[(ONE,), (ONE, OTHER), (OTHER,)],
        diffs=[1, -1, 1],
    )


def rows(bundle):
    return [(row.value, row.timestamp, row.windows, row.diff) for row in bundle.rows()]


def test_map_shares_all_columns_but_the_values(bundle) -> None:
    out = main(hr.Map(str), bundle)
    assert out.values == ["1", "2", "3"]
    assert out.timestamps is bundle.timestamps
    assert out.windows is bundle.windows
    assert out.panes is bundle.panes
    assert out.diffs is bundle.diffs


def test_one_output_for_each_element_shares_columns_too(bundle) -> None:
    assert main(hr.FlatMap(lambda x: [x]), bundle).timestamps is bundle.timestamps


def test_filter_takes_rows_out_of_all_columns(bundle) -> None:
    out = main(hr.Filter(lambda x: x != 2), bundle)
    assert rows(out) == [(1, 10, (ONE,), 1), (3, 30, (OTHER,), 1)]


@pytest.mark.parametrize("times", [[2, 2, 2], [2, 0, 1], [0, 0, 0]])
def test_outputs_of_an_element_have_its_time_windows_and_diff(bundle, times) -> None:
    out = main(hr.FlatMap(lambda x: ["a"] * times[x - 1]), bundle)
    expected = [
        ("a", row.timestamp, row.windows, row.diff)
        for row, number in zip(bundle.rows(), times, strict=True)
        for _ in range(number)
    ]
    assert rows(out) == expected


def test_a_column_of_one_value_stays_one(bundle) -> None:
    plain = Bundle([1, 2])
    for transform in (hr.Map(str), hr.FlatMap(lambda x: range(x)), hr.Filter(bool)):
        out = main(transform, plain)
        assert isinstance(out.timestamps, repeat)
        assert isinstance(out.windows, repeat)


def test_a_retraction_gives_out_retractions(bundle) -> None:
    def times(x, diff=hr.DoFn.DiffParam):
        return x, diff

    out = main(hr.Map(times), bundle)
    assert out.values == [(1, 1), (2, -1), (3, 1)]
    assert out.diffs == [1, -1, 1]


def test_a_changelog_retracts_nothing(bundle) -> None:
    out = main(hr.ToChangelog(), bundle)
    assert out.values == [(1, 1), (-1, 2), (1, 3)]
    assert next(iter(out.diffs)) == 1
    assert isinstance(out.diffs, repeat)
    assert out.timestamps is bundle.timestamps


def test_an_element_of_two_windows_is_processed_in_each(bundle) -> None:
    out = main(hr.Map(lambda x, w=hr.DoFn.WindowParam: (x, w)), bundle)  # type: ignore[arg-type, misc]
    assert rows(out) == [
        ((1, ONE), 10, (ONE,), 1),
        ((2, ONE), 20, (ONE,), -1),
        ((2, OTHER), 20, (OTHER,), -1),
        ((3, OTHER), 30, (OTHER,), 1),
    ]


def test_a_bundle_that_lies_in_two_windows_is_processed_in_each() -> None:
    both = Bundle(["a", "b"], windows=repeat((ONE, OTHER)))
    out = main(hr.Map(lambda x, w=hr.DoFn.WindowParam: (x, w)), both)  # type: ignore[arg-type, misc]
    assert out.values == [("a", ONE), ("a", OTHER), ("b", ONE), ("b", OTHER)]


def test_tagged_rows_take_their_cells_along(bundle) -> None:
    def sort(x):
        tagged = hr.TaggedOutput("odd", TimestampedValue(x, 7) if x == 3 else x)
        return tagged if x % 2 else x

    out = invoker(hr.Map(sort).with_outputs("odd", main="even")).process(bundle)
    assert rows(out["main"]) == [(2, 20, (ONE, OTHER), -1)]
    assert rows(out["odd"]) == [(1, 10, (ONE,), 1), (3, 7_000_000, (GLOBAL_WINDOW,), 1)]


def test_panes_come_along_with_windowed_values(bundle) -> None:
    early = NO_FIRING._replace(index=3)

    def place(x):
        return hr.WindowedValue(x, 5, [ONE], early) if x == 1 else x

    out = main(hr.Map(place), bundle)
    assert list(out.panes) == [early, NO_FIRING, NO_FIRING]
    assert out.timestamps == [5_000_000, 20, 30]
    assert out.windows == [(ONE,), (ONE, OTHER), (OTHER,)]


def test_an_empty_bundle() -> None:
    for transform in (hr.Map(str), hr.FlatMap(range), hr.Filter(bool), hr.WithTimestamps(int)):
        assert main(transform, Bundle([])).values == []


@pytest.mark.parametrize(
    "transform",
    [
        hr.Map(str),
        hr.Map(round, ndigits=1),
        hr.MapTuple(pow),
        hr.Keys(),
        hr.WithKeys(str),
        hr.Partition(divmod, 3),
        hr.GroupBy("real").aggregate_field("imag", sum, "sum"),
        hr.Distinct(),
        hr.CombineGlobally(sum),
        hr.combiners.Top.Largest(3),
        hr.combiners.Sample.FixedSizeGlobally(3),
        hr.combiners.Latest.Globally(),
    ],
    ids=repr,
)
def test_what_has_to_travel_to_workers_can(transform) -> None:
    p = hr.Pipeline()
    _ = p | hr.Create([("a", 1)]) | transform
    for node in p.graph:
        for part in ("fn", "combine_fn", "source"):
            pickle.loads(pickle.dumps(getattr(node, part, None)))

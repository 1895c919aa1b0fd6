"""The picture of a grouping has a mark for each element, pane and window, also where there are very many."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import vl_convert

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.metrics.run_records import (
    ElementRecord,
    PaneRecord,
    Round,
    RunOutline,
    Samples,
    StepOutline,
)
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.drawing.charts import charts_of, over_time, pictures, theme
from headrace.sdk.observing.drawing.layers import LINE_STYLES, RINGS
from headrace.sdk.observing.drawing.legend import EXPLAINED_WIDTH, MEANINGS, WINDOW_MARK
from headrace.sdk.observing.drawing.marks import marks_of
from headrace.sdk.observing.drawing.picture import picture
from headrace.sdk.observing.drawing.scales import axes_of, time_axis
from headrace.sdk.observing.drawing.theme import DARK, dark_rules
from headrace.sdk.observing.history import History, SeenElement, SeenPane
from headrace.testing import TestPipeline, TestStream, capture
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.time.units import DAY, HOUR, SECOND
from headrace.windowing.window import GLOBAL_WINDOW
from tests.model.figures import Case, cases
from tests.model.test_figures import stream, windowing

FOURTEEN = next(case for case in cases() if case.name == "dataflow_model: 14")


def run(case: Case) -> History:
    """The history of a published run."""
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        _ = p | stream(case) | windowing(case) | "sum" >> hr.CombinePerKey(sum)
    return history


def data(spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return spec["datasets"].get(name, [])


@pytest.mark.parametrize("case", cases(), ids=str)
def test_each_figure_has_a_mark_for_each_element_and_pane(case: Case) -> None:
    (chart,) = pictures(run(case))
    lines = Counter(pane.diff for pane in case.panes)
    assert len(data(chart.spec, "panes")) == lines[1]
    assert len(data(chart.spec, "retractions")) == lines[-1]
    assert len(data(chart.spec, "windows")) == len({pane.window for pane in case.panes})
    assert len(data(chart.spec, "elements")) == sum(
        len(w) for k, w in case.script if k == "elements"
    )


def test_figure_14_has_the_published_values_and_one_late_element() -> None:
    (chart,) = pictures(run(FOURTEEN))
    texts = [(row["text"], row["kind"]) for row in data(chart.spec, "panes")]
    assert texts == [
        ("5", "on-time pane"),
        ("7", "early pane"),
        ("10", "early pane"),
        ("25", "on-time pane"),
        ("3", "early pane"),
        ("39", "late pane"),
        ("12", "early pane"),
    ]
    assert [row["text"] for row in data(chart.spec, "retractions")] == [
        "−7",
        "−10",
        "−5",
        "−25",
        "−3",
    ]
    late = [row["value"] for row in data(chart.spec, "elements") if row["kind"] == "late element"]
    assert late == ["9"]


def test_a_window_is_a_box_from_its_first_firing_up() -> None:
    (chart,) = pictures(run(FOURTEEN))
    panes = data(chart.spec, "panes") + data(chart.spec, "retractions")
    for box in data(chart.spec, "windows"):
        fired = [row["y"] for row in panes if (row["x"], row["x2"]) == (box["x"], box["x2"])]
        assert box["y"] == min(fired)
        assert box["y2"] > max(fired)


def test_the_watermark_is_a_step_line_that_never_goes_back() -> None:
    (chart,) = pictures(run(FOURTEEN))
    corners = [(row["x"], row["y"]) for row in data(chart.spec, "watermark")]
    assert len(corners) > 10
    for (x, y), (next_x, next_y) in pairwise(corners):
        assert (x == next_x) != (y == next_y)
        assert next_x >= x
        assert next_y >= y


# ------------------------------------------------------------------------------ unusual times


def seen_pane(
    start: int, end: int, now: int = 70 * SECOND, value: Any = 5, diff: int = 1
) -> SeenPane:
    return SeenPane(now, PaneRecord("k", value, end - 1, start, end, "ON_TIME", 0, diff))


def test_the_global_window_is_as_wide_as_the_elements() -> None:
    elements = [
        SeenElement(at, ElementRecord("k", 1, at, 1), False) for at in (10 * SECOND, 50 * SECOND)
    ]
    marks = marks_of(elements, [seen_pane(*GLOBAL_WINDOW[:2])], [(0, MIN_MICROS), (70, MAX_MICROS)])
    [box] = marks.boxes
    assert (box.start, box.end) == marks.event_time
    assert 0 < marks.event_time[0] < 10 * SECOND
    assert 50 * SECOND < marks.event_time[1] < 60 * SECOND


@pytest.mark.parametrize("panes", [[], [seen_pane(*GLOBAL_WINDOW[:2])]], ids=["none", "global"])
def test_there_is_a_picture_of_nearly_nothing(panes: list[SeenPane]) -> None:
    first, last = marks_of([], panes).event_time
    assert -HOUR < first < last < HOUR


def test_a_replay_of_old_data_counts_processing_time_from_its_start() -> None:
    event, processing = axes_of((0, DAY), (20_000 * DAY, 20_000 * DAY + 90 * SECOND))
    assert (event.type, processing.type) == ("temporal", "quantitative")
    assert processing.domain == [0, 90]
    assert processing.title == "processing time in s"


def test_ticks_of_an_axis_differ_as_text() -> None:
    for length in (
        5 * SECOND,
        90 * SECOND,
        10 * 60 * SECOND,
        5 * HOUR,
        3 * DAY,
        60 * DAY,
        900 * DAY,
    ):
        axis = time_axis("event time", (15_000 * DAY, 15_000 * DAY + length))
        properties = axis.axis()
        values = properties.get("values", range(6))
        assert 2 <= len(values) <= 10
        assert ("%S" in properties.get("format", "")) == (length < 4 * 60 * SECOND)


# ------------------------------------------------------------------------------ large runs


def long_run(windows: int, keys: str = "ab") -> History:
    """A run with a window per hour, each with an early and an on-time pane."""
    history = History()
    steps = (StepOutline("Read", "Read", ()), StepOutline("Sum", "Combine", ("Read",), groups=True))
    history.start(RunOutline("run", "job", "local", True, 0, steps))
    for n in range(windows):
        now, start = n * HOUR, n * HOUR
        elements = [ElementRecord(key, n, start, 1) for key in keys for _ in range(10)]
        panes = [
            PaneRecord(key, f"<b>{n}</b>" * 9, start, start, start + HOUR, timing, 0, 1)
            for key in keys
            for timing in ("EARLY", "ON_TIME")
        ]
        metrics = {"Sum": StepMetrics(20, 40, panes=Counter(EARLY=2, ON_TIME=2), watermark=now)}
        metrics["Read"] = StepMetrics(0, 20, watermark=start)
        history.round(Round(n, now, metrics, {"Sum": n}, {"Sum": Samples(elements, panes)}, None))  # type: ignore[arg-type]
    history.end("DONE")
    return history


@pytest.mark.slow
def test_a_long_run_is_drawn_in_stretches_of_neighbouring_windows() -> None:
    charts = pictures(long_run(3_000), all_parts=True)
    assert [(chart.key, chart.part) for chart in charts] == [
        (key, part)
        for key in "ab"
        for part in ("windows with most firings", "first windows", "last windows")
    ]
    for chart in charts:
        starts = sorted({row["x"] for row in data(chart.spec, "windows")})
        assert len(starts) >= 24
        assert {after - before for before, after in pairwise(starts)} == {HOUR // 1000}
    last = data(charts[2].spec, "windows")
    assert max(row["x2"] for row in last) == 3_000 * HOUR // 1000


def test_charts_over_time_add_up_to_the_run() -> None:
    charts = {chart.title: chart.spec for chart in over_time(long_run(900))}
    panes: Counter[str] = Counter()
    for row in data(charts["Panes by timing"], "series"):
        panes[row["series"]] += row["number"]
    assert panes == {"early pane": 1800, "on-time pane": 1800}
    assert len(charts) == 4


@pytest.mark.slow
def test_charts_of_a_very_long_run_are_small() -> None:
    charts = charts_of(long_run(20_000))
    assert sum(len(json.dumps(chart.spec)) for chart in charts) < 400_000


def test_values_without_room_are_left_out() -> None:
    (chart, *_) = pictures(long_run(200))
    rooms = Counter(row["room"] for row in data(chart.spec, "panes"))
    assert rooms[240] >= 5
    assert rooms[100_000] >= 5


# ------------------------------------------------------------------------------ in a notebook


def captured(windows: Any) -> tuple[Any, Any]:
    script = (
        TestStream()
        .advance_processing_time(10)
        .add_elements([hr.TimestampedValue(("ann", 5), 3), hr.TimestampedValue(("bob", 7), 8)])
        .advance_watermark_to(60)
        .advance_watermark_to_infinity()
    )
    with TestPipeline() as p:
        numbers = p | script
        elements = capture(numbers, "elements")
        panes = capture(numbers | hr.WindowInto(windows) | hr.CombinePerKey(sum), "panes")
    return panes, elements


def test_a_capture_is_drawn_by_key() -> None:
    panes, elements = captured(hr.window.FixedWindows(60))
    drawn = picture(panes, elements=elements, key="bob").to_dict()
    assert [row["text"] for row in drawn["datasets"]["panes"]] == ["7"]
    assert [row["text"] for row in drawn["datasets"]["elements"]] == ["7"]
    assert picture(panes).to_dict()["title"] == "ann"
    with pytest.raises(
        PipelineError, match="there are no panes of the key 'eve'; some keys are: ann, bob"
    ):
        picture(panes, key="eve")


def test_a_notebook_shows_a_picture() -> None:
    panes, _ = captured(hr.window.GlobalWindows())
    html = str(picture(panes)._repr_mimebundle_())
    assert "vegaEmbed" in html
    assert "on-time pane" in html


def test_a_history_is_drawn_by_label() -> None:
    history = run(FOURTEEN)
    assert picture(history).to_dict()["title"] == "sum: k"
    with pytest.raises(PipelineError, match="the run has no grouping 'product'"):
        picture(history, label="product")


# ------------------------------------------------------------------------------ colours


def luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_lines_and_texts_stand_out_from_the_background(dark: bool) -> None:
    themed = theme(dark)
    paper = themed["background"]
    assert all(contrast(color, paper) >= 3 for color in themed["range"]["category"])
    assert contrast(themed["text"]["color"], paper) >= 7
    assert contrast(themed["axis"]["labelColor"], paper) >= 4.5


def test_kinds_of_lines_differ_without_colour() -> None:
    chart = pictures(run(FOURTEEN))[0].spec
    encodings = (layer["encoding"] for layer in chart["layer"])
    scale = next(e["strokeDash"]["scale"] for e in encodings if "strokeDash" in e)
    dashes = dict(zip(scale["domain"], map(tuple, scale["range"]), strict=True))
    kinds = ("early pane", "on-time pane", "late pane", "retraction", "ideal watermark")
    assert len({dashes[kind] for kind in kinds}) == len(kinds)


def test_the_legend_explains_each_kind_of_mark() -> None:
    assert MEANINGS.keys() == {WINDOW_MARK, *LINE_STYLES, *RINGS}


@pytest.mark.slow
def test_the_legend_of_a_wide_picture_has_meanings_and_that_of_a_narrow_one_names() -> None:
    spec = {**pictures(run(FOURTEEN))[0].spec, "config": theme()}
    wide, narrow = (
        vl_convert.vegalite_to_svg({**spec, "width": w})
        for w in (EXPLAINED_WIDTH, EXPLAINED_WIDTH - 1)
    )
    texts = ("retracted: no longer valid", "late: after a late element", "window, from its first")
    assert all(f">{text}" in wide and f">{text}" not in narrow for text in texts)
    assert all(f">{name}<" in narrow for name in ("retraction", "late pane", "window"))


def test_dark_rules_replace_each_colour_that_has_a_dark_one() -> None:
    assert all(f'[fill="{old}"] {{fill: {new}}}' in dark_rules() for old, new in DARK.items())

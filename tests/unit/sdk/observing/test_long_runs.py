"""The report of a long run whose keys come and go: keys that live, batch time and lag, all in their boxes."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

import headrace as hr
from headrace.runners.engine import sampler
from headrace.sdk.metrics.run_records import ElementRecord
from headrace.sdk.observing.drawing.charts import over_time
from headrace.sdk.observing.drawing.graph_image import graph_svg
from headrace.sdk.observing.history import (
    FEW_RECORDS,
    KEPT_RECORDS,
    GroupingHistory,
    History,
    SeenElement,
)
from headrace.sdk.observing.live.plain_data import RunView, run_data
from headrace.sdk.observing.reports.report import chosen_keys
from headrace.testing import TestStream
from tests.unit.sdk.observing.chromium import Browser
from tests.unit.sdk.observing.test_report import SCREENSHOTS, opened, write

START = 1_790_000_000
"""Event and processing time of the start, in seconds since 1970."""

MINUTES = 20
TICK = 2
BIRTHS = 5
LIFE = 45
"""Seconds between two rounds, between the births of two keys, and from the birth of a key to its end."""

WINDOW = 10
DELAY = 5
"""Seconds that a window is long, and at most from its end to its last pane: a watermark delay and a round."""


def living(second: int) -> list[int]:
    """The numbers of the keys that live at a second of the run."""
    return [n for n in range(second // BIRTHS + 1) if second - LIFE <= n * BIRTHS <= second]


def comings_and_goings() -> TestStream:
    """Elements of twenty minutes; each key has some for 45 seconds, and one is always there."""
    script = TestStream().advance_watermark_to(START - 60).advance_processing_time(START)
    for second in range(0, MINUTES * 60, TICK):
        fields = [
            (f"order {n:03}", hr.Row(status="delivered", euros=second % 97)) for n in living(second)
        ]
        elements = [hr.TimestampedValue(pair, START + second) for pair in fields]
        script = script.add_elements(elements).advance_processing_time(TICK)
        script = script.advance_watermark_to(START + second + TICK - 3)
    return script.advance_watermark_to_infinity()


def build(p: hr.Pipeline) -> None:
    windows = hr.WindowInto(
        hr.window.FixedWindows(WINDOW),
        trigger=hr.trigger.AfterWatermark(early=hr.trigger.AfterCount(2)),
        accumulation_mode=hr.AccumulationMode.RETRACTING,
    )
    last = hr.combiners.Latest.PerKey()
    _ = (
        p
        | "Read the orders of all shops in the north" >> comings_and_goings()
        | windows
        | "The last status of each order that was changed" >> last
    )


@pytest.fixture(scope="module")
def history() -> History:
    """The history of twenty minutes, for whose samples there is time; each run samples the same keys."""
    found = History()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "ALLOWANCE", 1e6)
        patch.setattr(sampler, "hash", lambda key: crc32(str(key).encode()), raising=False)
        with hr.Pipeline("local", argv=[], observers=[found]) as p:
            build(p)
    return found


def records_of(history: History, key: str) -> int:
    (grouping,) = history.groupings.values()
    return sum(seen.element.key == key for seen in grouping.elements)


@pytest.mark.slow
def test_the_keys_of_a_report_live_or_have_many_elements(history: History) -> None:
    chosen, _ = chosen_keys(history)
    _, first = chosen[0]
    last_pane = int(first.removeprefix("order ")) * BIRTHS + LIFE + WINDOW + DELAY
    assert last_pane >= MINUTES * 60 * 9 // 10
    assert all(records_of(history, key) >= FEW_RECORDS for _, key in chosen)


@pytest.mark.slow
def test_keys_are_followed_during_all_the_run(history: History) -> None:
    (grouping,) = history.groupings.values()
    minutes = Counter((seen.now // 1_000_000 - START) // 60 for seen in grouping.elements)
    assert len(grouping.elements) <= KEPT_RECORDS
    assert all(minutes[minute] >= FEW_RECORDS for minute in range(MINUTES - 5, MINUTES))


def test_the_live_page_offers_a_key_that_lives_first(history: History) -> None:
    data = run_data(RunView(history, [], {}, []))
    (grouping,) = data["groupings"]
    assert grouping["keys"][0] == chosen_keys(history)[0][0][1]
    assert data["spans"][0]["longest"] > 0


@pytest.mark.slow
def test_keys_that_have_gone_make_room() -> None:
    grouping = GroupingHistory()
    number = itertools.count()
    for second in range(3 * KEPT_RECORDS):
        for n in living(second):
            element = ElementRecord(f"k{n}", next(number), second, 1)
            grouping.add([SeenElement(second * 1_000_000, element, late=False)], [])
    assert grouping.thinned
    assert len(grouping.elements) <= KEPT_RECORDS
    assert {f"k{n}" for n in living(3 * KEPT_RECORDS - 1)} <= set(grouping.keys)
    assert int(grouping.ranked()[0][1:]) * BIRTHS > 3 * KEPT_RECORDS - 2 * LIFE - 60


def test_keys_that_were_left_out_come_in_again_when_others_have_gone() -> None:
    grouping = GroupingHistory()

    def add(second: int, *keys: str) -> None:
        elements = [ElementRecord(key, 1, second, 1) for key in keys]
        grouping.add([SeenElement(second * 1_000_000, e, late=False) for e in elements], [])

    for second in range(1_000):
        add(second, "a", "b", "c", "d", "d", "a", "b", "c")
    assert len(grouping.keys) == 3
    (left_out,) = set("abcd") - set(grouping.keys)
    for second in range(1_000, 1_300):
        add(second, left_out)
    assert grouping.ranked()[0] == left_out


def test_batch_time_and_lag_are_drawn_over_time(history: History) -> None:
    charts = {chart.title: chart.spec for chart in over_time(history)}
    rows = charts["Batch time"]["datasets"]["series"]
    assert {row["series"] for row in rows} == {"mean", "longest"}
    assert all(row["y"] > 0 for row in rows)
    longest = max(span.longest for span in history.spans)
    assert max(row["y"] for row in rows) == pytest.approx(longest, rel=1e-3)
    lags = [row["y"] for row in charts["Lag of the watermark"]["datasets"]["series"]]
    assert 3 <= max(lags) <= 20


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_rounds_say_how_long_they_took(runner: Any) -> None:
    history = History()
    with hr.Pipeline(runner, argv=[], observers=[history]) as p:
        _ = p | TestStream().add_elements([1]).add_elements([2]).advance_watermark_to_infinity()
    assert sum(span.longest > 0 for span in history.spans) >= len(history.spans) - 1


# ------------------------------------------------------------------------------ in the browser

TOO_WIDE = """
[...document.querySelectorAll('svg.graph .box')].flatMap((box) => {
  const right = box.querySelector('rect').getBoundingClientRect().right;
  return [...box.querySelectorAll('text')]
    .filter((text) => text.getBoundingClientRect().right > right - 4)
    .map((text) => text.textContent);
})"""
"""The texts of the graph that are wider than their boxes."""

OUTSIDE = """
[...document.querySelectorAll('.chart svg')].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')]
    .filter((text) => text.textContent && getComputedStyle(text).opacity !== '0')
    .filter((text) => {
      const box = text.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1;
    })
    .map((text) => text.textContent);
})"""
"""The texts of the charts that run out of them."""

SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def report(history: History, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(history, tmp_path_factory.mktemp("report"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_no_text_runs_out_of_its_box(
    report: Path, browser: Browser, width: int, dark: bool
) -> None:
    page = opened(browser, report, width=width, dark=dark)
    page.screenshot(SCREENSHOTS / f"long-{width}-{'dark' if dark else 'light'}.png")
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(OUTSIDE) == []
    assert not page.evaluate(SIDEWAYS)


@pytest.mark.slow
def test_the_first_picture_has_many_panes_with_long_values(report: Path, browser: Browser) -> None:
    page = opened(browser, report)
    assert page.count("#picture .mark-rule.role-mark > line") >= 8
    texts = page.evaluate(
        "[...document.querySelectorAll('#picture .mark-text text')].map((one) => one.textContent)"
    )
    assert any("delivered" in text for text in texts)


def test_a_value_has_a_tooltip(report: Path, browser: Browser) -> None:
    page = opened(browser, report)
    x, y = page.evaluate(
        """(() => {
          const texts = [...document.querySelectorAll('#picture .mark-text text')];
          const value = texts.findLast((one) => one.textContent.includes('delivered'));
          value.scrollIntoView({ block: 'center' });
          const box = value.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()"""
    )
    page.point_at(x, y)
    page.wait_for("!!document.querySelector('#vg-tooltip-element.visible')")
    tip = page.evaluate("document.querySelector('#vg-tooltip-element').textContent")
    assert "delivered" in tip
    assert "window from" in tip


@pytest.mark.slow
def test_the_lines_of_the_graph_are_cut_and_wrapped() -> None:
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        build(p)
    for totals in history.totals.values():
        totals.elements_in = totals.elements_out = 123_456_789
        totals.panes = Counter(EARLY=98_765, ON_TIME=87_654, LATE=76_543)
        totals.retractions = totals.late_dropped = 65_432
    svg = graph_svg(history, 0.5)
    assert "…" in svg
    assert svg.count("98.8k early") == len(history.totals)

"""The parts of the live page without a server: snapshots, rates, lag and the last warnings."""

import logging

import headrace as hr
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.live.plain_data import lag, rates
from headrace.sdk.observing.live.recent_logs import KEPT_LOGS, RecentLogs
from headrace.sdk.observing.live.snapshot import first_moment, since, snapshot
from headrace.transforms.window import FixedWindows
from tests.unit.sdk.observing.served_runs import HOSTILE, SECOND, a_round, data, history_of


def test_a_snapshot_does_not_change_with_the_run():
    history = history_of(a_round(0))
    taken = snapshot(history)
    history.round(a_round(1))
    grouping = taken.groupings[HOSTILE]
    assert (len(taken.spans), taken.totals["Read"].elements_out) == (1, 1)
    assert (len(grouping.elements), len(grouping.panes)) == (1, 1)


def test_minutes_are_counted_from_the_last_round():
    history = history_of(*(a_round(n, n * 60 * SECOND) for n in range(10)))
    first = first_moment(history, 5)
    assert first == 4 * 60 * SECOND
    assert [span.end // SECOND for span in since(history, first).spans] == [
        240,
        300,
        360,
        420,
        480,
        540,
    ]
    assert len(since(history, first_moment(history, None)).spans) == 10


def test_rates_are_those_of_the_last_half_minute_and_at_the_end_of_the_whole_run():
    slow_then_fast = [a_round(n, n * 10 * SECOND, 10 if n < 8 else 100) for n in range(12)]
    history = history_of(*slow_then_fast)
    assert rates(history, "Read") == {"elements_in": 0, "elements_out": 10}
    history.end("DONE")
    assert rates(history, "Read") == {"elements_in": 0, "elements_out": (7 * 10 + 4 * 100) / 110}


def test_without_time_there_is_no_rate():
    assert rates(history_of(), "Read") is None
    assert rates(history_of(a_round(0)), "Read") is None


def test_the_lag_is_the_time_from_the_watermark_to_the_last_round():
    history = history_of(a_round(0, 60 * SECOND))
    assert lag(history, history.totals["Read"].watermark) == 3
    assert lag(history, StepMetrics().watermark) is None


def test_only_the_last_warnings_are_kept():
    logs = RecentLogs()
    logs.attach()
    logger = logging.getLogger("headrace.tests")
    for number in range(KEPT_LOGS + 5):
        logger.warning("%s", number)
    logger.info("no warning")
    logs.detach()
    logger.warning("after the run")
    found = [record.message for record in logs.records()]
    assert found == [str(number) for number in reversed(range(5, KEPT_LOGS + 5))]


def test_without_handlers_of_the_program_warnings_still_go_to_stderr(monkeypatch, capsys):
    monkeypatch.setattr(logging.root, "handlers", [])
    logs = RecentLogs()
    logs.attach()
    logging.getLogger("headrace.tests").warning("low water")
    logs.detach()
    assert capsys.readouterr().err == "low water\n"


def test_a_warning_has_the_step_and_window_of_the_function_that_logs_it(page):
    logger = logging.getLogger("headrace.tests")
    with hr.Pipeline(argv=[], observers=[page]) as p:
        sacks = p | hr.Create([hr.window.TimestampedValue("rye", 5)])
        _ = sacks | hr.WindowInto(FixedWindows(60)) | "Grind" >> hr.Map(logger.warning)
    [log] = data(page)["logs"]
    assert (log["message"], log["step"], log["window"]) == ("rye", "Grind", "[0.0, 60.0)")

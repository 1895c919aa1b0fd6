"""Tee and FlattenWith leave and join a chain; LogElements shows what passes and changes nothing."""

import logging
from collections import deque

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    SLIDING,
    arrive,
    at,
    into,
    script,
    watermark,
    words,
)

STREAM = [arrive(at(1, "a"), at(12, "b")), watermark(10), arrive(at(13, "c")), END]


def told(captured):
    return sorted((e.diff, e.value, float(e.timestamp), *e.window) for e in captured.elements)


# Tee


@pytest.mark.mode("batch")
def test_a_tee_returns_its_input_and_applies_its_consumers(runner):
    seen = []

    def doubled(pcoll):
        seen.append(capture(pcoll | "double" >> hr.Map(lambda n: 2 * n), "doubled"))

    with TestPipeline(runner=runner) as p:
        chain = p | hr.Create([1, 2]) | hr.Tee("ignored" >> hr.Map(str), doubled)
        found = capture(chain | hr.Map(lambda n: 10 * n), "chain")
    (branch,) = seen
    assert sorted(found.values) == [10, 20]
    assert sorted(branch.values) == [2, 4]


@pytest.mark.mode("streaming")
def test_both_sides_of_a_tee_see_panes_and_retractions(runner):
    seen = []
    with TestPipeline(runner=runner) as p:
        panes = p | script(STREAM) | into(FIXED, EACH, RETRACTING, 20) | words()
        chain = panes | hr.Tee(lambda pcoll: seen.append(capture(pcoll, "branch")))
        found = capture(chain, "chain")
    assert told(found) == told(seen[0])
    assert [e.diff for e in found.elements].count(-1) == 1


def test_the_branch_of_a_tee_has_its_own_label():
    p = TestPipeline()
    numbers = p | hr.Create([1])
    teed = numbers | "Left" >> hr.Tee(hr.Map(print)) | "Right" >> hr.Tee(hr.Map(print))
    assert teed is numbers
    assert [node.label for node in p.graph][1:] == ["Left/Map(print)", "Right/Map(print)"]


@pytest.mark.parametrize(("consumers", "problem"), [((), "no consumer"), ((7,), "not 7")])
def test_a_tee_into_nothing_is_refused(consumers, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        hr.Tee(*consumers)


# FlattenWith


@pytest.mark.mode("batch")
def test_a_chain_is_flattened_with_collections_and_sources(runner):
    with TestPipeline(runner=runner) as p:
        other = p | "other" >> hr.Create([3])
        chain = p | hr.Create([1, 2]) | hr.FlattenWith(other, "third" >> hr.Create([4]))
        found = capture(chain | hr.Map(lambda n: 10 * n))
    assert sorted(found.values) == [10, 20, 30, 40]


@pytest.mark.mode("streaming")
def test_a_stream_is_flattened_with_a_part_of_itself(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | script(STREAM) | into(SESSIONS)
        early = pairs | hr.Filter(lambda pair: pair[1] == "a")
        found = capture(pairs | hr.FlattenWith(early) | words())
    assert [(value, float(e.window.start)) for e in found.elements for _, value in [e.value]] == [
        ("aa", 1),
        ("bc", 12),
    ]


# LogElements


class Lines(logging.Handler):
    """Keeps the lines with a prefix, in the process that logs them."""

    def __init__(self, prefix):
        super().__init__()
        self.set_name(prefix)
        self.lines: deque[str] = deque()

    def emit(self, record):
        if record.getMessage().startswith(self.name):
            self.lines.append(record.getMessage())


LOG = logging.getLogger("headrace.transforms.util")


def handler(prefix):
    return next((each for each in LOG.handlers if each.name == prefix), None)


def listening(element, prefix):
    if handler(prefix) is None:
        LOG.addHandler(Lines(prefix))
    return element


def with_line(element, prefix, diff=hr.DoFn.DiffParam):
    """The element with the line that was logged for it."""
    return element, handler(prefix).lines.popleft()


@pytest.fixture
def quiet():
    yield
    for each in list(LOG.handlers):
        LOG.removeHandler(each)


def logging_with(prefix, **how):
    logs = hr.LogElements(prefix=prefix, level=logging.WARNING, **how)
    listen, read = hr.Map(listening, prefix), hr.Map(with_line, prefix)
    return "Listen" >> listen | logs | "Read" >> read


@pytest.mark.mode("batch")
def test_elements_of_a_batch_are_logged_where_they_pass(runner, quiet):
    with TestPipeline(runner=runner) as p:
        numbers = p | hr.Create([hr.TimestampedValue(n, n) for n in (1, 65)])
        windowed = numbers | hr.WindowInto(hr.window.FixedWindows(60))
        found = capture(windowed | logging_with("batch ", with_timestamp=True, with_window=True))
    minute = "window(start=1970-01-01T00:{}:00Z, end=1970-01-01T00:{}:00Z)"
    assert sorted(found.values) == [
        (1, f"batch 1, timestamp='1970-01-01T00:00:01Z', {minute.format('00', '01')}"),
        (65, f"batch 65, timestamp='1970-01-01T00:01:05Z', {minute.format('01', '02')}"),
    ]
    assert sorted(float(e.timestamp) for e in found.elements) == [1, 65]


@pytest.mark.mode("streaming")
def test_panes_and_retractions_of_a_stream_are_logged(runner, quiet):
    with TestPipeline(runner=runner) as p:
        panes = p | script(STREAM[:3]) | into(FIXED, EACH, RETRACTING, 20) | words()
        values = panes | hr.Values()
        found = capture(values | logging_with("stream ", with_window=True, use_epoch_time=True))
    assert [(e.diff, *e.value) for e in found.elements] == [
        (1, "a", "stream a, window(start=0, end=10)"),
        (1, "b", "stream b, window(start=10, end=20)"),
        (-1, "b", "stream b, window(start=10, end=20), diff=-1"),
        (1, "bc", "stream bc, window(start=10, end=20)"),
    ]


@pytest.mark.mode("streaming")
def test_logging_changes_no_element(runner):
    with TestPipeline(runner=runner) as p:
        panes = p | script(STREAM) | into(SLIDING, EACH, RETRACTING, 20) | words()
        before = capture(panes, "before")
        after = capture(panes | hr.LogElements(level=logging.DEBUG), "after")
    assert told(after) == told(before)
    assert {e.diff for e in after.elements} == {1, -1}


def test_a_line_for_each_window(capsys):
    with TestPipeline() as p:
        pair = p | hr.Create([hr.TimestampedValue("a", 5)]) | into(SLIDING)
        _ = pair | hr.LogElements("Label", "> ", with_window=True, use_epoch_time=True)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "> a, window(start=-10, end=10)",
        "> a, window(start=0, end=20)",
    ]


def test_the_ends_of_time_have_words(capsys):
    with TestPipeline() as p:
        _ = p | hr.Create(["a"]) | hr.LogElements(with_timestamp=True, with_window=True)
    assert capsys.readouterr().out == (
        "a, timestamp='the beginning of time', window(start=the beginning of time, end=the end of time)\n"
    )


def test_the_pane_is_shown_as_in_beam(capsys):
    with TestPipeline() as p:
        _ = p | hr.Create(["a"]) | hr.LogElements(with_pane_info=True)
    pane = "PaneInfo(first: True, last: True, timing: UNKNOWN, index: 0, nonspeculative_index: 0)"
    assert capsys.readouterr().out == f"a, pane_info={pane}\n"


def test_a_level_that_is_not_a_number_is_refused():
    with pytest.raises(hr.PipelineError, match="the level of LogElements is 'INFO'"):
        hr.LogElements(level="INFO")  # type: ignore[arg-type]

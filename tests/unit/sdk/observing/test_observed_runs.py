"""Observers are told of each round of a run, on both runners: metrics, stored states and samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

import headrace as hr
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import ElementRecord, Round, RunOutline
from headrace.sdk.observing.history import KEPT_RECORDS, GroupingHistory, History, SeenElement
from headrace.testing import TestStream

MINUTE = 60


class Notes(RunObserver):
    """Notes all calls."""

    wants_samples: ClassVar[bool] = True

    def __init__(self) -> None:
        self.run: RunOutline | None = None
        self.rounds: list[Round] = []
        self.ends: list[tuple[str, BaseException | None]] = []

    def start(self, run: RunOutline) -> None:
        self.run = run

    def round(self, done: Round) -> None:
        self.rounds.append(done)

    def end(self, state: str, error: BaseException | None = None) -> None:
        self.ends.append((state, error))

    def panes(self, label: str) -> Counter[tuple[Any, ...]]:
        """The panes of a grouping, without their processing time."""
        found = (done.samples[label] for done in self.rounds if label in done.samples)
        return Counter(tuple(pane) for samples in found for pane in samples.panes)

    def elements(self, label: str) -> Counter[tuple[Any, ...]]:
        found = (done.samples[label] for done in self.rounds if label in done.samples)
        return Counter(tuple(element) for samples in found for element in samples.elements)


def stream() -> TestStream:
    """Two keys; an element on time, and a late one."""
    values = hr.window.TimestampedValue
    return (
        TestStream()
        .advance_watermark_to(0)
        .add_elements([values(("a", 1), 10), values(("b", 2), 20)])
        .advance_watermark_to(2 * MINUTE)
        .add_elements([values(("a", 5), 30)])
        .advance_watermark_to(9 * MINUTE)
        .advance_watermark_to_infinity()
    )


def build(p: hr.Pipeline) -> None:
    windows = hr.WindowInto(
        hr.window.FixedWindows(MINUTE),
        trigger=hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1)),
        accumulation_mode=hr.AccumulationMode.RETRACTING,
        allowed_lateness=5 * MINUTE,
    )
    _ = p | "Read" >> stream() | windows | "Sum" >> hr.CombinePerKey(sum)


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_rounds_add_up_to_the_metrics_of_the_run(runner: Any) -> None:
    notes = Notes()
    with hr.Pipeline(runner, argv=[], observers=[notes]) as p:
        build(p)
    assert p.result is not None
    assert notes.ends == [("DONE", None)]
    assert [done.number for done in notes.rounds] == list(range(len(notes.rounds)))
    for label, total in p.result.metrics().steps.items():
        parts = [done.steps[label] for done in notes.rounds]
        assert sum(part.elements_in for part in parts) == total.elements_in
        assert sum(part.elements_out for part in parts) == total.elements_out
        assert sum((part.panes for part in parts), Counter()) == total.panes
        assert sum(part.retractions for part in parts) == total.retractions
        assert parts[-1].watermark == total.watermark


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_samples_are_the_elements_and_panes(runner: Any) -> None:
    notes = Notes()
    with hr.Pipeline(runner, argv=[], observers=[notes]) as p:
        build(p)
    end = MINUTE * 1_000_000
    window = end - 1, 0, end
    assert notes.panes("Sum") == Counter(
        [
            ("a", 1, *window, "ON_TIME", 0, 1),
            ("b", 2, *window, "ON_TIME", 0, 1),
            ("a", 1, *window, "ON_TIME", 0, -1),
            ("a", 6, *window, "LATE", 1, 1),
        ]
    )
    seconds = 1_000_000
    assert notes.elements("Sum") == Counter(
        [("a", 1, 10 * seconds, 1), ("b", 2, 20 * seconds, 1), ("a", 5, 30 * seconds, 1)]
    )
    sizes = [done.state.get("Sum", 0) for done in notes.rounds]
    assert max(sizes) == 2
    assert sizes[-1] == 0


def test_the_outline_says_what_runs() -> None:
    notes = Notes()
    with hr.Pipeline("local", argv=[], observers=[notes]) as p:
        build(p)
    assert notes.run is not None
    assert (notes.run.runner, notes.run.streaming) == ("local", True)
    read, windows, grouping = notes.run.steps
    assert [step.kind for step in notes.run.steps] == ["Read", "AssignWindows", "CombinePerKey"]
    assert (read.inputs, windows.inputs, grouping.inputs) == ((), ("Read",), (windows.label,))
    assert grouping.groups
    assert grouping.properties["panes"] == "retracting"


@pytest.mark.alone
@pytest.mark.mode("any")
def test_a_failed_run_is_told_with_its_error(runner: Any) -> None:
    notes = Notes()
    with pytest.raises(ZeroDivisionError), hr.Pipeline(runner, argv=[], observers=[notes]) as p:
        _ = p | hr.Create([0]) | hr.Map(lambda n: 1 / n)
    ((state, error),) = notes.ends
    assert state == "FAILED"
    assert isinstance(error, ZeroDivisionError)


class Broken(RunObserver):
    """Fails in each round."""

    def round(self, done: Round) -> None:
        raise RuntimeError("out of order")


def test_an_observer_that_fails_is_logged_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notes = Notes()
    with hr.Pipeline("local", argv=[], observers=[Broken(), notes]) as p:
        build(p)
    assert notes.ends == [("DONE", None)]
    assert "the observer Broken failed" in caplog.text


class Refusing(RunObserver):
    """Cannot start."""

    def start(self, run: RunOutline) -> None:
        raise RuntimeError("no room")


@pytest.mark.alone
@pytest.mark.mode("any")
def test_an_observer_that_cannot_start_ends_the_run(runner: Any, tmp_path: Path) -> None:
    notes, late = Notes(), Notes()
    with (
        pytest.raises(RuntimeError, match="no room"),
        hr.Pipeline(runner, argv=[], observers=[notes, Refusing(), late]) as p,
    ):
        _ = p | hr.Create(["a"]) | hr.io.WriteToText(str(tmp_path / "out"))
    assert [state for state, _ in notes.ends] == ["FAILED"]
    assert late.run is None
    assert not list(tmp_path.iterdir())


def test_without_observers_nothing_is_sampled() -> None:
    with hr.Pipeline("local", argv=[]) as p:
        build(p)
    assert p.result._executor._samplers == {}  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_history_of_many_rounds_is_bounded() -> None:
    history = History()
    script = TestStream().advance_watermark_to(0)
    for n in range(3_000):
        script = script.add_elements([hr.window.TimestampedValue((f"k{n % 30}", n), n)])
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        windows = hr.WindowInto(
            hr.window.FixedWindows(10),
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.DISCARDING,
        )
        _ = p | script.advance_watermark_to_infinity() | windows | "Sum" >> hr.CombinePerKey(sum)
    assert len(history.spans) <= 400
    assert sum(span.rounds for span in history.spans) == 3_002
    totals = sum(span.steps["Sum"].elements_in for span in history.spans)
    assert totals == history.totals["Sum"].elements_in == 3_000
    (grouping,) = history.groupings.values()
    assert 0 < len(grouping.elements) <= 3_000
    assert {seen.pane.key for seen in grouping.panes} <= set(grouping.keys)


def test_a_history_of_too_many_records_leaves_out_keys_that_have_gone_or_the_middle() -> None:
    grouping = GroupingHistory()
    for n in range(2 * KEPT_RECORDS):
        element = ElementRecord(f"k{min(n // 100, 5)}", n, n, 1)
        grouping.add([SeenElement(n, element, late=False)], [])
    numbers = [seen.element.value for seen in grouping.elements]
    assert grouping.thinned
    assert grouping.keys == ["k3", "k4", "k5"]
    assert numbers[:200] == list(range(300, 500))
    assert numbers[-KEPT_RECORDS // 3 :] == list(
        range(2 * KEPT_RECORDS - KEPT_RECORDS // 3, 2 * KEPT_RECORDS)
    )
    grouping = GroupingHistory()
    for n in range(KEPT_RECORDS + 1):
        grouping.add([SeenElement(n, ElementRecord("k", n, n, 1), late=False)], [])
    numbers = [seen.element.value for seen in grouping.elements]
    third = KEPT_RECORDS // 3
    assert numbers == [*range(third), *range(KEPT_RECORDS + 1 - third, KEPT_RECORDS + 1)]


def test_the_outline_says_where_is_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    notes, url = Notes(), f"sqlite:///{tmp_path}/sales.db"
    with hr.Pipeline("local", argv=[], observers=[notes]) as p:
        lines = p | "Text" >> hr.io.ReadFromText(f"{tmp_path}/*.txt")
        _ = lines | "Out" >> hr.io.WriteToText(f"{tmp_path}/out", file_name_suffix=".txt")
        rows = lines | hr.Map(lambda line: hr.Row(line=line))
        _ = rows | "Table" >> hr.io.WriteToTable(url, "lines", key="line")
    assert notes.run is not None
    places = {step.label: step.place for step in notes.run.steps if step.place}
    assert sorted(places.values()) == [
        f"{tmp_path}/*.txt",
        f"{tmp_path}/out*.txt",
        f"sqlite:///{tmp_path}/sales.db/lines",
    ]

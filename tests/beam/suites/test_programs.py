"""Unmodified programs give what they give on Beam's own runners."""

from __future__ import annotations

import gc
import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any
from weakref import ref

import apache_beam as beam
import pytest
from apache_beam.io.unbounded_source import ReadFromUnboundedSource, UnboundedCountingSource
from apache_beam.io.watch import PollResult, Watch
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.options.value_provider import RuntimeValueProvider
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing import test_stream
from apache_beam.transforms import combiners, trigger, window

import headrace.errors
from headrace.beam import HeadraceRunner, ToChangelog, retracting
from headrace.runners.spark.cluster.options import SparkOptions
from headrace.sdk.beam.programs.options import HeadraceOptions, RuntimeOptions, own_options
from headrace.sdk.options.pipeline_options import StandardOptions, given_flags
from tests.beam.suites import programs
from tests.beam.suites.programs import BATCH


class Written(beam.DoFn):
    """Writes what arrives to a file, a line for each value."""

    def __init__(self, path):
        self._path = path

    def process(self, element):
        with Path(self._path).open("a") as file:
            file.write(json.dumps(repr(element)) + "\n")


def results(program, runner, path: Path, *, streaming: bool = False) -> list[str]:
    """Run a program, and return the values that it makes, in no order."""
    options = PipelineOptions([], streaming=streaming)
    with beam.Pipeline(runner=runner, options=options) as p:
        _ = program(p) | "Written" >> beam.ParDo(Written(str(path)))
    return sorted(path.read_text().splitlines())


@pytest.fixture
def beams_warnings():
    """Beam warns of what it deprecates in its own code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("beams_warnings")
@pytest.mark.parametrize("program", BATCH, ids=lambda program: program.__name__)
def test_gives_what_it_gives_on_beam(program, tmp_path):
    theirs = results(program, FnApiRunner(), tmp_path / "theirs")
    assert results(program, HeadraceRunner(), tmp_path / "ours") == theirs != []


@pytest.mark.usefixtures("beams_warnings")
def test_the_panes_of_a_test_stream_are_those_of_beam(tmp_path):
    program = programs.early_and_late_panes
    theirs = results(program, BundleBasedDirectRunner(), tmp_path / "theirs", streaming=True)
    ours = results(program, HeadraceRunner(), tmp_path / "ours", streaming=True)
    assert [without_last(line) for line in ours] == [without_last(line) for line in theirs] != []


@pytest.mark.usefixtures("beams_warnings")
@pytest.mark.parametrize("program", [programs.splittable, programs.splittable_beside])
def test_a_splittable_dofn_reads_the_same_in_a_stream(program, tmp_path):
    theirs = results(program, FnApiRunner(), tmp_path / "theirs")
    ours = results(program, HeadraceRunner(), tmp_path / "ours", streaming=True)
    assert ours == theirs != []


class Counted(beam.DoFn):
    """Emits the offsets below an element."""

    calls = 0

    def process(self, element, tracker=beam.DoFn.RestrictionParam(programs.OFFSETS)):
        type(self).calls += 1
        offset = tracker.current_restriction().start
        while tracker.try_claim(offset):
            yield element, offset
            offset += 1


class CountedByWindow(beam.DoFn):
    """As :class:`Counted`, once for each window."""

    calls = 0

    def process(
        self,
        element,
        w=beam.DoFn.WindowParam,
        tracker=beam.DoFn.RestrictionParam(programs.OFFSETS),
    ):
        type(self).calls += 1
        return Counted().process(element, tracker)


@pytest.mark.usefixtures("beams_warnings")
@pytest.mark.parametrize(("dofn", "calls"), [(Counted, 1), (CountedByWindow, 3)])
def test_an_element_in_several_windows_is_read_once_unless_the_window_is_asked_for(
    dofn, calls, tmp_path, monkeypatch
):
    monkeypatch.setattr(dofn, "calls", 0)

    def program(p):
        slides = beam.WindowInto(window.SlidingWindows(30, 10))
        read = p | beam.Create([5]) | slides | beam.ParDo(dofn())
        return read | combiners.Count.PerKey() | beam.Map(lambda count: count)

    seen = results(program, HeadraceRunner(), tmp_path / "seen", streaming=True)
    assert seen == [json.dumps(repr((5, 5)))] * 3
    assert dofn.calls == calls


@pytest.mark.usefixtures("beams_warnings")
def test_beams_watch_sees_what_is_new_in_a_stream(tmp_path):
    (tmp_path / "a").touch()

    def poll(_):
        found = sorted(path.name for path in tmp_path.glob("?"))
        stamped = tuple(window.TimestampedValue(name, ord(name)) for name in found)
        if len(found) == 3:
            return PollResult.complete(stamped)
        (tmp_path / chr(ord(found[-1]) + 1)).touch()
        return PollResult(stamped)

    def program(p):
        watch = Watch(poll, poll_interval=0.01)
        return p | beam.Create(["letters"]) | watch

    seen = results(program, HeadraceRunner(), tmp_path / "seen", streaming=True)
    assert seen == [json.dumps(repr(("letters", name))) for name in "abc"]


@pytest.mark.usefixtures("beams_warnings")
def test_readers_of_an_unbounded_source_are_kept_and_closed(tmp_path, caplog):
    def program(p):
        return p | ReadFromUnboundedSource(UnboundedCountingSource(7), max_records_per_bundle=2)

    seen = results(program, HeadraceRunner(), tmp_path / "seen", streaming=True)
    assert seen == [json.dumps(str(n)) for n in range(7)]
    assert not [each for each in caplog.messages if "could not close a reader" in each]


def test_what_a_splittable_dofn_cannot_have_in_a_stream_is_refused_by_name():
    class Keyed(beam.DoFn):
        def process(
            self,
            pair,
            key=beam.DoFn.KeyParam,
            tracker=beam.DoFn.RestrictionParam(programs.OFFSETS),
        ):
            yield key

    p = beam.Pipeline(runner=HeadraceRunner(), options=PipelineOptions([], streaming=True))
    _ = p | beam.Create([1]) | "Far" >> beam.ParDo(Keyed())
    with pytest.raises(headrace.errors.UnsupportedError, match=r"DoFn\.KeyParam") as refused:
        p.run()
    assert refused.value.where == "Far"


def without_last(line: str) -> str:
    """Return a pane without its mark of the last one, which Beam does not set for an expired window."""
    return line.rpartition(",")[0]


def everything(p):
    """All programs as one."""
    made = [
        p | program.__name__ >> Part(program) | f"Of {program.__name__}" >> beam.Map(repr)
        for program in BATCH
    ]
    globally = [
        pcoll | f"Global {n}" >> beam.WindowInto(window.GlobalWindows())
        for n, pcoll in enumerate(made)
    ]
    return globally | "All" >> beam.Flatten()


@pytest.mark.spark
@pytest.mark.usefixtures("beams_warnings", "small_spark")
@pytest.mark.parametrize(
    "streaming",
    [
        pytest.param(False, id="batch"),
        # `make test` runs the stream of the tutorial docs/tutorial/beam-on-spark.md
        pytest.param(True, id="streaming", marks=pytest.mark.chaos),
    ],
)
def test_programs_on_spark(streaming, tmp_path):
    ours = results(everything, HeadraceRunner("spark"), tmp_path / "spark", streaming=streaming)
    assert ours == results(everything, HeadraceRunner(), tmp_path / "local")


@pytest.mark.usefixtures("beams_warnings")
@pytest.mark.parametrize("runner", [FnApiRunner, BundleBasedDirectRunner, HeadraceRunner])
def test_created_timestamped_values_are_not_pairs(runner):
    """Their type is TimestampedValue for Beam, though each runner makes a value with a timestamp of them."""
    p = beam.Pipeline(runner=runner())
    stamped = p | beam.Create([window.TimestampedValue(("a", 1), 1)])
    _ = stamped | beam.ParDo(programs.Reminder())
    with pytest.raises(ValueError, match=r"compatible with KV.*TimestampedValue"):
        p.run()


class Part(beam.PTransform):
    """A program as a part of another one."""

    def __init__(self, program):
        super().__init__()
        self._program = program

    def expand(self, begin):
        return self._program(begin)


@pytest.mark.usefixtures("beams_warnings")
def test_metrics_are_beams():
    count = Metrics.counter("mill", "sacks")
    weight = Metrics.distribution("mill", "weight")
    level = Metrics.gauge("mill", "level")
    grains = Metrics.string_set("mill", "grains")

    def grind(sack):
        count.inc()
        weight.update(sack)
        level.set(3)
        grains.add(f"g{sack}")
        return sack

    p = beam.Pipeline(runner=HeadraceRunner())
    _ = p | beam.Create([2, 4]) | "Grind" >> beam.Map(grind)
    result = p.run()
    assert result.wait_until_finish() == result.state == "DONE"
    found = result.metrics().query(MetricsFilter().with_step("Grind"))
    (counter,), (distribution,) = found["counters"], found["distributions"]
    assert counter.key.step == "Grind"
    assert counter.committed == counter.attempted == 2
    assert distribution.committed.data == beam.metrics.cells.DistributionData(6, 2, 2, 4)
    assert [gauge.committed.value for gauge in found["gauges"]] == [3]
    assert [strings.committed for strings in found["string_sets"]] == [{"g2", "g4"}]
    assert result.metrics().query(MetricsFilter().with_name("none"))["counters"] == []


def test_options_are_read_by_both():
    given = PipelineOptions(
        ["--runner=headrace.beam.HeadraceRunner", "--headrace_runner=spark", "--batch-seconds=5"],
        streaming=True,
    )
    own = own_options(given).view_as(StandardOptions)
    assert (own.runner, own.streaming, own.batch_seconds) == (None, True, 5.0)


@pytest.mark.parametrize(
    "flags",
    [
        ["--headrace_runner=local", "--max_records_per_batch=5", "--checkpoint=here"],
        ["--headrace-runner=local", "--max-records-per-batch", "5", "--checkpoint", "here"],
    ],
    ids=["underscores", "dashes"],
)
def test_beam_knows_the_flags_of_both(flags, caplog):
    given = PipelineOptions([*flags, "--spark_conf=a=1", "--spark_conf=b=2", "--no-progress"])
    given.view_as(HeadraceOptions)
    given.get_all_options(display_warnings=True)
    assert caplog.messages == []
    own = own_options(given)
    assert own.view_as(StandardOptions).max_records_per_batch == 5
    assert own.view_as(StandardOptions).progress is False
    assert own.view_as(SparkOptions).checkpoint == "here"
    assert own.view_as(SparkOptions).spark_conf == ["a=1", "b=2"]


def test_a_class_of_options_lives_no_longer_than_the_program_that_has_it():
    def read_options() -> Any:
        class MillOptions(PipelineOptions):
            @classmethod
            def _add_argparse_args(cls, parser):
                parser.add_argument("--sacks", type=int, default=3)

        assert own_options(PipelineOptions(["--no-progress"])) is not None
        assert PipelineOptions([]).view_as(MillOptions).sacks == 3
        return ref(MillOptions)

    for _ in range(2):  # two classes with the same option would be an error
        known = read_options()
        gc.collect()
        assert known() is None


def test_options_of_the_spark_runner_can_be_set_by_name():
    own = own_options(PipelineOptions([], checkpoint="here"))
    assert own.view_as(SparkOptions).checkpoint == "here"


@pytest.mark.parametrize("from_command_line", [False, True])
def test_a_flag_that_a_program_declares_is_its_own(from_command_line, monkeypatch, caplog):
    class MillOptions(PipelineOptions):
        @classmethod
        def _add_argparse_args(cls, parser):
            parser.add_argument("--sacks", nargs="*")
            parser.add_argument("--key_groups", type=str, default="none")

    flags = ["--sacks", "a", "b", "--key_groups=three", "--until_caught_up", "--job_name", "mill"]
    monkeypatch.setattr(sys, "argv", ["mill.py", *flags])
    given = PipelineOptions(None if from_command_line else flags)
    every = given.get_all_options(display_warnings=True)
    assert (every["key_groups"], every["until_caught_up"]) == ("three", True)
    assert given.view_as(MillOptions).key_groups == "three"
    assert caplog.messages == []
    own = own_options(given)
    assert given_flags(own).names == ("until_caught_up", "job_name", "pipeline_type_check")
    assert own.view_as(StandardOptions).job_name == "mill"
    assert own.view_as(SparkOptions).key_groups is None


def test_workers_get_the_options_of_the_run(monkeypatch):
    monkeypatch.setattr(RuntimeValueProvider, "runtime_options", None)
    given = PipelineOptions(["--mill=up the race"])
    RuntimeOptions.begin(given)
    sent = pickle.dumps(RuntimeOptions.current())
    RuntimeValueProvider.set_runtime_options(None)
    assert pickle.loads(sent).given["mill"] == "up the race"
    assert RuntimeValueProvider.get_value("mill", str, "") == "up the race"


def test_a_dotted_name_names_the_runner():
    with beam.Pipeline(options=PipelineOptions(["--runner=headrace.beam.HeadraceRunner"])) as p:
        assert isinstance(p.runner, HeadraceRunner)
        _ = p | beam.Create([1])


def test_resource_hints_are_ignored_with_one_warning():
    p = beam.Pipeline(runner=HeadraceRunner())
    values = p | beam.Create([1])
    for n in range(2):
        _ = values | f"Hinted {n}" >> beam.Map(str).with_resource_hints(min_ram="1GB")
    with pytest.warns(headrace.errors.HeadraceWarning, match="resource hints") as warned:
        p.run()
    assert len(warned) == 1


def test_what_has_no_equivalent_is_refused_by_name():
    class Foreign(beam.PTransform):
        def expand(self, pcoll):
            return beam.pvalue.PCollection.from_(pcoll)

    p = beam.Pipeline(runner=HeadraceRunner())
    _ = p | beam.Create([1]) | "Over there" >> Foreign()
    with pytest.raises(
        headrace.errors.UnsupportedError, match="Foreign has no equivalent"
    ) as refused:
        p.run()
    assert refused.value.where == "Over there"


@pytest.mark.usefixtures("beams_warnings")
def test_a_program_of_beam_can_retract(tmp_path):
    """A late element changes the count of a word, so another one has that count."""

    def program(p):
        stream = (
            test_stream.TestStream()
            .add_elements([window.TimestampedValue(word, 5) for word in ("to", "be", "to", "be")])
            .advance_watermark_to(60)
            .add_elements([window.TimestampedValue("be", 6)])
            .advance_watermark_to_infinity()
        )
        minutes = beam.WindowInto(
            window.FixedWindows(60),
            trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
            accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
            allowed_lateness=60,
        )
        counts = p | stream | retracting(minutes) | combiners.Count.PerElement()
        with_window = counts | beam.Map(
            lambda pair, w=beam.DoFn.WindowParam: (pair[1], (pair[0], int(w.end)))
        )
        return with_window | beam.GroupByKey() | beam.MapTuple(_sorted) | ToChangelog()

    found = [json.loads(line) for line in results(program, HeadraceRunner(), tmp_path / "ours")]
    both, be, to = [("be", 60), ("to", 60)], [("be", 60)], [("to", 60)]
    assert sorted(found) == sorted(
        map(repr, [(1, (2, both)), (-1, (2, both)), (1, (2, to)), (1, (3, be))])
    )


class Keeping(beam.DoFn):
    """Emits its elements at the end of the bundle."""

    def start_bundle(self):
        self.kept = []

    def process(self, element):
        self.kept.append(element)

    def finish_bundle(self):
        return [window.GlobalWindows.windowed_value(element) for element in self.kept]


def changing(p, name, lateness):
    """A collection that can contain retractions, some seconds late."""
    minutes = beam.WindowInto(
        window.FixedWindows(60),
        trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=lateness,
    )
    created = p | f"{name} values" >> beam.Create([("k", 1)])
    return created | f"{name} minutes" >> retracting(minutes) | name >> beam.CombinePerKey(sum)


@pytest.mark.parametrize(
    ("uses", "text"),
    [
        (lambda c: c | "Last" >> beam.ParDo(Keeping()), "emits elements in finish_bundle"),
        (
            lambda c: c | beam.Values() | "Last" >> beam.ParDo(programs.Reader()),
            "Reader is splittable",
        ),
        (
            lambda c: c | beam.WindowInto(window.FixedWindows(9)) | "Last" >> beam.GroupByKey(),
            "retractions can be 60 s late",
        ),
        (
            lambda c: (
                (changing(c.pipeline, "Punctual", 0), c)
                | beam.Flatten()
                | beam.WindowInto(window.FixedWindows(9))
                | "Last" >> beam.CombinePerKey(sum)
            ),
            "retractions can be 60 s late",
        ),
    ],
)
def test_what_could_lose_a_retraction_is_refused(uses, text):
    p = beam.Pipeline(runner=HeadraceRunner())
    _ = uses(changing(p, "Late", 60))
    with pytest.raises(headrace.errors.PipelineError, match=text) as refused:
        p.run()
    assert refused.value.where == "Last"


def _sorted(key, values):
    return key, sorted(values)

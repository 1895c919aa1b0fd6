"""What goes wrong while a pipeline is built: each mistake has an error or a warning that says what to do."""

import gc
import subprocess
import sys
import warnings
from datetime import datetime
from types import ModuleType
from typing import Any

import pytest

import headrace
from headrace.options import PipelineOptions, pipeline_options
from headrace.runners.spark.cluster.options import SparkOptions
from headrace.sdk.beam.names import BEAM_NAMES
from headrace.sdk.options.pipeline_options import StandardOptions, flags_of_class
from headrace.sdk.pipelines.beam_options import GoogleCloudOptions, flags_without_effect
from headrace.sdk.pipelines.flags import SPARK_FLAGS
from headrace.testing import TestStream
from headrace.transforms import util
from headrace.transforms.trigger import (
    AfterCount,
    AfterWatermark,
    ClosingBehavior,
    OnTimeBehavior,
    Repeatedly,
)
from headrace.transforms.window import (
    FixedWindows,
    GlobalWindows,
    TimestampCombiner,
    TimestampedValue,
)

hr: Any = headrace  # type checkers see most of these mistakes
MINUTES = FixedWindows(60)
ACCUMULATING = hr.WindowInto(
    FixedWindows(60),
    trigger=AfterWatermark(early=AfterCount(1)),
    accumulation_mode="accumulating",
)
RETRACTING = hr.WindowInto(
    FixedWindows(60), trigger=AfterWatermark(early=AfterCount(1)), accumulation_mode="retracting"
)


def refusal_of(build) -> str:
    with pytest.raises(hr.PipelineError) as refusal:
        build()
    return str(refusal.value)


@pytest.fixture(autouse=True, scope="module")
def no_pipelines_of_other_tests() -> None:
    """Those that never ran are reported when they are deleted, which is to be before these tests."""
    gc.collect()


def all_warnings_of(build) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        build()
    assert {warning.category for warning in seen} <= {hr.HeadraceWarning}
    assert {warning.filename for warning in seen} <= {__file__}
    return [str(warning.message) for warning in seen]


def warnings_of(build) -> list[str]:
    """The warnings, without those about pipelines that only this test's names keep from running."""
    return [message for message in all_warnings_of(build) if "never ran" not in message]


# ------------------------------------------------------------------------------- sources without watermark


class Quiet(hr.io.UnboundedSource):
    reports_watermarks = False

    def read(self, partition, offset, limit):
        return hr.io.Batch([("a", 1)], next_offset=0)


class Reporting(Quiet):
    reports_watermarks = True


def grouped(source, watermark=None, windows=MINUTES, **strategy):
    pairs = hr.Pipeline() | "Lines" >> hr.Read(source, watermark=watermark)
    groups = pairs | hr.WindowInto(windows, **strategy) | "Group" >> hr.GroupByKey()
    return groups | "Again" >> hr.GroupByKey()


def test_windows_over_a_source_without_a_watermark() -> None:
    (warning,) = warnings_of(lambda: grouped(Quiet()))
    assert warning == (
        "Lines: this unbounded source reports no watermark, and no watermark policy is set, so the windows "
        "of 'Group' fire only when the run is drained; pass a policy where it is read: "
        "watermark=hr.BoundedOutOfOrderness(60)"
    )
    assert warnings_of(lambda: grouped(Quiet(), watermark=hr.FromSource())) == [warning]


def test_windows_over_watched_files_or_a_stream_of_spark(tmp_path) -> None:
    def watch(source):
        pairs = hr.Pipeline() | source | hr.WithKeys(0)
        pairs | hr.WindowInto(FixedWindows(60)) | hr.GroupByKey()

    (tmp_path / "a.txt").touch()
    (watched,) = warnings_of(lambda: watch(hr.io.ReadFromText(tmp_path / "*.txt", watch=True)))
    assert watched.startswith("ReadFromText: this unbounded source reports no watermark")
    (spark,) = warnings_of(lambda: watch(hr.io.ReadFromSpark("rate", streaming=True)))
    assert spark.startswith("ReadFromSpark(rate): this unbounded source")


def test_no_warning_where_the_watermark_can_advance_or_is_not_needed() -> None:
    assert warnings_of(lambda: grouped(Reporting())) == []
    assert warnings_of(lambda: grouped(Quiet(), watermark=hr.BoundedOutOfOrderness(60))) == []
    counting = {"trigger": Repeatedly(AfterCount(1)), "accumulation_mode": "discarding"}
    assert warnings_of(lambda: grouped(Quiet(), **counting)) == []
    assert warnings_of(lambda: grouped(Quiet(), windows=GlobalWindows(), **counting)) == []
    stream = hr.Pipeline() | TestStream().add_elements([("a", 1)])
    windowed = stream | hr.WindowInto(FixedWindows(60))
    assert warnings_of(lambda: windowed | hr.GroupByKey()) == []


# ---------------------------------------------------------------------------------------------------- flags


class Mill(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_argument("--wheels-of-the-mill")


def run(options, runner=None) -> None:
    p = hr.Pipeline(runner, options=options)
    p | hr.Create([1])
    p.run()


def flag_warnings(*flags: str, **overrides) -> list[str]:
    return warnings_of(lambda: run(PipelineOptions(list(flags), **overrides)))


def test_a_misspelled_flag() -> None:
    assert flag_warnings("--runer=local") == [
        "there is no flag --runer, so it has no effect; did you mean --runner?"
    ]
    assert flag_warnings("--wheels-of-mill=3") == [
        "there is no flag --wheels_of_mill, so it has no effect; did you mean --wheels_of_the_mill?"
    ]


def test_a_flag_or_an_override_that_nobody_knows() -> None:
    unknown = "so it has no effect; remove it, or define it in a subclass of PipelineOptions"
    assert flag_warnings("--cheese", "3") == [f"there is no flag --cheese, {unknown}"]
    assert flag_warnings(cheese=3) == [f"there is no flag --cheese, {unknown}"]


@pytest.mark.parametrize("flag", ["--checkpoint=/tmp/c", "--key-groups=2", "--spark_conf=a=b"])
def test_flags_of_spark_on_the_local_runner(flag) -> None:
    (warning,) = flag_warnings(flag)
    name = flag.partition("=")[0].replace("key-groups", "key_groups")
    assert warning == (
        f"the flag {name} has no effect on the local runner; use --runner=spark, or remove the flag"
    )


class Nowhere:
    def run(self, graph, options):
        return None


def test_flags_of_spark_on_another_runner() -> None:
    assert warnings_of(lambda: run(PipelineOptions(["--checkpoint=/tmp/c"]), Nowhere())) == []


def test_flags_with_an_effect() -> None:
    assert flag_warnings("--runner=local", "--max-records-per-batch=3", "--save_main_session") == []
    assert flag_warnings("--wheels-of-the-mill=3", "--", "--anything", "--job_name=x") == []
    assert flag_warnings(streaming=True) == []


def test_one_warning_for_all_flags_of_beam_without_effect() -> None:
    assert flag_warnings("--project=x", "--temp_location", "gs://x", "--no_use_public_ips") == [
        "Beam's flags --project, --temp_location and --no_use_public_ips have no effect here"
    ]
    assert flag_warnings(num_workers=3) == ["Beam's flag --num_workers has no effect here"]
    assert flag_warnings("--setup_file=./setup.py") == [
        "Beam's flag --setup_file has no effect here; "
        "use --py_files or `headrace package` to send code to Spark's workers"
    ]
    set_by_name = PipelineOptions([])
    set_by_name.view_as(GoogleCloudOptions).region = "here"
    set_by_name.view_as(GoogleCloudOptions).project = None
    assert warnings_of(lambda: run(set_by_name)) == ["Beam's flag --region has no effect here"]
    assert warnings_of(lambda: run(PipelineOptions(["--temp_location=x"]), Nowhere())) == []


def test_flags_of_the_command_line_can_be_those_of_the_program(monkeypatch) -> None:
    given = ["--verbose", "--wheel-color=red", "--streamin"]
    monkeypatch.setattr(sys, "argv", ["job.py", *given])
    expected = ["there is no flag --streamin, so it has no effect; did you mean --streaming?"]
    assert warnings_of(lambda: run(None)) == expected
    assert warnings_of(lambda: run(PipelineOptions(given))) == expected


def test_the_tables_of_flags_are_complete() -> None:
    own = SparkOptions([])
    assert {*own.get_all_options(current_only=True), "spark_master_url"} == SPARK_FLAGS
    assert not flags_without_effect() & (SPARK_FLAGS | flags_of_class(StandardOptions))


# ------------------------------------------------------------------------------------- pipelines without run


def never_run(program: str, *options: str) -> str:
    """What a program prints about its pipelines."""
    code = "import headrace as hr\n" + program
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True)
    return done.stderr


BUILT = "p = hr.Pipeline()\n_ = p | 'First' >> hr.Create([1]) | hr.Map(print)\n"


@pytest.mark.slow
def test_a_pipeline_that_never_runs_is_reported_at_exit() -> None:
    shown = never_run(BUILT).removesuffix("  p = hr.Pipeline()\n")  # the line, since Python 3.13
    assert shown == (
        "<string>:2: HeadraceWarning: the pipeline that begins with 'First' was built, but it never ran; "
        "build it within `with hr.Pipeline() as p:`, or call p.run()\n"
    )
    assert never_run(BUILT + "raise SystemExit(0)").count("never ran") == 1
    failed = never_run(BUILT + "oops")
    assert "NameError" in failed
    assert "never ran" not in failed


def unused(use=lambda p: None) -> list[str]:
    def build() -> None:
        p = hr.Pipeline()
        try:
            _ = p | "First" >> hr.Create([1]) | "Second" >> hr.Map(str)
            use(p)
        except (TypeError, ValueError):
            pass
        del p
        gc.collect()

    gc.collect()  # pipelines of earlier tests in this file
    return all_warnings_of(build)


def fail_within(p) -> None:
    with p:
        raise ValueError


@pytest.mark.slow
def test_a_pipeline_that_never_runs_is_reported_when_it_is_deleted() -> None:
    (warning,) = unused()
    assert warning.startswith("the pipeline that begins with 'First' was built, but it never ran")


@pytest.mark.slow
@pytest.mark.parametrize(
    "use",
    [
        lambda p: p.run(),
        hr.explain,
        lambda p: p.graph,
        fail_within,
        lambda p: p | "First" >> hr.Create([2]),  # building fails: the label is in use
    ],
)
def test_a_pipeline_that_is_used_or_cannot_be_is_not_reported(use) -> None:
    assert unused(use) == []


@pytest.mark.slow
def test_a_pipeline_that_only_shows_itself_in_a_notebook_is_reported() -> None:
    assert len(unused(lambda p: p._repr_html_())) == 1


@pytest.mark.slow
def test_an_empty_pipeline_is_not_reported() -> None:
    def build() -> None:
        hr.Pipeline()
        gc.collect()

    assert all_warnings_of(build) == []


# ----------------------------------------------------------------------------------------------------- sinks


def totals(windows):
    pairs = hr.Pipeline() | hr.Create([TimestampedValue(("a", 1), 0)])
    return pairs | windows | "Total" >> hr.CombinePerKey(sum)


def test_a_windowed_table_without_the_window_in_its_key() -> None:
    def write(into, **how):
        totals(into) | hr.io.WriteToTable("x.db", "t", key="k", columns=["k", "n"], **how)

    windowed = hr.WindowInto(FixedWindows(60))
    assert warnings_of(lambda: write(windowed)) == [
        "WriteToTable(t): PCollection[Total] has windows, but the key has no window, so each key keeps the "
        "row of one window; pass windows=True to add the window to the key, or windows=False if one is wanted"
    ]
    assert warnings_of(lambda: write(windowed, windows=True)) == []
    assert warnings_of(lambda: write(windowed, windows=False)) == []
    assert warnings_of(lambda: write(hr.WindowInto(GlobalWindows()))) == []


WRITES = [
    hr.io.WriteToText("out"),
    hr.io.WriteToCsv("out"),
    hr.io.WriteToJson("out"),
    hr.io.WriteToTable("x.db", "t", key=None),
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.label)
def test_accumulating_panes_into_a_sink_that_keeps_them(write) -> None:
    (warning,) = warnings_of(lambda: totals(ACCUMULATING) | write)
    assert warning.startswith(f"{write.label}: 'Total' holds accumulating panes; each pane repeats")
    assert warning.endswith(
        "use AccumulationMode.DISCARDING; or RETRACTING with diff_column, or a table with a key"
    )
    assert warnings_of(lambda: totals(hr.WindowInto(FixedWindows(60))) | write) == []


def test_retractions_into_files(tmp_path) -> None:
    def write(to) -> None:
        with hr.Pipeline() as p:
            pairs = p | hr.Create([("a", 1)]) | RETRACTING | hr.CombinePerKey(sum)
            pairs | hr.MapTuple(lambda k, n: hr.Row(k=k, n=n)) | to

    for sink in (hr.io.WriteToCsv, hr.io.WriteToJson, hr.io.WriteToParquet):
        refusal = refusal_of(lambda sink=sink: write(sink(tmp_path / "out")))
        assert refusal.endswith(
            "name a column for +1 and -1 where it is written: diff_column='diff'"
        )
        write(sink(tmp_path / "out", diff_column="diff"))
    assert "a,1,1" in "".join(path.read_text() for path in tmp_path.glob("out*.csv"))


def test_retractions_into_text(tmp_path) -> None:
    to = hr.io.WriteToText(tmp_path / "out")
    with hr.Pipeline() as p:
        numbers = p | hr.Create([("a", 1)]) | RETRACTING | hr.CombinePerKey(sum)
        assert refusal_of(lambda: numbers | to).endswith(
            "apply hr.ToChangelog() first to write (diff, value) pairs, or write CSV, JSON or Parquet with "
            "diff_column='diff'"
        )
        numbers | hr.ToChangelog() | to
    assert "(1, ('a', 1))" in next(tmp_path.glob("out*")).read_text()


# --------------------------------------------------------------------------------------- names of behaviors


def test_modes_can_be_given_by_name() -> None:
    windowing = hr.WindowInto(
        FixedWindows(60),
        trigger=AfterCount(1),
        accumulation_mode="Retracting",
        timestamp_combiner="output_at_latest",
        on_time_behavior="fire_if_non_empty",
        closing_behavior="FIRE_ALWAYS",
    ).windowing
    assert windowing.accumulation_mode is hr.AccumulationMode.RETRACTING
    assert windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_LATEST
    assert windowing.on_time is OnTimeBehavior.FIRE_IF_NON_EMPTY
    assert windowing.closing is ClosingBehavior.FIRE_ALWAYS
    assert hr.WindowInto(FixedWindows(1), accumulation_mode=2).windowing.accumulation_mode == 2


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            {"accumulation_mode": "retract"},
            "'retract' is not an AccumulationMode\n  what to do: use one of AccumulationMode.DISCARDING, "
            "AccumulationMode.ACCUMULATING, AccumulationMode.RETRACTING",
        ),
        ({"accumulation_mode": 7}, "7 is not an AccumulationMode"),
        ({"timestamp_combiner": "eow"}, "'eow' is not a TimestampCombiner"),
        ({"closing_behavior": "always"}, "'always' is not a ClosingBehavior"),
    ],
)
def test_an_unknown_mode(argument, message) -> None:
    assert refusal_of(lambda: hr.WindowInto(FixedWindows(60), **argument)).startswith(message)


# ------------------------------------------------------------------------------------------------- operators


def test_the_operator_for_names_between_transforms() -> None:
    remedy = "apply transforms with `|`: pcoll | 'Name' >> First() | 'Other name' >> Second()"
    chain = refusal_of(lambda: "X" >> hr.GroupByKey() >> hr.Map(print))
    assert chain == (
        "`>>` names a transform, but <NamedTransform 'X'>, on its left, is not a name\n"
        f"  where: Map(print)\n  what to do: {remedy}"
    )
    pcoll = hr.Pipeline() | hr.Create([1])
    assert refusal_of(lambda: pcoll >> hr.Map(print)).startswith(
        "`>>` names a transform, but PCollection[Create]"
    )
    assert refusal_of(lambda: hr.Pipeline() >> hr.Create([1])).endswith(remedy)


# ------------------------------------------------------------------------------------------------- functions


class Half(hr.CombineFn):
    def create_accumulator(self):
        return 0

    def merge_accumulators(self, accumulators):
        return 0


@pytest.mark.parametrize("combine", [hr.CombinePerKey, hr.CombineGlobally, hr.CombineValues])
@pytest.mark.parametrize("more", [(), (1,)])
def test_a_combine_fn_that_lacks_methods(combine, more) -> None:
    assert refusal_of(lambda: combine(Half(), *more)) == (
        "the CombineFn Half does not define add_input, extract_output\n"
        "  what to do: define in the class create_accumulator, add_input, merge_accumulators, extract_output"
    )
    with pytest.raises(TypeError, match=r"not its class: use Half\(\)"):
        combine(Half, *more)


def two(x, y):
    return x


def test_a_function_with_another_number_of_arguments() -> None:
    assert refusal_of(lambda: hr.Map(two)) == (
        "two takes exactly 2 arguments, but Map passes 1: the element\n"
        "  what to do: change its parameters, or pass the other arguments to the transform after the function"
    )
    assert "takes exactly 0 arguments, but FlatMap passes 1" in refusal_of(
        lambda: hr.FlatMap(lambda: [])
    )
    assert (
        "two takes exactly 2 arguments, but Filter passes 3: the element and 2 more arguments"
        in refusal_of(lambda: hr.Filter(two, 1, 2))
    )
    assert "takes 1 to 2 arguments, but Map passes 3" in refusal_of(
        lambda: hr.Map(lambda x, y=1: x, 2, 3)
    )
    assert "the function two of Map has no argument 'z'" in refusal_of(
        lambda: hr.Map(two, y=1, z=2)
    )


def test_a_function_of_items_with_another_number_of_arguments() -> None:
    pairs = hr.Pipeline() | hr.Create([("a", 1)])
    refusal = refusal_of(lambda: pairs | "Swap" >> hr.MapTuple(lambda x: x))
    assert (
        "takes exactly 1 argument, but MapTuple passes 2: 2 items of the element\n  where: Swap"
        in refusal
    )
    assert "but FlatMapTuple passes 3" in refusal_of(lambda: pairs | hr.FlatMapTuple(two, 1))


def passing_on(fn):
    import functools

    return functools.wraps(fn)(lambda *args: fn(*args, 1))


@pytest.mark.parametrize(
    "build",
    [
        lambda: hr.Map(int),
        lambda: hr.Map(str.upper),
        lambda: hr.Map(max),
        lambda: hr.Map(print, "a", "b"),
        lambda: hr.Map(lambda *all: all, 1, 2),
        lambda: hr.Map(passing_on(two)),
        lambda: hr.Map(two, y=1),
        lambda: hr.Map(lambda x, at=hr.DoFn.TimestampParam, *, k: x, k=1),
        lambda: hr.Map(lambda x, at=hr.DoFn.TimestampParam, k=0: x, 1),
        lambda: hr.ParDo(two, 1),
        lambda: hr.Pipeline() | hr.Create([("a", 1)]) | hr.MapTuple(lambda *all, **k: all, k=1),
        lambda: (
            hr.Pipeline()
            | hr.Create([("a", 1)])
            | hr.MapTuple(lambda k, n, m=hr.DoFn.WindowParam: k)
        ),
        lambda: hr.Pipeline() | hr.Create([("a", 1), 2]) | hr.MapTuple(lambda k: k),
    ],
)
def test_functions_that_can_be_called_or_may_be(build) -> None:
    assert build() is not None


class Late(hr.DoFn):
    def process(self, element, window):
        yield element


def test_a_parameter_that_does_not_ask_for_the_window() -> None:
    remedy = (
        "write window=hr.DoFn.WindowParam to be passed it; hr.DoFn has ElementParam, TimestampParam, "
        "WindowParam, PaneInfoParam, DiffParam, KeyParam, WindowedValueParam, DynamicTimerTagParam, "
        "BundleFinalizerParam"
    )
    assert refusal_of(lambda: hr.ParDo(Late())) == (
        f"Late.process takes exactly 2 arguments, but ParDo passes 1: the element\n  what to do: {remedy}"
    )
    assert remedy in refusal_of(lambda: hr.Map(lambda x, window: x))
    assert "pane_info=hr.DoFn.PaneInfoParam" in refusal_of(lambda: hr.Map(lambda x, pane_info: x))


# ------------------------------------------------------------------------------------------------------ times


def test_a_naive_datetime_among_literals() -> None:
    naive = TimestampedValue("a", datetime(2024, 1, 1))
    with pytest.raises(hr.TimeError) as refusal:
        hr.Pipeline() | "Events" >> hr.Create([naive])
    assert str(refusal.value) == (
        "the time 2024-01-01T00:00:00 has no time zone, so it does not identify an instant\n"
        "  where: Events, element 'a'\n"
        '  what to do: add a time zone: datetime(…, tzinfo=UTC) or ZoneInfo("…"), "…Z" in a string'
    )
    assert repr(naive) == "TimestampedValue('a', datetime.datetime(2024, 1, 1, 0, 0))"
    with pytest.raises(hr.TimeError, match="has no time zone"):
        TestStream().add_elements([naive])
    with pytest.raises(hr.TimeError, match="is not a duration"):
        FixedWindows(60, datetime(2024, 1, 1))  # type: ignore[arg-type]


def test_the_ends_of_time_are_printed_in_words(capsys) -> None:
    with hr.Pipeline() as p:
        groups = p | hr.Create([("a", 1)]) | hr.GroupByKey()
        groups | hr.io.WriteToConsole()
        groups | hr.Map(lambda group, at=hr.DoFn.TimestampParam: print(at))
    assert capsys.readouterr().out == (
        "the end of time\n+1  the end of time  global  ON_TIME  ('a', [1])\n"
    )
    assert str(hr.window.MIN_TIMESTAMP) == "the beginning of time"
    assert str(hr.window.MAX_TIMESTAMP) == "the end of time"
    assert str(hr.Timestamp(1.5)) == repr(hr.Timestamp(1.5)) == "Timestamp(1.500000)"


# ---------------------------------------------------------------------------------------------- Beam's names


@pytest.mark.parametrize(
    ("module", "name", "remedy"),
    [
        (hr, "ReadFromXml", "write an hr.io.BoundedSource"),
        (hr.pvalue, "SideInputData", "use hr.pvalue.AsList"),
        (hr.io, "ReadFromXml", "write an hr.io.BoundedSource"),
        (hr.transforms, "RunInference", "load the model in setup"),
        (util, "Reify", "use hr.Map with DoFn.TimestampParam"),
    ],
)
def test_names_of_beam_that_do_not_exist(module: ModuleType, name: str, remedy: str) -> None:
    expected = f"Headrace has no {name}, a name of Beam's: {remedy}"
    with pytest.raises(AttributeError) as missing:
        getattr(module, name)
    assert str(missing.value).startswith(expected)
    assert not hasattr(module, name)
    with pytest.raises(ImportError) as unimportable:
        exec(f"from {module.__name__} import {name}")
    assert str(unimportable.value).startswith(expected)


def test_other_names_that_do_not_exist() -> None:
    with pytest.raises(
        AttributeError, match=r"module 'headrace\.pvalue' has no attribute 'AsLits'"
    ):
        hr.pvalue.AsLits  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Mapp' from 'headrace'"):
        exec("from headrace import Mapp")


def test_the_table_has_no_names_that_exist() -> None:
    modules = (hr, hr.pvalue, hr.io, hr.transforms, hr.combiners, pipeline_options)
    existing = {name for module in modules for name in module.__all__}
    assert set(BEAM_NAMES) & existing == set()

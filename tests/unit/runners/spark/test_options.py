"""The Spark runner's options: both spellings, and errors that say what to write."""

import pytest

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.options import SparkOptions, spark_settings


def settings(*flags: str):
    return spark_settings(PipelineOptions(flags))


@pytest.mark.parametrize("dash", ["-", "_"])
def test_flags_in_both_spellings(dash: str) -> None:
    said = [
        "--checkpoint=/tmp/c",
        "--trigger-interval=0.5",
        "--key-groups=8",
        "--spark-master=local[2]",
        "--spark-conf=spark.a=1",
        "--spark-conf=spark.b=x=y",
        "--py-files=a.zip,b.py",
        "--spark-log-level=info",
    ]
    found = settings(*("--" + flag[2:].replace("-", dash) for flag in said))
    assert (found.checkpoint, found.trigger_interval, found.key_groups) == ("/tmp/c", 0.5, 8)
    assert (found.master, found.conf) == ("local[2]", {"spark.a": "1", "spark.b": "x=y"})
    assert (found.py_files, found.log_level) == (("a.zip", "b.py"), "INFO")


def test_defaults() -> None:
    found = settings()
    assert (found.checkpoint, found.trigger_interval, found.master) == (None, None, None)
    assert (found.key_groups, found.conf, found.py_files) == (None, {}, ())


def test_options_set_by_name() -> None:
    options = PipelineOptions([], spark_conf=["spark.a=1"], key_groups=4)
    assert spark_settings(options).conf == {"spark.a": "1"}
    assert spark_settings(options).key_groups == 4
    assert options.view_as(SparkOptions).key_groups == 4


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ("--trigger-interval=0", "--trigger-interval is 0"),
        ("--trigger-interval=nan", "--trigger-interval is nan"),
        ("--spark-log-level=loud", "--spark-log-level is LOUD"),
        ("--key-groups=-1", "--key-groups is -1"),
        ("--spark-conf=spark.a", "--spark-conf 'spark.a' does not have the form"),
        ("--spark-conf==1", "--spark-conf '=1' does not have the form"),
        ("--spark-conf=executor.memory=1g", "--spark-conf sets 'executor.memory'"),
    ],
)
def test_what_cannot_be_meant_is_refused(flag: str, problem: str) -> None:
    with pytest.raises(hr.PipelineError, match=problem):
        settings(flag)

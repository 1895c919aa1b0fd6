"""Labels that are used again, the end of a `with` block, runners of Beam's, and pipelines of tests."""

from unittest import SkipTest

import pytest

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.runners.dataflow.dataflow_runner import DataflowRunner
from headrace.runners.direct.direct_runner import DirectRunner
from headrace.runners.interactive.interactive_runner import InteractiveRunner
from headrace.runners.portability.flink_runner import FlinkRunner
from headrace.runners.portability.fn_api_runner import FnApiRunner
from headrace.runners.portability.portable_runner import PortableRunner
from headrace.runners.portability.prism_runner import PrismRunner
from headrace.runners.portability.spark_runner import SparkRunner
from headrace.runners.runner import PipelineRunner
from headrace.sdk.pipelines.runner_lookup import find_runner
from headrace.testing import TestPipeline, assert_that, equal_to

NUMBERING = PipelineOptions(["--auto_unique_labels"])


class Twice(hr.PTransform):
    def expand(self, pcoll):
        return pcoll | hr.Map(self.one) | hr.Map(self.one)

    @staticmethod
    def one(x):
        return x + 1


def test_labels_are_numbered_on_request() -> None:
    with TestPipeline(options=NUMBERING) as p:
        twice = p | hr.Create([1]) | Twice() | Twice()
        assert_that(twice, equal_to([5]))
    assert [node.label for node in p.graph][:5] == [
        "Create",
        "Twice/Map(one)",
        "Twice/Map(one)_2",
        "Twice_2/Map(one)",
        "Twice_2/Map(one)_2",
    ]


def test_the_error_about_a_label_names_the_option() -> None:
    with pytest.raises(RuntimeError, match="--auto_unique_labels") as refusal:
        hr.Pipeline() | hr.Create([1]) | Twice()
    assert "where: Twice/Map(one)" in str(refusal.value)


def test_a_block_waits_for_the_end() -> None:
    with hr.Pipeline(options=PipelineOptions([])) as p:
        p | hr.PeriodicImpulse(fire_interval=0.01, stop_timestamp=hr.Timestamp.now() + 0.1)
    assert p.result is not None
    assert p.result.state == "DONE"


def test_a_block_does_not_wait_on_request() -> None:
    with hr.Pipeline(options=PipelineOptions(["--no_wait_until_finish"])) as p:
        p | hr.PeriodicImpulse(fire_interval=0.01)
    assert p.result is not None
    assert p.result.state == "RUNNING"
    assert p.result.cancel() == "CANCELLED"


@pytest.mark.parametrize(
    "runner",
    [
        DirectRunner(),
        FnApiRunner(),
        hr.runners.DirectRunner(),
        "Direct",
        "beam.runners.DirectRunner",
    ],
    ids=repr,
)
def test_names_of_the_local_runner(runner) -> None:
    assert find_runner(runner) is find_runner("local")
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([1]), equal_to([1]))


def test_names_of_the_spark_runner() -> None:
    assert find_runner(SparkRunner()) is find_runner("SparkRunner") is find_runner("spark")
    assert isinstance(SparkRunner(), PipelineRunner)


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        (DataflowRunner, "Dataflow is a service of Google"),
        (FlinkRunner, "no runner for Flink"),
        (PortableRunner, "no job servers"),
        (PrismRunner, "Beam's Go SDK"),
        (InteractiveRunner, "in a notebook"),
    ],
)
def test_runners_of_others_are_refused(cls, reason) -> None:
    name = cls.__name__
    with pytest.raises(hr.UnsupportedError, match=reason):
        cls()
    for given in (name, name.removesuffix("Runner").lower()):
        with pytest.raises(hr.UnsupportedError, match=f"there is no runner '{given}': .*{reason}"):
            hr.Pipeline(given)
    p = hr.Pipeline(options=PipelineOptions([f"--runner={name}"]))
    with pytest.raises(hr.UnsupportedError, match="use --runner=local, or --runner=spark"):
        p.run()


@pytest.mark.parametrize("name", ["planning", "portability", "a b", "runner"])
def test_a_module_is_not_a_runner(name) -> None:
    with pytest.raises(hr.UnsupportedError, match=f"there is no runner '{name}'"):
        hr.Pipeline(name).run()


def test_resource_hints_have_no_effect() -> None:
    hinted = "Map(str): the resource hints min_ram have no effect"
    with pytest.warns(hr.HeadraceWarning, match=hinted.replace("(", r"\(").replace(")", r"\)")):
        hr.Map(str).with_resource_hints(min_ram="1GB")
    assert hr.Map(str).with_resource_hints().label == "Map(str)"


def test_a_transform_of_the_pipeline_itself_or_of_nothing() -> None:
    with pytest.raises(
        hr.PipelineError, match="not a collection but the beginning of the pipeline"
    ):
        hr.Pipeline() | hr.Map(str)  # type: ignore[operator]  # mypy sees it too

    class Nothing(hr.PTransform):
        def expand(self, pcoll):
            return None

    with pytest.raises(
        TypeError, match=r"Map\(str\) is applied to the output of a step that has none"
    ):
        hr.Pipeline() | hr.Create([1]) | Nothing() | hr.Map(str)


# ---------------------------------------------------------------------------------------- pipelines of tests


def test_flags_of_a_test_pipeline() -> None:
    p = TestPipeline(
        argv=["--test-pipeline-options", "--streaming --job_name='my mill'", "--wheels=3"],
        additional_pipeline_args=["--stones=a"],
    )
    given = ["--streaming", "--job_name=my mill", "--wheels=3", "--stones=a"]
    assert p.options_list == p.get_full_options_as_args() == given
    more = p.get_full_options_as_args(x=1, yes=True, no=False, none=None)
    assert more == [*given, "--x=1", "--yes"]
    assert p.get_pipeline_options().view_as(StandardOptions).job_name == "my mill"
    assert (p.get_option("job_name"), p.get_option("--wheels"), p.get_option("job")) == (
        "my mill",
        "3",
        None,
    )
    assert p.get_option("streaming", bool_option=True)


def test_flags_for_all_test_pipelines(monkeypatch) -> None:
    monkeypatch.setattr(TestPipeline, "pytest_test_pipeline_options", "--runner=abacus")
    assert TestPipeline().get_option("runner") == "abacus"
    assert TestPipeline(options=PipelineOptions([])).run().state == "DONE"


def test_an_integration_test_needs_flags() -> None:
    with pytest.raises(SkipTest, match="needs --test-pipeline-options"):
        TestPipeline(is_integration_test=True)
    assert TestPipeline(argv=["--wheels=3"], is_integration_test=True).options_list


def test_a_test_pipeline_that_does_not_end() -> None:
    p = TestPipeline(timeout=50)
    p | hr.PeriodicImpulse(fire_interval=0.01)
    with pytest.raises(AssertionError, match="has not ended within 50 ms"):
        p.run()
    assert p.result is not None
    assert p.result.state == "CANCELLED"

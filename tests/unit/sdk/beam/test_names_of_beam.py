"""Names and modules under Beam's paths: runners, services of Google's, and modules in modules."""

import importlib
import sys

import pytest

import headrace as hr
from headrace.runners import DataflowRunner, DirectRunner
from headrace.runners.direct import direct_runner
from headrace.runners.runner import PipelineState
from headrace.sdk.beam.names import GOOGLE_MODULES
from headrace.testing.test_pipeline import TestPipeline
from headrace.testing.util import assert_that, equal_to, open_shards


@pytest.mark.parametrize(
    "runner",
    [
        DirectRunner(),
        direct_runner.BundleBasedDirectRunner(),
        direct_runner.SwitchingDirectRunner(),
        "BundleBasedDirectRunner",
        "SwitchingDirectRunner",
    ],
    ids=str,
)
def test_beams_runners_in_memory_are_the_local_runner(runner):
    with TestPipeline(runner=runner) as p:
        assert_that(p | hr.Create([1]), equal_to([1]))
    assert p.result is not None
    assert p.result.state == PipelineState.DONE


@pytest.mark.parametrize("name", ["DataflowRunner", "TestDataflowRunner", "FlinkRunner"])
def test_the_runners_of_services_are_refused_with_the_reason(name):
    refused = f"no runner '{name}': .*(Google|Flink)"
    with pytest.raises(hr.UnsupportedError, match=refused) as error, TestPipeline(runner=name) as p:
        _ = p | hr.Create([1])
    assert error.value.remedy.startswith("use --runner=local, or --runner=spark")
    with pytest.raises(hr.UnsupportedError, match="Dataflow is a service of Google"):
        DataflowRunner()


@pytest.mark.parametrize("module", sorted(GOOGLE_MODULES))
def test_services_of_google_are_refused_where_their_names_are_used(module):
    found = importlib.import_module(f"headrace.{module}")
    with pytest.raises(AttributeError, match="does not connect to Google's services: ") as error:
        found.Client  # noqa: B018
    assert GOOGLE_MODULES[module] in str(error.value)
    with pytest.raises(ImportError, match="Headrace has no Client, since it does not connect"):
        exec(f"from headrace.{module} import Client")
    assert not hasattr(type(found), "__wrapped__")
    with pytest.raises(AttributeError, match="has no attribute '__wrapped__'"):
        found.__wrapped__  # noqa: B018


def test_modules_that_beams_programs_reach_through_others():
    assert hr.core.Map is hr.combiners.core.Map is hr.Map
    assert hr.runners.DirectRunner is DirectRunner


@pytest.mark.parametrize("compressed", ["", ".gz"])
def test_shards_are_read_as_one_stream(compressed, tmp_path):
    with TestPipeline() as p:
        lines = p | hr.Create(["a", "b", "c"])
        _ = lines | hr.io.WriteToText(str(tmp_path / "out"), f".txt{compressed}", num_shards=2)
    assert len(list(tmp_path.glob("out*"))) == 2
    assert sorted(open_shards(f"{tmp_path}/out*").readlines()) == ["a\n", "b\n", "c\n"]
    assert sorted(open_shards(f"{tmp_path}/out*", mode="rb").read().split()) == [b"a", b"b", b"c"]


def test_no_shards_are_an_error(tmp_path):
    with pytest.raises(hr.FileError, match=r"no file matches .*out\*'"):
        open_shards(f"{tmp_path}/out*")


def printed(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    """What Python prints of an error that nothing handles."""
    sys.__excepthook__(type(error), error, error.__traceback__)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    ["ReadFromPubSub", "ReadFromBigQuery", "WriteToBigQuery", "WriteToPubSub", "ReadFromXml"],
)
def test_a_refused_name_comes_without_a_suggestion(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python would suggest a name that is spelled alike, such as ReadFromParquet."""
    with pytest.raises(AttributeError) as error:
        getattr(hr.io, name)
    shown = printed(error.value, capsys)
    assert f"Headrace has no {name}" in shown
    assert "Did you mean" not in shown


def test_a_misspelled_name_comes_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AttributeError) as error:
        hr.io.ReadFromParket  # noqa: B018
    assert "Did you mean: 'ReadFromParquet'?" in printed(error.value, capsys)

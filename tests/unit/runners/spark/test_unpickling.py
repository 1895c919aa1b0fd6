"""What a worker lacks is an error with the package, the step and the way to bring it."""

import pickle
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import UnsupportedError
from headrace.runners.plan.planning import plan
from headrace.runners.spark.cluster.code.worker_checks import check_workers
from headrace.runners.spark.cluster.error_transport import TransportError, unwrap
from headrace.runners.spark.cluster.unpickling import LARGEST_PART, first_missing, in_parts
from headrace.runners.spark.stage import stage_plans, worker_nodes


@pytest.fixture
def planned(tmp_path: Path, monkeypatch):
    """A plan with a function of a module that can be imported here, but not after the test's first part."""
    (tmp_path / "millrace_rates.py").write_text("def rate(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    millrace_rates = import_module("millrace_rates")

    p = hr.Pipeline()
    rated = p | hr.Create([1]) | "Rate" >> hr.Map(millrace_rates.rate)
    rated | hr.io.WriteToConsole()
    yield plan(p.graph)
    sys.modules.pop("millrace_rates", None)


def forget(monkeypatch) -> None:
    """Make this process one that lacks the module."""
    del sys.modules["millrace_rates"]
    monkeypatch.setattr(
        sys, "path", [p for p in sys.path if not Path(p, "millrace_rates.py").is_file()]
    )


def test_a_probe_names_the_step_and_the_module(planned, monkeypatch) -> None:
    parts = in_parts(worker_nodes(planned))
    assert first_missing(parts) is None
    forget(monkeypatch)
    assert first_missing(parts) == ("Rate", "millrace_rates", "No module named 'millrace_rates'")


def test_a_plan_that_a_worker_cannot_unpickle(planned, monkeypatch) -> None:
    (stage,) = stage_plans(planned, 4, batch=True)
    data = cloudpickle.dumps(stage)
    assert pickle.loads(data).names == stage.names
    forget(monkeypatch)
    with pytest.raises(TransportError) as raised:
        pickle.loads(data)
    error = unwrap(raised.value)
    assert isinstance(error, UnsupportedError)
    assert error.problem == (
        "a worker does not have the package 'millrace_rates', which the pipeline uses"
    )
    assert "Rate" in error.where
    assert "headrace package" in error.remedy


def test_another_version_of_a_module(planned, monkeypatch) -> None:
    (stage,) = stage_plans(planned, 4, batch=True)
    data = cloudpickle.dumps(stage)
    monkeypatch.delattr(sys.modules["millrace_rates"], "rate")
    with pytest.raises(TransportError) as raised:
        pickle.loads(data)
    error = unwrap(raised.value)
    assert isinstance(error, UnsupportedError)
    assert "cannot import what the pipeline uses" in error.problem
    assert "the same version" in error.remedy


def test_large_steps_are_not_probed() -> None:
    p = hr.Pipeline()
    p | hr.Create([b"x" * (LARGEST_PART + 1)]) | "Small" >> hr.Map(len)
    assert list(in_parts(worker_nodes(plan(p.graph)))) == ["Small"]


def test_workers_are_asked_before_the_run(planned, spark: SparkSession) -> None:
    assert check_workers(spark) == 2
    with pytest.raises(UnsupportedError, match="does not have the package 'millrace_rates'") as e:
        check_workers(spark, worker_nodes(planned))  # the code was not sent
    assert e.value.where.startswith("Rate, on a worker on ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[PYTHON_EXCEPTION] Traceback …\nModuleNotFoundError: No module named 'sluice.gates'\n",
            "a worker does not have the package 'sluice', which",
        ),
        (
            "org.apache.spark.api.python.PythonException: Traceback …\n"
            "ModuleNotFoundError: No module named 'sluice'\n",
            "a worker does not have the package 'sluice', which",
        ),
        ("[PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed", "the package 'PyArrow'"),
        (
            'java.io.IOException: Cannot run program "/opt/python": error=2, No such file',
            "the workers' Python '/opt/python' cannot be started",
        ),
    ],
)
def test_what_spark_says_of_workers(text: str, problem: str) -> None:
    error = unwrap(RuntimeError(text))
    assert isinstance(error, UnsupportedError)
    assert problem in error.problem

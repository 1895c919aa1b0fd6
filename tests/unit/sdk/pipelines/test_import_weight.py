"""What the import of a module loads: a pipeline that is not observed loads no observer."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(code: str) -> set[str]:
    """The modules of Headrace that a new process has loaded after some code."""
    program = f"import sys\n{code}\nprint(*(m for m in sys.modules if m.startswith('headrace.')))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def observers(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.startswith("headrace.sdk.observing.")}


def test_a_pipeline_loads_no_observers() -> None:
    loaded = loaded_by("import headrace.sdk.pipelines.pipeline")
    assert "headrace.sdk.pipelines.graph" in loaded
    assert observers(loaded) == set()
    assert not any(name.startswith("headrace.runners") for name in loaded)


def test_a_run_without_observers_loads_none() -> None:
    code = "import headrace as hr\nwith hr.Pipeline(argv=[]) as p:\n    p | hr.Create([1])"
    assert observers(loaded_by(code)) <= {"headrace.sdk.observing.options"}


def test_flags_of_observers_are_known_before_a_run() -> None:
    code = (
        "import headrace as hr\nfrom headrace.sdk.options.pipeline_options import known_flags\n"
        "hr.Pipeline\nassert {'report', 'serve', 'otlp'} <= known_flags()"
    )
    assert "headrace.sdk.metrics.observe_options" in loaded_by(code)


def test_what_reads_sources_for_spark_loads_no_plan() -> None:
    pytest.importorskip("pyspark")
    loaded = loaded_by("import headrace.runners.spark.sources.data_source")
    assert "headrace.runners.sources.source_rounds" in loaded
    assert not any(name.startswith("headrace.runners.plan") for name in loaded)
    assert not any(name.startswith("headrace.sdk.io.formats.parquet.parquet") for name in loaded)

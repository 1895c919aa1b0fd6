"""Where the files of side inputs are, and when there are none."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import headrace as hr
from headrace.runners.plan.planning import Plan, plan
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.state.side_input_directory import files_of_run, temporary_files
from headrace.sdk.testing.runs.run import unchecked_pipeline


def planned(with_side: bool = True) -> Plan:
    with unchecked_pipeline() as p:
        main = p | "main" >> hr.Create([1])
        if with_side:
            side = p | "side" >> hr.Create([1])
            _ = main | hr.Map(lambda x, s: x, hr.AsList(side))
    return plan(p.graph)


def directory(checkpoint: Any = None, is_local: bool = True, **given: Any) -> str | None:
    found = files_of_run(planned(), SparkSettings(**given), is_local, checkpoint)
    return None if found is None else found.directory


def test_a_pipeline_without_side_inputs_has_no_files():
    assert files_of_run(planned(with_side=False), SparkSettings(), is_local=True) is None


def test_the_files_of_a_run_with_a_checkpoint_are_beside_it():
    assert directory(SimpleNamespace(local_directory="/data/mill")) == "/data/mill/side-inputs"
    assert directory(SimpleNamespace(local_directory=None), temp_location="/mnt") is None


def test_temporary_files_are_where_all_workers_can_read_them(tmp_path):
    given = str(tmp_path)
    assert os.path.dirname(directory(is_local=False, temp_location=given) or "") == given
    assert directory(is_local=False) is None
    assert directory(is_local=False, temp_location="gs://bucket/tmp") is None


def test_temporary_files_are_removed():
    with temporary_files(planned(), SparkSettings(side_input_bytes=10), is_local=True) as files:
        assert files is not None
        files.write(b"some", 1)
        assert os.path.isdir(files.directory)
    assert not os.path.exists(files.directory)

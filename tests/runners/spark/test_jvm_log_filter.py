"""What the JVM prints is passed on, but for what says nothing."""

import pytest

from headrace.runners.spark.cluster.jvm_log_filter import copy


def test_noise_and_the_empty_lines_behind_it_are_left_out(
    capfd: pytest.CaptureFixture[str],
) -> None:
    copy(
        [
            b"WARNING: Using incubator modules: jdk.incubator.vector\n",
            b"Starting Streaming TransformWithStateInPandas Python worker.\n",
            b"\n",
            b"ERROR a real one\n",
            b"\n",
            b"  with its second line\n",
        ]
    )
    assert capfd.readouterr().err == "ERROR a real one\n\n  with its second line\n"

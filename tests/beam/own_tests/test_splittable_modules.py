"""Beam's own splittable DoFns with the import changed: the module and its tests are Beam's.

Headrace has modules of its own in place of these two, so ``make beam-tests`` does not run them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

MODULES = {
    "io/watch": ("GrowthTrackerTest or WatchDoFnProcessTest or WatchEndToEndTest", 29),
    "transforms/periodicsequence": ("windowing_on_si or outputs_valid or output_size or defer", 5),
}
"""The tests of each module that run, and their number."""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_beam_runs_with_the_import_changed(module: str, tmp_path: Path) -> None:
    beam = find_spec("apache_beam")
    if beam is None or beam.origin is None:
        pytest.skip("apache_beam is not installed")
    name = f"beams_{Path(module).name}"
    for suffix, copy in (("", name), ("_test", f"test_{name}")):
        text = Path(beam.origin).parent.joinpath(f"{module}{suffix}.py").read_text()
        text = text.replace(f"apache_beam.{module.replace('/', '.')}", name)
        (tmp_path / f"{copy}.py").write_text(text.replace("apache_beam", "headrace"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    wanted, number = MODULES[module]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:headrace",
        "-c",
        "pytest.ini",
        "-k",
        wanted,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"test_{name}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert f"{number} passed" in done.stdout

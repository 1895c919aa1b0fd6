"""Makes all public names available in doctests, without imports.

If pyspark is not installed, the Spark runner and its tests are not collected; without apache_beam, neither is
what runs its programs.
"""

from importlib.util import find_spec
from types import ModuleType

import pytest

import headrace
from headrace import testing, triggers, windowing
from headrace.transforms import combiners, timeutil, trigger, userstate, window

SPARK = ["headrace/runners/spark", "tests/unit/runners/spark", "tests/faults"]
BEAM = ["headrace/sdk/beam/programs", "tests/beam/suites"]
collect_ignore = [
    *([] if find_spec("pyspark") else SPARK),
    *([] if find_spec("apache_beam") else BEAM),
]


def _exported(module: ModuleType) -> dict[str, object]:
    return {name: getattr(module, name) for name in module.__all__}


@pytest.fixture(autouse=True, scope="session")
def _public_names(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["hr"] = headrace
    for module in (
        userstate,
        timeutil,
        window,
        trigger,
        windowing,
        triggers,
        combiners,
        testing,
        headrace,
    ):
        doctest_namespace.update(_exported(module))

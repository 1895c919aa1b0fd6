"""Fault tests need Java; they run in an xdist group of their own, beside that of the other Spark tests."""

from pathlib import Path

import pytest

from tests.faults.run_and_kill import run_program, sink_contents

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")
            item.add_marker(pytest.mark.xdist_group("faults"))


@pytest.fixture(scope="session")
def reference_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """The contents of the sinks after a run without kills."""
    home = tmp_path_factory.mktemp("reference_run")
    assert run_program(home) == 0
    held = sink_contents(home)
    assert all(held.values())
    return held

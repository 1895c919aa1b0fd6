"""Fault tests need Java; they run in an xdist group of their own, beside that of the other Spark tests."""

from collections.abc import Iterator
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
def reference_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[dict[str, list], str]]:
    """The contents of the sinks after a run without kills, and Java flags that halve the start-up time."""
    home = tmp_path_factory.mktemp("reference_run")
    archive = home / "classes.jsa"
    assert run_program(home, f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable -Xlog:all=off") == 0
    held = sink_contents(home)
    assert all(held.values())
    yield held, f"-XX:SharedArchiveFile={archive} -Xlog:disable" if archive.exists() else ""
    archive.unlink(missing_ok=True)

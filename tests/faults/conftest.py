"""Tests of failures need Java; they are a group of their own, beside the one of all other Spark tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.run_and_kill import contents, play

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")
            item.add_marker(pytest.mark.xdist_group("faults"))


@pytest.fixture(scope="session")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, list], str]]:
    """What an unkilled run leaves; and flags for Java, so that later runs start in half the time."""
    home = tmp_path_factory.mktemp("unkilled")
    archive = home / "classes.jsa"
    assert play(home, f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable -Xlog:all=off") == 0
    held = contents(home)
    assert all(held.values())
    yield held, f"-XX:SharedArchiveFile={archive} -Xlog:disable" if archive.exists() else ""
    archive.unlink(missing_ok=True)

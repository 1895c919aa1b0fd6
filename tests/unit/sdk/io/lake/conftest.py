"""The fixture of a table of each format."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.sdk.io.lake import lakes


@pytest.fixture(params=["delta", pytest.param("iceberg", marks=pytest.mark.slow)])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A table of each format, which does not exist yet."""
    return lakes.lake(request.param, tmp_path / "lake")

"""Access to pyarrow, which reads and writes Parquet: an extra, imported on first use."""

from __future__ import annotations

from typing import Any

from headrace.errors import require_extra


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or one of its modules.

    Raises:
        PipelineError: pyarrow is not installed.

    >>> arrow("pyarrow.parquet").__name__
    'pyarrow.parquet'
    """
    return require_extra(module, "parquet", "Parquet is read and written with pyarrow")

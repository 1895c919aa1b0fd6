"""Access to pyarrow, which reads and writes Parquet: an extra, imported on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headrace.errors import PipelineError


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or one of its modules.

    Raises:
        PipelineError: pyarrow is not installed.

    >>> arrow("pyarrow.parquet").__name__
    'pyarrow.parquet'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise PipelineError(
            "Parquet is read and written with pyarrow, which is not installed",
            remedy="pip install 'headrace[parquet]'",
        ) from error

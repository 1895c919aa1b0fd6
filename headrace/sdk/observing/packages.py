"""Optional packages that observers need."""

from __future__ import annotations

from importlib.util import find_spec

from headrace.errors import PipelineError


def require(package: str, extra: str, needed_by: str) -> None:
    """Check that a package is installed.

    Args:
        package: the name by which it is imported.
        extra: the extra of Headrace that installs it.
        needed_by: what needs it, such as a flag.

    Raises:
        PipelineError: it is not installed.

    >>> require("wheelwright", "wheels", "--wheels")
    Traceback (most recent call last):
    headrace.errors.PipelineError: --wheels needs the package wheelwright, which is not installed
      what to do: run pip install 'headrace[wheels]', or remove the flag
    """
    if not _is_installed(package):
        remove = "remove the flag" if needed_by.startswith("--") else "do not use it"
        raise PipelineError(
            f"{needed_by} needs the package {package}, which is not installed",
            remedy=f"run pip install 'headrace[{extra}]', or {remove}",
        )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False

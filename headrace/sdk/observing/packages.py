"""Optional packages that observers need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, NamedTuple

from headrace.errors import PipelineError


class Needed(NamedTuple):
    """A package that a flag or a function needs.

    Attributes:
        extra: the extra of Headrace that installs the packages.
        packages: the names by which they are imported.
    """

    extra: str
    packages: tuple[str, ...]


NEEDED: Final = {
    "--report": Needed("report", ("altair", "vl_convert")),
    "--serve": Needed("serve", ("starlette", "uvicorn", "altair", "vl_convert")),
    "--prometheus": Needed("prometheus", ("prometheus_client",)),
    "--prometheus-gateway": Needed("prometheus", ("prometheus_client",)),
    "--otlp": Needed(
        "opentelemetry", ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
    ),
    "--openlineage": Needed("openlineage", ("openlineage.client",)),
}
"""Packages that flags need; checked before a run starts."""


def require_for(flag: str) -> None:
    """Check that the packages of a flag are installed.

    Args:
        flag: one of ``NEEDED``.

    Raises:
        PipelineError: one of them is not installed.
    """
    extra, packages = NEEDED[flag]
    require(*packages, extra=extra, needed_by=flag)


def require(*packages: str, extra: str, needed_by: str) -> None:
    """Check that packages are installed.

    Args:
        packages: the names by which they are imported.
        extra: the extra of Headrace that installs them.
        needed_by: what needs them, such as a flag.

    Raises:
        PipelineError: one of them is not installed.

    >>> require("wheelwright", extra="wheels", needed_by="--wheels")
    Traceback (most recent call last):
    headrace.errors.PipelineError: --wheels needs the package wheelwright, which is not installed
      what to do: run pip install 'headrace[wheels]', or remove the flag
    """
    missing = [package for package in packages if not _is_installed(package)]
    if missing:
        remove = "remove the flag" if needed_by.startswith("--") else "do not use it"
        several = f"packages that are not installed: {', '.join(missing)}"
        one = f"the package {missing[0]}, which is not installed"
        raise PipelineError(
            f"{needed_by} needs {several if missing[1:] else one}",
            remedy=f"run pip install 'headrace[{extra}]', or {remove}",
        )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False

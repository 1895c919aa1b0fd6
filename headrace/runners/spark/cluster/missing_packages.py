"""The error for a package that a worker does not have."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Final

from headrace.errors import UnsupportedError

INSTALL_REMEDY: Final = (
    "install it for the workers' Python, or send it with the job: `headrace package JOB.py -o job.zip` and "
    "`--spark-conf spark.archives=job.zip#job`; for modules of your own, --py-files"
)


def missing(module: str, message: str, where: str) -> UnsupportedError:
    """Return the error for a worker that cannot import what the pipeline uses.

    Args:
        module: the name of the module; empty if a module exists but lacks a name.
        message: the message of the import error.
        where: the step, and the worker if it is known.
    """
    if not module:
        return UnsupportedError(
            f"a worker cannot import what the pipeline uses: {message}",
            where=where,
            remedy="give driver and workers the same version of the module",
        )
    return UnsupportedError(
        f"a worker does not have the package {_package(module)}, which the pipeline uses",
        where=where,
        remedy=INSTALL_REMEDY,
    )


def _package(module: str) -> str:
    """Return a module, with its package if this process has it: ``'yaml' (PyYAML 6.0.3)``."""
    for package in packages_distributions().get(module, ())[:1]:
        try:
            return f"{module!r} ({package} {version(package)})"
        except PackageNotFoundError:
            break
    return repr(module)

"""Programs of ``apache_beam``, unmodified, on Headrace: the runner that they name (``headrace[beam]``)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import require_extra as _require_extra

if TYPE_CHECKING:
    from headrace.sdk.beam.programs.retractions import ToChangelog, retracting
    from headrace.sdk.beam.programs.runner import HeadraceRunner

__all__ = ["HeadraceRunner", "ToChangelog", "retracting"]

_HOMES: Final = {
    "HeadraceRunner": "headrace.sdk.beam.programs.runner",
    "ToChangelog": "headrace.sdk.beam.programs.retractions",
    "retracting": "headrace.sdk.beam.programs.retractions",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is needed, since it needs ``apache_beam``."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _require_extra("apache_beam", "beam", "programs of apache_beam run on Headrace")
    return getattr(import_module(home), name)
